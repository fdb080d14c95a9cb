"""Counts are as close to the truth as declared, and as often.

A bounded sketch may miss by more than epsilon in a share delta of its answers. Each trial is a stream with its own
keys, so the misses among the trials of one magnitude are binomial, and more than `allowed_failures` of them prove the
sketch wrong. FLAKE is the chance that a correct one fails one such test; a run has at most 50 of them (2 parameter
sets, 11 magnitudes twice and 2 kinds of streams), so a correct sketch fails a run with probability below 5e-7.
"""

import math
from functools import lru_cache

import numpy as np
from attrs import frozen

from skyband_specs.binomial import allowed_failures
from skyband_specs.check import Make, check, expect
from skyband_specs.driver import Case
from skyband_specs.sketch.oracle import distinct_since
from skyband_specs.sketch.streams import SketchStream, paper_random, paper_zipf, random_keys

COUNT = 4
FLAKE = 1e-8
ROUNDING = 1e-9

MAGNITUDES = {300: (1, 3, 10, 30, 51, 100, 200, 500, 2000), 60: (10_000,), 15: (60_000,)}
"""Distinct counts to estimate, by the number of trials. Small ones too: there, estimators are biased."""

HALVES = tuple(np.uint64(bits) for bits in (0xFFFFFFFF, 0xFFFFFFFF00000000, 0x5555555555555555, 0xAAAAAAAAAAAAAAAA))
ALIKE, ALIKE_TRIALS = 2000, 20

PAPER_TRIALS = 60
PAPER_ROWS = 3000


@frozen
class Answer:
    """A sketch's answer for a known count."""

    truth: int
    estimate: float
    low: float
    high: float


@check("oracle", guarantees=("bounded",))
def check_counts_within_the_declared_bound(make: Make, case: Case) -> None:
    """At every magnitude at most a share delta of the counts is off by more than epsilon."""
    for truth, answers in _trials(make, case).items():
        _convict(make, [abs(a.estimate - a.truth) > _slack(make) * a.truth for a in answers], f"counts of {truth}")


@check("oracle", guarantees=("bounded",))
def check_bounds_hold_the_truth(make: Make, case: Case) -> None:
    """`bounds` contains the estimate and, except for a share delta, the truth; it is not wider than epsilon implies."""
    epsilon = _slack(make)
    for truth, answers in _trials(make, case).items():
        _convict(make, [not a.low <= a.truth <= a.high for a in answers], f"bounds around counts of {truth}")
        for answer in answers:
            message = f"bounds ({answer.low}, {answer.high}) around the estimate {answer.estimate} of {truth}"
            expect(answer.low <= answer.estimate <= answer.high, f"{message} exclude it")
            widest = answer.estimate * (1 / (1 - epsilon) - 1 / (1 + epsilon))
            expect(
                answer.high - answer.low <= widest + ROUNDING, f"{message} are wider than epsilon = {epsilon:g} allows"
            )


@check("oracle", guarantees=("exact", "bounded"))
def check_streams_of_the_paper(make: Make, case: Case) -> None:
    """The Random and Zipf streams of Zhang et al., section 5, with few and with many duplicates."""
    for label, generate in (("Random", paper_random), ("Zipf", paper_zipf)):
        misses = []
        for seed in range(PAPER_TRIALS):
            stream = generate(seed, PAPER_ROWS, duplication=(0.2, 0.9)[seed % 2])
            since = int(stream.times[np.random.default_rng([9, seed]).integers(PAPER_ROWS)])
            truth = distinct_since(stream, PAPER_ROWS, since)
            misses.append(abs(_estimate(make, stream, since) - truth) > _slack(make) * truth)
        _convict(make, misses, f"counts over the paper's {label} streams")


@check("oracle", guarantees=("bounded",))
def check_every_bit_of_a_key_counts(make: Make, case: Case) -> None:
    """Keys that share half of their bits with others, whichever half, are counted like any keys, on average."""
    for half in HALVES:
        counts = []
        for seed in range(ALIKE_TRIALS):
            rng = np.random.default_rng([19, seed])
            keys = rng.integers(0, 2**64, ALIKE, np.uint64)
            groups = np.repeat(rng.integers(0, 2**64, ALIKE // 8, np.uint64), 8)
            stream = SketchStream(np.arange(ALIKE, dtype=np.int64), (keys & ~half) | (groups & half))
            counts.append(_estimate(make, stream, 0))
        mean = sum(counts) / ALIKE_TRIALS
        message = f"{ALIKE} keys, each eight alike in the bits {half:#018x}, count {mean:.0f} on average"
        expect(abs(mean - ALIKE) < ALIKE / 4, f"{message}: the hash must take all bits of a key")


def _convict(make: Make, misses: list[bool], what: str) -> None:
    """Fail if more of the trials missed than for a correct sketch."""
    delta = _declared(make(), "delta")
    allowed = allowed_failures(len(misses), delta, FLAKE)
    message = f"{sum(misses)} of {len(misses)} {what} are off by more than epsilon = {_slack(make):g}"
    expect(sum(misses) <= allowed, f"{message}; with delta = {delta:g} at most {allowed} may be")


def _slack(make: Make) -> float:
    return _declared(make(), "epsilon") * (1 + ROUNDING)


def _declared(backend: object, name: str) -> float:
    """The parameter of a bounded sketch; an exact one has no epsilon and no delta."""
    return float(getattr(backend, name, 0.0))


def _estimate(make: Make, stream: SketchStream, since: int) -> float:
    """The estimate of a sketch whose panes start at each moment."""
    backend = make()
    backend.update(stream.times * backend.grain, stream.keys)
    return float(backend.estimate(since * backend.grain))


@lru_cache(maxsize=4)
def _trials(make: Make, case: Case) -> dict[int, list[Answer]]:
    """Answers by their true count: the last `truth` keys of a stream of distinct keys."""
    backend = make()
    for name in ("epsilon", "delta"):
        expect(0 < _declared(backend, name) < 1, f"declares to be bounded, but has no {name} in (0, 1)")
    answers: dict[int, list[Answer]] = {}
    for trials, magnitudes in MAGNITUDES.items():
        for seed in range(trials):
            backend = make()
            stream = random_keys(seed, max(magnitudes), step=backend.grain)
            backend.update(stream.times, stream.keys)
            for truth in magnitudes:
                since = int(stream.times[-truth])
                answer = Answer(truth, backend.estimate(since), *backend.bounds(since))
                expect(math.isfinite(answer.high), f"an infinite answer: {answer}")
                answers.setdefault(truth, []).append(answer)
    return answers
