"""A job killed at random moments and started again writes the same rows as one left alone."""

import random

import pytest

from . import faults

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_driver_killed_at_random_moments(session, tmp_path, kills):
    faults.write_source(tmp_path / "source", files=kills + 6)
    faults.finish(faults.start(faults.write_job(tmp_path, "calm")))
    killed = faults.write_job(tmp_path, "killed")
    chance, done = random.Random(kills), 0
    for _ in range(kills):
        process = faults.start(killed)
        try:
            done += faults.after_next_commit(process, tmp_path / "checkpoint of killed", chance.uniform(0, 1.0))
        finally:
            if process.poll() is None:
                faults.kill_group(process)
    faults.finish(faults.start(killed))
    assert done >= kills // 2, "most kills hit a job that runs"
    assert faults.rows(session, tmp_path / "killed") == faults.rows(session, tmp_path / "calm")
