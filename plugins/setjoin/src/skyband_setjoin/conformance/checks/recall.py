"""What a bounded matcher tells is right, and as much of it as it declares.

The pairs tried are exactly as similar as the threshold, where a match is missed most often: most of those of a real
stream are more similar, so their recall says little. Each trial is a pair and a seed of its own, so what is missed is
binomial, and more than `allowed_failures` convict the matcher; FLAKE is the chance to convict a right one.
"""

import numpy as np
from skyband_specs.batching import seeded
from skyband_specs.binomial import allowed_failures
from skyband_specs.check import Make, check, expect
from skyband_specs.counterexample import holds_for
from skyband_specs.driver import Case

from skyband_setjoin.conformance.checks.definition import expected, matched
from skyband_setjoin.conformance.streams import PairStream, stream_of

COUNT = 2
FLAKE = 1e-8
PAIRS, SEEDS = 300, 5
AT_THRESHOLD = {0.5: (20, 10, 10), 0.75: (30, 5, 5), 0.9: (36, 2, 2)}
"""Tokens in both sets, in the first only and in the second only, by the similarity that comes of it."""


@check("oracle", guarantees=("bounded",), once=True)
def check_pairs_at_the_threshold_are_told_as_often_as_declared(make: Make, case: Case) -> None:
    """Of the pairs that are exactly at the threshold, a share `recall` or more is told, over seeds."""
    for threshold, sizes in AT_THRESHOLD.items():
        missed = 0
        for seed in range(SEEDS):
            backend = make(threshold=threshold, window=4 * PAIRS, seed=seed, matches="all", keep="all", sides=1)
            answers = matched(backend, _pairs_of(seed, *sizes), [])
            missed += sum((2 * pair, threshold) not in answers[2 * pair + 1] for pair in range(PAIRS))
        trials = PAIRS * SEEDS
        allowed = allowed_failures(trials, 1 - backend.recall, FLAKE)
        message = f"{missed} of {trials} pairs that are {threshold} similar were not told"
        expect(missed <= allowed, f"{message}; with recall = {backend.recall} at most {allowed} may be")


@check("oracle", guarantees=("bounded",))
def check_all_that_is_told_matches(make: Make, case: Case) -> None:
    """Each match told is one, with its similarity, as every candidate is verified; equal sets are always told."""
    if case.parameters.get("keep") == "first":
        return

    def law(stream: PairStream) -> None:
        right = expected({**case.parameters, "matches": "all"}, stream)
        for row, matches in enumerate(matched(make(matches="all"), stream, [])):
            wrong = set(matches) - set(right[row])
            expect(not wrong, f"set {row} is told {sorted(wrong)}, which do not match so")
            missed = [match for match in right[row] if match[1] == 1.0 and match not in matches]
            expect(not missed, f"set {row} is not told {missed}, which equal it")

    holds_for(case, seeded(case), law)


def _pairs_of(seed: int, common: int, first: int, second: int) -> PairStream:
    """Pairs of sets that share no token with any other."""
    rng = np.random.default_rng([12, seed])
    sets = []
    for _ in range(PAIRS):
        names = rng.integers(-(2**62), 2**62, common + first + second)
        sets += [names[: common + first].tolist(), np.delete(names, np.s_[common : common + first]).tolist()]
    return stream_of(sets)
