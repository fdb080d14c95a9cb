"""How the common checks drive a vector matcher."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from skyband import BackendInfo
from skyband_specs.driver import Case, Driver, Trial, advances
from skyband_specs.memoized_oracle import answer_once

from skyband_vectors.conformance import oracle, trials
from skyband_vectors.conformance.oracle import Match
from skyband_vectors.conformance.streams import VectorStream, bursts, odd, steady, tiny

PROBES = 5
STEADY_ROWS = 6000
ODD_ROWS = 60


class VectorMatcherDriver(Driver):
    """Feeds (times, vectors, sides), and queries by feeding some more vectors to a copy."""

    role: ClassVar[str] = "vector-matcher"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """Every similarity, one stream and two, both clocks, both values of `keep`, with and without a threshold.

        A matcher that is not exact may support cosine with a threshold only.
        """
        plain: list[Mapping[str, Any]] = [
            {"dimensions": 9, "window": 40, "threshold": 0.5},
            {"dimensions": 2, "window": 60, "threshold": 0.8, "matches": 2, "sides": 2},
            {"dimensions": 8, "window": 30, "threshold": 0.5, "matches": 1, "keep": "first", "by": "rows"},
        ]
        if info.guarantee != "exact":
            return plain
        return [
            *plain,
            {"dimensions": 1, "window": 4, "threshold": 1.0, "matches": 3},
            {"dimensions": 7, "window": 25, "threshold": 3.0, "similarity": "dot", "sides": 2, "by": "rows"},
            {"dimensions": 3, "window": 12, "threshold": -1.0, "similarity": "euclidean", "keep": "first"},
            {"dimensions": 2, "window": 40, "similarity": "euclidean", "matches": 3, "by": "rows"},
            {"dimensions": 64, "window": 30, "threshold": 0.0, "similarity": "euclidean"},
            {"dimensions": 40, "window": 10**6, "matches": 5000},
            {"dimensions": 16, "window": 1, "threshold": 0.9, "by": "rows"},
        ]

    def tiny(self, case: Case) -> Iterator[VectorStream]:
        """All streams of two tiny vectors, and some of three."""
        sides = case.parameters.get("sides", 1)
        streams = tiny(case.parameters["dimensions"], sides, case.parameters.get("similarity", "cosine") != "cosine")
        return (stream for place, stream in enumerate(streams) if len(stream) < 3 or place % (5 * sides) == 0)

    def seeded(self, case: Case, seed: int) -> VectorStream:
        """Ties everywhere, recurring vectors, bursts, silences."""
        return bursts(seed, case.parameters["dimensions"])

    def steady(self, case: Case) -> VectorStream:
        """Vectors that never recur."""
        return steady(STEADY_ROWS, case.parameters["dimensions"], case.parameters["window"])

    def odd(self, case: Case) -> Iterator[tuple[str, VectorStream]]:
        """Entries and times at their limits."""
        stream = bursts(4, case.parameters["dimensions"], ODD_ROWS)
        yield from odd(stream, moments=case.parameters.get("by") != "rows")

    def acts(self, case: Case, stream: VectorStream, stop: int) -> Sequence[tuple[str, Callable[[Any], Any]]]:
        """To advance to the next row, possibly before any row, or past all valid rows."""
        return advances(case, stream.times, stop, case.parameters["window"] + 1)

    def trials(self, case: Case) -> Iterable[Trial]:
        """Large streams, with a fast oracle; for a matcher that is not exact, those of cosine with a threshold."""
        whole = case.info.guarantee == "exact"
        shapes = [(trial, trial.parameters) for trial in trials.trials(case.long)]
        return [trial for trial, own in shapes if whole or (own["similarity"] == "cosine" and own["threshold"])]

    def feed(self, backend: Any, stream: VectorStream, start: int, stop: int) -> None:
        """One update."""
        backend.update(*rows(backend, stream, start, stop))

    def answers(self, backend: Any, stream: VectorStream, stop: int) -> list[Any]:
        """`now`, the vectors seen, and what some of the stream's would match if they arrived next, one by one."""
        copied = copy.deepcopy(backend)
        reached = 0 if backend.now is None else backend.now
        some = probes(stream)
        moments = np.full(len(some), reached) + np.arange(len(some)) * (backend.by == "rows")
        sides = some.sides if backend.sides == 2 else None
        return [backend.now, backend.seen, plain(copied.update(moments, some.vectors, sides))]

    def expected(self, case: Case, stream: VectorStream, stop: int) -> list[Any]:
        """The same answers by comparing all vectors."""
        return _by_definition(case.parameters, stream, stop)

    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Vectors, sides and times that do not fit, entries that are not finite, wrong dtypes."""
        step, d = int(backend.by == "rows"), backend.dimensions
        times = backend.now + step * np.arange(3)
        vectors = np.ones((3, d), np.float32)
        good: dict[str, Any] = {"times": times, "vectors": vectors, "sides": np.arange(3) % backend.sides}

        def update(**wrong: Any) -> Callable[[], Any]:
            return lambda: backend.update(**{**good, **wrong})

        def with_entry(value: float) -> Any:
            entries = vectors.astype(np.float64)
            entries[1, d - 1] = value
            return update(vectors=entries)

        calls = [
            ("fewer vectors than times", update(vectors=vectors[:2])),
            ("vectors of another length", update(vectors=np.ones((3, d + 1)))),
            ("vectors in one dimension", update(vectors=np.ones(3 * d))),
            ("vectors of different lengths", update(vectors=[[1.0] * d, [1.0] * (d + 1), [1.0] * d])),
            ("vectors that are text", update(vectors=vectors.astype(str))),
            ("an entry that is NaN", with_entry(np.nan)),
            ("an infinite entry", with_entry(-np.inf)),
            ("an entry beyond float32", with_entry(1e39)),
            ("fewer sides than times", update(sides=good["sides"][:2])),
            ("a side that does not exist", update(sides=[0, 0, backend.sides])),
            ("fewer parts than times", update(parts=[3, 3])),
            ("a part that does not exist", update(parts=[3, 4, 0])),
            ("a time before now", update(times=times - 1)),
            ("a time that goes back within the batch", update(times=times + np.array([0, 2, 1]))),
            ("an advance to before now", lambda: backend.advance(backend.now - 1)),
            ("an advance by a fraction", lambda: backend.advance(backend.now + 0.5)),
        ]
        if backend.similarity == "cosine":
            calls.append(("a vector of zeros", update(vectors=vectors * [[1], [0], [1]])))
        if backend.sides == 2:
            calls.append(("no sides for two streams", update(sides=None)))
        if backend.keep == "first":
            calls.append(("compared without being kept, where the first is kept", update(parts=[3, 1, 0])))
        return calls


DRIVER = VectorMatcherDriver()


@answer_once
def _by_definition(parameters: Mapping[str, Any], stream: VectorStream, stop: int) -> list[Any]:
    by_rows = parameters.get("by") == "rows"
    now = None if not stop else stop if by_rows else int(stream.times[stop - 1])
    some = probes(stream)
    moments = [*stream.times[:stop].tolist(), *[now or 0] * len(some)]
    times = range(stop + len(some)) if by_rows else moments
    vectors = [*stream.vectors[:stop].tolist(), *some.vectors.tolist()]
    sides = [*stream.sides[:stop].tolist(), *some.sides.tolist()]
    return [now, stop, oracle.matches(parameters, times, vectors, sides)[stop:]]


def rows(backend: Any, stream: VectorStream, start: int, stop: int) -> tuple[Any, ...]:
    """The arguments of a feed: (times, vectors, sides)."""
    times = np.arange(start, stop) if backend.by == "rows" else stream.times[start:stop]
    return times, stream.vectors[start:stop], stream.sides[start:stop] if backend.sides == 2 else None


def plain(answer: tuple[Any, Any, Any]) -> list[list[Match]]:
    """What `update` returned as plain data: the matches of each arrival."""
    cuts, earlier, similarity = (column.tolist() for column in answer)
    together = list(zip(earlier, similarity, strict=True))
    return [together[start:stop] for start, stop in pairwise(cuts)]


def probes(stream: VectorStream) -> VectorStream:
    """Some of a stream's vectors, spread over it."""
    return stream.take(np.unique(np.linspace(0, max(0, len(stream) - 1), min(PROBES, len(stream))).astype(np.int64)))
