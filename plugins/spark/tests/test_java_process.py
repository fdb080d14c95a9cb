"""Java as this process starts it: ended if no longer needed, and reported if it ends itself."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from skyband import EngineError, spark
from skyband_spark.errors import sentence
from skyband_spark.spark_session import pyspark_import_path
from skyband_spark.spark_session.java_check import require_classic
from skyband_spark.spark_session.java_process import ended_if_interrupted, how_java_ended
from skyband_spark.spark_session.spill_folder import private_folder, remove_old_leftovers

pyspark = pytest.importorskip("pyspark")


@pytest.fixture
def no_gateway(monkeypatch):
    monkeypatch.setattr(pyspark.SparkContext, "_gateway", None)


def test_what_was_started_is_ended_if_the_start_is_interrupted(no_gateway):
    from pyspark import java_gateway

    with pytest.raises(KeyboardInterrupt), ended_if_interrupted():
        process = java_gateway.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        raise KeyboardInterrupt
    assert process.returncode == -9
    assert java_gateway.Popen is subprocess.Popen


class Gateway:
    def __init__(self, code):
        self.proc = subprocess.Popen([sys.executable, "-c", code])


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os.kill(os.getpid(), 9)", "by SIGKILL (out of memory?)"),
        ("import os; os.kill(os.getpid(), 15)", "by SIGTERM"),
        ("import sys; sys.exit(143)", "by SIGTERM"),
        ("import sys; sys.exit(3)", "with exit status 3"),
    ],
)
def test_how_it_ended_is_told(monkeypatch, code, said):
    gateway = Gateway(code)
    gateway.proc.wait()
    monkeypatch.setattr(pyspark.SparkContext, "_gateway", gateway)
    assert how_java_ended() == said


def test_nothing_is_reported_of_a_java_that_runs_or_that_another_started(monkeypatch, no_gateway):
    assert how_java_ended() is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("SPARK_HOME", "/nowhere", "no bin/spark-submit"), ("SPARK_REMOTE", "sc://there", "Spark Connect")],
)
def test_a_spark_that_is_not_here_is_refused_before_java_is_looked_for(monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    for call in (require_classic, spark.session):
        with pytest.raises(EngineError, match=said) as raised:
            call()
        assert value in str(raised.value)


def test_a_file_in_the_working_folder_is_not_mistaken_for_pythons(tmp_path, monkeypatch):
    (tmp_path / "contextlib.py").write_text("open('ran', 'w')")
    (tmp_path / "importlib").mkdir()
    (tmp_path / "importlib" / "__init__.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path)
    assert pyspark_import_path._found_without_us(pyspark)
    assert not (tmp_path / "ran").exists()


def test_what_spark_keeps_on_disk_is_for_this_user_alone(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = private_folder()
    assert Path(folder).stat().st_mode & 0o777 == 0o700


def test_logs_of_runs_that_failed_are_kept_for_a_week(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    old = time.time() - 8 * 86_400
    kept = {"skyband-spark-new.log", "another.log", "skyband-spark-in-use"}
    (tmp_path / "skyband-spark-in-use").mkdir()
    (tmp_path / "skyband-spark-in-use" / "blockmgr").touch()
    (tmp_path / "skyband-spark-empty").mkdir()
    for name in ("skyband-spark-new.log", "another.log", "skyband-spark-old.log"):
        (tmp_path / name).touch()
    for path in tmp_path.iterdir():
        if path.name != "skyband-spark-new.log":
            os.utime(path, (old, old))
    remove_old_leftovers()
    assert {path.name for path in tmp_path.iterdir()} == kept


def test_an_environment_that_is_missing_on_the_driver_has_a_remedy():
    text = 'Caused by: java.io.IOException: Cannot run program "./env/bin/python": error=2, No such file or directory'
    said = sentence(text)
    assert "'./env/bin/python', on the driver's machine, where it is missing" in said
    assert "spark.pyspark.python" in said
