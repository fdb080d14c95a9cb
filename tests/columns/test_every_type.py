"""Every Arrow type as each column of every query: the right answer, or an error that names the column and its type."""

import datetime as dt
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from families import family
from skyband import ConfigError, InputError
from skyband.columns.arrow_normalization import usual, usual_batch
from skyband.columns.hashing import hash_column, is_hashable
from skyband.columns.keyed_frames import plain_type
from skyband.engines import local

PATTERN = pa.array([0, 1, 0, None, 2, 1, 1, 1])
"""Which of a type's three values each row has."""
ROWS = len(PATTERN)
NUMBERS = [1, 2, 3]
TEXTS = ["a", "", "c"]
BLOBS = [b"a", b"", b"c"]
DAYS = [dt.date(2026, 1, 1), dt.date(2026, 1, 2), dt.date(1969, 1, 3)]
TIMES = [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, 0, 1), dt.datetime(2026, 1, 1, 0, 2)]
SPANS = [dt.timedelta(seconds=second) for second in NUMBERS]
CLOCKS = [dt.time(0, 0, second) for second in NUMBERS]
FIXED = [b"abc", b"\0\0\0", b"abd"]
UUIDS = [UUID(int=number).bytes for number in NUMBERS]


def plain_columns():
    """The three values as a column of each type that holds single values."""
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()):
        yield pa.array(NUMBERS, kind)
    for kind in (pa.float16(), pa.float32(), pa.float64()):
        yield pa.array([float(number) for number in NUMBERS]).cast(kind)
    for kind in (pa.decimal32(5, 1), pa.decimal64(10, 2), pa.decimal128(20, 3), pa.decimal256(50, 4)):
        yield pa.array([Decimal(number) for number in NUMBERS], kind)
    yield pa.array([100, 200, 300]).cast(pa.decimal128(19, 0)).cast(pa.decimal128(5, -2))
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        yield pa.array(TEXTS, kind)
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        yield pa.array(BLOBS, kind)
    yield pa.array(FIXED, pa.binary(3))
    for kind in (pa.date32(), pa.date64()):
        yield pa.array(DAYS, kind)
    for zone in (None, "UTC", "Europe/Berlin"):
        for unit in ("s", "ms", "us", "ns"):
            yield pa.array(TIMES, pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
    yield pa.array([1, 2, 3]).cast(pa.timestamp("ns", "Asia/Kolkata"))
    for unit in ("s", "ms", "us", "ns"):
        yield pa.array(SPANS, pa.duration(unit))
    for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        yield pa.array(CLOCKS, kind)
    yield pa.ExtensionArray.from_storage(pa.uuid(), pa.array(UUIDS, pa.binary(16)))


def odd_columns():
    """Columns whose rows are made in a way of their own."""
    words = PATTERN.fill_null(3)
    with_null = pa.DictionaryArray.from_arrays(words.cast(pa.int8()), pa.array([*TEXTS, None]))
    yield "dictionary with a null", with_null
    yield "categorical", pa.DictionaryArray.from_arrays(PATTERN.cast(pa.uint32()), pa.array(TEXTS, pa.string_view()))
    yield "dictionary of numbers", pa.array(NUMBERS).take(PATTERN).dictionary_encode()
    yield "run ends", pc.run_end_encode(pa.array(TEXTS).take(PATTERN))
    views = pa.RunEndEncodedArray.from_arrays(pa.array(range(1, ROWS + 1)), pa.array(TEXTS).take(PATTERN))
    yield "run ends of views", pa.RunEndEncodedArray.from_arrays(views.run_ends, views.values.cast(pa.string_view()))
    yield "bool", pa.array([False, True, False]).take(PATTERN)
    yield "null", pa.nulls(ROWS)
    yield "interval", pa.array([(1, 2, 3), (4, 5, 6), (7, 8, 9)], pa.month_day_nano_interval()).take(PATTERN)
    yield "struct", pa.array([{"a": 1}, {"a": 2}, {"a": 3}]).take(PATTERN)
    yield "map", pa.array([[("a", 1)], [], [("b", 2)]], pa.map_(pa.string(), pa.int64())).take(PATTERN)
    yield (
        "union",
        pa.UnionArray.from_dense(
            pa.array([0] * ROWS, pa.int8()), pa.array(range(ROWS), pa.int32()), [pa.array(range(ROWS))]
        ),
    )


def taken(values, places):
    """Arrow takes from no views."""
    if isinstance(values.type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(values.type, taken(values.storage, places))
    return pa.array([None if place is None else values[place] for place in places], values.type)


def lists_of(values):
    """The same lists of them in each layout of lists, and pairs of fixed size."""
    lists = [[0, 1], [2], [0, 1], None, [0, 2, None], [], [2], [1]]
    flat = [place for each in lists for place in each or ()]
    cuts = [0, *(sum(len(each or ()) for each in lists[: row + 1]) for row in range(ROWS))]
    null = pa.array([each is None for each in lists])
    rows = pa.ListArray.from_arrays(pa.array(cuts, pa.int32()), taken(values, flat), mask=null)
    yield rows
    yield pa.LargeListArray.from_arrays(rows.offsets.cast(pa.int64()), rows.values, mask=null)
    sizes = pa.array(pc.list_value_length(rows).fill_null(0), pa.int32())
    yield pa.ListViewArray.from_arrays(rows.offsets[:-1], sizes, rows.values, mask=null)
    yield pa.FixedSizeListArray.from_arrays(taken(values, [0, 1] * ROWS), 2)
    codes = pa.array([0, 1] * ROWS, pa.int8())
    yield pa.FixedSizeListArray.from_arrays(pa.DictionaryArray.from_arrays(codes, values), 2)


def every_column():
    for values in plain_columns():
        yield f"{values.type}", taken(values, PATTERN.to_pylist())
        if pa.types.is_string_view(values.type) or values.type in (pa.int64(), pa.uint64(), pa.float32()):
            yield from ((f"{column.type}", column) for column in lists_of(values))
    yield from odd_columns()


COLUMNS = dict(every_column())
PARTS = {
    "distinct-count": ("time", "by", "item"),
    "top-k": ("time", "by", "object", "stream", "value", "carry"),
    "top-k-pairs": ("time", "by", "id", "tokens"),
    "top-k-workload": ("time", "by", "object", "score", "carry"),
    "heavy-hitters": ("time", "by", "object", "weight", "carry"),
    "near-duplicates": ("time", "by", "id", "tokens", "carry"),
    "uncertain-sum": ("time", "by", "values", "probabilities"),
    "uncertain-join": ("time", "by", "side", "id", "values", "probabilities"),
}
"""The keys of each query that name columns."""
SAMPLES = [[1.0, 2.0], [1.5]] * (ROWS // 2)
REST = {
    "ts": pa.array(range(ROWS), pa.timestamp("s", "UTC")),
    "name": pa.array([f"n{row % 3}" for row in range(ROWS)]),
    "origin": pa.array(["air", "water"] * (ROWS // 2)),
    "value": pa.array([0.1 * row for row in range(ROWS)]),
    "number": pa.array(range(ROWS)),
    "words": pa.array([["w", f"w{row % 3}"] for row in range(ROWS)]),
    "samples": pa.array(SAMPLES),
    "chances": pa.array([[0.25] * len(each) for each in SAMPLES]),
    "side": pa.array(["left", "right"] * (ROWS // 2)),
}


SHOWN = {"by": ("tried",), "carry": ("tried",), "object": ("object",), "id": ("left", "right", "id", "match")}
"""Columns of answers that hold what the column of this key holds."""


def answers(kind, key, column):
    """What a query answers, sorted, each value of the column tried as the row's place in the pattern that has it."""
    query = {"carry": ["tried"]} if key == "carry" else {key: ["tried"] if key == "by" else "tried"}
    table = local.apply(pa.table({**REST, **lengths_of(key, column), "tried": column}), family(kind, **query))
    held = usual_batch(pa.record_batch({"tried": column})).column(0).to_pylist()
    places = {str(value): place for value, place in zip(held, PATTERN.to_pylist(), strict=True)}
    rows = [
        {
            name: places[str(value)] if name in SHOWN.get(key, ()) and value is not None else str(value)
            for name, value in row.items()
            if name != "rank"
        }
        for row in table.to_pylist()
    ]
    return sorted(rows, key=str)


def lengths_of(key, column):
    """The other half of samples, as many as the column has of them."""
    sizes = [len(each) if isinstance(each, list) else 1 for each in column.to_pylist()]
    if key == "values":
        return {"chances": pa.array([[0.1] * size for size in sizes])}
    return {"samples": pa.array([[0.1] * size for size in sizes])} if key == "probabilities" else {}


def outcome(kind, key, name):
    """The answers, or the text of the error that refuses the column."""
    try:
        return answers(kind, key, COLUMNS[name])
    except (ConfigError, InputError) as error:
        return str(error)
    except Exception as error:
        raise AssertionError(f"{kind} {key} {name}: {type(error).__name__}: {error}") from error


ALIKE = [f"{values.type}" for values in plain_columns()]
ALIKE += ["dictionary with a null", "categorical", "dictionary of numbers", "run ends", "run ends of views"]
"""Columns whose rows are the same three values."""
SCALED = "decimal128(5, -2)"
"""A hundred times the others."""


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind, keys in PARTS.items() for key in keys])
def test_a_column_of_any_type_is_read_or_refused_by_name(kind, key):
    read = {}
    for name in COLUMNS:
        found = outcome(kind, key, name)
        if isinstance(found, str):
            assert key in found, (name, found)
            assert "'tried'" in found or "row " in found, (name, found)
        else:
            read[name] = found
    alike = [read[name] for name in ALIKE if name in read and key != "time" and (key in SHOWN or name != SCALED)]
    assert all(found == alike[0] for found in alike), [name for name in ALIKE if read.get(name) != alike[0]]


PAIRS = [["a", "b"], None, ["c", None], ["", "a"], None, ["d", "e"], ["f", "g"], None]
IN_PARTS = COLUMNS | {
    f"pairs with nulls of {kind}": pa.array(PAIRS, pa.list_(kind, 2))
    for kind in (pa.string(), pa.string_view(), pa.large_string())
}


@pytest.mark.parametrize("name", IN_PARTS)
def test_a_part_of_a_column_of_any_type_holds_what_the_whole_does_there(name):
    """Readers and engines give slices: what lies before them in the buffers is not theirs. Nulls stay nulls."""
    column = IN_PARTS[name]
    whole = usual_batch(pa.record_batch({"tried": column})).column(0)
    values = column.to_pylist()
    assert whole.is_null().to_pylist() == [value is None for value in values]
    assert not isinstance(values[0], list | str) or whole.to_pylist() == values
    hashes = hash_column(whole).tolist() if is_hashable(plain_type(whole.type)) else None
    for start, stop in ((0, ROWS), (1, ROWS), (3, 5), (0, 2), (ROWS - 1, ROWS), (4, 4)):
        part = usual_batch(pa.record_batch({"tried": column.slice(start, stop - start)})).column(0)
        assert part.type == whole.type and part.to_pylist() == whole.to_pylist()[start:stop]
        if hashes is not None:
            assert hash_column(part).tolist() == hashes[start:stop]
            assert hash_column(whole.slice(start, stop - start)).tolist() == hashes[start:stop]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (pa.decimal128(36, -1), pa.decimal128(37, 0)),
        (pa.decimal128(37, -1), pa.decimal128(38, 0)),
        (pa.decimal128(38, -1), pa.decimal256(39, 0)),
        (pa.decimal256(37, -1), pa.decimal128(38, 0)),
        (pa.decimal256(38, -1), pa.decimal256(39, 0)),
        (pa.decimal256(75, -1), pa.decimal256(76, 0)),
        (pa.decimal256(76, -1), pa.decimal256(76, -1)),
        (pa.decimal32(9, -1), pa.decimal128(10, 0)),
        (pa.decimal128(38, 0), pa.decimal128(38, 0)),
        (pa.decimal256(39, 3), pa.decimal256(39, 3)),
    ],
)
def test_a_decimal_has_128_bits_up_to_38_digits_and_not_from_39_on(given, read):
    assert usual(given) == read
