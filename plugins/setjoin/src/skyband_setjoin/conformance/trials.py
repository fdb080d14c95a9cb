"""Compares windows of hundreds of sets and sets of thousands of tokens with a matrix product."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import field, frozen
from skyband_specs.driver import Case, Trial
from skyband_specs.pair_ranker.streams import PairStream, zipf
from skyband_specs.pair_ranker.trials import large_sets, overlaps, renamed, similarity, small_sets

Matches = list[list[tuple[int, float]]]
AT_ONCE = 500
"""Rows compared by one product."""


@frozen(eq=False)
class MatchTrial(Trial):
    """The matches of each set of a large stream, as reported on arrival."""

    _reported: list[Any] = field(factory=list)
    """The answers of the last update."""
    _all: list[Matches] = field(factory=list)

    def feed(self, backend: Any, start: int, stop: int) -> None:
        """One update, whose matches are kept for `answers`."""
        times = np.arange(start, stop) if backend.by == "rows" else self.stream.times[start:stop]
        sides = self.stream.sides[start:stop] if backend.sides == 2 else None
        cuts, earlier, similar = backend.update(times, *self.stream.flat(start, stop), sides)
        together = list(zip(earlier.tolist(), similar.tolist(), strict=True))
        self._reported[:] = [backend.now, *(together[begin:end] for begin, end in pairwise(cuts.tolist()))]

    def answers(self, backend: Any, stop: int) -> Any:
        """The matches that the last update reported."""
        return list(self._reported)

    def by_definition(self, stop: int) -> Any:
        """The same matches by comparing all sets."""
        if not self._all:
            self._all.append(_matches(self.parameters, self.stream))
        before = max((other for other in self.stops if other < stop), default=0)
        now = stop if self.parameters["by"] == "rows" else int(self.stream.times[stop - 1])
        return [now, *self._all[0][before:stop]]


def _matches(parameters: Mapping[str, Any], stream: PairStream) -> Matches:
    rows = parameters["by"] == "rows"
    times = np.arange(len(stream)) if rows else stream.times
    firsts = np.searchsorted(times, times + rows - parameters["window"])
    stays, answers = np.ones(len(stream), bool), []
    for start in range(0, len(stream), AT_ONCE):
        stop = min(start + AT_ONCE, len(stream))
        first = int(firsts[start])
        common, sizes = overlaps(stream.sets[first:stop])
        for row in range(start, stop):
            old = np.arange(int(firsts[row]), row)
            shared = common[row - first, old - first]
            is_match = (shared > 0) & stays[old]
            if parameters["sides"] == 2:
                is_match &= stream.sides[old] != stream.sides[row]
            old, shared = old[is_match], shared[is_match]
            similar = similarity(parameters["similarity"], shared, sizes[old - first], sizes[row - first])
            old, similar = old[similar >= parameters["threshold"]], similar[similar >= parameters["threshold"]]
            stays[row] = parameters["keep"] == "all" or not len(old)
            if parameters["matches"] != "all":
                best = np.lexsort((old, -similar))[: parameters["matches"]]
                old, similar = old[best], similar[best]
            answers.append(list(zip(old.tolist(), similar.tolist(), strict=True)))
    return answers


def trials(case: Case) -> Iterator[MatchTrial]:
    """Many sets and large ones, one stream and two, both clocks, both values of `keep`."""
    jaccard = [trial for trial in _trials(3 if case.long else 1) if trial.parameters["similarity"] == "jaccard"]
    return iter(_trials(3 if case.long else 1) if case.info.guarantee == "exact" else jaccard)


@cache
def _trials(more: int) -> list[MatchTrial]:
    def trial(label: str, stream: PairStream, threshold: float, **parameters: Any) -> MatchTrial:
        rest = {"similarity": "jaccard", "sides": 1, "by": "time", "matches": "all", "keep": "all"}
        return MatchTrial(label, {**rest, "threshold": threshold, **parameters}, stream)

    near = renamed(zipf(41, 1200 * more, universe=900, near=0.3, back=500))
    few = zipf(44, 900 * more, universe=40, mean=5.0)
    middling = renamed(zipf(43, 400 * more, universe=1500, mean=90.0))
    return [
        trial("large window", near, 0.6, window=700),
        trial("the first kept", near, 0.5, window=400, keep="first", matches=1),
        trial("many matches", few, 0.5, window=300, sides=2, matches=40, similarity="dice"),
        trial("middling sets", middling, 0.3, window=150, similarity="cosine"),
        trial("large sets", large_sets(45, 40, 6000), 0.999, window=12),
        trial("for long", small_sets(47, 70_000), 0.5, window=14, by="rows"),
    ]
