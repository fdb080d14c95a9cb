"""Rows and moments for several backends in one call: errors are raised before any backend changes."""

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
)
def test_invalid_spans_are_rejected(rankers, spans, message):
    before = [one.snapshot() for one in rankers]
    with pytest.raises(InputError) as error:
        type(rankers[0]).answers_together(rankers, **ROWS, spans=spans, moments=[[], []])
    assert str(error.value) == message
    assert [one.snapshot() for one in rankers] == before


def test_a_backend_is_listed_once_with_its_own_moments(rankers):
    with pytest.raises(InputError, match="one is listed twice"):
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


SEEN = {"times": [1, 2, 3], "keys": np.arange(3, dtype=np.uint64)}


@pytest.fixture
def sketches():
    return [skyband.create("sketch", "exact") for _ in range(2)]


def together(sketches, rows=SEEN, spans=((0, 2), (2, 3)), moments=((2,), (3, 4)), since=None):
    since = {2: [0], 3: [0, 3], 4: [4]} if since is None else since
    marks = [np.array(own, np.int64) for own in moments]
    return type(sketches[0]).counts_together(sketches, **rows, spans=spans, moments=marks, since=since).tolist()


def test_several_sketches_count_rows_before_each_moment(sketches):
    assert together(sketches) == [[count] * 3 for count in (1.0, 0.0, 0.0, 0.0)]
    assert [sketch.now for sketch in sketches] == [2, 3]
    late = {"times": [1, 5], "keys": np.array([9, 1], np.uint64)}
    assert together(sketches, late, ((0, 1), (1, 2)), ((), (6,)), {6: [5, 4, 6]}) == [[1.0] * 3, [1.0] * 3, [0.0] * 3]
    assert [sketch.now for sketch in sketches] == [2, 5]
    assert [len(sketch) for sketch in sketches] == [3, 1], "of the second what is before 4 is forgotten"
    assert together(sketches, late, ((0, 0), (0, 0)), ((), ())) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"spans": [[0, 2]]}, "spans: must be int64, a begin and an end for each of 2"),
        ({"moments": ((2,), (4, 3))}, "moments, row 1: 3 is before the row above (4)"),
        ({"moments": ((2,),)}, "moments: must be an array for each of 2 (got 1)"),
        ({"since": {2: [0], 3: [0]}}, "since: must have at least one entry for each moment (none for 4)"),
        ({"since": {2: [0], 3: [0], 4: []}}, "since: must have at least one entry for each moment (none for 4)"),
        ({"since": {2: [0], 3: [0.5], 4: [0]}}, "since: must be a whole number (got 0.5)"),
        ({"rows": {**SEEN, "times": [2, 1, 3]}}, "times, row 1: 1 is before the row above (2)"),
        ({"rows": {**SEEN, "times": [1, 2, -(2**63)]}}, f"times, row 2: {-(2**63)} is reserved for never"),
        ({"rows": {**SEEN, "keys": [1, 2, -3]}}, "keys"),
    ],
)
def test_errors_of_several_sketches_are_raised_before_any_changes(sketches, changes, message):
    before = [sketch.snapshot() for sketch in sketches]
    with pytest.raises(InputError) as error:
        together(sketches, **changes)
    assert str(error.value).startswith(message)
    assert [sketch.snapshot() for sketch in sketches] == before


def test_what_keeps_values_or_is_ordered_refuses_rows_of_several():
    keeping = [skyband.create("sketch", "exact", values="latest") for _ in range(2)]
    with pytest.raises(InputError, match="sketches: exact keeps values, and none were given"):
        together(keeping)
    panes = [skyband.create("sketch", "hll-panes", pane=2) for _ in range(2)]
    with pytest.raises(InputError, match=r"since: must be a multiple of 2 \(got 3\)"):
        together(panes)
    panes[1].update([4], np.array([1], np.uint64))
    with pytest.raises(InputError, match=r"times, row 0: 3 is before 4, the time already reached"):
        together(panes, since={2: [0], 3: [0], 4: [2]})
    assert [len(sketch) for sketch in panes] == [0, 1]


def test_calls_of_several_want_one_at_least(rankers):
    with pytest.raises(InputError, match=r"must be of one backend at least \(got none\)"):
        type(rankers[0]).answers_together([], **ROWS, spans=np.empty((0, 2), np.int64), moments=[])
    with pytest.raises(InputError, match=r"must be of one backend at least \(got none\)"):
        skyband.roles.Sketch.counts_together([], **SEEN, spans=np.empty((0, 2), np.int64), moments=[], since={})


def test_of_several_each_is_refused_what_it_is_refused_alone():
    """Times and moments just before, at and after what each has reached, with spans in any order."""
    rng, refused = np.random.default_rng(67), 0
    for _ in range(150):
        reached = rng.integers(5, 8, 3).tolist()
        rankers, alone = (
            [skyband.create("object-ranker", "eaa", k=2, window=10, streams=1) for _ in range(3)] for _ in "ab"
        )
        for one, time in zip(rankers + alone, 2 * reached, strict=True):
            one.update([time], [0], [1], [0.5])
        sizes, order = rng.integers(0, 3, 3), rng.permutation(3)
        starts = np.zeros(3, np.int64)
        starts[order] = np.cumsum(sizes[order]) - sizes[order]
        spans = np.column_stack([starts, starts + sizes])
        times = np.zeros(int(sizes.sum()), np.int64)
        moments = []
        for own, now in enumerate(reached):
            steps = rng.choice([-1, 0, 0, 1, 1, 1], sizes[own])
            times[spans[own, 0] : spans[own, 1]] = now + np.cumsum(steps)
            moments.append((now + np.cumsum(rng.choice([-1, 0, 0, 1, 1], int(rng.integers(0, 3))))).tolist())
        parts = [times[start:stop].tolist() for start, stop in spans.tolist()]
        fine = all(
            own == sorted(own) and min(own, default=now) >= now
            for now, *each in zip(reached, parts, moments, strict=True)
            for own in each
        )
        count = len(times)
        columns = {"streams": [0] * count, "objects": list(range(2, count + 2)), "values": [0.25] * count}
        before = [one.snapshot() for one in rankers]

        def call(rankers, spans, moments, times=times, columns=columns):
            told = type(rankers[0]).answers_together(rankers, times=times, **columns, spans=spans, moments=moments)
            return [column.tolist() for column in told]

        if fine:
            told = call(rankers, spans, moments)
            each = [call([one], spans[[own]], [moments[own]]) for own, one in enumerate(alone)]
            assert told[1:] == [[value for part in each for value in part[place]] for place in (1, 2)]
            assert [one.snapshot() for one in rankers] == [one.snapshot() for one in alone]
        else:
            refused += 1
            with pytest.raises(InputError):
                call(rankers, spans, moments)
            assert [one.snapshot() for one in rankers] == before
    assert 20 < refused < 140
