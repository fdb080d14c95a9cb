"""A job killed at random moments and started again writes the same rows as an undisturbed one."""

import random

import pytest
from click.testing import CliRunner
from skyband import spark
from skyband.cli.commands import group

from .. import faults

pytestmark = pytest.mark.spark


KILLS = [(1, "Python"), *(pytest.param(20, reader, marks=pytest.mark.slow) for reader in ("Python", "Spark", "either"))]


@pytest.mark.parametrize(("kills", "reader"), KILLS)
def test_driver_killed_at_random_moments(session, tmp_path, kills, reader):
    """The calm run has its files from Spark's own reader, that of either reader changes it at each start."""
    faults.write_source(tmp_path / "source", files=kills + 4)
    run_calmly(session, tmp_path)
    killed = faults.write_job(tmp_path, "killed")
    readers = {"Python": ["auto"], "Spark": ["spark"], "either": ["auto", "spark"]}[reader]
    (tmp_path / "numpy.py").write_text("raise RuntimeError('not numpy')")  # beside the job: nobody takes it for numpy
    chance, done = random.Random(kills), 0
    for start in range(kills):
        process = faults.start(killed, "--set", f"source.reader={readers[start % len(readers)]}")
        try:
            done += faults.after_next_commit(process, tmp_path / "checkpoint of killed", chance.uniform(0, 1.0))
        finally:
            if process.poll() is None:
                faults.kill_group(process)
    last = {"auto": "Python", "spark": "Spark"}[readers[-1]]
    assert f"read by  {last}" in goes_on(killed, "--set", f"source.reader={readers[-1]}")
    assert 2 * done >= kills, "most kills hit a job that runs"
    assert faults.rows(session, tmp_path / "killed") == faults.rows(session, tmp_path / "calm")


def goes_on(job, *sets):
    """The rest of a job, in this session: a start of another driver is what the next kill hits."""
    ran = CliRunner().invoke(group, ["run", str(job), *sets])
    assert ran.exit_code == 0, ran.stderr
    return ran.stderr


def run_calmly(session, folder):
    """The job's query in this session, which nobody kills."""
    visits = session.readStream.schema(faults.SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "source"))
    sink = spark.apply(visits, faults.QUERY, shards=2).writeStream.option("path", str(folder / "calm"))
    started = sink.option("checkpointLocation", str(folder / "checkpoint of calm")).trigger(availableNow=True).start()
    started.awaitTermination()
