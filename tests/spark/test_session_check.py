"""A session is checked before a first job: each requirement is a line, with what to set if it is not met."""

import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from click.testing import CliRunner
from skyband import spark
from skyband.cli.commands import group
from skyband_spark import session_check

pytestmark = pytest.mark.spark

STORE = "spark.sql.streaming.stateStore.providerClass"
ARROW = "spark.sql.execution.arrow.maxRecordsPerBatch"


def test_a_session_of_ours_meets_every_requirement(session):
    made = spark.preflight(session)
    assert made.ok, str(made)
    lines = str(made).splitlines()
    assert len(lines) == len(made.findings) and all(line.startswith("yes  ") for line in lines)
    assert f"Spark: {session.version}, classic" in lines[0]
    assert "a stateful stream of two rows: committed after" in lines[-1]
    assert session.streams.active == []


@pytest.mark.parametrize(
    ("key", "value", "requirement", "remedy"),
    [
        (STORE, "org.example.OtherProvider", "state store: OtherProvider", f"or set {STORE}="),
        (ARROW, "10", "Arrow batches: of up to 10 rows", f"set {ARROW}=100000"),
    ],
)
def test_a_setting_that_is_wrong_is_named_with_its_remedy(session, key, value, requirement, remedy):
    before = session.conf.get(key)
    session.conf.set(key, value)
    try:
        made = spark.preflight(session)
    finally:
        session.conf.set(key, before)
    assert not made.ok
    (wrong,) = (finding for finding in made.findings if finding.remedy and finding.observation != "not tried")
    assert str(wrong).splitlines()[0] == f"no   {requirement}" and remedy in wrong.remedy
    assert str(made).splitlines()[-1] == "     fix the lines above, and check again"


def test_workers_that_differ_from_the_driver_are_named(session, monkeypatch):
    own = session_check._distributions()
    monkeypatch.setattr(session_check, "_distributions", lambda: own | {"numba": "0.1", "skyband-none": "9"})
    monkeypatch.setattr(session_check, "LEAST_MEMORY", 1 << 60)
    found = {finding.requirement: finding for finding in spark.preflight(session).findings if not finding.ok}
    assert found["numba on the workers"].observation == own["numba"]
    assert found["skyband-none on the workers"].observation == "missing"
    assert "the driver has 9: install the same on both" in found["skyband-none on the workers"].remedy


def test_workers_without_skyband_are_one_line(session, monkeypatch, tmp_path):
    venv.create(tmp_path / "bare", symlinks=True)
    (packages,) = (tmp_path / "bare" / "lib").glob("python*/site-packages")
    for entry in Path(site.getsitepackages()[0]).iterdir():
        if "skyband" not in entry.name and entry.suffix != ".pth":
            (packages / entry.name).symlink_to(entry)
    monkeypatch.setattr(session.sparkContext, "pythonExec", str(tmp_path / "bare" / "bin" / "python"))
    made = spark.preflight(session)
    lines = [line for line in str(made).splitlines() if line.startswith("no ")]
    assert lines == ["no   Skyband on the workers: missing", "no   a stateful stream: not tried"]
    assert "install the same on both" in str(made)


def test_a_stream_that_fails_says_why(session, tmp_path):
    (tmp_path / "file").touch()
    last = spark.preflight(session, checkpoint=str(tmp_path / "file" / "checkpoint")).findings[-1]
    assert not last.ok and "pass a `checkpoint` that all machines reach" in last.remedy
    assert "checkpoint" in last.observation or "Not a directory" in last.observation or "file" in last.observation


def test_check_shows_it_for_a_job(session, tmp_path):
    rows = "".join(f"2026-01-01 00:{number:02}:00,client {number % 3}\n" for number in range(50))
    (tmp_path / "rows.csv").write_text(f"ts,client\n{rows}")
    made = CliRunner().invoke(group, ["check", str(tmp_path / "rows.csv")])
    assert made.exit_code == 0, made.output
    (tmp_path / "job.toml").write_text(made.stdout)
    checked = CliRunner().invoke(group, ["check", str(tmp_path / "job.toml"), "--session"])
    assert checked.exit_code == 0, checked.output
    assert (checked.exit_code, checked.stdout.count("yes  ")) == (0, len(checked.stdout.splitlines()))
    session.conf.set(ARROW, "10")
    try:
        assert CliRunner().invoke(group, ["check", str(tmp_path / "job.toml"), "--session"]).exit_code == 1
    finally:
        session.conf.set(ARROW, "100000")
    alone = CliRunner().invoke(group, ["check", "--session"])
    assert (alone.exit_code, alone.stdout.count("yes  ")) == (0, checked.stdout.count("yes  "))
    nothing = CliRunner().invoke(group, ["check"])
    assert nothing.exit_code == 2 and "name a job, or a file of data" in nothing.output
    local = CliRunner().invoke(group, ["check", str(tmp_path / "job.toml"), "--session", "--engine", "local"])
    assert local.exit_code != 0 and "has no session to check: use --engine spark" in local.output


LISTENS = """
from skyband.cli.commands import group
from skyband_spark import session_check

usual = session_check.preflight
def look(session):
    conf = session.sparkContext.getConf()
    print(conf.get("spark.driver.bindAddress"), conf.get("spark.ui.enabled"))
    return usual(session)

session_check.preflight = look
group(["check", "--session"])
"""


@pytest.mark.slow
def test_a_session_of_the_command_listens_on_the_loopback_and_says_nothing_else():
    ran = subprocess.run([sys.executable, "-c", LISTENS], capture_output=True, text=True, check=True)
    first, *lines = ran.stdout.splitlines()
    assert first == "127.0.0.1 false"
    assert lines and all(line.startswith("yes  ") for line in lines)
    assert ran.stderr == ""
