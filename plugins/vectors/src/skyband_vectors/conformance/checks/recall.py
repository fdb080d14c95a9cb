"""A matcher that is not exact reports only true matches, and a bounded one as large a share as it declares.

The pairs tried are exactly at the threshold, where a match is missed most often: most pairs of a real stream are more
similar, so their recall says little. Each trial has its own pair and seed, so the number of misses is binomial. More
than `allowed_failures` fail the matcher; FLAKE is the probability to fail a correct one.
"""

import math
from typing import Any

import numpy as np
from skyband_specs.batching import seeded
from skyband_specs.binomial import allowed_failures
from skyband_specs.check import Make, check, expect, expect_equal
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case

from skyband_vectors.conformance import oracle
from skyband_vectors.conformance.checks.definition import WHOLE, expected, matched
from skyband_vectors.conformance.streams import VectorStream, stream_of

COUNT = 3
FLAKE = 1e-8
PAIRS, SEEDS, DIMENSIONS = 300, 4, 48
DECLARED = ((0.5, 0.95), (0.9, 0.95), (0.8, 0.6))
"""Thresholds, and the recall declared for each."""


@check("oracle", guarantees=("bounded",), once=True)
def check_pairs_at_the_threshold_are_reported_as_often_as_declared(make: Make, case: Case) -> None:
    """Of the pairs exactly at the threshold, at least a share `recall` is reported, over seeds and for each recall."""
    for threshold, recall in DECLARED:
        missed = 0
        for seed in range(SEEDS):
            own = {**WHOLE, "similarity": "cosine", "threshold": threshold, "recall": recall, "seed": seed}
            backend = make(dimensions=DIMENSIONS, window=4 * PAIRS, **own)
            answers = matched(backend, _pairs_at(threshold, seed), [])
            missed += sum(2 * pair not in [old for old, _ in answers[2 * pair + 1]] for pair in range(PAIRS))
        trials = PAIRS * SEEDS
        allowed = allowed_failures(trials, 1 - recall, FLAKE)
        message = f"{missed} of {trials} pairs of cosine {threshold} were not reported"
        expect(missed <= allowed, f"{message}; with recall = {recall} at most {allowed} may be missed")


@check("oracle", guarantees=("bounded", "heuristic"))
def check_every_reported_match_is_true(make: Make, case: Case) -> None:
    """Every reported match is true, with its similarity to the last bit; a bounded matcher reports equal vectors."""
    if case.parameters.get("keep") == "first":
        return

    def law(stream: VectorStream) -> None:
        right = expected({**case.parameters, "matches": "all"}, stream)
        for row, matches in enumerate(matched(make(matches="all"), stream, [len(stream) // 2])):
            wrong = set(matches) - set(right[row])
            expect(not wrong, f"vector {row} reports {sorted(wrong)}, which do not match with this similarity")
            expect_equal(matches, sorted(matches), f"matches of vector {row}, by number")
            missed = [match for match in right[row] if match not in matches and _equal(stream, row, match[0])]
            certain = case.info.guarantee == "bounded"
            expect(not (certain and missed), f"vector {row} does not report {missed}, which equal it")

    holds_for(case, seeded(case), law)


@check("oracle", guarantees=("bounded", "heuristic"))
def check_the_most_similar_of_those_found_are_reported(make: Make, case: Case) -> None:
    """With a number of matches, the most similar ones of those found: of all that are reported otherwise."""
    if case.parameters.get("keep") == "first":
        return

    def law(stream: VectorStream) -> None:
        every, best = matched(make(matches="all"), stream, []), matched(make(matches=2), stream, [3])
        for row, matches in enumerate(every):
            right = sorted(matches, key=lambda match: (-match[1], match[0]))[:2]
            expect_equal(best[row], right, f"the 2 most similar of vector {row}")

    holds_for(case, seeded(case, (1, 2)), law)


def _equal(stream: VectorStream, row: int, other: int) -> bool:
    return bool((stream.vectors[row] == stream.vectors[other]).all())


def _pairs_at(threshold: float, seed: int) -> VectorStream:
    """Pairs of vectors even in all directions, whose cosine is the least at or above the threshold."""
    rng = np.random.default_rng([12, seed, round(threshold * 100)])
    first, other = rng.standard_normal((2, 4 * PAIRS, DIMENSIONS))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    other -= (other * first).sum(axis=1, keepdims=True) * first
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    pairs = np.stack([first, threshold * first + math.sqrt(1 - threshold**2) * other], axis=1).astype(np.float32)
    cosines = [oracle.similarities("cosine", *pair).item() for pair in zip(*_alone(pairs), strict=True)]
    at = pairs[np.array(cosines) >= threshold][:PAIRS]  # float32 leaves about half of them below it
    return stream_of(at.reshape(-1, DIMENSIONS))


def _alone(pairs: Any) -> tuple[Any, Any]:
    """The first of each pair, and the second as an array of one vector."""
    numbers = pairs.astype(np.float64)
    return numbers[:, 0], numbers[:, 1:]
