"""A place that this user cannot write to is named before a run begins, and by no check."""

import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband_jobs.job.job_error import JobError
from skyband_jobs.job.output_folders import permission_problems
from skyband_jobs.programs.engines import engine_named
from skyband_jobs.programs.parsing import read_job
from skyband_jobs.programs.run import run_checked

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
NOBODY = 65534
JOB = """
[source]
format = "parquet"
path = "{source}"
stream = {stream}

[query]
kind = "distinct-count"
time = "ts"
item = "who"
windows = ["1 minute"]
every = "1 minute"

[sink]
format = "parquet"
{sink}
"""
STREAM = 'trigger = "available-now"\npath = "{open}"\ncheckpoint = "{path}"'


@pytest.fixture
def folder():
    """A folder that any user reaches, with rows, one folder that only its owner writes to, and an open one."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        for part, mode in (("rows", 0o755), ("shut", 0o555), ("open", 0o777)):
            (place / part).mkdir()
            (place / part).chmod(mode)
        pq.write_table(pa.table({"ts": pa.array([0], pa.timestamp("us")), "who": ["a"]}), place / "rows" / "a.parquet")
        yield place


@pytest.fixture
def as_another():
    """Calls a function as a user who is not root."""

    def call(act):
        if os.geteuid() != 0:
            return act()
        os.seteuid(NOBODY)
        try:
            return act()
        finally:
            os.seteuid(0)

    return call


@pytest.mark.parametrize(
    ("key", "path"), [("sink.path", "shut"), ("sink.path", "shut/new/answers"), ("sink.checkpoint", "shut/checkpoint")]
)
def test_a_run_names_the_place_and_a_check_does_not_look(key, path, folder, as_another):
    stream = key == "sink.checkpoint"
    sink = STREAM.format(open=folder / "open" / "answers", path=path) if stream else f'path = "{path}"'
    text = JOB.format(source=folder / "rows", stream=str(stream).lower(), sink=sink)
    (folder / "job.toml").write_text(text)
    checked = CliRunner().invoke(group, ["check", str(folder / "job.toml"), "--engine", "local"])
    assert checked.exit_code == 0, checked.output
    job = read_job(str(folder / "job.toml"), (), "local")
    with pytest.raises(JobError) as error:
        as_another(lambda: run_checked(job, engine_named("local")))
    said = f"{key}: {str(folder / path)!r} cannot be written: this user has no permission to write to"
    assert f"{said} {str(folder / 'shut')!r}: change its permissions, or name another place" in str(error.value)


def test_an_open_place_is_written_to(folder, as_another):
    (folder / "job.toml").write_text(JOB.format(source=folder / "rows", stream="false", sink='path = "open/answers"'))
    job = read_job(str(folder / "job.toml"), (), "local")
    assert as_another(lambda: permission_problems(job.sink)) == []
    run_checked(job, engine_named("local"))
    assert list((folder / "open" / "answers").glob("*.parquet"))
