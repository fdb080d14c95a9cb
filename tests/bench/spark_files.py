"""Files read in Python where their rows are packed, beside Spark's own reader: seconds of the clock and of
processors, and how many times quicker.

    python tests/bench/spark_files.py --rows 4000000
    python tests/bench/spark_files.py --rows 4000000 --executors 1 2 4

Each query is run by both readers in turn, in one session, so that what else the machine does meets both; medians of
`--times`. Answers go nowhere, but are counted, and must be as many with either reader.

With `--executors` the files are read in Python by so many processes of Spark's, each with one core: work is to grow
with the rows, and not with the executors.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import on_spark
import pyarrow as pa
from skyband import spark
from skyband.queries import make_query

COUNTED = {"kind": "distinct-count", "time": "ts", "windows": ["10 minutes", "1 hour"], "every": "1 minute"}
QUERIES = {
    "distinct-count of a text": COUNTED | {"item": "client"},
    "heavy-hitters of a text": {
        "kind": "heavy-hitters",
        "time": "ts",
        "object": "client",
        "windows": ["1 hour"],
        "every": "10 minutes",
        "share": 0.01,
    },
    "distinct-count by 1,000 groups": COUNTED | {"item": "number", "by": ["group"], "every": "10 minutes"},
}
"""The last gives 24,000 answers: each minute they would be 240,000, which take longer than all the rows."""
FILES = 16


def make(rows: int) -> pa.Table:
    rng = np.random.default_rng(1)
    times = np.sort(rng.integers(0, 2 * 3600 * 10**6, rows))
    names = pa.array([f"client-{number:06}" for number in range(200_000)])
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "client": names.take(pa.array(rng.zipf(1.3, rows) % 200_000)),
            "number": rng.integers(0, 10**6, rows),
            "group": rng.integers(0, 1000, rows),
            "unread": rng.random(rows),
        }
    )


def source(session, reader: str, folder: Path, stream: bool):
    if reader == "python":
        return spark.files(str(folder), stream=stream, **({"maxFilesPerTrigger": 2} if stream else {}))
    if not stream:
        return session.read.parquet(str(folder))
    schema = session.read.parquet(str(folder)).schema
    return session.readStream.schema(schema).option("maxFilesPerTrigger", 2).parquet(str(folder))


def batch(session, reader: str, folder: Path, query) -> tuple[float, float, int]:
    """Seconds of the clock and of processors, and the answers."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as sql

    counted = Observation()
    started, cpu = time.perf_counter(), on_spark.cpu_seconds()
    answers = spark.apply(source(session, reader, folder, False), query, shards=2)
    answers.observe(counted, sql.count(sql.lit(1)).alias("rows")).write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started, on_spark.cpu_seconds() - cpu, counted.get["rows"]


def stream(session, reader: str, folder: Path, query) -> tuple[float, float, int]:
    """The median seconds of a micro-batch, the first apart; the processors' of all, and their rows."""
    checkpoint, cpu = tempfile.mkdtemp(), on_spark.cpu_seconds()
    answers = spark.apply(source(session, reader, folder, True), query, shards=2)
    writer = answers.writeStream.format("noop").option("checkpointLocation", checkpoint)
    started = writer.trigger(availableNow=True).start()
    started.awaitTermination()
    shutil.rmtree(checkpoint)
    progress = [entry for entry in started.recentProgress if "skyband" in entry.observedMetrics]
    taken = [entry.durationMs["triggerExecution"] / 1000 for entry in progress]
    return (
        statistics.median(taken[1:]),
        on_spark.cpu_seconds() - cpu,
        sum(entry.observedMetrics["skyband"]["rows_in"] for entry in progress),
    )


def by_executors(options: argparse.Namespace, home: Path) -> None:
    """The CPU of a batch by 1,000 groups, of half of the rows and of all, on some numbers of executors."""
    query = make_query(QUERIES["distinct-count by 1,000 groups"])
    os.environ["SPARK_HOME"] = str(Path(find_spec("pyspark").origin or "").parent)  # its scripts start executors
    try:
        for share in (2, 1):
            on_spark.write_files(make(options.rows // share), home / f"1 of {share}", FILES)
        for executors in options.executors:
            settings = {"spark.master": f"local-cluster[{executors},1,1024]", "spark.executor.memory": "1g"}
            session = on_spark.session(**settings)
            for share in (2, 1):
                folder = home / f"1 of {share}"
                took = [batch(session, "python", folder, query) for _ in range(options.times + 1)][1:]
                seconds, cpu, answers = (statistics.median(column) for column in zip(*took, strict=True))
                line = f"{executors} executors, {options.rows // share:9,} rows: {seconds:6.2f} s, CPU {cpu:6.2f}"
                print(f"{line}, {answers:,.0f} answers", flush=True)  # noqa: T201
            session.stop()
            time.sleep(5)  # its processes end by and by, and what they took is no longer counted then
    finally:
        shutil.rmtree(home)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--executors", type=int, nargs="+", default=[])
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp())
    if options.executors:
        by_executors(options, home)
        return
    session = on_spark.session(options.cores)
    try:
        on_spark.write_files(make(options.rows), home / "in", FILES)
        for name, keys in QUERIES.items():
            query = make_query(keys)
            for way in (batch, stream):
                taken: dict[str, list[tuple[float, float]]] = {"spark": [], "python": []}
                counts = set()
                for turn in range(options.times + 1):
                    for reader, seconds in taken.items():
                        *took, count = way(session, reader, home / "in", query)
                        counts.add(count)
                        seconds += [tuple(took)] if turn else []  # the first loads what the others find loaded
                assert len(counts) == 1, counts
                java, python = (
                    [statistics.median(each) for each in zip(*runs, strict=True)] for runs in taken.values()
                )
                print(  # noqa: T201
                    f"{name:31} {way.__name__:6}  Spark's reader {java[0]:6.2f} s, CPU {java[1]:6.2f}"
                    f"  Python {python[0]:6.2f} s, CPU {python[1]:6.2f}"
                    f"  {java[0] / python[0]:4.1f} times, CPU {java[1] / python[1]:4.1f}",
                    flush=True,
                )
    finally:
        session.stop()
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
