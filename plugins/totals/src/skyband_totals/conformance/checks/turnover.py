"""Objects rise, fall, leave and come back, asked now and then; bounds are tried where they bind."""

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
"""Entries up to which a backend is taken at its word that it is exact: with more, the rows would take long to make."""


@check("oracle", guarantees=("exact",))
def check_objects_rise_leave_and_return(make: Make, case: Case) -> None:
    """Objects of a small pool change places, leave and return; asked at random moments, the ranker itself, not a copy.

    What is kept between answers, such as the next best objects, is then stale as often as it can be.
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
            asks = rng.random() < 0.7
            if asks:  # with all rows of the pane
                stop = int(np.searchsorted(rows.times // grain, rows.times[stop - 1] // grain, side="right"))
            case.driver.feed(backend, rows, start, stop)
            oracle.rows.extend(rows_of(backend, rows.take(np.arange(start, stop)), stop - start))
            now, start = int(rows.times[stop - 1]), stop
            oracle.rows[:] = [row for row in oracle.rows if row[0] >= now - longest - grain]
            begin = (now - int(rng.integers(longest))) // grain * grain
            if rng.random() < 0.2 and begin >= now - longest:
                expect_exact(backend.since(begin), oracle.answer(begin, 2**63), f"seed {seed}, since {begin} at {now}")
            if asks:
                moment = (now // grain + 1) * grain
                backend.advance(moment)
                place = int(rng.integers(len(backend.windows)))
                answer, top = oracle.answer(moment - backend.windows[place], moment), backend.top(place)
                what = f"seed {seed}, window {place} at {moment}"
                expect_exact(top, answer, what)
                expect_equal((top.grand, top.rest), (answer.grand, answer.rest), f"{what}: grand total and rest")


@check("oracle", guarantees=("exact", "bounded"))
def check_bounds_hold_where_they_bind(make: Make, case: Case) -> None:
    """Blocks of one object between those of many equal ones, heavy rows among light ones: bounds hold and are narrow.

    For what is certain, at every moment asked: low <= truth <= high to the unit, and where there is an `epsilon`,
    high − low is at most that much of the grand total, whatever the moment.
    """
    if make().by == "rows" or getattr(make(), "delta", 0.0):
        return
    for seed in range(4):
        backend = make(windows=[make().grain * 10**6], k=50, share=None)
        epsilon = getattr(backend, "epsilon", 0.0)
        if 0 < epsilon < 0.1:  # more counters than the stream has objects for
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
    """With exactly as many entries as `exact_up_to` says, all that is answered is exact, at every moment asked."""
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
    """The same rows, those of one time in another order: the same answers and the same bytes."""
    if make().order_matters or make().by == "rows":
        return
    for seed in range(4):
        rows: Any = case.driver.seeded(case, seed + 1)
        rng = np.random.default_rng([17, seed])
        shuffled = rows.take(np.lexsort((rng.random(len(rows)), rows.times)))
        one, other = (_seen(make, case, each) for each in (rows, shuffled))
        expect_equal(other, one, "with the rows of each time in another order")


@check("batch-split")
def check_answers_on_the_way_are_those_of_asking(make: Make, case: Case) -> None:
    """Moments answered within a batch, several a call, are answered as by a ranker that stops there and is asked."""
    for seed in range(2):
        backend, asked = make(), make()
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
            case.driver.feed(asked, rows, start, stop)
            asked.advance(moment)
            start = stop
            for place in range(len(asked.windows)):
                top, wanted = next(tops), asked.top(place)
                got = top.objects.tolist(), top.totals.tolist(), top.grand, top.rest
                expected = wanted.objects.tolist(), wanted.totals.tolist(), wanted.grand, wanted.rest
                expect_equal(got, expected, f"seed {seed}, window {place} at {moment}")


def _totals(objects: Any, weights: Any) -> Counter[int]:
    keys, places = np.unique(objects, return_inverse=True)
    return Counter(dict(zip(keys.tolist(), np.bincount(places, weights).astype(np.int64).tolist(), strict=True)))


def _seen(make: Make, case: Case, rows: TotalStream) -> tuple[Any, bytes]:
    backend = make()
    case.driver.feed(backend, rows, 0, len(rows))
    return case.driver.answers(backend, rows, len(rows)), backend.snapshot() if case.has("snapshot") else b""
