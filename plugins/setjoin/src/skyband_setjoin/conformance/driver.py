"""How the common checks drive a set matcher."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from skyband import BackendInfo
from skyband_specs.driver import Case, Driver, Trial, advances
from skyband_specs.memoized_oracle import answer_once

from skyband_setjoin.conformance import oracle, trials
from skyband_setjoin.conformance.oracle import Match
from skyband_setjoin.conformance.streams import PairStream, bursts, odd, steady, tiny

STEADY_ROWS = 8000
ODD_ROWS = 60
PROBES = 5


class SetMatcherDriver(Driver):
    """Feeds (times, offsets, tokens, sides), and queries by feeding some more sets to a copy."""

    role: ClassVar[str] = "set-matcher"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """Every similarity, one stream and two, both clocks, both values of `keep`; windows from one set to many.

        A bounded matcher may support Jaccard similarity only.
        """
        plain: list[Mapping[str, Any]] = [
            {"threshold": 0.6, "window": 40},
            {"threshold": 0.5, "window": 60, "matches": 2, "sides": 2},
            {"threshold": 0.5, "window": 30, "matches": 1, "keep": "first", "by": "rows"},
        ]
        if info.guarantee != "exact":
            return plain
        return [
            *plain,
            {"threshold": 1.0, "window": 4, "matches": 3},
            {"threshold": 0.75, "window": 25, "similarity": "cosine", "sides": 2, "by": "rows"},
            {"threshold": 0.6, "window": 12, "similarity": "dice", "keep": "first"},
            {"threshold": 3, "window": 60, "similarity": "overlap", "matches": 2},
            {"threshold": -3, "window": 40, "similarity": "hamming", "by": "rows"},
            {"threshold": 0.8, "window": 30, "similarity": "containment", "matches": 1},
            {"threshold": 0.1, "window": 10**6, "matches": 5000},
            {"threshold": 0.3, "window": 1, "by": "rows"},
        ]

    def tiny(self, case: Case) -> Iterator[PairStream]:
        """All streams of two tiny sets, and some of three."""
        sides = case.parameters.get("sides", 1)
        return (stream for place, stream in enumerate(tiny(sides)) if len(stream) < 3 or place % (5 * sides) == 0)

    def seeded(self, case: Case, seed: int) -> PairStream:
        """Ties everywhere, repeated sets, bursts, silences."""
        return bursts(seed)

    def steady(self, case: Case) -> PairStream:
        """Tokens that occur once, mixed with some that are in every set."""
        return steady(STEADY_ROWS, case.parameters["window"])

    def odd(self, case: Case) -> Iterator[tuple[str, PairStream]]:
        """Tokens that agree in part, times at both ends of the range."""
        yield from odd(bursts(4, ODD_ROWS), moments=case.parameters.get("by") != "rows")

    def acts(self, case: Case, stream: PairStream, stop: int) -> Sequence[tuple[str, Callable[[Any], Any]]]:
        """Advance to the next row, which may be before any row, or past all valid sets."""
        return advances(case, stream.times, stop, case.parameters["window"] + 1)

    def trials(self, case: Case) -> Iterable[Trial]:
        """Large streams, with a fast oracle."""
        return trials.trials(case)

    def feed(self, backend: Any, stream: PairStream, start: int, stop: int) -> None:
        """One update; the role's own checks verify what it returns."""
        backend.update(*rows(backend, stream, start, stop))

    def answers(self, backend: Any, stream: PairStream, stop: int) -> list[Any]:
        """`now`, the sets seen, and what some of the stream's sets would match if they arrived next, one by one."""
        backend = getattr(backend, "_backend", backend)
        copied = copy.deepcopy(backend)
        reached = 0 if backend.now is None else backend.now
        rows = probes(stream)
        moments = np.full(len(rows), reached) + np.arange(len(rows)) * (backend.by == "rows")
        sides = rows.sides if backend.sides == 2 else None
        return [backend.now, backend.seen, plain(copied.update(moments, *rows.flat(0, len(rows)), sides))]

    def expected(self, case: Case, stream: PairStream, stop: int) -> list[Any]:
        """The same answers by comparing all sets."""
        return _by_definition(case.parameters, stream, stop)

    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Offsets, sides and times that do not fit, wrong lengths and dtypes."""
        step = int(backend.by == "rows")
        times = backend.now + step * np.arange(3)
        good: dict[str, Any] = {"times": times, "offsets": [0, 2, 2, 4], "tokens": np.arange(4)}
        good["sides"] = np.arange(3) % backend.sides

        def update(**wrong: Any) -> Callable[[], Any]:
            return lambda: backend.update(**{**good, **wrong})

        calls = [
            ("offsets as many as times", update(offsets=[0, 2, 4])),
            ("offsets that do not start with 0", update(offsets=[1, 2, 2, 4])),
            ("offsets that end before the tokens", update(offsets=[0, 2, 2, 3])),
            ("offsets that fall", update(offsets=[0, 3, 2, 4])),
            ("tokens that are text", update(tokens=np.array(["a", "b", "c", "d"]))),
            ("a token that is not whole", update(tokens=[1, 2.5, 3, 4])),
            ("fewer sides than times", update(sides=good["sides"][:2])),
            ("a side that does not exist", update(sides=[0, 0, backend.sides])),
            ("a negative side", update(sides=[0, -1, 0])),
            ("fewer parts than times", update(parts=[3, 3])),
            ("a part that does not exist", update(parts=[3, 4, 0])),
            ("a time before now", update(times=times - 1)),
            ("a time that goes back within the batch", update(times=times + np.array([0, 2, 1]))),
            ("times in two dimensions", update(times=times.reshape(3, 1))),
            ("an advance to before now", lambda: backend.advance(backend.now - 1)),
            ("an advance past 64 bits", lambda: backend.advance(2**63)),
            ("an advance by a fraction", lambda: backend.advance(backend.now + 0.5)),
        ]
        if backend.sides == 2:
            calls.append(("no sides for two streams", update(sides=None)))
        if backend.keep == "first":
            calls.append(("parts where the first is kept", update(parts=[3, 3, 3])))
        return calls


DRIVER = SetMatcherDriver()


@answer_once
def _by_definition(parameters: Mapping[str, Any], stream: PairStream, stop: int) -> list[Any]:
    by_rows = parameters.get("by") == "rows"
    now = None if not stop else stop if by_rows else int(stream.times[stop - 1])
    rows = probes(stream)
    moments = [*stream.times[:stop].tolist(), *[now or 0] * len(rows)]
    times = range(stop + len(rows)) if by_rows else moments
    sets = sets_of(stream)[:stop] + sets_of(rows)
    sides = [*stream.sides[:stop].tolist(), *rows.sides.tolist()]
    return [now, stop, oracle.matches(parameters, times, sets, sides)[stop:]]


def rows(backend: Any, stream: PairStream, start: int, stop: int) -> tuple[Any, ...]:
    """The rows to feed: (times, offsets, tokens, sides)."""
    times = np.arange(start, stop) if backend.by == "rows" else stream.times[start:stop]
    return times, *stream.flat(start, stop), stream.sides[start:stop] if backend.sides == 2 else None


def plain(answer: tuple[Any, Any, Any]) -> list[list[Match]]:
    """What `update` returned as plain data: the matches of each arrival."""
    cuts, earlier, similarity = (column.tolist() for column in answer)
    together = list(zip(earlier, similarity, strict=True))
    return [together[start:stop] for start, stop in pairwise(cuts)]


def sets_of(stream: PairStream) -> list[frozenset[int]]:
    """The stream's sets as frozensets."""
    return [frozenset(tokens.tolist()) for tokens in stream.sets]


def probes(stream: PairStream) -> PairStream:
    """Some of a stream's sets, spread over it."""
    return stream.take(np.unique(np.linspace(0, max(0, len(stream) - 1), min(PROBES, len(stream))).astype(np.int64)))
