"""Windows of hundreds and thousands of vectors, beyond all sizes at which a matcher may change its method."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import field, frozen
from skyband_specs.driver import Trial

from skyband_vectors.conformance.oracle import similarities
from skyband_vectors.conformance.streams import VectorStream, clustered, turning

Matches = list[list[tuple[int, float]]]


@frozen(eq=False)
class VectorTrial(Trial):
    """The matches of each vector of a large stream, as reported on arrival."""

    _reported: list[Any] = field(factory=list)
    """The answers of the last update."""
    _all: list[Matches] = field(factory=list)

    def feed(self, backend: Any, start: int, stop: int) -> None:
        """One update, whose matches are kept for `answers`."""
        times = np.arange(start, stop) if backend.by == "rows" else self.stream.times[start:stop]
        sides = self.stream.sides[start:stop] if backend.sides == 2 else None
        cuts, earlier, similar = backend.update(times, self.stream.vectors[start:stop], sides)
        together = list(zip(earlier.tolist(), similar.tolist(), strict=True))
        self._reported[:] = [backend.now, *(together[begin:end] for begin, end in pairwise(cuts.tolist()))]

    def answers(self, backend: Any, stop: int) -> Any:
        """The matches that the last update reported."""
        return list(self._reported)

    def by_definition(self, stop: int) -> Any:
        """The same matches by comparing all vectors."""
        if not self._all:
            self._all.append(matches_of(self.parameters, self.stream))
        before = max((other for other in self.stops if other < stop), default=0)
        now = stop if self.parameters["by"] == "rows" else int(self.stream.times[stop - 1])
        return [now, *self._all[0][before:stop]]


def matches_of(parameters: Any, stream: VectorStream) -> Matches:
    """The matches of each vector by the definition, each compared with its whole window at once."""
    rows = parameters["by"] == "rows"
    times = np.arange(len(stream)) if rows else stream.times
    firsts = np.searchsorted(times, times + rows - parameters["window"])
    vectors = stream.vectors.astype(np.float64)
    stays, answers = np.ones(len(stream), bool), []
    for row, first in enumerate(firsts.tolist()):
        old = np.arange(first, row)[stays[first:row]]
        if parameters["sides"] == 2:
            old = old[stream.sides[old] != stream.sides[row]]
        similar = similarities(parameters["similarity"], vectors[row], vectors[old])
        if parameters["threshold"] is not None:
            old, similar = old[similar >= parameters["threshold"]], similar[similar >= parameters["threshold"]]
        stays[row] = parameters["keep"] == "all" or not len(old)
        if parameters["matches"] != "all":
            best = np.lexsort((old, -similar))[: parameters["matches"]]
            old, similar = old[best], similar[best]
        answers.append(list(zip(old.tolist(), similar.tolist(), strict=True)))
    return answers


@cache
def trials(long: bool) -> Sequence[VectorTrial]:
    """Text-like vectors, a cone, a subspace that changes; one stream and two, both clocks, both values of `keep`."""
    more = 4 if long else 1

    def trial(label: str, stream: VectorStream, threshold: float | None, **parameters: Any) -> VectorTrial:
        rest = {"similarity": "cosine", "sides": 1, "by": "time", "matches": "all", "keep": "all"}
        shape = {"dimensions": stream.vectors.shape[1], "threshold": threshold}
        return VectorTrial(label, {**rest, **shape, **parameters}, stream)

    text, cone = clustered(1, 1600 * more, 96), clustered(3, 900 * more, 65, cone=2.0)
    return [
        trial("large window", text, 0.8, window=700),
        trial("the first kept", clustered(2, 1500 * more, 48), 0.7, window=900, keep="first", matches=1),
        trial("a cone", cone, 0.9, window=500, sides=2, matches=4),
        trial("the nearest", cone, None, window=400, matches=3, similarity="euclidean", by="rows"),
        trial("large products", clustered(4, 900 * more, 40), 1.0, window=500, similarity="dot"),
        trial("a change of subspace", turning(5, 1200 * more, 64), 0.9, window=400),
    ]
