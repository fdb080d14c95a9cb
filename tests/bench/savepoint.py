"""A savepoint of a large state and a restart from it: seconds, bytes, memory.

python tests/bench/savepoint.py [--items 60000000] [--shards 2] [--memory 6g]

A stream with an exact distinct count of so many items, 16 bytes each, is run to its end in files of a million; each
step is a command of its own, as a user calls it, and its memory is the most that its processes took together.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILE = 1_000_000
JOB = """
shards = {shards}
[source]
format = "parquet"
path = "source"
stream = true
[source.options]
maxFilesPerTrigger = {files}
[query]
kind = "distinct-count"
time = "ts"
item = "item"
windows = ["1 day"]
every = "1 hour"
[backends]
sketch = "exact"
[sink]
format = "parquet"
path = "{name}"
checkpoint = "checkpoint of {name}"
trigger = "available-now"
[spark]
"spark.master" = "local[2]"
"spark.driver.memory" = "{memory}"
"spark.ui.enabled" = "false"
"""


def write_files(folder: Path, first: int, items: int) -> None:
    """Files of new items, all within an hour."""
    folder.mkdir(exist_ok=True)
    for start in range(first, first + items, FILE):
        size = min(FILE, first + items - start)
        times = start + np.arange(size)
        table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "item": times})
        pq.write_table(table, folder / f"{start:012}.parquet")


def memory_of(root: int) -> int:
    """Bytes that a process and all below it have in memory, shared pages divided among those that share them."""
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        try:
            for task in Path(f"/proc/{process}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
            total += 1024 * int(rollup.partition("\nPss:")[2].split()[0])
        except (OSError, IndexError):  # it has ended
            continue
    return total


def step(home: Path, *arguments: str) -> None:
    """Run a command and print its seconds and the most memory it took."""
    started, most, done = time.perf_counter(), [0], threading.Event()
    command = [sys.executable, "-m", "skyband", *arguments]
    running = subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def watch() -> None:
        while not done.wait(0.5):
            most[0] = max(most[0], memory_of(running.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    said, _ = running.communicate()
    done.set()
    watcher.join()
    print(f"{' '.join(arguments):<45} {time.perf_counter() - started:>7.1f} s {most[0] / 1e9:>6.1f} GB", flush=True)  # noqa: T201
    if running.returncode:
        sys.exit(said)


def main() -> None:
    """Print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=60_000_000)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--memory", default="6g")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}")  # noqa: T201
    home = Path(tempfile.mkdtemp())
    for name in ("one", "two"):
        job = JOB.format(name=name, shards=options.shards, memory=options.memory, files=10)
        (home / f"{name}.toml").write_text(job)
    write_files(home / "source", 0, options.items)
    step(home, "run", "one.toml")
    step(home, "savepoint", "one.toml", "saved")
    states = json.loads((home / "saved" / "savepoint.json").read_text())["states"]
    print(f"states of {sum(entry['bytes'] for entry in states) / 1e9:.2f} GB")  # noqa: T201
    write_files(home / "source", options.items, 1000)
    step(home, "run", "two.toml", "--from", "saved")
    print(f"load {os.getloadavg()[0]:.1f}")  # noqa: T201
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
