"""A stream of visitors as a job, and faults to inject while it runs."""

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

QUERY = {
    "kind": "distinct-count",
    "time": "ts",
    "item": "who",
    "by": ["place"],
    "windows": ["30 seconds", "2 minutes"],
    "every": "10 seconds",
    "delay": "5 seconds",
}
SCHEMA = "ts TIMESTAMP, who STRING, place STRING"

JOB = """
shards = 2

[source]
format = "parquet"
path = "source/"
stream = true
schema = "ts TIMESTAMP, who STRING, place STRING"
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
"spark.master" = "{master}"
"spark.sql.shuffle.partitions" = 2
"spark.ui.enabled" = false
"spark.driver.bindAddress" = "127.0.0.1"
"spark.driver.host" = "127.0.0.1"
"""


def write_source(folder: Path, files: int) -> None:
    """Parquet files of 500 visits each, a little out of order."""
    folder.mkdir()
    for number in range(files):
        write_file(folder, number)


def write_file(folder: Path, number: int, rows: int = 500) -> Path:
    """The file of this number; the same bytes whenever it is written."""
    rng = np.random.default_rng(number)
    seconds = np.sort(rng.uniform(number * 40, number * 40 + 44, rows))
    table = pa.table(
        {
            "ts": pa.array((seconds * 1e6).astype(np.int64), pa.timestamp("us", "UTC")),
            "who": [f"visitor {i}" for i in rng.integers(0, 200, rows)],
            "place": [f"place {i}" for i in rng.integers(0, 5, rows)],
        }
    )
    path = folder / f"{number:02}.parquet"
    pq.write_table(table, path)
    os.utime(path, (1_000_000_000 + number,) * 2)
    return path


def write_job(folder: Path, name: str, master: str = "local[2]", settings: str = "") -> Path:
    """The job file `name`, whose answers and checkpoint have its name."""
    path = folder / f"{name}.toml"
    path.write_text(JOB.format(name=name, master=master) + settings)
    return path


def start(job: Path, *options: str, **environment: str) -> subprocess.Popen:
    """The job as a process group of its own: Python, the JVM and the workers."""
    command = [sys.executable, "-P", "-m", "skyband", "run", str(job), *options]  # -P as the command `skyband` has it
    return subprocess.Popen(
        command,
        cwd=job.parent,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **environment},
    )


def finish(process: subprocess.Popen) -> None:
    """Wait for the end of a job that must end well."""
    said, _ = process.communicate(timeout=550)
    assert process.returncode == 0, said.decode()


def kill_group(process: subprocess.Popen) -> None:
    """SIGKILL to all processes of a job."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    finally:
        process.communicate()


def committed(checkpoint: Path) -> set[str]:
    """The committed micro-batches."""
    return {path.name for path in (checkpoint / "commits").glob("*") if path.name.isdigit()}


def after_next_commit(process: subprocess.Popen, checkpoint: Path, wait: float) -> bool:
    """Wait until `wait` seconds after the next commit; whether the job still runs then. It must not have failed."""
    before = committed(checkpoint)
    while process.poll() is None and committed(checkpoint) == before:
        time.sleep(0.02)
    if process.poll() is None:
        time.sleep(wait)
    if process.poll() is None:
        return True
    finish(process)
    return False


def children(pid: int, named: str) -> list[int]:
    """The descendants of a process whose command line contains `named`, parents first."""
    found = []
    for child in _children(pid):
        try:
            command = Path(f"/proc/{child}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue  # it has ended meanwhile
        found += [child] * (named in command)
        found += children(child, named)
    return found


def _children(pid: int) -> Iterator[int]:
    """The children of all threads of a process; none if it has ended."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return
    for thread in threads:
        try:
            yield from map(int, (thread / "children").read_text().split())
        except OSError:
            continue


def workers(pid: int) -> list[int]:
    """The Python workers below a JVM: forks of the daemons it started."""
    return [worker for daemon in children(pid, "pyspark.daemon") for worker in children(daemon, "pyspark.daemon")]


def kill_one(pids: list[int]) -> bool:
    """SIGKILL to the last of these that still runs."""
    return any(_kill(pid) for pid in reversed(pids))


def kill_all(pids: list[int]) -> bool:
    """SIGKILL to all of these; whether any still ran."""
    return sum(map(_kill, pids)) > 0


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


@contextmanager
def no_file_above(session, size: int) -> Iterator[None]:
    """The JVM of a session may write no file of more bytes, which fails as a full disk does and needs no privileges."""
    jvm = session._jvm.ProcessHandle.current().pid()
    before = resource.prlimit(jvm, resource.RLIMIT_FSIZE)
    resource.prlimit(jvm, resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.prlimit(jvm, resource.RLIMIT_FSIZE, before)


def rows(session, folder: Path) -> list[str]:
    """All answers in a folder, in one order."""
    return sorted(map(str, session.read.parquet(str(folder)).collect()))
