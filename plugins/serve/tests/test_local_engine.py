"""The local engine on the job of a service: it starts over, so it must not add the same answers again."""

import json

import pytest
from skyband.errors import ConfigError
from skyband_jobs.job.job_error import JobError
from skyband_jobs.programs.run import run_job

from .test_checkpoint import ARGUMENTS, run
from .test_kills import JOB, rows_in, sqlite

SINK = 'format = "sql"\nurl = "sqlite:///{}/board.db"\ntable = "counts"\nmode = "append"'


@pytest.fixture
def folder(tmp_path):
    rows_in(tmp_path)
    job = JOB.format(sink=SINK.format(tmp_path)).replace('late_rows = { format = "parquet", path = "late" }', "")
    (tmp_path / "job.toml").write_text(job)
    return tmp_path


def locally(folder, *sets):
    finish = [text for text in ARGUMENTS if not text.startswith("serve.")]
    return run_job(folder / "job.toml", [*finish, *sets], "local")


def test_a_stream_that_has_begun_is_not_added_again(folder):
    run(folder)
    before = sqlite(folder, "counts")
    with pytest.raises((JobError, ConfigError), match=r"sink.checkpoint: `skyband serve` resumes from it: the local"):
        locally(folder)
    with pytest.raises((JobError, ConfigError), match="starts each stream from the beginning; `skyband serve` resumes"):
        locally(folder, "-sink.mode")
    assert sqlite(folder, "counts") == before
    locally(folder, "-sink.checkpoint")
    assert sqlite(folder, "counts") == sorted(2 * before)


def test_one_of_spark_names_spark(folder):
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint" / "skyband-job.json").write_text(json.dumps({"engine": "spark"}))
    with pytest.raises((JobError, ConfigError), match=r"sink.checkpoint: `skyband run --engine spark` resumes from it"):
        locally(folder)


def test_a_stream_that_has_not_begun_is_added(folder):
    locally(folder)
    assert len(sqlite(folder, "counts")) == locally(folder, "-sink.mode", "sink.table=others").answers
