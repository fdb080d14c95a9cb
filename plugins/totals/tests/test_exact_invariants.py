"""The invariants of the ledgers of total-ranker/exact hold after every step: totals, candidates, stock."""

from collections import Counter

import numpy as np
import pytest
import skyband
from skyband_totals.conformance.streams import turnover
from skyband_totals.exact import pair_kernels, sum_steps
from skyband_totals.exact.bar import (
    AIM,
    BAR,
    DRAWN,
    ENDS,
    FAR,
    FIRST,
    FIRST_KEY,
    GRAND,
    KEYS,
    LEAST,
    LOOKS,
    LOT,
    SIZE,
    STOCK,
)
from skyband_totals.exact.exact_distinct_pairs import PairLedger
from skyband_totals.exact.pane_log import HEAD, NEXT, NUMBER, OLDEST, START, TAIL
from skyband_totals.pairs import LAST, NEVER, OBJECT, UNKNOWN
from skyband_totals.slots import CURRENT, FLAGS, KEY, TAKEN, TOTAL


def check(ledger):
    """Raise AssertionError if the state of a ledger contradicts itself."""
    state = ledger._ledger
    used = np.flatnonzero(state.hot[:, FLAGS])
    keys = state.hot[used, KEY].tolist()
    assert len(set(keys)) == len(keys)
    assert (state.hot[used, FLAGS] >> TAKEN & 1).all()
    is_pairs = isinstance(ledger, PairLedger)
    assert len(used) <= state.counts[pair_kernels.USED if is_pairs else sum_steps.USED] <= len(state.hot) // 2
    check_log(state, is_pairs)
    for window in range(len(state.spans)):
        totals = pair_totals(state, window) if is_pairs else sum_totals(state, window)
        assert {slot: int(state.hot[slot, TOTAL + window]) for slot in used.tolist()} == {
            slot: totals[slot] for slot in used.tolist()
        }
        assert state.spans[window, GRAND] == sum(totals.values())
        check_candidates(state, window, used)


def check_log(state, is_pairs):
    counts, panes = state.counts, state.panes
    assert 0 <= counts[TAIL] - counts[HEAD] <= len(state.log)
    listed = panes[counts[OLDEST] : counts[NEXT]]
    assert (np.diff(listed[:, NUMBER]) > 0).all()
    assert (np.diff(listed[:, START]) >= 0).all()
    assert counts[OLDEST] == state.spans[:, FIRST].min()
    if len(listed):
        assert listed[0, START] == counts[HEAD]
    if is_pairs:
        held = state.pairs[state.pairs[:, LAST] != NEVER]
        assert len(held) == counts[pair_kernels.PAIRS] <= len(state.pairs) // 2
    else:
        touched = state.touched[: counts[sum_steps.TOUCHED]]
        assert sorted(touched.tolist()) == np.flatnonzero(state.hot[:, CURRENT]).tolist()


def sum_totals(state, window):
    """The log's sums of the panes in a window, by slot."""
    counts, totals = state.counts, Counter()
    first = state.spans[window, FIRST]
    start = state.panes[first, START] if first < counts[NEXT] else counts[TAIL]
    for number in range(start, counts[TAIL]):
        totals[int(state.log[number % len(state.log)])] += int(state.sums[number % len(state.log)])
    return totals


def pair_totals(state, window):
    """The number of pairs whose last pane is in a window, by slot."""
    held = state.pairs[:, LAST] >= state.bounds[window]
    homes = state.pairs[held, OBJECT]
    assert (homes != UNKNOWN).all()
    return Counter(homes.tolist())


def check_candidates(state, window, used):
    """All objects not after the bar are candidates; all others before the far bar are in the stock."""
    span, stock = state.spans[window], state.candidates.stock[:, window]
    near = state.candidates.near[window, : span[SIZE]].tolist()
    flagged = [slot for slot in used.tolist() if state.hot[slot, FLAGS] >> window & 1]
    assert sorted(near) == flagged
    bar, far = (-span[BAR], span[KEYS]), (-span[FAR], span[ENDS])
    assert bar <= far or span[DRAWN] == span[STOCK]
    waiting = {int(stock[1, place]): int(stock[0, place]) for place in range(span[DRAWN], span[STOCK])}
    for slot in used.tolist():
        total, key = int(state.hot[slot, TOTAL + window]), int(state.hot[slot, KEY])
        if total < span[LEAST] or slot in near:
            continue
        assert not (-total, key) <= bar, f"object {key} with {total} is not after the bar, and no candidate"
        if (-total, key) <= far:
            assert waiting.get(key, 0) >= total, f"object {key} with {total} should wait in the stock"


@pytest.mark.parametrize("total", ["rows", "sum", "distinct"])
@pytest.mark.parametrize("seed", range(6))
def test_invariants_hold_after_every_step(total, seed):
    follow(total, seed)


@pytest.mark.parametrize("total", ["rows", "sum", "distinct"])
@pytest.mark.parametrize("seed", range(3))
def test_the_bar_is_never_below_the_least_total(total, seed):
    ledger = follow(total, seed, at_least=2 + seed)._ledger._ledger
    assert (ledger.spans[:, BAR] >= 2 + seed).all()


@pytest.mark.parametrize("total", ["rows", "sum", "distinct"])
def test_objects_below_the_least_total_are_never_scanned(total):
    rows = turnover(2, 1.0, 48)
    ranker = skyband.create("total-ranker", windows=[48], every=1, total=total, at_least=3)
    moments = np.arange(int(rows.times[0]) + 1, int(rows.times[-1]) + 1)
    tops = ranker.answers(rows.times, rows.objects, **amounts(total, rows.weights, rows.values), moments=moments)
    (span,) = ranker._ledger._ledger.spans
    assert (span[BAR], span[STOCK], span[DRAWN]) == (3, 0, 0)
    assert min(top.totals.min() for top in tops if len(top.objects)) >= 3
    check(ranker._ledger)


def follow(total, seed, **limits):
    """The ranker after a stream in which objects change places, with its invariants checked at each step."""
    rng = np.random.default_rng([21, seed])
    k, every = [1, 1, 2, 1, 1, 4][seed], [1, 1, 1, 2, 1, 3][seed]
    ranker = skyband.create("total-ranker", windows=[48, 18], every=every, k=k, total=total, **limits)
    rows = turnover(3 * seed + (1 if seed == 5 else 2), 1.0, 48)
    start, drawn = 0, 0
    while start < len(rows):
        stop = min(start + int(rng.integers(1, 40)), len(rows))
        asks = rng.random() < 0.8
        if asks:  # with all rows of the pane
            stop = int(np.searchsorted(rows.times // every, rows.times[stop - 1] // every, side="right"))
        part = slice(start, stop)
        amounts = {"sum": {"weights": rows.weights[part]}, "distinct": {"values": rows.values[part]}, "rows": {}}
        ranker.update(rows.times[part], rows.objects[part], **amounts[total])
        if asks:
            ranker.advance((ranker.now // every + 1) * every)
            ranker.top(int(rng.random() < 0.3))
        if rng.random() < 0.1:
            len(ranker)
        check(ranker._ledger)
        spans = ranker._ledger._ledger.spans
        if rng.random() < [0.5, 0.03][seed % 2]:  # answers do not depend on what it has learnt about costs
            spans[:, [AIM, LOT]], spans[:, LOOKS] = 0, rng.integers(0, 200)
        drawn += int(((spans[:, DRAWN] > 0) & (spans[:, DRAWN] < spans[:, STOCK])).any())
        start = stop
    assert drawn > 20 or seed == 5 or limits, "the stock was hardly used"
    return ranker


def amounts(total, weights, values):
    return {"rows": {}, "sum": {"weights": weights}, "distinct": {"values": values}}[total]


@pytest.mark.parametrize("total", ["rows", "sum", "distinct"])
@pytest.mark.parametrize("seed", range(4))
def test_invariants_hold_while_totals_fall_without_new_rows(total, seed):
    """After a burst, windows are queried at each moment until they are empty: objects of the stock fall meanwhile.

    Most objects have all their rows at one moment, and leave at once; others lose theirs one by one.
    """
    rng = np.random.default_rng([23, seed])
    ranker, drawn = skyband.create("total-ranker", windows=[40, 25], every=1, k=1 + seed % 2, total=total), 0
    for lap in range(4):
        begin, rows = 100 * lap, int(rng.integers(200, 500))
        objects = (200 * rng.random(rows) ** 3).astype(int)
        at_once = objects % 4 > 0
        times = begin + np.where(at_once, objects * 7 % 36, rng.integers(0, 36, rows))
        order = np.argsort(times, kind="stable")
        times, objects = times[order], np.where(objects == 4 * lap, FIRST_KEY, objects)[order]
        weights, values = rng.choice([1.0, 2.0, 9.0], rows), rng.integers(0, 30, rows, np.uint64)
        ranker.update(times, objects, **amounts(total, weights, values))
        ranker._ledger._ledger.spans[:, [AIM, LOT]] = 0
        for now in range(begin + 36, begin + 80):
            ranker.advance(now)
            for window in range(2):
                ranker.top(window)
            check(ranker._ledger)
            spans = ranker._ledger._ledger.spans
            drawn += int(((spans[:, DRAWN] > 0) & (spans[:, DRAWN] < spans[:, STOCK])).any())
    assert drawn > 8


@pytest.mark.parametrize("k", [3, 4, 9])
def test_all_candidates_may_fall_before_the_next_answer(k):
    """Objects that rise then, few or many, leave the bar and the stock correct."""
    rng, waited = np.random.default_rng([29, k]), 0
    ranker, now = skyband.create("total-ranker", windows=[48], every=1, k=k, total="sum"), 0
    for lap in range(12):
        now += 1
        times, objects = now + np.sort(rng.integers(0, 36, 400)), (200 * rng.random(400) ** 2).astype(int)
        ranker.update(times, objects, weights=rng.integers(1, 20, 400) + 0.0)
        now += 36
        for _ in range(40):  # totals fall until some of the stock is used
            ranker.advance(now := now + 1)
            ranker.top(0)
            (span,) = ranker._ledger._ledger.spans
            if span[DRAWN] < span[STOCK]:
                waited += 1
                break
        bar, room = int(span[BAR]), 2 * max(int(span[AIM]), 2 * k) + 64 - int(span[SIZE])
        for weights in (np.full(room, bar + 1.0), rng.integers(0, bar, room) + 0.0):
            ranker.update(np.full(room, now), -1 - np.arange(room), weights=weights)
            now += 1
        now += 47
        risen = rng.choice(200, 1 + lap % 3, replace=False)
        ranker.update(np.full(len(risen), now), risen, weights=np.full(len(risen), bar + 1.0))
        check(ranker._ledger)
    assert waited > 3


@pytest.mark.parametrize("total", ["rows", "sum"])
def test_a_window_that_is_not_queried_holds_no_expired_object(total):
    """Objects occur once: the table is swept again and again, whichever windows are queried."""
    ranker = skyband.create("total-ranker", windows=[60, 40, 20], every=1, k=2, total=total)
    for start in range(0, 3000, 10):
        numbers = np.arange(start, start + 10)
        ranker.update(numbers, -numbers, **amounts(total, np.ones(10), None))
        ranker.advance(start + 10)
        ranker.top(start // 1000)
        check(ranker._ledger)
