"""Rows and moments of several backends by one call: what is wrong with them is told before any of them has a turn."""

import numpy as np
import pytest
import skyband
from skyband import InputError
from skyband.arrays import ascending_in_spans
from skyband.roles.clock import checked_moments, checked_spans

ROWS = {"times": [1, 2, 3], "streams": [0, 0, 0], "objects": [7, 8, 9], "values": [0.5, 0.25, 0.125]}


@pytest.fixture
def rankers():
    return [skyband.create("object-ranker", "eaa", k=2, window=10, streams=1) for _ in range(2)]


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([[0, 1]], "spans: must be int64, a begin and an end for each of 2 (got int64 of shape (1, 2))"),
        ([0, 1], "spans: must be int64, a begin and an end for each of 2 (got int64 of shape (2,))"),
        ([[0.0, 1.0]] * 2, "spans: must be int64, a begin and an end for each of 2 (got float64 of shape (2, 2))"),
        ([[0, 1], [1, 4]], "spans, row 1: must be ascending and within 3 rows (got [1, 4])"),
        ([[-1, 1], [1, 3]], "spans, row 0: must be ascending and within 3 rows (got [-1, 1])"),
        ([[2, 1], [2, 3]], "spans, row 0: must be ascending and within 3 rows (got [2, 1])"),
        ([[1, 3], [0, 2]], "spans, row 0: must not overlap (got [1, 3] beside another with its rows)"),
    ],
)  # fmt: skip
def test_spans_that_are_none_are_told(rankers, spans, message):
    before = [one.snapshot() for one in rankers]
    with pytest.raises(InputError) as error:
        type(rankers[0]).answers_together(rankers, **ROWS, spans=spans, moments=[[], []])
    assert str(error.value) == message
    assert [one.snapshot() for one in rankers] == before


def test_a_backend_has_one_turn_and_moments_of_its_own(rankers):
    with pytest.raises(InputError, match="one of them comes twice"):
        checked_spans([rankers[0]] * 2, [[0, 1], [1, 2]], 3)
    with pytest.raises(InputError, match=r"moments: must be an array for each of 2 \(got 1\)"):
        type(rankers[0]).answers_together(rankers, **ROWS, spans=[[0, 1], [1, 3]], moments=[[5]])
    with pytest.raises(InputError, match="moments"):
        checked_moments(rankers, [[1], [1.5]])
    assert [len(one) for one in rankers] == [0, 0]


def test_spans_may_stand_in_any_order_be_empty_and_leave_rows_out(rankers):
    answers = type(rankers[0]).answers_together(rankers, **ROWS, spans=[[2, 3], [0, 1]], moments=[[3], [3]])
    assert [column.tolist() for column in answers] == [[0, 1, 2], [9, 7], [0.125, 0.5]]
    assert checked_spans(rankers, [[1, 1], [0, 3]], 3).tolist() == [[1, 1], [0, 3]]


def test_times_ascend_in_each_span_whatever_is_between_them():
    rng = np.random.default_rng(3)
    for _ in range(500):
        times = rng.integers(0, 4, 12)
        cuts = np.unique(rng.integers(0, 13, 5))
        spans = rng.permutation(np.column_stack([cuts[:-1], cuts[1:]]))
        expected = all((np.diff(times[start:stop]) >= 0).all() for start, stop in spans.tolist())
        whole = len(cuts) > 1 and cuts[0] == 0 and cuts[-1] == 12
        told = ascending_in_spans(times, spans)
        assert told == expected if whole else told <= expected
