"""Memory limits of the system: too low a limit is rejected early, and running out of memory is reported."""

import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband import memory_limit
from skyband.errors import EngineError

resource = pytest.importorskip("resource", reason="limits of memory are set so where there is POSIX")
MEGABYTE = 1 << 20
JOB = """
name = "names"
[source]
format = "parquet"
path = "{folder}/in"
[query]
kind = "distinct-count"
time = "ts"
item = "name"
windows = ["1 hour"]
every = "1 hour"
[backends.sketch]
name = "exact"
[sink]
format = "console"
"""

LIMITED = """
import resource, sys
from pathlib import Path
import numba, pyarrow.dataset, pyarrow.parquet
from skyband.cli.commands import group
import skyband_jobs.local.run, skyband_distinct.exact.backend
from skyband import memory_limit

memory_limit.LEAST = 0  # all is loaded already
group(["check", "--engine", "local", sys.argv[1]], standalone_mode=False)
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (60 << 20), resource.RLIM_INFINITY))
group(["run", "--engine", "local", sys.argv[1]])
"""


@pytest.mark.parametrize("least_or_ample", [memory_limit.LEAST, memory_limit.AMPLE])
def test_just_as_much_as_is_needed_is_enough(least_or_ample, monkeypatch):
    for size in (least_or_ample - 1, least_or_ample, least_or_ample + 1):
        monkeypatch.setattr(memory_limit, "address_limit", lambda size=size: size)
        if size < memory_limit.LEAST:
            with pytest.raises(EngineError, match="its libraries alone need 1,024 MB"):
                memory_limit.too_little()
        else:
            assert (memory_limit.too_little() is None) == (size >= memory_limit.AMPLE)


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "job.toml"
    path.write_text(JOB.format(folder=tmp_path), "utf-8")
    return path


def write(folder, name):
    folder.mkdir()
    table = pa.table({"ts": pa.array([0], pa.timestamp("us")), "name": [name]})
    pq.write_table(table, folder / "rows.parquet", compression="zstd")


@pytest.mark.parametrize(
    ("megabytes", "status", "words"),
    [
        (1000, 1, "error: this process may use 1,000 MB of addresses (ulimit -v), and its libraries alone need"),
        (1900, 1, "warning: this process may use 1,900 MB of addresses (ulimit -v): below 2,048 MB compiling"),
    ],
)
def test_too_low_a_limit_is_reported_before_a_row_is_read(job, megabytes, status, words):
    limit = (megabytes * MEGABYTE, resource.RLIM_INFINITY)
    ended = subprocess.run(
        [sys.executable, "-m", "skyband", "run", "--engine", "local", str(job), "--set", "query.k=1"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == status
    assert words in ended.stderr
    assert "bug in Skyband" not in ended.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads how large a process is from /proc")
def test_running_out_of_memory_is_reported_with_the_limit(tmp_path, job):
    write(tmp_path / "in", "a" * (150 * MEGABYTE))
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}  # others take a gigabyte of addresses ahead
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED, str(job)], env=environment, capture_output=True, text=True, timeout=100
    )
    assert ended.returncode == 1, ended.stderr
    assert "error: memory is used up (ArrowMemoryError: " in ended.stderr
    assert "(ulimit -v)" in ended.stderr
    assert "bug in Skyband" not in ended.stderr
