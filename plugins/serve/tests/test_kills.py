"""A service that is killed anywhere, as often as one likes, writes the rows of one that was not."""

import os
import random
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

JOB = """
name = "clients"
source = {{ format = "parquet", path = "in", stream = true, options = {{ maxFilesPerTrigger = 2 }} }}

[query]
kind = "distinct-count"
time = "ts"
item = "client"
by = ["status"]
windows = ["1 minute"]
every = "10 seconds"
delay = "1 second"
late_rows = {{ format = "parquet", path = "late" }}

[sink]
checkpoint = "checkpoint"
{sink}
"""
OFTEN = ["--set", "serve.commit=1 microsecond"]
TO_THE_END = [
    "--set",
    "source.finish=true",
    "--set",
    "sink.trigger=available-now",
]
FOLDER = 'format = "parquet"\npath = "counts"'
KILLER = """
import os, signal, sys, random
from skyband_serve import checkpoint, service, sinks, turns
from skyband_jobs.running import savepoint
left = int(sys.argv[1])

def deadly(owner, name):
    usual = getattr(owner, name)
    def call(*args, **keys):
        global left
        for after in (False, True):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            if not after:
                result = usual(*args, **keys)
        return result
    setattr(owner, name, call)

deadly(turns.TurnLog, "append")
deadly(sinks.FolderSink, "write")
deadly(sinks.TableSink, "write")
deadly(checkpoint.Checkpoint, "saved")
deadly(savepoint, "to_disk")
service._SHARE = 0
from skyband.__main__ import main
sys.argv[1:] = ["serve", "job.toml", *sys.argv[2:]]
main()
"""


def rows_in(folder, files=12, rows=120):
    """A folder of files that come in the order of their numbers, some rows late."""
    chosen = random.Random(5)
    (folder / "in").mkdir()
    for number in range(files):
        at = [1_750_000_000_000_000 + (number * rows + row) * 90_000 for row in range(rows)]
        table = pa.table(
            {
                "ts": pa.array([time + chosen.randrange(3_000_000) for time in at], pa.timestamp("us", "UTC")),
                "client": [chosen.randrange(50) for _ in at],
                "status": [chosen.choice([200, 404]) for _ in at],
            }
        )
        path = folder / "in" / f"{number:03}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_000_000_000 + number,) * 2)


def service(folder, *arguments):
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


def whole(folder, name):
    table = pyarrow.dataset.dataset(folder / name).to_table()
    return sorted(map(str, table.to_pylist()))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The answers and late rows of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    rows_in(folder)
    (folder / "job.toml").write_text(JOB.format(sink=FOLDER))
    ran = service(folder, "-m", "skyband", "serve", "job.toml", *TO_THE_END)
    assert ran.returncode == 0, ran.stderr
    local = service(
        folder, "-m", "skyband", "run", "job.toml", "--engine", "local", *TO_THE_END, "--set", "sink.path=again",
        "--set", "query.late_rows.path=late again",
    )  # fmt: skip
    assert local.returncode == 0, local.stderr
    counts, late = whole(folder, "counts"), whole(folder, "late")
    assert (counts, late) == (whole(folder, "again"), whole(folder, "late again")) and len(late) > 5
    return counts, late


def killed_to_the_end(folder, begin, step):
    """Start the service again and again, each to be killed a little later, until it ends by itself."""
    kills = 0
    while True:
        ran = service(folder, "-c", KILLER, str(begin + step * kills), *TO_THE_END, *OFTEN)
        if ran.returncode != -signal.SIGKILL:
            assert ran.returncode == 0, ran.stderr
            return kills
        kills += 1


@pytest.mark.parametrize(("begin", "step"), [(0, 11), pytest.param(3, 5, marks=pytest.mark.slow)])
def test_kills_at_every_kind_of_line_change_nothing_in_a_folder(tmp_path, undisturbed, begin, step):
    rows_in(tmp_path)
    (tmp_path / "job.toml").write_text(JOB.format(sink=FOLDER))
    kills = killed_to_the_end(tmp_path, begin, step)
    assert kills >= 3, "killed too late"
    assert (whole(tmp_path, "counts"), whole(tmp_path, "late")) == undisturbed


def test_a_signal_stops_it_after_a_turn_and_the_next_start_resumes(tmp_path, undisturbed):
    rows_in(tmp_path)
    (tmp_path / "job.toml").write_text(
        JOB.format(sink=FOLDER).replace(", finish = true", "").replace("available-now", "1 second")
    )
    started = subprocess.Popen(
        [sys.executable, "-m", "skyband", "serve", "job.toml"], cwd=tmp_path, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not list((tmp_path / "counts").glob("part-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    started.send_signal(signal.SIGTERM)
    _, told = started.communicate(timeout=60)
    assert started.returncode == 130 and b"stopped; run it again to resume" in told, told
    assert [path.name for path in (tmp_path / "checkpoint").iterdir() if path.name.isdigit()]
    assert service(tmp_path, "-m", "skyband", "serve", "job.toml", *TO_THE_END).returncode == 0
    assert (whole(tmp_path, "counts"), whole(tmp_path, "late")) == undisturbed
