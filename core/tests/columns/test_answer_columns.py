"""Answers as columns: all groups share one batch, and common columns are computed once."""

import numpy as np
import pyarrow as pa
from skyband.columns.rows import Rows
from skyband.groups.answer_columns import AnswerColumns, RawAnswers, as_batch, sizes_and_ranks

SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("name", pa.string()), ("number", pa.int32())])


def some(first, many):
    numbers = np.arange(first, first + many)
    return AnswerColumns(SCHEMA, [numbers * 1_000_000, pa.array([f"n{i}" for i in numbers], pa.string()), numbers])


def as_rows(answers):
    return list(zip(*(column.to_pylist() for column in answers.columns), strict=True))


def test_columns_and_batches_keep_their_order():
    batch = as_batch([some(2, 2), some(7, 1)])
    assert batch.schema == SCHEMA
    together = as_batch([some(0, 2), batch, some(3, 0), some(4, 1).pick(np.array([True]))])
    assert together.column("number").to_pylist() == [0, 1, 2, 3, 7, 4]
    assert together.column("name").to_pylist() == ["n0", "n1", "n2", "n3", "n7", "n4"]
    assert together.column("at").cast(pa.int64()).to_pylist() == [
        0,
        1_000_000,
        2_000_000,
        3_000_000,
        7_000_000,
        4_000_000,
    ]


def test_a_column_of_places_in_named_values():
    names = {"name": pa.array(["first", "second"])}
    pieces = [AnswerColumns(SCHEMA, [np.arange(n), np.arange(n) % 2, np.arange(n)], names) for n in (3, 1)]
    pieces.append(pieces[0].pick(np.array([False, True, False])))
    assert as_batch(pieces).column("name").to_pylist() == ["first", "second", "first", "first", "second"]


def test_columns_of_raw_answers_are_made_once_for_all_that_stand_together():
    made = []

    def columns_of(parts):
        made.append(len(parts))
        at = np.concatenate([times for times, _ in parts])
        return [at, np.concatenate([places for _, places in parts]), at // 1_000_000]

    names = {"name": pa.array(["first", "second"])}
    pieces = [RawAnswers(SCHEMA, columns_of, (np.arange(n) * 1_000_000, np.arange(n) % 2), n, names) for n in (1, 3, 2)]
    assert [len(piece) for piece in pieces] == [1, 3, 2]
    together = as_batch([*pieces[:2], some(7, 2), as_batch([some(9, 1)]), pieces[2]])
    assert together.schema == SCHEMA
    assert together.column("number").to_pylist() == [0, 0, 1, 2, 7, 8, 9, 0, 1]
    assert together.column("name").to_pylist() == ["first"] * 2 + ["second", "first"] + ["n7", "n8", "n9"] + [
        "first",
        "second",
    ]
    assert made == [2, 1]


def test_a_batch_alone_stays_as_it_is():
    batch = as_batch([some(2, 2)])
    assert as_batch([batch]) is batch


def test_slices_of_rows_share_what_is_computed_of_all():
    asked = []

    def doubled(rows):
        asked.append(len(rows))
        return 2 * rows["value"]

    rows = Rows(np.arange(6), {"value": np.arange(6) * 10, "name": pa.array(list("abcdef"))})
    part = rows.slice(1, 5).slice(1, 3)
    assert (part["value"].tolist(), part["name"].to_pylist(), part.times.tolist()) == ([20, 30], ["c", "d"], [2, 3])
    for one in (part, rows.slice(4, 6), rows):
        values, start, stop = one.once(doubled)
        assert values[start:stop].tolist() == (2 * one["value"]).tolist()
    assert asked == [6]
    joined = Rows.joined([part, rows.slice(0, 1)])
    assert joined["value"].tolist() == [20, 30, 0]
    assert joined.pick(np.array([True, False, True]))["name"].to_pylist() == ["c", "a"]


def test_ranks_start_over_with_each_answer_of_each_group():
    sizes, ranks = sizes_and_ranks([np.array([0, 2, 2, 5]), np.array([0]), np.array([3, 4])])
    assert sizes.tolist() == [2, 0, 3, 1]
    assert ranks.tolist() == [1, 2, 1, 2, 3, 1]
