"""Rows a second of 100 streaming top-k queries on Spark, beside the same answers from Spark's own sliding windows.

    python tests/bench/spark_workload.py [--rows 2000000 --files 20 --files-per-batch 5 --rounds 3]

One stream of Parquet files, windows of 1 minute to 1 hour, slides of 1 to 15 minutes, k to 50, no grouping, two cores:

    skyband     top-k-workload, its default backend
    sliding     for each distinct (window, slide) one groupBy(window(ts, …)).agg(max_by(struct, score, k)) with the
                largest k, cut to each query's own k; all united into one stream

The first round writes what both answer and compares it, which also warms up the JVM and the compiled kernels. Then each
is a whole stream from start to end, in turn, several rounds; medians and ratios are printed.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as sql
from skyband import spark
from skyband.queries import make_query

MINUTES = {1: (1,), 5: (1, 5), 15: (1, 5, 15), 30: (1, 5, 15), 60: (1, 5, 15)}
"""Windows, and the slides each is asked with."""


def workload(count: int) -> list[dict[str, Any]]:
    """Queries with windows and slides as people ask for them, so that many share theirs: it is to Spark's advantage."""
    rng = np.random.default_rng(1)
    pairs = [(window, slide) for window, slides in MINUTES.items() for slide in slides]
    return [
        {
            "name": f"q{number}",
            "window": f"{window} minutes",
            "slide": f"{slide} minutes",
            "k": int(rng.integers(1, 51)),
        }
        for number, (window, slide) in enumerate(pairs[place] for place in rng.integers(0, len(pairs), count))
    ]


def write_stream(folder: Path, rows: int, files: int, seconds: int) -> None:
    """Objects with scores, no two alike, evenly over `seconds`."""
    rng = np.random.default_rng(2)
    folder.mkdir()
    per_file = rows // files
    for number in range(files):
        start, stop = number * seconds / files, (number + 1) * seconds / files
        times = np.sort(rng.uniform(start, stop, per_file) * 1e6).astype(np.int64)
        objects = np.arange(number * per_file, (number + 1) * per_file)
        columns = {"ts": pa.array(times, pa.timestamp("us", "UTC")), "object": objects, "score": rng.random(per_file)}
        pq.write_table(pa.table(columns), folder / f"{number:04}.parquet")


def skyband(source: Any, queries: list[dict[str, Any]]) -> Any:
    """All queries at once."""
    keys = {"time": "ts", "object": "object", "score": "score", "queries": queries}
    return spark.apply(source, make_query({"kind": "top-k-workload", **keys}))


def sliding(source: Any, queries: list[dict[str, Any]]) -> Any:
    """One sliding window with max_by for each distinct (window, slide)."""
    together = defaultdict(list)
    for query in queries:
        together[query["window"], query["slide"]].append(query)
    stamped = source.withWatermark("ts", "0 seconds")
    parts = []
    for (window, slide), sharing in together.items():
        most = max(query["k"] for query in sharing)
        best = sql.expr(f"max_by(struct(object, score), score, {most})")
        grouped = stamped.groupBy(sql.window("ts", window, slide).alias("over")).agg(best.alias("best"))
        cut = [
            sql.struct(sql.lit(query["name"]).alias("query"), sql.slice("best", 1, query["k"]).alias("found"))
            for query in sharing
        ]
        each = grouped.select(sql.col("over.end").alias("at"), sql.explode(sql.array(*cut)).alias("answer"))
        ranked = each.select("at", "answer.query", sql.posexplode("answer.found").alias("rank", "row"))
        parts.append(ranked.select("at", "query", (sql.col("rank") + 1).alias("rank"), "row.object", "row.score"))
    return reduce(lambda one, other: one.unionAll(other), parts)


WAYS = {"skyband": skyband, "sliding": sliding}


def seconds_of(session: Any, build: Any, folder: Path, options: argparse.Namespace, sink: Path | None = None) -> float:
    """How long a whole stream takes; its answers go to `sink`, or nowhere."""
    checkpoint = tempfile.mkdtemp()
    schema = session.read.parquet(str(folder)).schema
    source = session.readStream.schema(schema).option("maxFilesPerTrigger", options.files_per_batch)
    answers = build(source.parquet(str(folder)), workload(options.queries))
    writer = answers.writeStream.format("noop" if sink is None else "parquet").outputMode("append")
    writer = writer if sink is None else writer.option("path", str(sink))
    started = time.perf_counter()
    writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
    took = time.perf_counter() - started
    shutil.rmtree(checkpoint)
    return took


def answered(session: Any, sink: Path) -> set[tuple[Any, ...]]:
    """What was written, but for scores."""
    rows = session.read.parquet(str(sink)).select("at", "query", "rank", "object").collect()
    return {tuple(row) for row in rows}


def main() -> int:
    """Compare the answers, then the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=40_000, help="2,000,000 for figures worth quoting")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--files-per-batch", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=4 * 3600, help="of event time in the stream")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    settings = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
    session = spark.session("bench", **settings, **{"spark.ui.showConsoleProgress": "false"})
    session.sparkContext.setLogLevel("ERROR")
    home = Path(tempfile.mkdtemp())
    write_stream(home / "source", options.rows, options.files, options.seconds)
    for name, build in WAYS.items():
        seconds_of(session, build, home / "source", options, home / name)
    found = {name: answered(session, home / name) for name in WAYS}
    same = found["skyband"] == found["sliding"]
    sys.stdout.write(f"{len(found['skyband']):,} ranked rows, {'the same' if same else 'NOT the same'} in both\n")
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(options.rounds):
        for name, build in WAYS.items():
            taken[name].append(seconds_of(session, build, home / "source", options))
            sys.stdout.write(f"{name:<8} {taken[name][-1]:7.2f} s\n")
            sys.stdout.flush()
    shutil.rmtree(home)
    base = statistics.median(taken["skyband"])
    for name, times in taken.items():
        median = statistics.median(times)
        rate = f"{options.rows / median:10,.0f} rows/s  {median / base:6.2f}x"
        sys.stdout.write(f"{name:<8} {median:7.2f} s  {rate}  median of {len(times)}\n")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
