"""Spark keeps the rows that the local engine keeps, for every condition of both, and computes the same columns."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conditions import CONDITIONS, ROWS
from skyband_jobs.files.where_and_select import Shape

pytestmark = pytest.mark.spark

FUNCTIONS = ("timestamp_seconds", "timestamp_millis", "timestamp_micros")


def test_spark_keeps_the_same_rows(session, tmp_path):
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    rows = session.read.parquet(str(tmp_path))
    tested = [f"coalesce({where}, false) AS c{number}" for number, where in enumerate(CONDITIONS)]
    kept = rows.selectExpr("`a b` - 1 AS row", *tested)
    found = [[] for _ in CONDITIONS]
    for row in sorted(kept.collect()):
        for number, listed in enumerate(found):
            if row[f"c{number}"]:
                listed.append(row["row"])
    assert dict(zip(CONDITIONS, found, strict=True)) == CONDITIONS


def test_spark_makes_the_same_columns(session, tmp_path):
    far = [0, 1, -1, 1_767_225_600, 253_402_300_799, -62_135_596_800, 2**43, None]
    rows = pa.table({"n": pa.array(far, pa.int64()), "few": pa.array([7, -7, None, 2**31 - 1] * 2, pa.int32())})
    pq.write_table(rows, tmp_path / "rows.parquet")
    select = [f"{name}({column}) AS {name}_{column}" for name in FUNCTIONS for column in rows.column_names]
    shape = Shape.parse(None, select)
    made, _ = shape.apply(rows.to_batches()[0], shape.schema(rows.schema))
    found = session.read.parquet(str(tmp_path)).selectExpr(*select).toArrow()
    assert found.schema.types == made.schema.types
    assert found.cast(pa.schema([(name, pa.int64()) for name in found.column_names])).to_pylist() == [
        dict(zip(made.schema.names, row, strict=True))
        for row in zip(*(column.cast(pa.int64()).to_pylist() for column in made.columns), strict=True)
    ]
