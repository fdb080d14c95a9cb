"""Seconds until a stream that was killed answers again, by the size of its state.

python tests/bench/recovery.py [--items 10000 100000 1000000]

A stream with an exact distinct count of so many items stops; its next micro-batch is timed twice: where everything is
still warm, and from a copy of its checkpoint, which Spark and the workers must read as after a crash. A new process
adds what a start of Java, Spark and the query costs, measured once.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from skyband import spark

QUERY = {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["1 day"], "every": "1 hour"}
SETTINGS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
START = f"from skyband import spark; spark.session('start', **{SETTINGS!r})"


def write_file(folder: Path, number: int, items: int) -> None:
    """An hour in which each item comes once."""
    times = number * 3_600_000_000 + np.sort(np.random.default_rng(number).integers(0, 3_600_000_000, items))
    folder.mkdir(exist_ok=True)
    table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "item": np.arange(items)})
    pq.write_table(table, folder / f"{number}.parquet")


def run(session, source: Path, checkpoint: Path) -> tuple[float, int]:
    """Seconds of the micro-batches that were left, and the bytes of state after them."""
    files = session.readStream.schema("ts TIMESTAMP, item BIGINT").option("maxFilesPerTrigger", 1)
    answers = spark.apply(files.parquet(str(source)), QUERY, {"sketch": "exact"}).writeStream.format("noop")
    started = time.perf_counter()
    stream = answers.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    stream.awaitTermination()
    took = time.perf_counter() - started
    return took, max(entry.observedMetrics["skyband"]["state_bytes"] or 0 for entry in stream.recentProgress)


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    options = parser.parse_args()
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", START], check=True, stderr=subprocess.DEVNULL)
    print(f"a new process with Java and Spark: {time.perf_counter() - started:.1f} s")  # noqa: T201
    session = spark.session("recovery", **SETTINGS)
    session.sparkContext.setLogLevel("OFF")
    home = Path(tempfile.mkdtemp())
    print("     items   state MB   next micro-batch: warm s   after a crash s")  # noqa: T201
    for items in [options.items[0], *options.items]:  # the first is for the compiled kernels and the JVM
        source, checkpoint = home / f"source {items}", home / f"checkpoint {items}"
        shutil.rmtree(source, ignore_errors=True)
        shutil.rmtree(checkpoint, ignore_errors=True)
        write_file(source, 0, items)
        run(session, source, checkpoint)
        shutil.copytree(checkpoint, home / "copy")
        write_file(source, 1, 1000)
        warm, size = run(session, source, checkpoint)
        crashed, _ = run(session, source, home / "copy")
        shutil.rmtree(home / "copy")
        print(f"{items:>10,}   {size / 1e6:>8.1f}   {warm:>24.1f}   {crashed:>15.1f}")  # noqa: T201
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
