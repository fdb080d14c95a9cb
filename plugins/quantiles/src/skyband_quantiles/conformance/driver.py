"""The driver of quantile sketches for the common checks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
from attrs import evolve
from skyband import BackendInfo
from skyband_specs.driver import Case, Driver, Trial, advances
from skyband_specs.odd_streams import neighbours

from skyband_quantiles.conformance import trials
from skyband_quantiles.conformance.plain_data import ABOVE, AT, asked_since, oracle_of, plain, times_of
from skyband_quantiles.conformance.streams import NumberStream, any_bits, bursts, decades, stream, tiny

STEADY_ROWS = 24_000
ODD_ROWS = 60
FARTHEST = 2**62


class QuantileSketchDriver(Driver):
    """Feeds (times, values), and asks for quantiles, shares and counts since past moments and at later ones."""

    role: ClassVar[str] = "quantile-sketch"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """Windows of few rows and of many, borders at every moment and at few, limits known ahead, both clocks.

        `epsilon` and `alpha` are coarse, so that what is old is summed up after few rows; buckets of two bits are just
        within 1 / 9.
        """
        return [
            {"longest": 3, "every": 1, "epsilon": 0.25},
            {"longest": 2, "every": 2, "alpha": 1 / 9, "epsilon": 0.1},
            {"longest": 60, "every": 6, "offset": 1, "cuts": (0.0, 50.0), "alpha": 0.1, "epsilon": 0.25, "delta": 0.2},
            {"longest": 400, "every": 400, "epsilon": 0.25, "delta": 0.1},
            {"longest": 900, "every": 100, "by": "rows", "epsilon": 0.25},
        ]

    def tiny(self, case: Case) -> Iterator[NumberStream]:
        """All streams with a few rows of three values."""
        return tiny()

    def seeded(self, case: Case, seed: int) -> NumberStream:
        """Ties, bursts, gaps, numbers of all magnitudes."""
        return bursts(seed)

    def steady(self, case: Case) -> NumberStream:
        """New values without end."""
        return decades(STEADY_ROWS, 8)

    def odd(self, case: Case) -> Iterator[tuple[str, NumberStream]]:
        """Values one unit apart, of any bits, one after many; times as far from 0 as they may be."""
        some = bursts(4, ODD_ROWS)
        yield "values one unit in the last place apart", stream(some.times, neighbours(5, len(some), 1e6))
        yield "values of any bits", any_bits(6, ODD_ROWS, 3)
        many = np.append(1000 + np.arange(600) / 2**20, np.full(100, 1000.5))
        yield "600 values, then one", stream(np.arange(700) // 40, many)
        if case.parameters.get("by") != "rows":
            yield "times at the first there are", evolve(some, times=some.times - some.times[0] - FARTHEST)
            room = int(some.times[-1] - some.times[0]) + 3 * case.parameters["longest"]
            yield "times at the last there are", evolve(some, times=some.times - some.times[0] + FARTHEST - room)
            yield "times where float64 has gaps", evolve(some, times=some.times + 2**55 + 1)

    def trials(self, case: Case) -> Iterable[Trial]:
        """Large streams, sorted for each answer."""
        return trials.trials(case.long)

    def acts(self, case: Case, stream: NumberStream, stop: int) -> Sequence[tuple[str, Callable[[Any], Any]]]:
        """Advance to the next row, or until all rows have expired."""
        return advances(case, stream.times, stop, case.parameters["longest"] + 1)

    def feed(self, backend: Any, stream: NumberStream, start: int, stop: int) -> None:
        """A single update."""
        backend.update(times_of(backend, stream, start, stop), stream.values[start:stop])

    def answers(self, backend: Any, stream: NumberStream, stop: int) -> list[Any]:
        """`now`, all that is asked since some moments, and at some from now on, over several windows."""
        found: list[Any] = [backend.now, *(asked_since(backend, since) for since in beginnings(backend))]
        later, at_moments, windows = deepcopy(backend), moments(backend), windows_of(backend)
        got = later.answers([], [], moments=at_moments, windows=windows, at=AT, above=ABOVE)
        for number, at in enumerate(at_moments):
            for place, window in enumerate(windows):
                values, shares = plain(got.values[number, place]), plain(got.shares[number, place])
                found.append((at, window, int(got.rows[number, place]), values, shares))
        return found

    def expected(self, case: Case, stream: NumberStream, stop: int) -> list[Any]:
        """The expected answers by definition."""
        model = case.make()
        oracle = oracle_of(model, stream, stop)
        model._last = int(oracle.times[-1]) if stop else None
        model._now = None if model._last is None else model._last + (model.by == "rows")
        answers: list[Any] = [model.now]
        for since in beginnings(model):
            rows, values, shares = oracle.answer(since, 2**64, AT, ABOVE)
            answers.append((since, (float(rows),) * 3, values, shares))
        for at in moments(model):
            answers += [(at, window, *oracle.answer(at - window, at, AT, ABOVE)) for window in windows_of(model)]
        return answers

    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Impossible values, times, moments and shares, and wrong lengths and dtypes."""
        times = backend.now + int(backend.by == "rows") * np.arange(3)
        good: dict[str, Any] = {"times": times, "values": np.arange(3.0)}
        now, longest = backend.now, backend.longest
        arguments = {"moments": [now + 5], "windows": [longest], "at": [0.5]}

        def update(**wrong: Any) -> Callable[[], Any]:
            return lambda: backend.update(**{**good, **wrong})

        def answers(**wrong: Any) -> Callable[[], Any]:
            return lambda: backend.answers(**{**good, **arguments, **wrong})

        calls = [
            ("fewer values than times", update(values=np.arange(2.0))),
            ("a value that is NaN", update(values=[1.0, np.nan, 2.0])),
            ("values that are text", update(values=np.array(["a", "b", "c"]))),
            ("a time before now", update(times=times - 1)),
            ("a time that goes back within the batch", update(times=times + np.array([0, 2, 1]))),
            ("times in two dimensions", update(times=times.reshape(3, 1))),
            ("an advance to before now", lambda: backend.advance(now - 1)),
            ("an advance past 64 bits", lambda: backend.advance(2**63)),
            ("an advance by a fraction", lambda: backend.advance(now + 0.5)),
            ("since a fraction", lambda: backend.quantiles(now - 0.5, [0.5])),
            ("since what is forgotten", lambda: backend.quantiles(now - longest - 1, [0.5])),
            ("a count since what is forgotten", lambda: backend.count(now - longest - 1)),
            ("a share above 1", lambda: backend.quantiles(now, [0.5, 1.5])),
            ("a share below 0", lambda: backend.quantiles(now, [-0.5])),
            ("a share that is NaN", lambda: backend.quantiles(now, [np.nan])),
            ("a share of ten decimals", lambda: backend.quantiles(now, [0.1234567891])),
            ("above no number", lambda: backend.shares(now, [np.nan])),
            ("above infinity", lambda: backend.shares(now, [np.inf])),
            ("a moment before now", answers(moments=[now - 1])),
            ("moments that go back", answers(moments=[now + 9, now + 8])),
            ("a window of 0", answers(windows=[0])),
            ("a window above the longest", answers(windows=[longest + 1])),
            ("a percentage", answers(at=[95])),
        ]
        if backend.by == "time":
            calls.append(("a time beyond 2^62", update(times=[times[0], times[1], 2**62 + 1])))
            calls.append(
                ("a moment at the last row", lambda: backend.answers([], [], **{**arguments, "moments": [now]}))
            )
        return calls


def beginnings(backend: Any) -> list[int]:
    """Moments since which all rows are kept: near and far, at a border, just before and just after it."""
    if backend.now is None:
        return []
    now, longest, every = backend.now, backend.longest, backend.every
    border = (now - longest // 3 - backend.offset) // every * every + backend.offset
    instants = {
        now + 1,
        now,
        now - 1,
        border - 1,
        border,
        border + 1,
        now - longest // 7,
        now - longest + 1,
        now - longest,
    }
    return sorted(since for since in instants if since >= now - longest)


def moments(backend: Any) -> list[int]:
    """Moments at which answers cover all rows so far, until everything has expired."""
    if backend.latest is None:
        return []
    first, last = max(backend.now, backend.latest + 1), backend.latest + backend.longest
    return sorted({first, first + 1, *(max(first, step) for step in (last - backend.longest // 3, last, last + 1))})


def windows_of(backend: Any) -> list[int]:
    """The longest window and shorter ones, unsorted."""
    return list(dict.fromkeys([backend.longest, max(1, backend.longest // 5), max(1, backend.longest // 2)]))


DRIVER = QuantileSketchDriver()
"""What `skyband_specs` drives the role by."""
