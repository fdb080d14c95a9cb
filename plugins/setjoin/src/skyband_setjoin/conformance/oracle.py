"""Finds the matches of each arriving set by comparing it with all before it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from skyband.roles.sharding import BOTH, BUILD, PROBE
from skyband_specs.pair_ranker.oracle import SIMILARITIES

Match = tuple[int, float]
"""The number of the earlier set, and the similarity."""

Similarity = Callable[[int, int, int], float]


def similarity_of(parameters: Mapping[str, Any]) -> Similarity:
    """The function that compares two sets."""
    similarity = parameters.get("similarity", "jaccard")
    return SIMILARITIES[similarity] if isinstance(similarity, str) else similarity


def matches(
    parameters: Mapping[str, Any],
    times: Sequence[int],
    sets: Sequence[frozenset[int]],
    sides: Sequence[int] | None = None,
    parts: Sequence[int] | None = None,
) -> list[list[Match]]:
    """The matches of each set: by number, or the k most similar, the earlier first on a tie.

    times: the sets' own, or the row numbers 0, 1, 2, … for windows in rows.
    """
    score, threshold, window = similarity_of(parameters), parameters["threshold"], parameters["window"]
    most, first = parameters.get("matches", "all"), parameters.get("keep", "all") == "first"
    two, by_rows = parameters.get("sides", 1) == 2, parameters.get("by", "time") == "rows"
    answers: list[list[Match]] = []
    earlier: list[int] = []
    for new, tokens in enumerate(sets):
        earlier = [old for old in earlier if times[old] >= times[new] + by_rows - window]
        earlier_sets = []
        for old in earlier if _does(parts, new, PROBE) else []:
            common = len(tokens & sets[old])
            if common and not (two and sides is not None and sides[old] == sides[new]):
                similarity = score(common, len(tokens), len(sets[old]))
                if similarity >= threshold:
                    earlier_sets.append((old, similarity))
        if _does(parts, new, BUILD) and not (first and earlier_sets):
            earlier.append(new)
        if most != "all":
            earlier_sets = sorted(earlier_sets, key=lambda match: (-match[1], match[0]))[:most]
        answers.append(earlier_sets)
    return answers


def _does(parts: Sequence[int] | None, row: int, what: int) -> bool:
    return bool((BOTH if parts is None else parts[row]) & what)
