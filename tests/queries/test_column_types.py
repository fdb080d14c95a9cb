"""Columns as other libraries hand them over: decimals, large numbers, views, dictionaries."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from families import events, family
from skyband.columns.arrow_normalization import usual_batch
from skyband.columns.numbers import as_float64
from skyband.engines import local
from skyband.errors import ConfigError, InputError
from skyband.queries import make_query
from skyband_uncertain.uncertain_tuples import encode_samples

TIMES = pa.array([0, 1_000_000, 2_000_000], pa.timestamp("us", "UTC"))
COUNT_KEYS = {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 hour"], "every": "1 hour"}
COUNT = make_query(COUNT_KEYS)
TOP = {"kind": "top-k", "time": "ts", "object": "who", "stream": "from", "value": "value", "streams": ["a"], "k": 2}


def test_decimals_are_the_nearest_floats():
    tenths = [Decimal(i).scaleb(-1) for i in range(1000)]
    assert as_float64("price", pa.array(tenths, pa.decimal128(20, 1))).to_pylist() == [float(i) for i in tenths]
    lists = pa.array([[Decimal("0.3"), None], None, [], [Decimal("0.7")]]).slice(1)
    values, missing = encode_samples(lists, lists)
    assert values["values"].to_pylist() == [None, [], [0.7]]
    assert missing.tolist() == [True, False, False]


def test_decimals_rank():
    values = pa.array([Decimal("0.3"), None, Decimal("0.1")])
    table = pa.table({"ts": TIMES, "who": ["x", "y", "z"], "from": ["a", "a", "a"], "value": values})
    ranked = local.apply(table, make_query({**TOP, "window": "1 hour", "every": "1 hour"}))
    assert ranked.select(["object", "score"]).to_pylist() == [
        {"object": "x", "score": 0.3},
        {"object": "z", "score": 0.1},
    ]


@pytest.mark.parametrize("kind", ["top-k", "top-k-workload", "top-k-pairs"])
def test_equal_answers_rank_by_integers_of_any_size(kind):
    ids = [2**64 - 1, 3, 2**63, 1]
    rows = {"ts": TIMES[:1].take([0] * 4), "from": ["a"] * 4, "value": [1.0] * 4, "tokens": [["x"]] * 4}
    hour, many = {"window": "1 hour", "every": "1 hour"}, [{"name": "q", "window": "1 hour", "slide": "1 hour", "k": 9}]
    query = {
        "top-k": {**TOP, **hour, "k": 9},
        "top-k-workload": {"kind": kind, "time": "ts", "object": "who", "score": "value", "queries": many},
        "top-k-pairs": {"kind": kind, "time": "ts", "id": "who", "tokens": "tokens", "k": 3, **hour},
    }[kind]
    for who in (pa.array(ids, pa.uint64()), pa.array(ids, pa.uint64()).dictionary_encode()):
        found = local.apply(pa.table({**rows, "who": who}), make_query(query))
        answered = [1, *found["right"].to_pylist()] if kind == "top-k-pairs" else found["object"].to_pylist()
        assert answered == sorted(ids)


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63 + 1, 2**64 - 1])
def test_a_whole_number_that_is_no_float_is_named(number):
    assert as_float64("score", pa.array([2**53, None, -(2**62)])).to_pylist() == [2.0**53, None, -(2.0**62)]
    with pytest.raises(InputError, match=f"score, row 1: {number} is not exact as float64: cast the column to double"):
        as_float64("score", pa.array([1, number], pa.int64() if number < 2**63 else pa.uint64()))


@pytest.mark.parametrize(
    "who",
    [
        pa.array(["x", "y", "x"], pa.string_view()),
        pa.array([b"x", b"y", b"x"], pa.binary_view()),
        pa.array(["x", "y", "x"]).dictionary_encode(),
        pc.run_end_encode(pa.array(["x", "y", "x"])),
    ],
    ids=lambda array: str(array.type).split("<")[0],
)
def test_text_of_any_layout_is_counted_and_grouped_by(who):
    assert local.apply(pa.table({"ts": TIMES, "who": who}), COUNT)["count"].to_pylist() == [2.0]
    query = make_query(
        {"kind": "distinct-count", "time": "ts", "item": "n", "windows": ["1 hour"], "every": "1 hour", "by": "who"}
    )
    found = local.apply(pa.table({"ts": TIMES, "who": who, "n": [1, 2, 3]}), query)
    assert [str(name) for name in found["who"].to_pylist()] == [str(name) for name in sorted({*who.to_pylist()})]
    assert found["count"].to_pylist() == [2.0, 1.0]


def test_a_slice_of_views_is_what_it_shows():
    lists = pa.array([["a"], None, ["b", "c"], []], pa.list_view(pa.string_view()))
    batch = pa.record_batch({"tokens": lists, "n": np.arange(4)}).slice(2)
    usual = usual_batch(batch)
    usual.validate(full=True)
    assert usual.to_pylist() == [{"tokens": ["b", "c"], "n": 2}, {"tokens": [], "n": 3}]
    assert usual_batch(usual) is usual


@pytest.mark.parametrize(
    ("columns", "by", "message"),
    [
        (
            {"place": pa.array([[1], [2]])},
            "place",
            "query.by: column 'place' must be a plain value .* list<item: int64>",
        ),
        (
            {"place": pa.array([None, None])},
            "place",
            r"query.by: column 'place' must be a plain value .* \(it is null\)",
        ),
        ({"count": [1, 2]}, "count", "query.by: 'count' is also the name of a column of the answers"),
    ],
)
def test_what_cannot_group_is_named(columns, by, message):
    table = pa.table({"ts": TIMES[:2], "who": ["a", "b"], **columns})
    query = make_query(
        {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 hour"], "every": "1 hour", "by": by}
    )
    with pytest.raises(ConfigError, match=message):
        local.apply(table, query)


def test_columns_of_one_name_are_told_apart():
    table = pa.Table.from_arrays([TIMES, pa.array([1, 2, 3]), pa.array(["a", "b", "c"])], ["ts", "who", "who"])
    with pytest.raises(ConfigError, match="source: has several columns 'who': rename all but one"):
        local.apply(table, COUNT)


def test_a_value_out_of_range_is_written_as_a_plain_number():
    table = pa.table({"ts": TIMES, "who": ["x", "y", "z"], "from": ["a", "a", "a"], "value": [0.5, 1.5, 0.5]})
    with pytest.raises(InputError, match=r"value, row 1: must be at most 1, query.upper \(got 1.5\): set query.upper"):
        local.apply(table, make_query({**TOP, "window": "1 hour", "every": "1 hour", "upper": 1}))


@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize("order", [{}, {"order": "smallest"}])
@pytest.mark.parametrize("kind", ["top-k", "top-k-workload", "heavy-hitters", "quantiles", "uncertain-sum"])
def test_zero_has_one_sign(kind, order, by):
    """Numbers that rank alike are told alike, whichever of them came first, and leave one state."""
    table = events(3, rows=300, span=60)
    values = table.column("value").to_numpy()
    values = np.where(values < 0.5, 0.0, values)
    zeros = np.where((values == 0) & (np.arange(300) % 2 == 0), -0.0, values)
    changes = {"values": "value", "probabilities": "share"} if kind == "uncertain-sum" else {}
    asked, found = family(kind, by=by, **changes, **(order if "top-k" in kind else {})), []
    for numbers in (values, zeros):
        rows = table.set_column(table.column_names.index("value"), "value", pa.array(numbers))
        rows = rows.append_column("share", pa.array(np.full(300, 0.5)))
        run = local.LocalRun.start(asked, rows.schema)
        answers = [run.push(batch) for batch in rows.to_batches(max_chunksize=100)]
        found.append((run.operator.snapshot(), str(pa.Table.from_batches([*answers, run.finish()]).to_pylist())))
    assert found[0][1] == found[1][1]
    assert found[0][0] == found[1][0]


@pytest.mark.parametrize("codes", [pa.int8(), pa.uint8(), pa.uint32()])
def test_there_may_be_more_groups_than_one_batch_has_words(codes):
    """The codes of one batch need few bits, those of all answers more."""
    names = [f"{batch}{number}" for batch in "abc" for number in range(100)]
    batches = []
    for start in (0, 100, 200):
        words = pa.DictionaryArray.from_arrays(pa.array(range(100), codes), pa.array(names[start : start + 100]))
        batches.append(pa.record_batch({"ts": TIMES[:1].take([0] * 100), "g": words, "x": range(100)}))
    query = {"kind": "distinct-count", "time": "ts", "item": "x", "by": "g", "windows": ["1 hour"], "every": "1 hour"}
    found = local.apply(pa.Table.from_batches(batches), make_query(query))
    assert sorted(found["g"].to_pylist()) == sorted(names)
    assert found.schema.field("g").type == pa.dictionary(codes if codes.bit_width > 16 else pa.int32(), pa.string())


LAYOUTS = {
    "dictionary of decimals": pa.array([Decimal("0.5"), None, Decimal("1.5")]).dictionary_encode(),
    "dictionary of half floats": pa.array(np.array([1, 2, 2], np.float16)).dictionary_encode(),
    "dictionary of nulls": pa.nulls(3).dictionary_encode(),
    "dictionary of lists": pa.DictionaryArray.from_arrays(pa.array([0, 0, 0]), pa.array([[1]])),
    "union": pa.UnionArray.from_sparse(
        pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]
    ),
    "struct of dictionaries": pa.StructArray.from_arrays([pa.nulls(3).dictionary_encode()], ["inside"]),
    "map": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_run_goes_on_from_its_state_whatever_is_in_the_source(layout):
    """Columns that the query does not read, and as a group those that can be one."""
    table = pa.table({"ts": TIMES, "who": ["x", "y", "x"], "odd": LAYOUTS[layout]})
    by = [[], ["odd"]] if "of decimals" in layout or "half" in layout else [[]]
    for names in by:
        run = local.LocalRun.start({**COUNT_KEYS, "by": names, "delay": "1 hour"}, table.schema)
        answers = [run.push(batch) for batch in table.to_batches(max_chunksize=2)]
        again = local.LocalRun.start(run.operator.query, table.schema)
        again.operator.restore(run.operator.snapshot())
        latest = 2_000_000
        assert again.operator.finish(latest).equals(run.operator.finish(latest))
        assert not any(map(len, answers))


def test_a_condition_reads_a_dictionary_of_decimals():
    table = pa.table({"ts": TIMES, "who": ["x", "x", "x"], "odd": LAYOUTS["dictionary of decimals"]})
    keys = {"object": "who", "k": 1, "part": "odd > 0.7", "windows": ["1 hour"], "every": "1 hour"}
    found = local.apply(table, make_query({"kind": "heavy-hitters", "time": "ts", **keys}))
    assert found.select(["matching", "total"]).to_pylist() == [{"matching": 1.0, "total": 3.0}]
