"""Windows of hundreds of sets and sets of thousands of tokens, compared with a product of matrices."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import attrs
import numpy as np
from attrs import frozen
from skyband.arrays import Int64

from skyband_specs.driver import Case, Trial
from skyband_specs.pair_ranker.streams import PairStream, stream_of, zipf


@frozen(eq=False)
class PairTrial(Trial):
    """The top k of a window with many or large sets."""

    @property
    def stops(self) -> Sequence[int]:
        """Evenly over the stream."""
        return [len(self.stream) * part // 4 for part in range(1, 5)]

    def feed(self, backend: Any, start: int, stop: int) -> None:
        """One update."""
        times = np.arange(start, stop) if backend.by == "rows" else self.stream.times[start:stop]
        sides = self.stream.sides[start:stop] if backend.sides == 2 else None
        backend.update(times, *self.stream.flat(start, stop), sides)

    def answers(self, backend: Any, stop: int) -> Any:  # noqa: ARG002
        """`now`, sets seen and the top k."""
        return [backend.now, backend.seen, *(column.tolist() for column in backend.top())]

    def by_definition(self, stop: int) -> Any:
        """The same from the overlaps of all valid sets."""
        return _best(self.parameters, self.stream, stop)


def _best(parameters: Mapping[str, Any], stream: PairStream, stop: int) -> list[Any]:
    rows = parameters["by"] == "rows"
    times = np.arange(stop) if rows else stream.times[:stop]
    now = stop if rows else int(times[-1])
    first = int(np.searchsorted(times, now - parameters["window"]))
    overlap, sizes = overlaps(stream.sets[first:stop])
    older, newer = np.triu_indices(stop - first, 1)
    common = overlap[older, newer]
    shares_tokens = common > 0
    if parameters["sides"] == 2:
        shares_tokens &= stream.sides[first:stop][older] != stream.sides[first:stop][newer]
    older, newer, common = older[shares_tokens], newer[shares_tokens], common[shares_tokens]
    similar = similarity(parameters["similarity"], common, sizes[older], sizes[newer])
    if parameters["sides"] == 2:
        swapped = stream.sides[first:stop][older] == 1
        older, newer = np.where(swapped, newer, older), np.where(swapped, older, newer)
    order = np.lexsort((newer, older, -similar))[: parameters["k"]]
    return [now, stop, (older[order] + first).tolist(), (newer[order] + first).tolist(), similar[order].tolist()]


def overlaps(sets: Sequence[Int64]) -> tuple[Any, Any]:
    """The number of tokens that each two sets share, int64[n, n], and the sizes of the sets."""
    names, places = np.unique(np.concatenate([np.empty(0, np.int64), *sets]), return_inverse=True)
    present = np.zeros((len(sets), len(names)), np.float32)
    present[np.repeat(np.arange(len(sets)), [len(tokens) for tokens in sets]), places] = 1.0
    common = (present @ present.T).astype(np.int64)
    return common, np.diag(common)


def similarity(name: str, common: Any, n: Any, m: Any) -> Any:
    """The similarity by name, in the floats of the definition."""
    formulas = {
        "jaccard": lambda: common / (n + m - common),
        "cosine": lambda: common / np.sqrt(n * m),
        "dice": lambda: 2 * common / (n + m),
        "overlap": lambda: common.astype(np.float64),
        "hamming": lambda: (2 * common - n - m).astype(np.float64),
        "containment": lambda: common / np.minimum(n, m),
    }
    return formulas[name]()


def trials(case: Case) -> Iterator[PairTrial]:
    """Large k, large windows, large sets; each similarity, one stream and two, both clocks."""
    return iter(_trials(3 if case.long else 1))


@cache
def _trials(more: int) -> list[PairTrial]:
    def trial(label: str, stream: PairStream, **parameters: Any) -> PairTrial:
        return PairTrial(label, {"similarity": "jaccard", "sides": 1, "by": "time", **parameters}, stream)

    middling = renamed(zipf(33, 400 * more, universe=1500, mean=90.0))
    few = zipf(34, 900 * more, universe=40, mean=5.0)
    return [
        trial("large window", renamed(zipf(31, 800 * more, universe=900, near=0.3)), k=60, window=520),
        trial("large k", zipf(32, 420, universe=300), k=4000, window=200, similarity="cosine", sides=2),
        trial("middling sets", middling, k=30, window=150, similarity="dice"),
        trial("few tokens", few, k=500, window=300, similarity="hamming", by="rows"),
        trial("large sets", large_sets(35, 40, 6000), k=12, window=12),
        trial("for long", small_sets(37, 70_000), k=8, window=14, similarity="cosine"),
        trial("very large sets", large_sets(36, 8, 70_000), k=5, window=5, similarity="overlap", sides=2),
    ]


def large_sets(seed: int, rows: int, size: int) -> PairStream:
    """Sets that each lack a few of `size` tokens, so that similarities differ in their last digits."""
    rng = np.random.default_rng([24, seed])
    tokens = rng.permutation(np.arange(size)) * 2**17
    sets = [np.delete(tokens, rng.integers(0, size, int(rng.integers(0, 6)))) for _ in range(rows)]
    sets[rows // 2] = tokens[: size // 2]
    return stream_of(np.arange(rows), np.arange(rows) % 2, sets)


def small_sets(seed: int, rows: int) -> PairStream:
    """Very many sets of three tokens out of twelve."""
    return stream_of(np.arange(rows), np.arange(rows) % 2, np.random.default_rng([30, seed]).integers(0, 12, (rows, 3)))


def renamed(stream: PairStream) -> PairStream:
    """Tokens with equal low halves, equal high halves, or negative."""
    sets = tuple(np.choose(tokens % 3, [tokens << 32, -tokens, tokens + (5 << 33)]) for tokens in stream.sets)
    return attrs.evolve(stream, sets=sets)
