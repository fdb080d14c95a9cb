"""Groups are told apart by their values, null among them, whatever the types and however many columns."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from in_process_shards import on_shards
from skyband.columns.hashing import hash_columns
from skyband.engines import local
from skyband.queries import make_query

NAN = float("nan")
POOLS = [
    (pa.string(), ["", "a", "\0", "ab", "abcdefghijklmnopq"]),
    (pa.large_binary(), [b"", b"\0", b"\0" * 8, b"\0" * 16]),
    (pa.dictionary(pa.int8(), pa.string()), ["", "a"]),
    (pa.bool_(), [False, True]),
    (pa.int8(), [0, 1, -1]),
    (pa.uint64(), [0, 1, 2**53, 2**53 + 1, 2**64 - 1]),
    (pa.float64(), [0.0, -0.0, NAN, -NAN, 1.0, 5e-324]),
    (pa.float32(), [0.0, -0.0, NAN, 1.0]),
    (pa.decimal128(4, 2), [Decimal("0.00"), Decimal("0.01"), Decimal("-0.01")]),
    (pa.date32(), [date(1970, 1, 1), date(1970, 1, 2)]),
    (pa.timestamp("us"), [datetime(1970, 1, 1), datetime(1970, 1, 1, microsecond=1)]),
    (pa.duration("s"), [timedelta(0), timedelta(seconds=1)]),
]


def the_same(value):
    """The rule: null is a group, -0.0 is 0.0, and there is one NaN."""
    return ("NaN",) if value != value else (value,)


@st.composite
def grouping(draw):
    """Columns to group by, and the rows in them."""
    pools = draw(st.lists(st.sampled_from(POOLS), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*(st.none() | st.sampled_from(pool) for _, pool in pools)), max_size=30))
    columns = [pa.array([row[i] for row in rows], kind) for i, (kind, _) in enumerate(pools)]
    return columns, rows


@given(grouping())
def test_rows_have_one_key_where_their_values_are_the_same_and_only_there(data):
    columns, rows = data
    keys = hash_columns(columns).tolist()
    values = [tuple(None if value is None else the_same(value) for value in row) for row in rows]
    assert len(set(keys)) == len(set(values)) == len(set(zip(keys, values, strict=True)))


def test_more_columns_than_a_key_has_bits_for_their_nulls():
    texts = pa.array(["", None])
    columns = [texts.take(pa.array([int(place == row) for row in range(40)])) for place in range(39)]
    assert len(set(hash_columns(columns).tolist())) == 40


ROWS = pa.table(
    {
        "ts": pa.array(range(6), pa.timestamp("s")),
        "g": ["", None, "", None, "a", None],
        "h": [None, "", None, "", "a", ""],
        "zero": [0.0, -0.0, NAN, None, -0.0, 0.0],
        "item": range(1, 7),
    }
)


def counts(by, rows=ROWS, shards=None):
    query = make_query(
        {"kind": "distinct-count", "time": "ts", "item": "item", "windows": ["1 day"], "every": "1 day", "by": by}
    )
    answers = local.apply(rows, query) if shards is None else on_shards(rows, query, shards)[0]
    return {tuple(str(row[name]) for name in by): row["count"] for row in answers.to_pylist()}


@pytest.mark.parametrize("shards", [None, 2, 3])
def test_the_groups_of_the_empty_text_and_of_null_are_two(shards):
    assert counts(["g"], shards=shards) == {("",): 2, ("None",): 3, ("a",): 1}
    assert counts(["g", "h"], shards=shards) == {("", "None"): 2, ("None", ""): 3, ("a", "a"): 1}


def test_a_group_has_one_name_in_whichever_order_its_rows_come():
    assert counts(["zero"]) == {("0.0",): 4, ("nan",): 1, ("None",): 1}
    assert counts(["zero"], ROWS.take([5, 4, 3, 2, 1, 0])) == counts(["zero"])
