"""Answers are right, or within their bounds, while rows arrive and expire, at any moment and however they are cut."""

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from skyband_specs.batching import fed, seeded, visible
from skyband_specs.binomial import allowed_failures
from skyband_specs.check import Make, check, expect, expect_equal, expect_time_only_advances
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.runner import MOST_CASES
from skyband_specs.together import OwnTurn, TurnsTogether

from skyband_totals.conformance.driver import beginnings
from skyband_totals.conformance.expectations import ROUNDING, expect_exact, fault_of
from skyband_totals.conformance.oracle import TotalOracle
from skyband_totals.conformance.plain_data import columns, plain, rows_of
from skyband_totals.conformance.streams import TotalStream, fallen, overtaken, stream, ties, zipf

COUNT = 11
FLAKE = 1e-8
TRIALS = 60
ZIPF_ROWS = 9000
PER_TIME = (10, 30, 100, 300, 900)
"""The rows of each time, and so of a pane or more: fewer than a bound of epsilon can resolve, and many more."""


@check("oracle", guarantees=("exact",))
def check_all_candidates_may_fall_at_once(make: Make, case: Case) -> None:
    """Objects that were far ahead expire together: those behind them are the answer, the smaller ones if tied."""
    window = max(make().windows)
    for k in (1, 10, 40):
        _follow(make, case, fallen(window), window, k)
    _follow(make, case, overtaken(window), window, 10)
    _follow(make, case, ties(window), window, 10)


def _follow(make: Make, case: Case, rows: TotalStream, window: int, k: int) -> None:
    """Compare every top while the stream runs and expires, with all rows of a time at once."""
    backend = make(k=k, share=None)
    if backend.by == "rows":
        return
    oracle = TotalOracle({**case.parameters, "k": k, "share": None})
    units = TotalStream(rows.times, rows.objects, rows.weights * backend.unit, rows.values)
    for time in np.unique(rows.times).tolist():
        batch = units.take(np.flatnonzero(units.times == time))
        times, objects, weights, values = columns(backend, batch, 0, len(batch))
        backend.update(times, objects, weights=weights, values=values)
        oracle.rows.extend(rows_of(backend, batch, len(batch)))
        for at in (time + 1, time + window // 2 + 1, time + window, time + window + 1):
            moment = -(-at // backend.grain) * backend.grain
            later = rows.times[rows.times > time]
            if moment < backend.now or (len(later) and moment > later[0]):
                continue
            backend.advance(moment)
            for place, length in enumerate(backend.windows):
                expect_exact(backend.top(place), oracle.answer(moment - length, moment), f"top at {moment}")


@check("oracle")
def check_answers_are_sound(make: Make, case: Case) -> None:
    """With any guarantee: no object twice, in order, at most `limit`, low <= total <= high, finite."""

    def law(rows: TotalStream) -> None:
        backend = fed(make, case, rows)
        for begin in beginnings(backend, backend.grain):
            top = backend.since(begin)
            expect_equal(len(top.objects), len(set(top.objects.tolist())), "different objects in the answer")
            expect(
                len(top.objects) <= backend.limit, f"{len(top.objects)} objects, at most {backend.limit} are allowed"
            )
            order = list(zip((-top.totals).tolist(), top.objects.tolist(), strict=True))
            expect_equal(order, sorted(order), "(-total, object) in order")
            expect(
                bool((top.totals > 0).all()), f"an object with a total of {top.totals.min(initial=1)} is in the answer"
            )
            within = (top.low <= top.totals) & (top.totals <= top.high) & np.isfinite(top.high)
            expect(bool(within.all()), f"low <= total <= high does not hold: {plain(top)}")
            expect(
                top.grand_low <= top.grand <= top.grand_high, f"the grand total is outside of its bounds: {plain(top)}"
            )

    holds_for(case, seeded(case), law)


@check("oracle", guarantees=("exact", "bounded"))
def check_bounds_hold_the_truth(make: Make, case: Case) -> None:
    """Every low <= truth <= high, and no object outside of the answer is above `rest`.

    Always, or in all but a share `delta` of the answers if the backend has such a parameter.
    """
    delta = float(getattr(make(), "delta", 0.0))
    trials = _trials(make, case)
    allowed = allowed_failures(len(trials), delta, FLAKE)
    faults = [fault for fault, _ in trials if fault]
    message = f"{len(faults)} of {len(trials)} answers are wrong, at most {allowed} may be: {faults[:1]}"
    expect(len(faults) <= allowed, message)


@lru_cache(maxsize=MOST_CASES)
def _trials(make: Make, case: Case) -> list[tuple[str, float]]:
    """The fault of each answer over Zipf streams since some moment, and the largest error of a share."""
    trials: list[tuple[str, float]] = []
    for seed in range(TRIALS):
        backend = make(windows=[ZIPF_ROWS * make().grain], k=50)
        if backend.by == "rows":
            break
        per_time = PER_TIME[seed % len(PER_TIME)]
        rows = zipf(seed, ZIPF_ROWS, (5, 50, 1000)[seed % 3], (0.8, 1.0, 1.3)[seed % 3], per_time)
        weights = rows.weights * 10.0 ** (rows.values % np.uint64(seed % 7 + 1))
        scaled = TotalStream(rows.times * backend.grain, rows.objects, weights * backend.unit, rows.values)
        case.driver.feed(backend, scaled, 0, len(scaled))
        begin = int(rows.times[-1] * (1 - (1.0, 0.7, 0.3, 0.03)[seed % 4])) * backend.grain
        recent = scaled.times >= begin
        amounts = weights if backend.total == "sum" else np.ones(len(scaled))  # every value is a new one
        keys, places = np.unique(scaled.objects[recent], return_inverse=True)
        totals = np.zeros(len(keys), np.int64)
        np.add.at(totals, places, amounts[recent].astype(np.int64))
        truth = Counter(dict(zip(keys.tolist(), totals.tolist(), strict=True)))
        top, grand = backend.since(begin), truth.total()
        true = np.array([truth[key] / grand for key in top.objects.tolist()])
        fault = fault_of(top, truth, backend.unit if backend.total == "sum" else 1.0)
        trials.append((fault, float(np.abs(top.shares - true).max(initial=0.0))))
    return trials


@check("oracle", guarantees=("bounded",))
def check_totals_are_within_epsilon(make: Make, case: Case) -> None:
    """No total is off by more than epsilon times the grand total, except in a share `delta` of answers."""
    epsilon, delta = make().epsilon, float(getattr(make(), "delta", 0.0))
    misses = [not off <= epsilon + ROUNDING for _, off in _trials(make, case)]
    allowed = allowed_failures(len(misses), delta, FLAKE)
    expect(sum(misses) <= allowed, f"{sum(misses)} of {len(misses)} answers are off by more, at most {allowed} may be")


@check("oracle", guarantees=("exact", "bounded"))
def check_few_rows_are_exact(make: Make, case: Case) -> None:
    """With fewer rows than a bound of epsilon can resolve, every backend is exact."""

    def law(rows: TotalStream) -> None:
        few = rows.take(np.arange(min(len(rows), 5)))
        backend = fed(make, case, few)
        oracle = TotalOracle(case.parameters, rows_of(backend, few, len(few)))
        for begin in beginnings(backend, backend.grain):
            answer, top = oracle.answer(begin, 2**63), backend.since(begin)
            expect_exact(top, answer, f"since {begin}")
            expect_equal(top.grand, answer.grand, f"grand total since {begin}")

    if case.parameters.get("total") != "sum":  # a weight may be far more than its part of the rows
        holds_for(case, seeded(case, range(1, 9)), law)


@check("edges", needs=("any-since",))
def check_since_any_moment(make: Make, case: Case) -> None:
    """Moments within a pane are accepted, and a row counts since its own time but not since the next."""
    for time in (0, 7, -7, 10**15 + 1):
        backend = make(k=5, share=None, at_least=None)
        if backend.by == "rows":
            return
        rows = stream([time, time + 2], [3, 4], [backend.unit] * 2, [5, 6])
        case.driver.feed(backend, rows, 0, 2)
        for begin, count in ((time, 2), (time + 1, 1), (time + 2, 1), (time + 3, 0)):
            top = backend.since(begin)
            expect_equal(len(top.objects), count, f"objects since {begin}, rows at {time} and {time + 2}")


@check("oracle", guarantees=("exact", "bounded"))
def check_what_has_enough_is_in_the_answer(make: Make, case: Case) -> None:
    """With only `at_least`, answers have all objects that reach it and exceed `rest`, and none that cannot."""
    for seed in range(6):
        rows: Any = case.driver.seeded(case, seed)
        for units in (1, 2, 5, 20):
            least = units * make().unit if make().total == "sum" else float(units)
            backend = make(k=None, share=None, at_least=least)
            case.driver.feed(backend, rows, 0, len(rows))
            oracle = TotalOracle(backend.parameters(), rows_of(backend, rows, len(rows)))
            for begin in beginnings(backend, backend.grain):
                top, truth = backend.since(begin), oracle.totals(begin, 2**63)
                large = {key for key, total in truth.items() if total >= units and oracle.worth(total) > top.rest}
                expect_equal(large - {*top.objects.tolist()}, set(), f"with {least} or more since {begin}, missing")
                expect(bool((top.high >= least * (1 - ROUNDING)).all()), f"since {begin}: {plain(top)} is not {least}")


@check("edges")
def check_an_empty_window_has_no_answer(make: Make, case: Case) -> None:
    """Before the first row and after all have expired the answer is empty, without an error."""
    backend = make()
    tops = [backend.top(0), backend.since(0)]
    rows = case.driver.seeded(case, 1)
    case.driver.feed(backend, rows, 0, len(rows))
    end = -(-(backend.now + backend.longest + backend.grain) // backend.grain) * backend.grain
    backend.advance(end)
    tops += [backend.top(0), backend.since(end)]
    for top in tops:
        expect_equal(plain(top), ([], [], [], [], 0.0, 0.0, 0.0, 0.0), "an empty window")
    expect_equal(len(backend), 0, "items retained when all has expired")


@check("edges")
def check_advance_is_idempotent(make: Make, case: Case) -> None:
    """Advancing twice equals advancing once; going back is refused."""
    rows = case.driver.seeded(case, 1)
    backend = fed(make, case, rows)
    expect_time_only_advances(backend, lambda: visible(case, backend, rows, len(rows)))


@check("batch-split")
def check_answers_are_update_and_top(make: Make, case: Case) -> None:
    """Answers at moments within a batch are those of stopping at each moment."""

    def law(rows: TotalStream) -> None:
        backend, stopping = make(), make()
        times, objects, weights, values = columns(backend, rows, 0, len(rows))
        grain = backend.grain
        ends = [int(times[0]) // grain, (int(times[-1]) + 2 * backend.longest) // grain + 1] if len(rows) else [0, 1]
        steps = np.unique(np.linspace(ends[0], ends[1], 40).astype(np.int64))
        marks = steps * grain
        marks = marks[marks >= (0 if backend.by == "rows" else marks[0])]
        tops = list(backend.answers(times, objects, weights, values, moments=marks))
        expect_equal(len(tops), len(marks) * len(backend.windows), "answers")
        start = 0
        for turn, moment in enumerate(marks.tolist()):
            stop = int(np.searchsorted(times, moment))
            case.driver.feed(stopping, rows, start, stop)
            start = stop
            stopping.advance(moment)
            for place in range(len(backend.windows)):
                got = plain(tops[turn * len(backend.windows) + place])
                expect_equal(got, plain(stopping.top(place)), f"window {place} at {moment}")
        case.driver.feed(stopping, rows, start, len(rows))
        got = visible(case, backend, rows, len(rows))
        expect_equal(got, visible(case, stopping, rows, len(rows)), "at the end")

    holds_for(case, seeded(case, (1, 2)), law)


class _Together(TurnsTogether):
    """The turns of several total-rankers."""

    def columns(self, backend: Any, stream: Any, start: int, stop: int) -> tuple[Any, ...]:
        return columns(backend, stream, start, stop)

    def moments(self, backend: Any, times: Any, until: int) -> Any:
        marks = np.unique(np.append(times[::3], until - 1) // backend.grain + 1) * backend.grain
        return marks[marks <= until]

    def wrong_turns(self, backend: Any, turn: OwnTurn) -> Iterator[tuple[str, Any, Any]]:
        yield from super().wrong_turns(backend, turn)
        times, moments = self.columns(backend, *turn[:3])[0], turn.moments
        if len(moments) and backend.grain > 1:
            yield "a moment within a pane", times, moments[-1:] + 1
        if backend.latest is not None and backend.latest % backend.grain == 0 and backend.by == "time":
            yield "the moment of the last row", times, np.array([backend.latest])
        if len(times) and backend.by == "time":
            yield "a time beyond 2**62", np.append(times[:-1], 2**62 + 1), moments[:0]

    def alone(self, backend: Any, columns: Any, moments: Any) -> list[Any]:
        return [plain(top) for top in backend.answers(*columns, moments=moments)]

    def together(self, backends: list[Any], columns: Any, spans: Any, moments: Any) -> list[Any]:
        tops = type(backends[0]).answers_together(backends, *columns, spans=spans, moments=moments)
        return [plain(top) for top in tops]


@check("batch-split")
def check_several_together_answer_as_each(make: Make, case: Case) -> None:
    """Rankers that share a call, each with its own rows and moments, answer like rankers that are called alone."""
    holds_for(case, seeded(case, (1, 2)), lambda rows: _Together().expect_as_each(make, case, rows))
