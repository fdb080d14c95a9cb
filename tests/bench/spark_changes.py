"""A stream of changes beside one of whole answers, on Spark: time of a micro-batch, rows written.

    python tests/bench/spark_changes.py [--groups 20000] [--rows 200000] [--batches 14] [--rounds 3]

The two pages most visited by each customer, windows of 100 minutes each minute, two shards, two cores. A micro-batch
has the rows of one minute and answers one moment of all groups, into Parquet files. A row moves a total at nearly every
moment, so `changes` is by rank alone (`changed = ["rank"]`), and `every column` as it is without `changed`. Medians of
`triggerExecution`, the first micro-batches left out; a round runs each way once.
"""

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import on_spark
import pyarrow as pa
import pyarrow.parquet as pq
from skyband import spark
from skyband.text_tables import table

QUERY = {
    "kind": "heavy-hitters",
    "time": "ts",
    "object": "page",
    "by": ["customer"],
    "k": 2,
    "windows": ["100 minutes"],
    "every": "1 minute",
}
WAYS: dict[str, dict[str, Any]] = {
    "all answers": {},
    "changes": {"answers": "changes", "changed": ["rank"]},
    "every column": {"answers": "changes"},
}
FIRST = 3
"""Micro-batches that compile, and that fill the state."""


def write_visits(folder: Path, groups: int, rows: int, batches: int) -> None:
    """A file a minute; customers alike, pages by Zipf's law."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    for number in range(batches):
        times = np.arange(rows) * 60_000_000 // rows + number * 60_000_000
        visits = {"customer": rng.integers(0, groups, rows), "page": rng.zipf(1.3, rows) % 1000}
        pq.write_table(
            pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), **visits}), folder / f"{number:04}.parquet"
        )


def run(session: Any, keys: dict[str, Any], folder: Path, home: Path) -> tuple[list[float], int]:
    """Milliseconds of each micro-batch, and rows written."""
    schema = session.read.parquet(str(folder)).schema
    source = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    answers = spark.apply(source, {**QUERY, **keys}, shards=2)
    writer = answers.writeStream.format("parquet").option("path", str(home / "answers"))
    query = writer.option("checkpointLocation", str(home / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    taken = [one["durationMs"]["triggerExecution"] for one in query.recentProgress]
    written = session.read.parquet(str(home / "answers")).count()
    return taken[FIRST:-1], written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=20_000)
    parser.add_argument("--rows", type=int, default=200_000, help="of a micro-batch")
    parser.add_argument("--batches", type=int, default=14)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    session = on_spark.session()
    home = Path(tempfile.mkdtemp())
    write_visits(home / "visits", options.groups, options.rows, options.batches)
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    written = {}
    for number in range(options.rounds):
        for name, keys in WAYS.items():
            milliseconds, written[name] = run(session, keys, home / "visits", home / f"{name} {number}")
            taken[name].extend(milliseconds)
    shutil.rmtree(home)
    appending = statistics.median(taken["all answers"])
    lines = [
        [name, statistics.median(times), statistics.median(times) / appending, written[name]]
        for name, times in taken.items()
    ]
    table(["", "ms a micro-batch", "beside all", "rows written"], lines)


if __name__ == "__main__":
    main()
