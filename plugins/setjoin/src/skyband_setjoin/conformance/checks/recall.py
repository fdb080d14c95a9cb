"""A bounded matcher reports only true matches, and as large a share of them as it declares.

The pairs tried are exactly at the threshold, where a match is missed most often: most pairs of a real stream are more
similar, so their recall says little. Each trial has its own pair and seed, so the number of misses is binomial. More
than `allowed_failures` fail the matcher; FLAKE is the probability to fail a correct one.
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
"""Tokens in both sets, in the first only and in the second only, by the resulting similarity."""


@check("oracle", guarantees=("bounded",), once=True)
def check_pairs_at_the_threshold_are_reported_as_often_as_declared(make: Make, case: Case) -> None:
    """Of the pairs exactly at the threshold, at least a share `recall` is reported, over seeds."""
    for threshold, sizes in AT_THRESHOLD.items():
        missed = 0
        for seed in range(SEEDS):
            backend = make(threshold=threshold, window=4 * PAIRS, seed=seed, matches="all", keep="all", sides=1)
            answers = matched(backend, _pairs_of(seed, *sizes), [])
            missed += sum((2 * pair, threshold) not in answers[2 * pair + 1] for pair in range(PAIRS))
        trials = PAIRS * SEEDS
        allowed = allowed_failures(trials, 1 - backend.recall, FLAKE)
        message = f"{missed} of {trials} pairs of similarity {threshold} were not reported"
        expect(missed <= allowed, f"{message}; with recall = {backend.recall} at most {allowed} may be missed")


@check("oracle", guarantees=("bounded",))
def check_every_reported_match_is_true(make: Make, case: Case) -> None:
    """Every reported match is true, with its similarity, and equal sets are always reported."""
    if case.parameters.get("keep") == "first":
        return

    def law(stream: PairStream) -> None:
        right = expected({**case.parameters, "matches": "all"}, stream)
        for row, matches in enumerate(matched(make(matches="all"), stream, [])):
            wrong = set(matches) - set(right[row])
            expect(not wrong, f"set {row} reports {sorted(wrong)}, which do not match with this similarity")
            missed = [match for match in right[row] if match[1] == 1.0 and match not in matches]
            expect(not missed, f"set {row} does not report {missed}, which equal it")

    holds_for(case, seeded(case), law)


def _pairs_of(seed: int, common: int, first: int, second: int) -> PairStream:
    """Pairs of sets that share no tokens with other pairs."""
    rng = np.random.default_rng([12, seed])
    sets = []
    for _ in range(PAIRS):
        names = rng.integers(-(2**62), 2**62, common + first + second)
        sets += [names[: common + first].tolist(), np.delete(names, np.s_[common : common + first]).tolist()]
    return stream_of(sets)
