"""What a micro-batch costs on Spark: the first of a stream, and one of many rows.

    python tests/bench/spark_trigger.py [--rows 500000] [--rounds 7]

Distinct count without groups, one shard, two cores; the same rows by

    skyband    its default sketch
    counter    the packed frames of Skyband, and an operator in transformWithStateInPandas that only counts their bytes
    map        a `mapInArrow` that does nothing
    aggregate  groupBy(window(ts, 100 s, 10 s)).agg(approx_count_distinct)

`first` is the first micro-batch of a stream, of 1000 rows, in a session that has run such streams before; `rows` one of
so many rows, neither the first of its stream nor the last. Milliseconds of `triggerExecution`, medians; all in turn.
"""

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import on_spark
import pandas as pd
from family_streams import FAMILIES, requests
from pyspark.sql import functions as sql
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from skyband import spark
from skyband.text_tables import table
from skyband_spark.frames.file_rows import shuffle_rows
from skyband_spark.program import plan_of

QUERY = {**FAMILIES["distinct-count"].query, "every": "10 seconds"}
BATCHES = 4


class Counter(StatefulProcessor):
    """Counts the bytes of the frames it is given, and keeps their number."""

    def init(self, handle: Any) -> None:
        self.kept = handle.getValueState("bytes", "bytes long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        there = self.kept.get()[0] if self.kept.exists() else 0
        there += sum(len(frame) for packed in rows for frame in packed.frame if frame is not None)
        self.kept.update((there,))
        yield pd.DataFrame({"bytes": [there]})

    def close(self) -> None:
        """Nothing is held."""


def skyband(source: Any) -> Any:
    return spark.apply(source, QUERY, shards=1)


def counter(source: Any) -> Any:
    plan = plan_of(source, QUERY, shards=1)
    return (
        shuffle_rows(source, plan)
        .groupBy("shard")
        .transformWithStateInPandas(Counter(), "bytes long", outputMode="append", timeMode="None")
    )


def nothing(source: Any) -> Any:
    return source.mapInArrow(lambda batches: batches, source.schema)


def aggregate(source: Any) -> Any:
    window = sql.window("ts", "100 seconds", "10 seconds")
    return source.withWatermark("ts", "0 seconds").groupBy(window).agg(sql.approx_count_distinct("client", 0.02))


WAYS = {"skyband": skyband, "counter": counter, "map": nothing, "aggregate": aggregate}


def triggers(session: Any, way: on_spark.Way, folder: Path) -> list[float]:
    """Milliseconds of each micro-batch of a stream, a file each."""
    checkpoint = tempfile.mkdtemp()
    schema = session.read.parquet(str(folder)).schema
    source = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    writer = way(source).writeStream.format("noop").outputMode("append").option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    shutil.rmtree(checkpoint)
    return [progress["durationMs"]["triggerExecution"] for progress in query.recentProgress]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000, help="of a micro-batch")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    session = on_spark.session(**{"spark.sql.shuffle.partitions": "1"})
    home = Path(tempfile.mkdtemp())
    on_spark.write_files(requests(1000), home / "first", 1)
    on_spark.write_files(requests(options.rows * BATCHES), home / "rows", BATCHES)
    taken: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in WAYS}
    for number in range(options.rounds + 1):
        for name, way in WAYS.items():
            first = triggers(session, way, home / "first")[0]
            many = triggers(session, way, home / "rows")[1 : BATCHES - 1]
            if number:  # the first round warms up the JVM and the compiled kernels
                taken[name][0].append(first)
                taken[name][1].extend(many)
    shutil.rmtree(home)
    lines = [[name, statistics.median(first), statistics.median(many)] for name, (first, many) in taken.items()]
    table(["", "first", "rows"], lines)


if __name__ == "__main__":
    main()
