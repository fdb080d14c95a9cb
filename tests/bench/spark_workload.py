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
from collections import defaultdict
from functools import partial, reduce
from pathlib import Path
from typing import Any

import on_spark
from family_streams import FAMILIES, scores, workload
from pyspark.sql import functions as sql
from skyband import spark


def skyband(source: Any, queries: list[dict[str, Any]]) -> Any:
    """All queries at once."""
    return spark.apply(source, FAMILIES["top-k-workload"].query | {"queries": queries})


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
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    session = on_spark.session()
    home = Path(tempfile.mkdtemp())
    on_spark.write_files(scores(options.rows), home / "source", options.files)
    queries = workload(options.queries)

    def seconds_of(name: str, sink: Path | None = None) -> float:
        way = partial(WAYS[name], queries=queries)
        return on_spark.stream(session, way, home / "source", options.files_per_batch, sink)

    for name in WAYS:
        seconds_of(name, home / name)
    found = {name: answered(session, home / name) for name in WAYS}
    same = found["skyband"] == found["sliding"]
    sys.stdout.write(f"{len(found['skyband']):,} ranked rows, {'the same' if same else 'NOT the same'} in both\n")
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    for _ in range(options.rounds):
        for name in WAYS:
            taken[name].append(seconds_of(name))
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
