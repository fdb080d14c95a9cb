"""The pairs of the sets in a window, by comparing all of them."""

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from skyband.roles.sharding import BUILD, PROBE

from skyband_specs.memoized_oracle import answer_once
from skyband_specs.pair_ranker.streams import PairStream

Similarity = Callable[[int, int, int], float]

SIMILARITIES: Mapping[str, Similarity] = {
    "jaccard": lambda overlap, n, m: overlap / (n + m - overlap),
    "cosine": lambda overlap, n, m: overlap / math.sqrt(n * m),
    "dice": lambda overlap, n, m: 2 * overlap / (n + m),
    "overlap": lambda overlap, n, m: float(overlap),  # noqa: ARG005 - one signature for all
    "hamming": lambda overlap, n, m: float(2 * overlap - n - m),
    "containment": lambda overlap, n, m: overlap / min(n, m),
}


FEW = 10
"""Sets for which comparing is faster than the cache."""


class Pair(NamedTuple):
    """Two sets that share a token. `end`: the time, or row number, of the older one."""

    similarity: float
    end: int
    left: int
    right: int


def pairs(
    parameters: Mapping[str, Any], stream: PairStream, stop: int, now: int, parts: Sequence[int] | None = None
) -> list[Pair]:
    """Every pair of the first `stop` sets that is valid at `now`, best first: similarity, left, right.

    parts: what each set does where pairs are shared; the earlier of a pair is BUILD and the later one PROBE.
    """
    compare = _compare if stop <= FEW else _compare_once
    return compare(parameters, stream, stop, now, parts)


def _compare(
    parameters: Mapping[str, Any], stream: PairStream, stop: int, now: int, parts: Sequence[int] | None
) -> list[Pair]:
    similarity = parameters.get("similarity", "jaccard")
    score = SIMILARITIES[similarity] if isinstance(similarity, str) else similarity
    two = parameters.get("sides", 1) == 2
    times = range(stop) if parameters.get("by") == "rows" else stream.times[:stop].tolist()
    valid = [i for i in range(stop) if times[i] >= now - parameters["window"]]
    sets = {i: set(stream.sets[i].tolist()) for i in valid}
    pairs = []
    for older, newer in combinations(valid, 2):
        if two and stream.sides[older] == stream.sides[newer]:
            continue
        if parts is not None and not (parts[older] & BUILD and parts[newer] & PROBE):
            continue
        overlap = len(sets[older] & sets[newer])
        if overlap:
            left, right = (newer, older) if two and stream.sides[older] == 1 else (older, newer)
            similar = score(overlap, len(sets[older]), len(sets[newer]))
            pairs.append(Pair(similar, times[older], left, right))
    return sorted(pairs, key=lambda pair: (-pair.similarity, pair.left, pair.right))


_compare_once = answer_once(_compare)


def minimal_stock(parameters: Mapping[str, Any], stream: PairStream, stop: int, now: int) -> list[Pair]:
    """The pairs that can still be in an answer: fewer than k rank before them and end no earlier. Best first."""
    stock, ends = [], list[int]()  # of the pairs so far, ascending
    for pair in pairs(parameters, stream, stop, now):
        if len(ends) - bisect_left(ends, pair.end) < parameters["k"]:
            stock.append(pair)
        insort(ends, pair.end)
    return stock
