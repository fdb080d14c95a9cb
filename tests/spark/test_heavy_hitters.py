"""heavy-hitters, a query that a plugin brings with its role, gives the same rows on every engine."""

import numpy as np
import pyarrow as pa
import pytest
from skyband import spark
from skyband.engines import local
from skyband.queries import make_query

pytestmark = pytest.mark.spark

SECOND = 1_000_000
DELAY = 20


def requests(seed: int, rows: int = 2000) -> pa.Table:
    """Requests of a few clients, out of order by less than the delay, some without a client."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, 300, rows))
    who = [None if client == 0 else f"client {client}" for client in (rng.zipf(1.6, rows) % 40).tolist()]
    table = pa.table(
        {
            "ts": pa.array(seconds * SECOND, pa.timestamp("us", "UTC")),
            "who": pa.array(who),
            "page": pa.array(rng.integers(0, 9, rows)),
            "place": pa.array([["a", "b"][place] for place in rng.integers(0, 2, rows)]),
        }
    )
    return table.take(pa.array(np.argsort(seconds + rng.uniform(0, DELAY, rows))))


def query(**changes):
    keys = {"time": "ts", "object": "who", "windows": ["30 seconds", "2 minutes"], "every": "15 seconds"}
    return make_query({"kind": "heavy-hitters", **keys, "delay": f"{DELAY} seconds", "k": 3, **changes})


def rows_of(rows, columns):
    """Rows as sortable text; Spark gives instants without a zone, in UTC here."""
    return sorted(tuple(str(row[name]).removesuffix("+00:00") for name in columns) for row in rows)


def test_batch_on_shards_equals_local(session, files):
    table, asked = requests(1), query(total="distinct", value="page", share=0.05)
    expected = local.apply(table, asked)
    got = spark.apply(session.read.parquet(files(table, 4)), asked, shards=3)
    assert rows_of(got.collect(), expected.column_names) == rows_of(expected.to_pylist(), expected.column_names)


def test_a_stream_by_group_equals_local_up_to_its_watermark(stream, files):
    table, asked = requests(2), query(by=["place"])
    expected = local.apply(table, asked)
    reached = max(row.as_py() for row in table["ts"]) - np.timedelta64(DELAY, "s").astype(object)
    got, _ = stream(files(table, 5), asked, shards=2)
    wanted = [row for row in expected.to_pylist() if row["at"] <= reached]
    assert rows_of(got, expected.column_names) == rows_of(wanted, expected.column_names)
    assert wanted
