"""Spark keeps the rows that the local engine keeps, for every kind of condition that both know."""

import pyarrow.parquet as pq
import pytest
from conditions import CONDITIONS, ROWS

pytestmark = pytest.mark.spark


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
