"""Inputs of `apply`: Arrow and common DataFrames; anything else is rejected with the remedy."""

import datetime

import pandas as pd
import pyarrow as pa
import pytest
from skyband import spark
from skyband.engines import local
from skyband.errors import InputError

QUERY = {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 minute"], "every": "1 minute"}
ROWS = {"ts": [datetime.datetime(2026, 1, 1, 0, 0, second) for second in (1, 2, 3, 4)], "who": ["a", "b", None, "a"]}


def test_a_pandas_dataframe_is_accepted():
    table = local.apply(pa.table(ROWS), QUERY)
    assert local.apply(pd.DataFrame(ROWS), QUERY).equals(table)
    assert local.apply(pd.DataFrame(ROWS).set_index("ts"), QUERY).equals(table), "a named index is a column"


def test_arrow_compatible_data_is_accepted():
    class Frame:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.table(ROWS).__arrow_c_stream__(requested_schema)

    assert local.apply(Frame(), QUERY).equals(local.apply(pa.table(ROWS), QUERY))


def test_a_reader_is_read_batch_by_batch():
    table = pa.table(ROWS)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=1))
    assert local.apply(reader, QUERY).equals(local.apply(table, QUERY))


@pytest.mark.parametrize(
    ("data", "kind"), [("log.csv", "str"), (ROWS, "dict"), ([ROWS], "list of dict"), (7, "int"), (None, "NoneType")]
)
def test_anything_else_is_refused_by_name(data, kind):
    with pytest.raises(InputError, match=rf"^data: must be an Arrow table, .* pandas or polars \(got {kind}\)"):
        local.apply(data, QUERY)


@pytest.mark.parametrize("data", [pd.DataFrame(ROWS), pa.table(ROWS)])
def test_spark_says_how_to_make_a_dataframe_of_it(data):
    name = f"{type(data).__module__}.{type(data).__qualname__}"
    with pytest.raises(InputError, match=rf"^df: must be a Spark DataFrame \(got {name}\): make one with session"):
        spark.apply(data, QUERY)


def test_answers_are_ordered_by_moment_and_then_by_group():
    """By all grouping columns, for any order of the rows, nulls last."""
    places, kinds = ["b", None, "a", "", "c", "a", "b", "a"] * 3, [2, 1, 10, -1, None, 2, 1, 10] * 3
    seconds = [90 - 30 * (row % 3) + row for row in range(24)]
    times = [datetime.datetime(2026, 1, 1) + datetime.timedelta(seconds=second) for second in seconds]
    table = pa.table({"ts": times, "who": ["x"] * 24, "place": places, "kind": kinds})
    found = local.apply(table, {**QUERY, "by": ["place", "kind"]}).to_pylist()
    last = [(row["at"], row["place"] is None, row["place"], row["kind"] is None, row["kind"]) for row in found]
    assert len(last) > 12 and len({row[0] for row in last}) > 1
    order = sorted(last, key=lambda row: (row[0], row[1], row[2] or "", row[3], row[4] or 0))
    assert last == order
