"""Rows a second of a streaming distinct count on Spark, beside what a Spark user would write.

One stream of Parquet files, a 100 s window with a 1 s slide, no grouping, two cores:

    skyband     distinct-count, its default sketch
    sliding     groupBy(window(ts, 100 s, 1 s)).agg(approx_count_distinct)
    panes       hll_sketch_agg by second, united over the 100 s window

Each is a whole query from start to end, in turn, several rounds; medians and ratios are printed. Spark's own have a
partition for each core; ours has one, as `spark.session` is told where a query has no `by`.
"""

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path

import on_spark
from family_streams import FAMILIES, requests
from pyspark.sql import functions as sql
from skyband import spark


def skyband(source):
    return spark.apply(source, FAMILIES["distinct-count"].query)


def sliding(source):
    window = sql.window("ts", "100 seconds", "1 second")
    return source.withWatermark("ts", "0 seconds").groupBy(window).agg(sql.approx_count_distinct("client", 0.02))


def panes(source):
    pane = source.withWatermark("ts", "0 seconds").groupBy(sql.window("ts", "1 second"))
    sketches = pane.agg(sql.hll_sketch_agg("client", 12).alias("sketch"))
    stamped = sketches.select(sql.window_time("window").alias("ts"), "sketch")
    united = stamped.groupBy(sql.window("ts", "100 seconds", "1 second"))
    return united.agg(sql.hll_sketch_estimate(sql.hll_union_agg("sketch")))


WAYS = {"skyband": skyband, "sliding": sliding, "panes": panes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--files-per-batch", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    session = on_spark.session()
    home = Path(tempfile.mkdtemp())
    on_spark.write_files(requests(options.rows), home / "source", options.files)
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    for number in range(options.rounds + 1):
        for name, build in WAYS.items():
            session.conf.set("spark.sql.shuffle.partitions", 1 if name == "skyband" else 2)
            took = on_spark.stream(session, build, home / "source", options.files_per_batch)
            if number:  # the first round warms up the JVM and the compiled kernels
                taken[name].append(took)
    shutil.rmtree(home)
    base = statistics.median(taken["skyband"])
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name:<8} {median:7.2f} s  {options.rows / median:10,.0f} rows/s  {median / base:5.2f}x  of {times}")  # noqa: T201


if __name__ == "__main__":
    main()
