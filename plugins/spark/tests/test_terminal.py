"""Strings of the data on a terminal are shown, not obeyed."""

import io
import subprocess

import pyarrow as pa
import pytest
from click.testing import CliRunner
from skyband import text_tables
from skyband.cli.commands import Failure, Problems
from skyband.queries import make_query
from skyband_jobs.job.progress import Progress
from skyband_jobs.local.sink import Console
from skyband_jobs.tables.model import Sink, Source
from skyband_spark import job_session as spark_session
from skyband_spark.spark_session.session import FEWER_FORKS
from skyband_spark.warming.precompile import Warming

HOSTILE = "a\x1b[31m\x1b]0;title\x07\r\x1b[2K\x9b1;1H\u202eb\x00\x7f"
SEEN = r"a\x1b[31m\x1b]0;title\x07\r\x1b[2K\x9b1;1H\u202eb\x00\x7f"


class Terminal(io.StringIO):
    def isatty(self):
        return True


QUERIES = [{"name": "best", "window": "1 hour", "slide": "1 hour", "k": 1}]


def test_what_a_terminal_obeys_is_written_out_and_the_rest_stays():
    assert text_tables.visible(HOSTILE) == SEEN
    assert text_tables.visible("zwölf 日本 😀 \N{NO-BREAK SPACE}") == "zwölf 日本 😀 \N{NO-BREAK SPACE}"
    assert text_tables.visible("one\n\ttwo\x1b", keep="\n\t") == "one\n\ttwo\\x1b"


@pytest.mark.parametrize("out", [io.StringIO, Terminal])
@pytest.mark.parametrize("together", [True, False])
def test_console(out, together, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    stream = out()
    query = make_query({"kind": "top-k-workload", "time": "at", "object": "name", "score": "at", "queries": QUERIES})
    writer = Console(query, Progress(io.StringIO()), together=together, out=stream)
    writer.write(pa.table({f"name{HOSTILE}": [HOSTILE, "plain"], "at": [1, 2]}))
    written = stream.getvalue()
    assert written.count(SEEN) == 2
    assert not set("\x07\r\x9b\u202e\x00\x7f") & set(written)
    assert "\x1b[31m" not in written


@pytest.mark.parametrize("out", [io.StringIO, Terminal])
def test_progress(out, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = out()
    progress = Progress(stream)
    progress.note(f"{HOSTILE}\nsecond line")
    progress._last_report = -1e9
    progress.waiting(HOSTILE)
    written = stream.getvalue()
    assert f"{SEEN}\nsecond line\n" in written
    assert "\x1b[31m" not in written
    assert "\x07" not in written


@pytest.mark.parametrize("kind", [Failure, Problems])
def test_errors(kind, capsys):
    kind(f"value {HOSTILE}\nremedy").show()
    assert f"value {SEEN}\nremedy\n" in capsys.readouterr().err


def test_an_error_of_a_command(tmp_path):
    from skyband.cli.commands import group

    job = tmp_path / "job.toml"
    job.write_text('[source]\nformat = "no\\u001b[31m"\npath = "x"\n[query]\nkind = "k\\u001b]0;t\\u0007"\n')
    result = CliRunner().invoke(group, ["check", str(job)])
    assert result.exit_code == 1
    assert "\x1b" not in result.output
    assert r"k\x1b]0;t\x07" in result.output


def test_a_module_in_the_working_folder_is_not_mistaken_for_numpy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("numpy", "pyarrow", "skyband"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'taken')!r}, 'w').close()\n")
    subprocess.run(Warming("no-job.toml", [])._call, capture_output=True, check=False, timeout=120)
    assert not (tmp_path / "taken").exists()


def job_with(written=None, read=None, **settings):
    class Asked:
        spark = settings
        source = Source(**{"format": "parquet", "path": "s3a://bucket/rows", **(read or {})})
        sink = Sink(format="parquet", **(written or {"path": "answers"}))

    return Asked()


def test_local_spark_is_not_reachable_from_outside(tmp_path, monkeypatch):
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    quiet = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
    for master in ({}, {"spark.master": "local"}, {"spark.master": "local[4]"}):
        assert quiet.items() <= spark_session.spark_defaults(job_with(**master)).items()
    cluster = job_with(**{"spark.master": "spark://host:7077"})
    assert not quiet.keys() & spark_session.spark_defaults(cluster).keys()
    (tmp_path / "spark-defaults.conf").write_text("spark.master yarn\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert not quiet.keys() & spark_session.spark_defaults(job_with()).keys()
    monkeypatch.delenv("SPARK_CONF_DIR")
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert not quiet.keys() & spark_session.spark_defaults(job_with()).keys()


@pytest.mark.parametrize(
    ("read", "written", "short"),
    [
        ({"path": "{rows}"}, {}, True),
        ({"path": "{rows}/part-*"}, {}, True),
        ({"path": "{rows}", "stream": True}, {"trigger": "available-now"}, True),
        ({"path": "{rows}", "stream": True}, {"trigger": "1 minute"}, False),
        ({"path": "{rows}", "stream": True}, {}, False),
        ({"path": "s3a://bucket/rows"}, {}, False),
        ({"path": "{rows}", "format": "delta"}, {}, False),
    ],
)
def test_java_compiles_once_what_runs_for_seconds(tmp_path, monkeypatch, read, written, short):
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    once = spark_session.COMPILED_ONCE.items()
    asked = {name: value.format(rows=tmp_path) if name == "path" else value for name, value in read.items()}

    def applies(**settings):
        job = job_with({"path": str(tmp_path / "answers"), **written}, {"format": "parquet", **asked}, **settings)
        return once <= spark_session.spark_defaults(job).items()

    for part in range(2):
        (tmp_path / f"part-{part}.parquet").write_bytes(bytes(spark_session.SMALL // 2))
    assert applies() == short
    assert not applies(**{"spark.master": "spark://host:7077"})
    (tmp_path / "part-2.parquet").write_bytes(b"1")
    assert not applies()


def test_files_deleted_while_they_are_inspected_are_not_the_jobs_fault(tmp_path, monkeypatch):
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(spark_session, "data_files", lambda path: [path / "gone.parquet"])
    job = job_with({"path": str(tmp_path / "answers")}, {"path": str(tmp_path)})
    assert not spark_session.COMPILED_ONCE.items() & spark_session.spark_defaults(job).items()


def test_small_files_are_renamed_without_processes_if_all_are_on_this_machine(monkeypatch):
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    fewer = FEWER_FORKS.items()
    here = {"path": "answers", "checkpoint": "file:///checkpoint"}
    assert fewer <= spark_session.spark_defaults(job_with(here)).items()
    cluster = job_with(here, **{"spark.master": "spark://host:7077"})
    for job in (cluster, *(job_with({**here, key: "s3a://bucket/x"}) for key in here)):
        assert not fewer & spark_session.spark_defaults(job).items()
