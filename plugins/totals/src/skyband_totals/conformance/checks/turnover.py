"""Objects rise, fall, leave and return, with occasional queries; and bounds hold where they are tight."""

from collections import Counter
from typing import Any

import numpy as np
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.driver import Case

from skyband_totals.conformance.expectations import ROUNDING, expect_exact, fault_of
from skyband_totals.conformance.oracle import TotalOracle
from skyband_totals.conformance.plain_data import columns, rows_of
from skyband_totals.conformance.streams import TotalStream, binding, stream, turnover

COUNT = 5
SEEDS = range(10)
MOMENTS = 14
PANES = 30
MOST_EXACT = 5000
"""The most entries up to which `exact_up_to` is checked: with more, the check would take long."""


@check("oracle", guarantees=("exact",))
def check_objects_rise_leave_and_return(make: Make, case: Case) -> None:
    """Objects of a small pool change places, leave and return; the ranker itself is queried at random moments.

    State between answers, such as the next best objects, is then stale as often as possible.
    """
    for seed in SEEDS:
        rng = np.random.default_rng([14, seed])
        backend = make(k=1 + seed % 2 + 3 * (seed == 4), share=None)
        if backend.by == "rows":
            return
        longest, grain = backend.longest, backend.grain
        rows = turnover(seed, backend.unit, longest)
        oracle = TotalOracle(backend.parameters())
        start = 0
        while start < len(rows):
            stop = min(start + int(rng.integers(1, 40)), len(rows))
            queries = rng.random() < 0.7
            if queries:  # with all rows of the pane
                stop = int(np.searchsorted(rows.times // grain, rows.times[stop - 1] // grain, side="right"))
            case.driver.feed(backend, rows, start, stop)
            oracle.rows.extend(rows_of(backend, rows.take(np.arange(start, stop)), stop - start))
            now, start = int(rows.times[stop - 1]), stop
            oracle.rows[:] = [row for row in oracle.rows if row[0] >= now - longest - grain]
            begin = (now - int(rng.integers(longest))) // grain * grain
            if rng.random() < 0.2 and begin >= now - longest:
                expect_exact(backend.since(begin), oracle.answer(begin, 2**63), f"seed {seed}, since {begin} at {now}")
            if queries:
                moment = (now // grain + 1) * grain
                backend.advance(moment)
                place = int(rng.integers(len(backend.windows)))
                answer, top = oracle.answer(moment - backend.windows[place], moment), backend.top(place)
                what = f"seed {seed}, window {place} at {moment}"
                expect_exact(top, answer, what)
                expect_equal((top.grand, top.rest), (answer.grand, answer.rest), f"{what}: grand total and rest")


@check("oracle", guarantees=("exact", "bounded"))
def check_bounds_hold_where_they_bind(make: Make, case: Case) -> None:
    """Bounds hold and are narrow with blocks of one object between many equal ones, and heavy rows among light ones.

    If bounds are certain, at every queried moment low <= truth <= high to the unit, and with an `epsilon`, high − low
    is at most that part of the grand total.
    """
    if make().by == "rows" or getattr(make(), "delta", 0.0):
        return
    for seed in range(4):
        backend = make(windows=[make().grain * 10**6], k=50, share=None)
        epsilon = getattr(backend, "epsilon", 0.0)
        if 0 < epsilon < 0.1:  # there would be more counters than objects
            return
        plain = binding(seed, int(np.ceil(2 / epsilon)) if epsilon else 20)
        weights = plain.weights if backend.total == "sum" else np.ones(len(plain))
        times = plain.times if backend.grain == 1 else plain.times * PANES // len(plain) * backend.grain
        scaled = TotalStream(times, plain.objects, weights * backend.unit, plain.values)
        case.driver.feed(backend, scaled, 0, len(scaled))
        unit = backend.unit if backend.total == "sum" else 1.0
        rng = np.random.default_rng([15, seed])
        ages = np.unique((rng.random(MOMENTS) ** 3 * len(plain)).astype(int))
        for first in (*ages.tolist(), 0, len(plain) - 1):
            begin = int(scaled.times[first])
            recent = scaled.times >= begin
            truth = _totals(plain.objects[recent], weights[recent])
            top, what = backend.since(begin), f"stream {seed}, since row {first} of {len(plain)}"
            expect_equal(fault_of(top, truth, unit), "", what)
            most = epsilon * top.grand_high * (1 + ROUNDING)
            for width in (*(top.high - top.low).tolist(), top.grand_high - top.grand_low):
                expect(width <= most, f"{what}: high − low is {width}, more than epsilon of the grand total, {most}")


@check("edges", guarantees=("exact", "bounded"))
def check_as_many_entries_as_are_exact(make: Make, case: Case) -> None:
    """With exactly as many entries as `exact_up_to` says, all answers are exact, at every queried moment."""
    most = make().exact_up_to
    if not 0 < most <= MOST_EXACT or make().by == "rows":
        return
    for seed in range(3):
        backend = make(windows=[make().grain * (most + 2)], k=3, share=None)
        rng = np.random.default_rng([16, seed])
        objects = rng.permutation(most) if seed else np.repeat(rng.permutation(most // 2 + 1), 2)[:most]
        units = 10 ** rng.integers(0, 6, most) if backend.total == "sum" else np.ones(most)
        values = np.arange(most) * 5 + seed
        one_pane = np.zeros(most, int) if backend.grain > 1 else np.arange(most)
        rows = stream(one_pane, objects, units * backend.unit, values)
        case.driver.feed(backend, rows, 0, most)
        oracle = TotalOracle(backend.parameters(), rows_of(backend, rows, most))
        for begin in {0, int(rows.times[most // 3]), int(rows.times[-1])}:
            answer, top = oracle.answer(begin, 2**63), backend.since(begin)
            expect_exact(top, answer, f"{most} entries, since {begin}")
            expect_equal((top.grand, top.grand_high), (answer.grand, answer.grand), f"{most} entries: grand total")
            expect_equal((top.low.tolist(), top.high.tolist()), (answer.totals, answer.totals), f"{most} entries")


@check("determinism", guarantees=("exact", "bounded"))
def check_rows_of_one_time_have_no_order(make: Make, case: Case) -> None:
    """With rows of equal times in another order, answers and bytes are the same."""
    if make().order_matters or make().by == "rows":
        return
    for seed in range(4):
        rows: Any = case.driver.seeded(case, seed + 1)
        rng = np.random.default_rng([17, seed])
        shuffled = rows.take(np.lexsort((rng.random(len(rows)), rows.times)))
        first, second = (_visible(make, case, each) for each in (rows, shuffled))
        expect_equal(second, first, "with the rows of each time in another order")


@check("batch-split")
def check_answers_on_the_way_are_those_of_asking(make: Make, case: Case) -> None:
    """Several moments within a batch are answered as by a ranker that stops at each of them."""
    for seed in range(2):
        backend, stopping = make(), make()
        rows = turnover(seed, backend.unit, backend.longest)
        times, objects, weights, values = columns(backend, rows, 0, len(rows))
        rng = np.random.default_rng([18, seed])
        grain = backend.grain
        marks = np.arange(int(times[0]) // grain + 1, int(times[-1]) // grain + 2) * grain
        marks = marks[rng.random(len(marks)) < 0.2]
        tops = iter(backend.answers(times, objects, weights, values, moments=marks))
        start = 0
        for moment in marks.tolist():
            stop = int(np.searchsorted(times, moment))
            case.driver.feed(stopping, rows, start, stop)
            stopping.advance(moment)
            start = stop
            for place in range(len(stopping.windows)):
                top, other = next(tops), stopping.top(place)
                got = top.objects.tolist(), top.totals.tolist(), top.grand, top.rest
                expected = other.objects.tolist(), other.totals.tolist(), other.grand, other.rest
                expect_equal(got, expected, f"seed {seed}, window {place} at {moment}")


def _totals(objects: Any, weights: Any) -> Counter[int]:
    keys, places = np.unique(objects, return_inverse=True)
    return Counter(dict(zip(keys.tolist(), np.bincount(places, weights).astype(np.int64).tolist(), strict=True)))


def _visible(make: Make, case: Case, rows: TotalStream) -> tuple[Any, bytes]:
    backend = make()
    case.driver.feed(backend, rows, 0, len(rows))
    return case.driver.answers(backend, rows, len(rows)), backend.snapshot() if case.has("snapshot") else b""
