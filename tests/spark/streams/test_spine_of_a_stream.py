"""Rows and moments that are both streams: Spark answers each moment as the local engine does over the whole tables."""

import numpy as np
import pyarrow as pa
import pytest
from skyband import spark
from skyband.engines import local
from skyband_expressions.spine import with_spine

pytestmark = [pytest.mark.spark, pytest.mark.slow]
QUERY = {
    "kind": "row-features", "time": "ts", "by": ["card"], "windows": ["1 minute"], "sums": ["paid"], "carry": ["label"],
    "asks": "asked", "source": "asked", "sources": [False, True],
}  # fmt: skip


def test_a_moment_is_answered_when_both_have_passed_it(session, files, tmp_path):
    """Eight files of rows and four of moments, a file of each in a micro-batch: the moments are far ahead."""
    rng = np.random.default_rng(3)
    times = [np.sort(rng.integers(0, 400, size)) * 1_000_000 for size in (800, 200)]
    rows, moments = (
        pa.table({"ts": pa.array(each, pa.timestamp("us", "UTC")), "card": rng.integers(0, 9, len(each)), name: values})
        for each, name, values in zip(times, ("paid", "label"), (np.arange(800.0), np.arange(200)), strict=True)
    )
    expected = local.apply(with_spine(rows, moments, QUERY), QUERY)
    folders = files(rows, 8, "rows"), files(moments, 4, "moments")
    read = [
        session.readStream.schema(session.read.parquet(folder).schema).option("maxFilesPerTrigger", 1).parquet(folder)
        for folder in folders
    ]
    answers = spark.apply(with_spine(*read, QUERY), QUERY, shards=2)
    writer = answers.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    started = writer.trigger(availableNow=True).start(str(tmp_path / "sink"))
    started.awaitTermination()
    assert sum(entry.observedMetrics["skyband"]["rows_late"] for entry in started.recentProgress) == 0
    until = min(int(each[-1]) for each in times)
    wanted = {row["label"]: row for row in expected.to_pylist() if row["time"].timestamp() * 1_000_000 < until}
    found = session.read.schema(answers.schema).parquet(str(tmp_path / "sink")).toArrow().to_pylist()
    assert len(found) == len(wanted) > 100
    for row in found:
        asked = wanted[row["label"]]
        assert (row["paid_sum_1_minute"], row["count_1_minute"]) == (
            asked["paid_sum_1_minute"],
            asked["count_1_minute"],
        )
