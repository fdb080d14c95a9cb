"""Ids of several columns and columns to carry, in the queries that answer pairs of rows; a stream with itself."""

import numpy as np
import pyarrow as pa
import pytest
from families import events, family
from in_process_shards import on_shards, rows_of
from skyband.engines import local
from skyband.errors import ConfigError
from skyband_setjoin.tokens import encode_tokens, sets_of

PAIRS = {"top-k-pairs": "similarity", "uncertain-join": "probability"}
NAMED = {"id": ["name", "number"], "carry": ["words", "note", "samples"]}


def rows(seed, count=300):
    """Rows of which each has a time of its own, so that what breaks ties is not seen."""
    table = events(seed, count).sort_by("ts")
    times = np.asarray(table["ts"].cast(pa.int64())) + np.arange(count)
    notes = [None if number % 5 == 0 else number for number in range(count)]
    return table.set_column(0, "ts", pa.array(times, table.schema.field("ts").type)).append_column(
        "note", pa.array(notes, pa.int16())
    )


@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize("kind", PAIRS)
def test_answers_have_the_columns_of_both_rows(kind, by):
    """Found again in the source by the numbers that a query of one column for an id answers with."""
    table, asked = rows(1), family(kind, by=by, **NAMED)
    plain, found = local.apply(table, family(kind, by=by)), local.apply(table, asked)
    known = {row["number"]: row for row in table.to_pylist()}
    assert len(plain) > 40
    for row, got in zip(plain.to_pylist(), found.to_pylist(), strict=True):
        expected = {name: row[name] for name in plain.column_names if name not in ("left", "right")}
        for side in ("left", "right"):
            source = known[row[side]]
            expected |= {f"{side}_{name}": source[name] for name in (*asked.id, *asked.carry)}
        assert got == expected
    ids = [f"{side}_{name}" for side in ("left", "right") for name in asked.id]
    carried = [f"{side}_{name}" for side in ("left", "right") for name in asked.carry]
    assert set(found.column_names[-2 * len(asked.carry) :]) == set(carried)
    assert found.column_names.index(ids[0]) == plain.column_names.index("left")


@pytest.mark.parametrize("shards", [3, 4])
@pytest.mark.parametrize("kind", PAIRS)
def test_shards_and_restored_states_carry_the_same(kind, shards):
    """Many rows of one moment, some alike in all but what they carry, out of order, states saved between batches."""
    table = events(2, 400)
    names = pa.array(["all"] * 200 + table["name"].to_pylist()[200:])
    table = table.set_column(table.column_names.index("name"), "name", names)
    words = pa.array([["a"]] * 200 + table["words"].to_pylist()[200:])
    table = table.set_column(table.column_names.index("words"), "words", words)
    asked = family(kind, id="name", carry=["number", "value"], **({"k": 40} if kind == "top-k-pairs" else {}))
    whole = local.apply(table, asked)
    turned = table.take(pa.array(np.random.default_rng(3).permutation(len(table))))
    assert rows_of(local.apply(turned, asked)) == rows_of(whole)
    found, _ = on_shards(table, asked, shards, 4)
    assert rows_of(found) == rows_of(whole)
    assert len(whole) > 100


@pytest.mark.parametrize("shards", [1, 3])
def test_a_stream_joined_with_itself_has_each_pair_once(shards):
    """As doubled: each row on the left, then on the right; the pairs of a row on the left with those before it."""
    table, asked = rows(4), family("uncertain-join", side=None)
    found = on_shards(table, asked, shards, 3)[0] if shards > 1 else local.apply(table, asked)
    at = [number for number in range(len(table)) for _ in range(2)]
    doubled = table.take(pa.array(at)).drop_columns(["side", "ts"])
    times = pa.array(np.arange(len(at)) * 1_000_000, pa.timestamp("us", "UTC"))
    doubled = doubled.append_column("ts", times).append_column("side", pa.array(["left", "right"] * len(table)))
    order = {number: place for place, number in enumerate(table["number"].to_pylist())}
    expected = {
        (row["right"], row["left"]): row["probability"]
        for row in local.apply(doubled, family("uncertain-join")).to_pylist()
        if order[row["right"]] < order[row["left"]]
    }
    got = {(row["left"], row["right"]): row["probability"] for row in found.to_pylist()}
    assert len(found) == len(got) > 100
    assert got == expected


@pytest.mark.parametrize("kind", PAIRS)
@pytest.mark.parametrize("number", [0, 1])
def test_no_rows_and_one_row_have_no_pairs(kind, number):
    assert len(local.apply(rows(5).slice(0, number), family(kind, **NAMED))) == 0


def test_a_row_without_one_of_its_ids_is_left_out():
    table = rows(6, 60)
    names = pa.array([None if place % 2 else name for place, name in enumerate(table["name"].to_pylist())])
    holed = table.set_column(table.column_names.index("name"), "name", names)
    for kind in PAIRS:
        asked = family(kind, **NAMED)
        assert local.apply(holed, asked).equals(local.apply(holed.filter(names.is_valid()), asked))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": ["name", "name"]}, r"id: names a column twice"),
        (
            {"id": ["name", "number"], "carry": "name"},
            r"carry: 'name' would be in the answers as 'left_name' and ",
        ),
        ({"by": "left_place", "carry": "place"}, r"carry: 'place' would be in the answers as 'left_place'"),
    ],
)
@pytest.mark.parametrize("kind", PAIRS)
def test_names_that_would_come_twice_are_told(kind, changes, said):
    with pytest.raises(ConfigError, match=said):
        family(kind, **changes)


def test_what_cannot_be_carried_is_told():
    table = rows(7, 5).append_column("box", pa.array([{"a": 1}] * 5))
    said = r"query\.carry: column 'box' must be a plain value such as a string or a number, or a list of such"
    with pytest.raises(ConfigError, match=said):
        local.apply(table, family("top-k-pairs", carry="box"))


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_null_tokens_are_left_out_of_long_lists(kind):
    lists = [[*range(300), None], None, [None], [5, None, 7], list(range(40_000))]
    given = [some and [None if token is None else str(token) for token in some] for some in lists]
    column = pa.array(given, pa.list_(pa.string())).cast(pa.list_(kind))
    frame, left_out = encode_tokens(column)
    offsets, tokens = sets_of(frame["tokens"])
    assert np.diff(offsets).tolist() == [300, 0, 0, 2, 40_000]
    whole, _ = encode_tokens(
        pa.array([[*map(str, range(300))], ["5", "7"]], pa.list_(pa.string())).cast(pa.list_(kind))
    )
    assert tokens[:302].tolist() == sets_of(whole["tokens"])[1].tolist()
    assert {name: mask.tolist() for name, mask in left_out.items()} == {
        "null tokens": [False, True, False, False, False],
        "no tokens": [False, False, True, False, False],
    }
