"""The checks that only object rankers have."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from skyband_specs.batching import fed, seeded
from skyband_specs.check import Make, check, expect, expect_equal, expect_refused, expect_time_only_advances
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case
from skyband_specs.object_ranker.oracle import ObjectOracle, Report
from skyband_specs.stream import Stream
from skyband_specs.together import TurnsTogether

COUNT = 10
PREFIXES = 6


def prefixes(stream: Stream) -> Iterator[int]:
    """Some lengths to stop a stream at."""
    yield from np.linspace(len(stream) // PREFIXES, len(stream), PREFIXES).astype(int).tolist()


def answer(backend: Any) -> tuple[list[int], list[float]]:
    """The top k as plain data."""
    objects, scores = backend.top()
    return objects.tolist(), scores.tolist()


@check("oracle", guarantees=("exact",))
def check_every_row_equals_the_oracle(make: Make, case: Case) -> None:
    """After every single row of a stream."""

    def law(stream: Any) -> None:
        backend, oracle = make(), ObjectOracle(case.parameters)
        for row in range(len(stream)):
            case.driver.feed(backend, stream, row, row + 1)
            oracle.feed(stream, row, row + 1)
            expect_equal(answer(backend), oracle.top(backend.now), f"top after {row + 1} rows")

    holds_for(case, seeded(case, (1, 2)), law)


@check("edges", guarantees=("exact",))
def check_expiry_equals_the_oracle(make: Make, case: Case) -> None:
    """While time passes without rows: each report counts up to its last valid moment and no longer."""

    def law(stream: Any) -> None:
        for stop in prefixes(stream):
            backend = fed(make, case, stream.take(np.arange(stop)))
            oracle = ObjectOracle(case.parameters).feed(stream, 0, stop)
            ends = {report.time + oracle.window + step for report in oracle.reports for step in (0, 1)}
            for now in sorted(end for end in ends if end >= backend.now):
                backend.advance(now)
                expect_equal(answer(backend), oracle.top(now), f"top at {now}, after {stop} rows")
            expect_equal(len(backend), 0, f"items retained when all has expired, after {stop} rows")

    holds_for(case, seeded(case), law)


@check("edges")
def check_advance_is_idempotent(make: Make, case: Case) -> None:
    """Advancing twice equals advancing once; going back is refused."""

    def law(stream: Any) -> None:
        backend = fed(make, case, stream)
        expect_time_only_advances(backend, lambda: (answer(backend), backend.now, len(backend)))

    holds_for(case, seeded(case, (1,)), law)


@check("batch-split")
def check_answers_are_update_and_top(make: Make, case: Case) -> None:
    """Answers within a batch equal those of stopping at each moment."""

    def law(stream: Any) -> None:
        rows = case.parameters.get("by") == "rows"
        times = np.arange(len(stream)) if rows else stream.times
        gaps = np.arange(0, len(stream) + 7, 7) if rows else np.unique(np.concatenate([times[::5], times[-5:] + 3]))
        backend, plain = make(), make()
        offsets, objects, scores = backend.answers(times, stream.streams, stream.objects, stream.values, gaps)
        expect_equal(len(offsets), len(gaps) + 1, "offsets")
        start = 0
        for turn, moment in enumerate(gaps.tolist()):
            stop = int(np.searchsorted(times, moment, side="left" if rows else "right"))
            case.driver.feed(plain, stream, start, stop)
            plain.advance(moment)
            part = slice(offsets[turn], offsets[turn + 1])
            expect_equal((objects[part].tolist(), scores[part].tolist()), answer(plain), f"answer at {moment}")
            start = stop
        case.driver.feed(plain, stream, start, len(stream))
        expect_equal((answer(backend), backend.now), (answer(plain), plain.now), "top at the end")

    holds_for(case, seeded(case, (1, 2)), law)


class _Together(TurnsTogether):
    """Turns of object rankers."""

    def columns(self, backend: Any, stream: Any, start: int, stop: int) -> list[Any]:
        part = slice(start, stop)
        times = np.arange(start, stop) if backend.by == "rows" else stream.times[part]
        return [times, stream.streams[part], stream.objects[part], stream.values[part]]

    def moments(self, backend: Any, times: Any, until: int) -> Any:
        return np.append(times[::3] + (backend.by == "rows"), until)

    def alone(self, backend: Any, columns: Any, moments: Any) -> list[Any]:
        return _plain(*backend.answers(*columns, moments))

    def together(self, backends: list[Any], columns: Any, spans: Any, moments: Any) -> list[Any]:
        return _plain(*type(backends[0]).answers_together(backends, *columns, spans=spans, moments=moments))


def _plain(offsets: Any, objects: Any, scores: Any) -> list[Any]:
    parts = [slice(*ends) for ends in pairwise(offsets.tolist())]
    return [(objects[part].tolist(), scores[part].tolist()) for part in parts]


@check("batch-split")
def check_several_together_answer_as_each(make: Make, case: Case) -> None:
    """Rankers that take their turns in one call, each with its rows and moments, equal those called alone."""
    holds_for(case, seeded(case, (1, 2)), lambda stream: _Together().expect_as_each(make, case, stream))


@check("oracle", guarantees=("exact",))
def check_every_necessary_instance_can_return(make: Make, case: Case) -> None:
    """An instance of the k-dominance set becomes an answer once all above it expire and its missing values arrive.

    The future in the proof of the paper's theorem 1, with unseen values arriving at their maximum.
    """

    def law(stream: Any) -> None:
        stop = len(stream) * 2 // 3
        past = ObjectOracle(case.parameters).feed(stream, 0, stop)
        if past.rows:
            return
        for instance in past.necessary(past.now or 0)[:: max(1, len(past.reports) // 20)]:
            future = fed(make, case, stream.take(np.arange(stop)))
            oracle = ObjectOracle(case.parameters).feed(stream, 0, stop)
            now = max(future.now, instance.time + oracle.window)
            for number in range(oracle.streams):
                row = Report(now, number, instance.object, oracle.upper)
                oracle.add(row)
                future.update([row.time], [row.stream], [row.object], [row.value])
            expect_equal(answer(future), oracle.top(now), f"top at {now}, when {instance} has all its values")

    holds_for(case, seeded(case), law)


@check("oracle")
def check_answers_are_sound(make: Make, case: Case) -> None:
    """Whatever the guarantee: at most k valid objects, in order, without duplicates, none above its true score."""

    def law(stream: Any) -> None:
        for stop in prefixes(stream):
            oracle = ObjectOracle(case.parameters).feed(stream, 0, stop)
            objects, scores = answer(fed(make, case, stream.take(np.arange(stop))))
            truth = oracle.scores(oracle.now or 0)
            expect_equal(len(objects), len(set(objects)), "different objects in the answer")
            expect(len(objects) <= oracle.k, f"{len(objects)} answers for k = {oracle.k}")
            order = [(-score, name) for name, score in zip(objects, scores, strict=True)]
            expect_equal(order, sorted(order), "(-score, object) in order")
            for name, score in zip(objects, scores, strict=True):
                expect(name in truth, f"after {stop} rows: object {name} has no valid report")
                expect(score <= truth[name], f"after {stop} rows: object {name} got {score}, it has {truth[name]}")

    holds_for(case, seeded(case), law)


@check("memory")
def check_no_more_than_is_valid_is_retained(make: Make, case: Case) -> None:
    """Never more items than there are valid reports."""

    def law(stream: Any) -> None:
        for stop in prefixes(stream):
            retained = len(fed(make, case, stream.take(np.arange(stop))))
            valid = len(ObjectOracle(case.parameters).feed(stream, 0, stop).reports)
            expect(retained <= valid, f"{retained} items retained after {stop} rows, of which {valid} are valid")

    holds_for(case, seeded(case), law)


@check("oracle")
def check_function_equals_the_aggregate_it_computes(make: Make, case: Case) -> None:
    """A user's function counts like the aggregate with the same result."""

    def law(stream: Any) -> None:
        named, own = make(aggregate="max"), make(aggregate=lambda values: values.max())
        for stop in (0, len(stream) // 2, len(stream)):
            start = stop - len(stream) // 2 if stop else 0
            case.driver.feed(named, stream, start, stop)
            case.driver.feed(own, stream, start, stop)
            expect_equal((answer(own), len(own)), (answer(named), len(named)), f"with a function, after {stop} rows")

    holds_for(case, seeded(case, (1,)), law)


@check("bad-input")
def check_wrong_parameters_are_named(make: Make, case: Case) -> None:
    """Invalid parameters are refused, by name."""
    streams = make().streams
    wrong: list[tuple[str, Any]] = [
        ("k", 0),
        ("window", 0),
        ("streams", 0),
        ("upper", 0.0),
        ("upper", float("nan")),
        ("repeats", 0),
        ("repeats", "sometimes"),
        ("aggregate", "median"),
        ("aggregate", [1.0] * (streams + 1)),
        ("aggregate", [-1.0] * streams),
        ("aggregate", lambda values: -values.sum()),
    ]
    for name, value in wrong:
        expect_refused(make, name, **{name: value})
