"""The driver of key-counters for the common checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from skyband import BackendInfo
from skyband_specs.driver import Case, Driver, Trial, advances
from skyband_specs.memoized_oracle import answer_once

from skyband_detect.conformance import trials
from skyband_detect.conformance.oracle import KeyCounterOracle
from skyband_detect.conformance.plain_data import asks_of, at, push, rows_of
from skyband_detect.conformance.streams import MomentStream, bursts, steady, stream, tiny
from skyband_detect.keyed_clock import FARTHEST
from skyband_detect.role import DISTINCT, ROWS, UNSEEN

STEADY_ROWS = 16_000


class KeyCounterDriver(Driver):
    """Feeds moments with all their rows, and asks by feeding one more moment to a copy."""

    role: ClassVar[str] = "key-counter"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """Every measure, windows from one moment to many, bounds from 1 to more than there are rows."""
        return [
            {"longest": 4, "most": 2},
            {"measure": "distinct", "longest": 4, "most": 2},
            {"measure": "unseen", "longest": 3},
            {"longest": 40, "most": 6},
            {"measure": "distinct", "longest": 60, "most": 5},
            {"measure": "unseen", "longest": 50},
            {"longest": 1, "most": 1},
            {"measure": "distinct", "longest": 1000, "most": 40},
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
        """Times as far from 0 as they may be, all rows at one time, keys and values at the ends of their types."""
        some = bursts(4, 40)
        moments = [list(zip(*pair, strict=True)) for pair in zip(some.keys, some.values, strict=True)]
        yield "times at the first there are", stream(some.times - some.times[0] - FARTHEST, moments)
        room = int(some.times[-1]) + 3 * case.parameters["longest"]
        yield "times at the last there are", stream(some.times + FARTHEST - room, moments)
        yield "all rows at one time", stream([7], [[row for rows in moments for row in rows]])
        ends = [[((2**64 - 1) * (key % 2), (2**64 - 1) * (value % 2)) for key, value in rows] for rows in moments]
        yield "keys and values of 0 and 2^64 - 1", stream(some.times, ends)

    def trials(self, case: Case) -> Iterable[Trial]:
        """Large bounds, many keys, many values."""
        return trials.trials(case.long)

    def acts(self, case: Case, stream: MomentStream, stop: int) -> Sequence[tuple[str, Callable[[Any], Any]]]:
        """Advance to the next moment, or until all rows have expired."""
        return advances(case, stream.times, stop, case.parameters["longest"] + 1)

    def feed(self, backend: Any, stream: MomentStream, start: int, stop: int) -> None:
        """A single push, with bounds, which change nothing."""
        push(backend, *stream.flat(start, stop))

    def answers(self, backend: Any, stream: MomentStream, stop: int) -> list[Any]:
        """`now`, and the crossings at some later moments, each pushed to a copy."""
        rows = probe(stream)
        moments = probe_times(backend.now, backend.longest)
        return [backend.now, *(push(deepcopy(backend), *at(time, rows)) for time in moments)]

    def expected(self, case: Case, stream: MomentStream, stop: int) -> list[Any]:
        """The same by counting all rows."""
        return _by_definition(case.parameters, stream, stop)

    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Times that go back or were there, windows and bounds beyond the limits, wrong lengths and dtypes."""
        now, keys = backend.now, np.arange(3, dtype=np.uint64)
        good: dict[str, Any] = {"times": now + 1 + np.arange(3), "keys": keys, "windows": [1]}
        good |= {} if backend.measure == UNSEEN else {"at_least": [1]}
        good |= {"values": keys} if backend.measure == DISTINCT else {}

        def call(**wrong: Any) -> Callable[[], Any]:
            return lambda: backend.update(**{**good, **wrong})

        calls = [
            ("fewer keys than times", call(keys=keys[:2])),
            ("keys below 0", call(keys=[-1, 0, 1])),
            ("a time before now", call(times=[now - 1, now + 1, now + 2])),
            ("the time of the last row", call(times=[now, now + 1, now + 2])),
            ("times that go back", call(times=[now + 1, now + 3, now + 2])),
            ("a time beyond 2^62", call(times=[now + 1, now + 2, 2**62 + 1])),
            ("a window of 0", call(windows=[0])),
            ("a window above the longest", call(windows=[backend.longest + 1])),
            ("fewer truth values than windows", call(windows=[1, 1], each=[True])),
            ("truth values that are numbers", call(each=[1])),
            ("an advance to before now", lambda: backend.advance(now - 1)),
            ("an advance by a fraction", lambda: backend.advance(now + 0.5)),
            ("an advance beyond 2^62", lambda: backend.advance(2**62 + 1)),
        ]
        if backend.measure == UNSEEN:
            calls.append(("a bound of unseen keys", call(at_least=[1])))
        else:
            calls += [
                ("a bound of 0", call(at_least=[0])),
                ("a bound above the most", call(at_least=[backend.most + 1])),
                ("fewer bounds than windows", call(windows=[1, 1])),
            ]
        if backend.measure == ROWS:
            calls += [
                ("a fall below 0", call(fall_windows=[1], below=[0])),
                ("a fall below more than the most", lambda: backend.falls(now + 1, [1], [backend.most + 1])),
                ("a fall in a window above the longest", lambda: backend.next_fall([backend.longest + 1], [1])),
                ("a fall in no window", call(below=[1])),
                ("falls until a fraction", lambda: backend.falls(now + 0.5, [1], [1])),
            ]
        else:
            calls.append(("a fall of what is not rows", call(fall_windows=[1], below=[1])))
        wrong = ("no values", call(values=None)) if backend.measure == DISTINCT else ("values", call(values=keys))
        return [*calls, wrong]


DRIVER = KeyCounterDriver()
"""What `skyband_specs` drives the role by."""


def probe(stream: MomentStream) -> list[tuple[int, int]]:
    """Rows of one moment: some of a stream's keys, each with a value it has and a new one, one of them twice."""
    _, keys, values = stream.flat(0, len(stream))
    some = list(dict.fromkeys(zip(keys.tolist(), values.tolist(), strict=True)))[:5]
    return [*some, *((key, value ^ 1 << 40) for key, value in some[:3]), *some[:1], (77, 1)]


def probe_times(now: int | None, longest: int) -> list[int]:
    """Moments later than `now`: at once, and just within and just outside of the longest window."""
    if now is None:
        return [0]
    return [
        time for time in dict.fromkeys([now + 1, now + longest - 1, now + longest, now + longest + 1]) if time > now
    ]


@answer_once
def _by_definition(parameters: Mapping[str, Any], stream: MomentStream, stop: int) -> list[Any]:
    measure, longest = parameters.get("measure", "rows"), parameters["longest"]
    now = int(stream.times[stop - 1]) if stop else None
    answers: list[Any] = [now]
    for time in probe_times(now, longest):
        oracle = KeyCounterOracle(measure)
        oracle.rows = rows_of(stream, 0, stop)
        answers.append(oracle.update([(time, *row) for row in probe(stream)], asks_of(parameters)))
    return answers
