"""Errors of answers, compared with counting in plain Python."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband.queries import make_query
from skyband_compare.comparison.accuracy import accuracy, upto

MOMENT = pa.timestamp("us")
PAIRS = make_query(
    {"kind": "top-k-pairs", "time": "t", "id": "id", "tokens": "w", "k": 3, "window": "1 hour", "every": "1 hour"}
)
COUNTS = make_query(
    {
        "kind": "distinct-count",
        "time": "t",
        "item": "k",
        "windows": ["1 hour", "1 day"],
        "every": "1 hour",
        "by": "site",
    }
)
SUMS = make_query({"kind": "uncertain-sum", "time": "t", "values": "v", "probabilities": "p", "size": 5})

pair = st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.sampled_from("abc"))


def pairs(rows):
    columns = list(zip(*rows, strict=True)) or [[], [], []]
    names = zip(("at", "left", "right"), (MOMENT, pa.string(), pa.string()), columns, strict=True)
    return pa.table({name: pa.array(list(column), kind) for name, kind, column in names})


@settings(max_examples=60, deadline=None)
@given(st.lists(pair, max_size=12), st.lists(pair, max_size=12))
def test_precision_and_recall_count_duplicate_pairs(answers, exact):
    found = accuracy(PAIRS, pairs(answers), pairs(exact))
    common = (Counter(answers) & Counter(exact)).total()
    assert found.figures["precision"] == pytest.approx(common / len(answers) if answers else 1.0)
    assert found.figures["recall"] == pytest.approx(common / len(exact) if exact else 1.0)
    assert found.error == pytest.approx(1 - found.figures["F1"])
    assert found.equal == pytest.approx(found.figures["F1"]), "here a row is only the pair"
    for at, error in zip(found.at.tolist(), found.errors.tolist(), strict=True):
        mine, theirs = ([row for row in rows if row[0] == at] for rows in (answers, exact))
        both = (Counter(mine) & Counter(theirs)).total()
        assert error == pytest.approx(1 - 2 * both / (len(mine) + len(theirs)))
    assert sorted(found.at.tolist()) == sorted({row[0] for row in (*answers, *exact)})


@pytest.mark.parametrize("reached", [0, 1, 2, 4, 5])
def test_answers_of_the_last_moment_reached_count_and_later_ones_do_not(reached):
    rows = [(at, "a", "b") for at in (1, 1, 2, 5)]
    assert upto(pairs(rows), 0, reached).equals(pairs([row for row in rows if row[0] <= reached]))


def counts(rows):
    names = ("site", "at", "window", "count", "low", "high")
    kinds = (pa.string(), MOMENT, pa.string(), pa.float64(), pa.float64(), pa.float64())
    columns = list(zip(*rows, strict=True)) or [[] for _ in names]
    parts = zip(names, kinds, columns, strict=True)
    return pa.table({name: pa.array(list(column), kind) for name, kind, column in parts})


def test_counts_are_held_against_those_of_their_own_group_moment_and_window():
    exact = [("x", 1, "1 hour", 100, 100, 100), (None, 1, "1 hour", 50, 50, 50), ("x", 2, "1 day", 0, 0, 0)]
    answers = [(None, 1, "1 hour", 60, 55, 65), ("x", 2, "1 day", 0, 0, 0), ("x", 1, "1 hour", 99, 95, 105)]
    found = accuracy(COUNTS, counts(answers), counts(exact))
    assert found.error == pytest.approx((0.01 + 0.2 + 0) / 3)
    assert found.largest == pytest.approx(0.2)
    assert found.figures == {"in bounds": pytest.approx(2 / 3)}
    assert found.equal == pytest.approx(1 / 3)
    assert found.errors.tolist() == pytest.approx([(0.01 + 0.2) / 2, 0])


@pytest.mark.parametrize(("low", "high", "held"), [(4, 6, 1), (5, 5, 1), (5.5, 6, 0), (4, 4.5, 0), (6, 4, 0)])
@pytest.mark.parametrize("value", [4, 5, 6])
def test_bounds_hold_for_the_exact_count_whatever_the_answer(low, high, held, value):
    found = accuracy(COUNTS, counts([("x", 1, "1 hour", value, low, high)]), counts([("x", 1, "1 hour", 5, 5, 5)]))
    assert found.figures == {"in bounds": held}


def test_a_missing_or_extra_count_has_an_error_of_1():
    exact = [("x", 1, "1 hour", 9, 9, 9), ("x", 3, "1 hour", 4, 4, 4)]
    answers = [("x", 1, "1 hour", 9, 9, 9), ("x", 2, "1 hour", 4, 4, 4)]
    found = accuracy(COUNTS, counts(answers), counts(exact))
    assert (found.error, found.figures["in bounds"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3))


def test_a_count_that_is_not_a_number_has_an_infinite_error():
    exact = [("x", 1, "1 hour", 9, 9, 9)]
    found = accuracy(COUNTS, counts([("x", 1, "1 hour", float("nan"), 0, 9)]), counts(exact))
    assert found.error == np.inf


def test_sums_are_relative_to_the_mean_size_of_the_exact_ones():
    def sums(values, kept):
        times = pa.array(range(len(values)), MOMENT)
        return pa.table({"time": times, "sum": values, "expected": values, "kept": pa.array(kept)})

    found = accuracy(SUMS, sums([1.0, -3.0, 0.5], [2, 2, 3]), sums([1.0, -4.0, 1.0], [2, 2, 2]))
    assert found.error == pytest.approx((0 + 1 + 0.5) / 3 / 2)
    assert found.figures == {"tuples kept": pytest.approx(7 / 6)}


def test_no_answers_are_right_if_none_exist():
    found = accuracy(PAIRS, pairs([]), pairs([]))
    assert (found.error, found.equal, len(found.at)) == (0.0, 1.0, 0)


def test_answers_of_a_kind_that_a_plugin_brings_are_held_against_each_other_whole():
    class Theirs:
        kind, by, compared_columns = "theirs", (), ()

    found = accuracy(Theirs, pairs([(1, "a", "b"), (2, "a", "c")]), pairs([(1, "a", "b"), (2, "a", "b")]))
    assert found.figures["precision"] == found.figures["recall"] == 0.5


def test_errors_are_relative_in_any_unit():
    """Latencies in seconds are below 1; another answer for a share of 0 has an error of 1."""
    asked = make_query(
        {
            "kind": "quantiles",
            "time": "t",
            "value": "v",
            "at": [0.5],
            "above": [1],
            "windows": ["1 hour"],
            "every": "1 hour",
        }
    )
    rows = [(None, 1.0, 0.0), (0.5, None, 0.04), (0.5, None, -0.2), (0.5, None, 0.0)]
    at = pa.array(range(len(rows)), MOMENT)

    def answers(values):
        quantile, above, _ = zip(*rows, strict=True)
        numbers = {name: pa.array(values, pa.float64()) for name in ("value", "low", "high")}
        return pa.table(
            {
                "at": at,
                "window": ["1 hour"] * 4,
                "quantile": pa.array(quantile, pa.float64()),
                "above": pa.array(above, pa.float64()),
                **numbers,
                "rows": [9] * 4,
            }
        )

    found = accuracy(asked, answers([0.01, 0.05, -0.2, 0.0]), answers([value for *_, value in rows]))
    assert found.errors.tolist() == pytest.approx([1.0, 0.25, 0.0, 0.0])
    assert found.figures["in bounds"] == 0.5
