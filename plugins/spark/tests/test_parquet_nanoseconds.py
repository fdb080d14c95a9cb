"""Parquet with nanoseconds is refused on Spark by file and column before Java starts; INT96 and others are not."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband_jobs.tables.model import Source
from skyband_spark.engine import SparkEngine

TIMES = pd.to_datetime(["2026-01-01T00:00:00.123456789", "2026-01-02T00:00:00.000000000"])


def problems(folder, schema=None):
    return list(
        map(str, SparkEngine().source_problems(Source(format="parquet", path=str(folder), schema=schema), None))
    )


def table(unit):
    return pa.table({"ts": pa.array(TIMES, pa.timestamp("ns")).cast(pa.timestamp(unit), safe=False), "who": ["a", "b"]})


def test_what_pandas_writes_is_named_with_the_remedy(tmp_path):
    pq.write_table(table("us"), tmp_path / "a.parquet")
    times = pd.Series(TIMES.astype("datetime64[ns]"))
    pd.DataFrame({"ts": times, "when": times, "who": ["a", "b"]}).to_parquet(tmp_path / "b.parquet")
    (problem,) = problems(tmp_path)
    assert problem.startswith(
        f"source.path: {tmp_path / 'b.parquet'}: 'ts', 'when' have nanoseconds, which Spark cannot"
    )
    assert "coerce_timestamps" in problem
    assert problems(tmp_path, "who STRING") == problems(tmp_path, "ts BIGINT") == []
    assert "'when' has nanoseconds" in problems(tmp_path, "when TIMESTAMP")[0]


@pytest.mark.parametrize("options", [{"use_deprecated_int96_timestamps": True}, {"coerce_timestamps": "us"}])
def test_what_spark_reads_is_accepted(tmp_path, options):
    pq.write_table(table("ns"), tmp_path / "a.parquet", allow_truncated_timestamps=True, **options)
    assert problems(tmp_path) == []
    assert problems(tmp_path / "nowhere") == []
