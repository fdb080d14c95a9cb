"""A job killed at random moments and started again writes the same rows as one left alone."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark

JOB = """
shards = 2

[source]
format = "parquet"
path = "source/"
stream = true
options = {{ maxFilesPerTrigger = 1 }}

[query]
kind = "distinct-count"
time = "ts"
item = "who"
by = ["place"]
windows = ["30 seconds", "2 minutes"]
every = "10 seconds"
delay = "5 seconds"

[sink]
format = "parquet"
path = "{name}/"
checkpoint = "checkpoint of {name}/"
trigger = "available-now"

[spark]
"spark.master" = "local[2]"
"spark.sql.shuffle.partitions" = 2
"spark.ui.enabled" = false
"spark.driver.bindAddress" = "127.0.0.1"
"""
FILES = 12


def write_source(folder: Path) -> None:
    rng = np.random.default_rng(11)
    folder.mkdir()
    for number in range(FILES):
        seconds = np.sort(rng.uniform(number * 40, number * 40 + 44, 500))
        table = pa.table(
            {
                "ts": pa.array((seconds * 1e6).astype(np.int64), pa.timestamp("us", "UTC")),
                "who": [f"visitor {i}" for i in rng.integers(0, 200, 500)],
                "place": [f"place {i}" for i in rng.integers(0, 5, 500)],
            }
        )
        pq.write_table(table, folder / f"{number:02}.parquet")
        os.utime(folder / f"{number:02}.parquet", (1_000_000_000 + number,) * 2)


def start(job: Path) -> subprocess.Popen:
    """The job as a process group of its own: Python, the JVM and the workers."""
    command = [sys.executable, "-c", "from skyband.cli import main; main()", "run", str(job)]
    return subprocess.Popen(
        command, cwd=job.parent, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def committed(folder: Path) -> set[str]:
    return {path.name for path in (folder / "commits").glob("*") if path.name.isdigit()}


def kill_after_a_commit(process: subprocess.Popen, checkpoint: Path, wait: float) -> None:
    """SIGKILL to the whole group, `wait` seconds after its next micro-batch was committed."""
    before = committed(checkpoint)
    while process.poll() is None and committed(checkpoint) == before:
        time.sleep(0.02)
    if process.poll() is None:
        time.sleep(wait)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def rows(session, folder: Path) -> list[str]:
    return sorted(map(str, session.read.parquet(str(folder)).collect()))


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_random_moments(session, tmp_path, kills):
    write_source(tmp_path / "source")
    for name in ("calm", "killed"):
        (tmp_path / f"{name}.toml").write_text(JOB.format(name=name))
    calm = start(tmp_path / "calm.toml")
    said, _ = calm.communicate(timeout=550)
    assert calm.returncode == 0, said.decode()
    chance = random.Random(kills)
    for _ in range(kills):
        process = start(tmp_path / "killed.toml")
        kill_after_a_commit(process, tmp_path / "checkpoint of killed", chance.uniform(0, 1.0))
    last = start(tmp_path / "killed.toml")
    said, _ = last.communicate(timeout=550)
    assert last.returncode == 0, said.decode()
    assert rows(session, tmp_path / "killed") == rows(session, tmp_path / "calm")
