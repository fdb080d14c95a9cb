"""Quantiles on Spark, beside what a Spark user would write: wall and processor seconds of a whole batch or stream.

    python tests/bench/spark_quantiles.py [--cases panes groups sliding] [--rows 2000000] [--rounds 3] [--stream 20]

    panes       a 360 s window each second, no groups: kll_sketch_agg_double by second, united over the window
    groups      a 100 s window each second, 100 groups, a tenth of the rows: the same
    sliding     a 100 s window each second, no groups, a tenth of the rows: percentile_approx of the sliding window

With `--stream` it is a stream of so many micro-batches. 1,000 rows a second, lognormal latencies, p50, p95 and p99.
The ways run in turn, the first round is left out; medians. Processor seconds are of this process, Java and the workers.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import on_spark
import pyarrow as pa
from pyspark.sql import functions as sql
from skyband import spark

AT = (0.5, 0.95, 0.99)
SECOND, GROUPS = 1_000_000, 100
SLIDE = "1 second"


def requests(rows: int) -> pa.Table:
    rng = np.random.default_rng(1)
    columns = {"ts": pa.array(np.arange(rows) * (SECOND // 1000), pa.timestamp("us", "UTC"))}
    columns |= {"millis": np.exp(rng.normal(np.log(40), 1, rows)), "endpoint": rng.integers(0, GROUPS, rows)}
    return pa.table(columns)


def skyband(source: Any, window: str, by: list[str]) -> Any:
    query = {"kind": "quantiles", "time": "ts", "value": "millis", "at": list(AT), "windows": [window]}
    return spark.apply(source, {**query, "every": SLIDE, "by": by}, shards=2 if by else 1)


def kll(source: Any, window: str, by: list[str]) -> Any:
    pane = (
        source.withWatermark("ts", "0 seconds")
        .groupBy(*by, sql.window("ts", SLIDE))
        .agg(sql.kll_sketch_agg_double("millis").alias("sketch"))
    )
    stamped = pane.select(*by, sql.window_time("window").alias("ts"), "sketch")
    united = stamped.groupBy(*by, sql.window("ts", window, SLIDE)).agg(sql.kll_merge_agg_double("sketch").alias("all"))
    return united.select(*by, "window", sql.kll_sketch_get_quantile_double("all", sql.array(*map(sql.lit, AT))))


def approx(source: Any, window: str, by: list[str]) -> Any:
    windows = source.withWatermark("ts", "0 seconds").groupBy(*by, sql.window("ts", window, SLIDE))
    return windows.agg(sql.percentile_approx("millis", list(AT)))


CASES: dict[str, tuple[str, list[str], int, Callable[..., Any]]] = {
    "panes": ("360 seconds", [], 1, kll),
    "groups": ("100 seconds", ["endpoint"], 10, kll),
    "sliding": ("100 seconds", [], 10, approx),
}


def measured(
    session: Any, build: Callable[..., Any], folder: Path, window: str, by: list[str], stream: bool
) -> tuple[float, float]:
    """Wall and processor seconds of a run."""

    def way(source: Any) -> Any:
        return build(source, window, by)

    session.conf.set("spark.sql.shuffle.partitions", 1 if build is skyband and not by else 2)
    before = on_spark.cpu_seconds()
    wall = on_spark.stream(session, way, folder, 1) if stream else on_spark.batch(session, way, folder)
    return wall, on_spark.cpu_seconds() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stream", type=int, default=0, metavar="BATCHES")
    options = parser.parse_args()
    session = on_spark.session()
    for case in options.cases:
        window, by, part, other = CASES[case]
        rows, taken = options.rows // part, dict[str, list[tuple[float, float]]]()
        with tempfile.TemporaryDirectory() as home:
            on_spark.write_files(requests(rows), Path(home) / "source", options.stream or 4)
            for number in range(options.rounds + 1):
                for build in (skyband, other):
                    took = measured(session, build, Path(home) / "source", window, by, options.stream > 0)
                    if number:
                        taken.setdefault(build.__name__, []).append(took)
        medians = {name: tuple(map(statistics.median, zip(*each, strict=True))) for name, each in taken.items()}
        for name, (wall, cpu) in medians.items():
            times = [medians[name][place] / medians["skyband"][place] for place in (0, 1)]
            print(  # noqa: T201
                f"{case:8} {name:8} {rows:9,} rows {wall:7.2f} s wall, {cpu:7.2f} s of processors;"
                f" {times[0]:5.1f} and {times[1]:5.1f} times skyband's; all {taken[name]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
