"""Columns in every layout that Arrow has for their values, sliced and with nulls, are the values that they were."""

import decimal

import pyarrow as pa
import pytest
from skyband.columns.arrow_normalization import columns_as, usual, usual_batch
from skyband.errors import InputError

TEXTS = ["b", None, "", "a", "a", None, "b", "b"]
LISTS = [[1, 2], None, [3, 4], [5, 6], [5, 6], None, [7, 8], [9, 9]]
LONG = [[1], None, [], [2, 3], [2, 3], [4], None, [5, 6, 7]]
HUNDREDS = (100, None, 0, -300, 300, 5000, None, 100)
DECIMALS = [None if number is None else decimal.Decimal(number) for number in HUNDREDS]
BYTES = [b"\x00a", None, b"", b"b", b"b", b"c", None, b"d"]


def runs(values):
    """The values as runs, those of null among them."""
    ends = [place + 1 for place, value in enumerate(values) if place + 1 == len(values) or values[place + 1] != value]
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), pa.array([values[end - 1] for end in ends]))


def words(values, index=None):
    """A dictionary that has a word of null, one twice, and one that no row has."""
    codes = {value: place for place, value in enumerate(dict.fromkeys(values))}
    dictionary = pa.array([*codes, *codes, "nobody's"], pa.string())
    places = [codes[value] + len(codes) * (place % 2) for place, value in enumerate(values)]
    return pa.DictionaryArray.from_arrays(pa.array(places, index or pa.int32()), dictionary)


COLUMNS = {
    "text": pa.array(TEXTS),
    "large text": pa.array(TEXTS, pa.large_string()),
    "views": pa.array(TEXTS, pa.string_view()),
    "runs": runs(TEXTS),
    "runs of lists": runs(LONG),
    "words": words(TEXTS),
    "few words": words(TEXTS, pa.int8()),
    "bytes": pa.array(BYTES),
    "views of bytes": pa.array(BYTES, pa.binary_view()),
    "lists": pa.array(LONG),
    "large lists": pa.array(LONG, pa.large_list(pa.int64())),
    "views of lists": pa.array(LONG, pa.list_view(pa.int64())),
    "fixed lists": pa.array(LISTS, pa.list_(pa.int64(), 2)),
    "fixed lists of words": pa.array(
        [None if pair is None else [str(one) for one in pair] for pair in LISTS], pa.list_(pa.string(), 2)
    ),
    "fixed lists of views": pa.array(
        [None if pair is None else [str(one) for one in pair] for pair in LISTS], pa.list_(pa.string_view(), 2)
    ),
    "decimals": pa.array(DECIMALS, pa.decimal128(9, 2)),
    "wide decimals": pa.array(DECIMALS, pa.decimal256(9, 0)),
    "decimals of hundreds": pa.array(
        [None if one is None else one - one % 100 for one in DECIMALS], pa.decimal128(9, -2)
    ),
    "instants": pa.array([1, None, 2, 3, 3, 4, None, 5], pa.timestamp("us", "UTC")),
}
SLICES = [(0, 8), (1, 7), (3, 4), (7, 1), (4, 0)]


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_its_values_in_the_usual_type_and_again(name):
    whole = COLUMNS[name]
    for start, length in SLICES:
        column = whole.slice(start, length)
        batch = pa.record_batch({"c": column})
        made = usual_batch(batch)
        assert made.schema.field("c").type == usual(column.type) == usual(usual(column.type))
        assert made["c"].to_pylist() == column.to_pylist(), (start, length)
        made.validate(full=True)
        assert usual_batch(made).equals(made)


OTHERS = [
    ("text", ["large text", "views", "runs", "words", "few words"]),
    ("words", ["text", "views", "few words", "runs"]),
    ("lists", ["large lists", "views of lists", "runs of lists"]),
    ("fixed lists", ["fixed lists"]),
    ("decimals", ["wide decimals"]),
    ("bytes", ["views of bytes"]),
]


@pytest.mark.parametrize(("first", "others"), OTHERS, ids=[first for first, _ in OTHERS])
def test_a_later_batch_has_the_values_of_its_own_layout_in_the_type_of_the_first(first, others):
    schema = pa.schema([("c", usual(COLUMNS[first].type))])
    for other in others:
        for start, length in SLICES:
            column = COLUMNS[other].slice(start, length)
            for hashed in ((), ("c",)):
                made = columns_as(pa.record_batch({"c": column}), ["c"], schema, hashed)["c"]
                assert made.to_pylist() == column.to_pylist(), (other, start, length)
                made.validate(full=True)
                assert made.type == schema.field("c").type or (hashed and pa.types.is_dictionary(made.type))


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata"])
@pytest.mark.parametrize("other", [None, "UTC", "Asia/Kolkata"])
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_times_with_a_zone_and_without_are_never_taken_for_one_another(zone, other, unit):
    """A zone says how an instant is shown; without one it is the time on some clock, and no instant."""
    schema = pa.schema([("ts", pa.timestamp("us", zone))])
    batch = pa.record_batch({"ts": pa.array([1, None], pa.timestamp(unit, other))})
    if (zone is None) == (other is None):
        made = columns_as(batch, ["ts"], schema)["ts"]
        assert made.type == schema.field("ts").type
        assert made.cast(pa.int64()).to_pylist() == [{"s": 1_000_000, "ms": 1000, "us": 1}[unit], None]
    else:
        with pytest.raises(InputError, match=r"ts: is timestamp.* cannot be read as timestamp.*another kind of values"):
            columns_as(batch, ["ts"], schema)
