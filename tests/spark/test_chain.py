"""The answers of a query as the rows of another."""

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from families import events, family
from skyband import spark
from skyband.engines import local
from skyband.errors import ConfigError

from .conftest import rows_of

pytestmark = pytest.mark.spark

FIRST = family("top-k", by=["place"], k=4, window="1 minute", every="15 seconds", repeats="latest")
SECOND = {"kind": "distinct-count", "time": "at", "item": "object", "windows": ["15 seconds"], "every": "15 seconds"}


def test_a_query_asks_the_answers_of_another(session, files, tmp_path):
    table = events(5, rows=400).sort_by("ts")
    first = local.apply(table, FIRST)
    at = pc.subtract(first["at"].cast(pa.int64()), 1).cast(first.schema.field("at").type)
    expected = local.apply(first.set_column(first.column_names.index("at"), "at", at), SECOND)
    folder = files(table, 2)

    def chained(source):
        ranked = spark.apply(source, FIRST).selectExpr("at - INTERVAL '1' MICROSECOND AS at", "object")
        with pytest.raises(ConfigError, match="observe: 'skyband' is already the name of an earlier application"):
            spark.apply(ranked, SECOND)
        return spark.apply(ranked, SECOND, observe="second")

    found = chained(session.read.parquet(folder)).collect()
    assert rows_of(found, expected.column_names) == rows_of(expected.to_pylist(), expected.column_names)
    streamed = chained(session.readStream.schema(session.read.parquet(folder).schema).parquet(folder))
    writer = streamed.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    started = writer.option("path", str(tmp_path / "sink")).trigger(availableNow=True).start()
    started.awaitTermination()
    seen = started.lastProgress["observedMetrics"]
    assert {"skyband", "second"} <= set(seen)
    given = pq.read_table(tmp_path / "sink").to_pylist()
    until = max(row["at"] for row in given)
    names = expected.column_names
    assert rows_of(given, names) == rows_of([row for row in expected.to_pylist() if row["at"] <= until], names)
    assert until >= max(expected["at"].to_pylist()[:-3])
