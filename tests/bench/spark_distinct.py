"""Rows a second of a streaming distinct count on Spark, beside what a Spark user would write.

One stream of Parquet files, a 100 s window with a 1 s slide, no grouping, two cores:

    skyband     distinct-count, its default sketch
    sliding     groupBy(window(ts, 100 s, 1 s)).agg(approx_count_distinct)
    panes       hll_sketch_agg by second, united over the 100 s window

Each is a whole query from start to end, in turn, several rounds; medians and ratios are printed.
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as sql
from skyband import spark
from skyband.queries import make_query


def write_stream(folder: Path, rows: int, files: int, seconds: int) -> None:
    """Requests of Zipf clients, evenly over `seconds`."""
    rng = np.random.default_rng(1)
    folder.mkdir()
    per_file = rows // files
    for number in range(files):
        start, stop = number * seconds / files, (number + 1) * seconds / files
        times = np.sort(rng.uniform(start, stop, per_file) * 1e6).astype(np.int64)
        clients = rng.zipf(1.3, per_file) % 200_000
        table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "client": clients})
        pq.write_table(table, folder / f"{number:04}.parquet")


def skyband(source):
    keys = {"time": "ts", "item": "client", "windows": ["100 seconds"], "every": "1 second"}
    return spark.apply(source, make_query({"kind": "distinct-count", **keys})), "append"


def sliding(source):
    window = sql.window("ts", "100 seconds", "1 second")
    counted = source.withWatermark("ts", "0 seconds").groupBy(window).agg(sql.approx_count_distinct("client", 0.02))
    return counted, "append"


def panes(source):
    pane = source.withWatermark("ts", "0 seconds").groupBy(sql.window("ts", "1 second"))
    sketches = pane.agg(sql.hll_sketch_agg("client", 12).alias("sketch"))
    stamped = sketches.select(sql.window_time("window").alias("ts"), "sketch")
    united = stamped.groupBy(sql.window("ts", "100 seconds", "1 second"))
    return united.agg(sql.hll_sketch_estimate(sql.hll_union_agg("sketch"))), "append"


def seconds_of(session, build, folder: Path, files_per_batch: int) -> float:
    checkpoint = tempfile.mkdtemp()
    schema = session.read.parquet(str(folder)).schema
    source = session.readStream.schema(schema).option("maxFilesPerTrigger", files_per_batch).parquet(str(folder))
    answers, mode = build(source)
    started = time.perf_counter()
    query = (
        answers.writeStream.format("noop")
        .outputMode(mode)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    took = time.perf_counter() - started
    shutil.rmtree(checkpoint)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--files-per-batch", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    settings = {"spark.master": "local[2]", "spark.sql.shuffle.partitions": "2", "spark.ui.enabled": "false"}
    session = spark.session("bench", **settings, **{"spark.ui.showConsoleProgress": "false"})
    session.sparkContext.setLogLevel("ERROR")
    home = Path(tempfile.mkdtemp())
    write_stream(home / "source", options.rows, options.files, options.seconds)
    ways = {"skyband": skyband, "sliding": sliding, "panes": panes}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(options.rounds + 1):
        for name, build in ways.items():
            took = seconds_of(session, build, home / "source", options.files_per_batch)
            if number:  # the first round warms up the JVM and the compiled kernels
                taken[name].append(took)
    shutil.rmtree(home)
    base = statistics.median(taken["skyband"])
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name:<8} {median:7.2f} s  {options.rows / median:10,.0f} rows/s  {median / base:5.2f}x  of {times}")  # noqa: T201


if __name__ == "__main__":
    main()
