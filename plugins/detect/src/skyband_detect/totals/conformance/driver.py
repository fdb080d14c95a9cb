"""The driver of key-totals for the common checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from skyband import BackendInfo
from skyband_specs.driver import Case, Driver, Trial, advances
from skyband_specs.memoized_oracle import answer_once

from skyband_detect.conformance.driver import STEADY_ROWS, probe, probe_times
from skyband_detect.conformance.plain_data import at
from skyband_detect.conformance.streams import MomentStream, bursts, steady, stream, tiny
from skyband_detect.keyed_clock import FARTHEST
from skyband_detect.total_role import BILLION, FULL, QUANTILE, SUM
from skyband_detect.totals.conformance import trials
from skyband_detect.totals.conformance.oracle import KeyTotalOracle
from skyband_detect.totals.conformance.plain_data import asks_of, push, rows_of, values_for


class KeyTotalDriver(Driver):
    """Feeds moments with all their rows, and asks by feeding one more moment to a copy."""

    role: ClassVar[str] = "key-total"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """Every measure, windows from one moment to many, limits that many values equal and that none does."""
        return [
            {"longest": 4},
            {"measure": "mean", "longest": 4},
            {"measure": "quantile", "longest": 4, "limit": 1.5},
            {"longest": 60},
            {"measure": "mean", "longest": 50},
            {"measure": "quantile", "longest": 60, "limit": 0.0},
            {"longest": 1},
            {"measure": "quantile", "longest": 1000, "limit": 2.1},
        ]

    def tiny(self, case: Case) -> Iterator[MomentStream]:
        """Short streams of two keys and two values; one of the keys is 0."""
        return tiny()

    def seeded(self, case: Case, seed: int) -> MomentStream:
        """Ties, bursts, gaps, few keys and many."""
        return bursts(seed, 80)

    def steady(self, case: Case) -> MomentStream:
        """New keys without end."""
        return steady(STEADY_ROWS)

    def odd(self, case: Case) -> Iterator[tuple[str, MomentStream]]:
        """Times as far from 0 as they may be, all rows at one time, keys at the ends of their type."""
        some = bursts(4, 40)
        moments = [list(zip(*pair, strict=True)) for pair in zip(some.keys, some.values, strict=True)]
        yield "times at the first there are", stream(some.times - some.times[0] - FARTHEST, moments)
        room = int(some.times[-1]) + 3 * case.parameters["longest"]
        yield "times at the last there are", stream(some.times + FARTHEST - room, moments)
        yield "all rows at one time", stream([7], [[row for rows in moments for row in rows]])
        yield (
            "keys of 0 and 2^64 - 1",
            stream(some.times, [[((2**64 - 1) * (key % 2), value) for key, value in rows] for rows in moments]),
        )

    def trials(self, case: Case) -> Iterable[Trial]:
        """Many values of a key, and many keys."""
        return trials.trials(case.long)

    def acts(self, case: Case, stream: MomentStream, stop: int) -> Sequence[tuple[str, Callable[[Any], Any]]]:
        """Advance to the next moment, or until all rows have expired."""
        return advances(case, stream.times, stop, case.parameters["longest"] + 1)

    def feed(self, backend: Any, stream: MomentStream, start: int, stop: int) -> None:
        """A single push, with bounds, which change nothing."""
        push(backend, *stream.flat(start, stop))

    def answers(self, backend: Any, stream: MomentStream, stop: int) -> list[Any]:
        """`now`, and what is reached at some later moments, each pushed to a copy."""
        rows = probe(stream)
        moments = probe_times(backend.now, backend.longest)
        return [backend.now, *(push(deepcopy(backend), *at(time, rows)) for time in moments)]

    def expected(self, case: Case, stream: MomentStream, stop: int) -> list[Any]:
        """The same by adding up all rows."""
        return _by_definition(case.parameters, stream, stop)

    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Times that go back or were there, bounds beyond the limits, wrong lengths and dtypes, sums too large."""
        now, keys = backend.now, np.arange(3, dtype=np.uint64)
        values = np.array([0.5, 1, 2]) if backend.measure == QUANTILE else np.arange(3)
        good: dict[str, Any] = {"times": now + 1 + np.arange(3), "keys": keys, "values": values, "windows": [1]}
        good |= {"billionths": [BILLION // 2]} if backend.measure == QUANTILE else {"at_least": [1]}

        def call(**wrong: Any) -> Callable[[], Any]:
            return lambda: backend.update(**{**good, **wrong})

        calls = [
            ("fewer keys than times", call(keys=keys[:2])),
            ("keys below 0", call(keys=[-1, 0, 1])),
            ("fewer values than times", call(values=values[:2])),
            ("a time before now", call(times=[now - 1, now + 1, now + 2])),
            ("the time of the last row", call(times=[now, now + 1, now + 2])),
            ("times that go back", call(times=[now + 1, now + 3, now + 2])),
            ("a time beyond 2^62", call(times=[now + 1, now + 2, 2**62 + 1])),
            ("a window of 0", call(windows=[0])),
            ("a window above the longest", call(windows=[backend.longest + 1])),
            ("fewer truth values than windows", call(windows=[1], each=[True, False])),
            ("truth values that are numbers", call(each=[1])),
            ("an advance to before now", lambda: backend.advance(now - 1)),
            ("an advance by a fraction", lambda: backend.advance(now + 0.5)),
            ("an advance beyond 2^62", lambda: backend.advance(2**62 + 1)),
        ]
        if backend.measure == QUANTILE:
            calls += [
                ("a value that is NaN", call(values=[0.5, np.nan, 1.0])),
                ("a bound of quantiles besides the limit", call(at_least=[1])),
                ("a quantile of 0", call(billionths=[0])),
                ("a quantile above 1", call(billionths=[BILLION + 1])),
                ("no quantile", call(billionths=[])),
            ]
        else:
            calls += [
                ("values with fractions", call(values=[0.5, 1, 2])),
                ("values beyond 2^62 in all", call(values=[FULL // 2, -FULL // 2, 2])),
                ("fewer bounds than windows", call(windows=[1, 1])),
            ]
        if backend.measure == SUM:
            calls.append(("a least number of values of a sum", call(least=[1])))
        else:
            calls.append(("a least number of 0", call(least=[0])))
        return calls


DRIVER = KeyTotalDriver()
"""What `skyband_specs` drives the role by."""


@answer_once
def _by_definition(parameters: Mapping[str, Any], stream: MomentStream, stop: int) -> list[Any]:
    measure, longest = parameters.get("measure", SUM), parameters["longest"]
    now = int(stream.times[stop - 1]) if stop else None
    answers: list[Any] = [now]
    for time in probe_times(now, longest):
        oracle = KeyTotalOracle(measure, parameters.get("limit", 0.0))
        oracle.rows = rows_of(measure, stream, 0, stop)
        _, keys, values = at(time, probe(stream))
        rows = [(time, *row) for row in zip(keys.tolist(), values_for(measure, values).tolist(), strict=True)]
        answers.append(oracle.update(rows, asks_of(parameters)))
    return answers
