"""total-ranker/exact with many, long or sparse answers: sorting, moving and reallocating."""

import numpy as np
import pytest
import skyband
from skyband_totals.exact.bar import SIZE
from skyband_totals.exact.sum_steps import USED
from skyband_totals.slots import KEY, TOTAL

WINDOW, SLIDE = 4000, 500


def ranked(objects, k):
    """The k objects with the most rows: (objects, totals), in order."""
    keys, totals = np.unique(objects, return_counts=True)
    order = np.lexsort((keys, -totals))[:k]
    return keys[order].tolist(), totals[order].tolist()


def answers(ranker, objects, begin, end, moments):
    return ranker.answers(np.arange(begin, end), objects[begin:end], moments=moments)


@pytest.mark.parametrize("k", [1, 20, 255, 256, 257, 700, 5000])
@pytest.mark.parametrize("spread", [30, 600, 10**6])
def test_few_and_many_objects_are_answered_in_order(k, spread):
    rng = np.random.default_rng(k + spread)
    objects = (rng.zipf(1.2, 3 * WINDOW) % spread) * 7919 % spread - spread // 2
    ranker = skyband.create("total-ranker", windows=[WINDOW], every=SLIDE, k=k)
    moments = np.arange(0, len(objects), SLIDE)
    tops = answers(ranker, objects, 0, len(objects), moments)
    for moment, top in zip(moments.tolist(), tops, strict=True):
        assert (top.objects.tolist(), top.totals.tolist()) == ranked(objects[max(moment - WINDOW, 0) : moment], k)


def test_candidates_keep_the_order_of_the_last_answer():
    objects = np.random.default_rng(1).zipf(1.2, 3 * WINDOW) % 3000
    ranker = skyband.create("total-ranker", windows=[WINDOW], every=SLIDE, k=20)
    for begin in range(0, len(objects), SLIDE):
        answer = answers(ranker, objects, begin, begin + SLIDE, np.array([begin]))[0]
        ranker.advance(begin + SLIDE)
        last = ranker.top(0)
        ledger = ranker._ledger._ledger
        best = ledger.hot[ledger.candidates.near[0, : len(last.objects)]]
        assert np.array_equal(best[:, KEY], last.objects)
        assert np.array_equal(best[:, TOTAL], last.totals)
        assert len(answer.objects) == min(begin, 20)


def test_a_pane_with_many_objects_leaves_the_intended_number_of_candidates():
    ranker = skyband.create("total-ranker", windows=[30_000], every=10_000, k=10)
    objects = np.random.default_rng(2).integers(0, 5000, 30_000)
    top = answers(ranker, objects, 0, len(objects), np.array([10_000, 20_000]))[1]
    assert (top.objects.tolist(), top.totals.tolist()) == ranked(objects[:20_000], 10)
    assert ranker._ledger._ledger.spans[0, SIZE] <= 2 * 20 + 64


def test_panes_move_to_the_front_of_their_list_when_half_of_it_is_free():
    ranker = skyband.create("total-ranker", windows=[5, 2], every=1, k=10)
    objects = np.random.default_rng(3).integers(0, 4, 1000)
    tops = answers(ranker, objects, 0, 1000, np.arange(1000))
    for moment in range(1000):
        for window, length in enumerate([5, 2]):
            top = tops[2 * moment + window]
            found = top.objects.tolist(), top.totals.tolist()
            assert found == ranked(objects[max(moment - length, 0) : moment], 10)
    assert len(ranker._ledger._ledger.panes) == 16


@pytest.mark.parametrize("order", ["in turn", "shuffled"])
def test_a_table_that_grows_several_times_in_a_call_equals_that_of_many_calls(order):
    rows = 150_000
    objects = np.arange(rows) if order == "in turn" else np.random.default_rng(4).permutation(rows)
    objects[::3] = objects[::3] % 1000
    moments = np.arange(0, rows, 25_000)
    together, apart = (skyband.create("total-ranker", windows=[100_000], every=25_000, k=500) for _ in range(2))
    whole = answers(together, objects, 0, rows, moments)
    parts = [answers(apart, objects, begin, begin + 1000, moments[moments == begin]) for begin in range(0, rows, 1000)]
    parts = [part for part in parts if len(part)]
    for moment, one, (other,) in zip(moments.tolist(), whole, parts, strict=True):
        wanted = ranked(objects[max(moment - 100_000, 0) : moment], 500)
        assert (one.objects.tolist(), one.totals.tolist()) == wanted
        assert (other.objects.tolist(), other.totals.tolist()) == wanted
    ledger = together._ledger._ledger
    assert together.snapshot() == apart.snapshot()
    assert 2 * ledger.counts[USED] <= len(ledger.hot) <= 8 * ledger.counts[USED]
    assert ledger.hot.ctypes.data % 64 == 0
