"""How the common checks drive a set matcher."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from skyband import BackendInfo
from skyband_specs.driver import Case, Trial
from skyband_specs.memoized_oracle import answer_once
from skyband_specs.pair_ranker.driver import PairRankerDriver, bad_updates

from skyband_setjoin.conformance import oracle, trials
from skyband_setjoin.conformance.oracle import Match
from skyband_setjoin.conformance.streams import PairStream, tiny

PROBES = 5


class SetMatcherDriver(PairRankerDriver):
    """Feeds as to a pair ranker, and queries by feeding some more sets to a copy."""

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

    def trials(self, case: Case) -> Iterable[Trial]:
        """Large streams, with a fast oracle."""
        return trials.trials(case)

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
        calls, good = bad_updates(backend)
        if backend.keep == "first":
            calls.append(("parts where the first is kept", lambda: backend.update(**good, parts=[3, 3, 3])))
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
