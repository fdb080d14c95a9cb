"""The matchers compared beyond the conformance streams: many samples, extreme values, small beta."""

import numpy as np
import pytest
import skyband
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband_specs.matcher import oracle
from skyband_specs.matcher.streams import perturbed, stream_of

NAMES = ["nested-loop", "index-match", "sort-match", "block"]


def matches(name, held, probes, **parameters):
    matcher = skyband.create("matcher", name, **parameters)
    half = len(held) // 2
    matcher.append(*held.flat(0, half))
    matcher.append(*held.flat(half, len(held)))
    return [column.tolist() for column in matcher.match_all(*probes.flat(0, len(probes)))]


def all_agree(held, probes, **parameters):
    first, *others = (matches(name, held, probes, **parameters) for name in NAMES)
    assert all(other == first for other in others)
    return first


def rows_of(stream):
    """Python floats, which overflow silently, and are faster one by one."""
    return [
        list(zip(*(map(float, part) for part in row), strict=True))
        for row in zip(stream.values, stream.probabilities, strict=True)
    ]


def expect_the_definition(found, held, probes, epsilon, beta):
    """Positions and probabilities equal, to the last bit, the sums over all pairs of samples; some are near."""
    tuples = list(enumerate(rows_of(held)))
    near = [oracle.matches(probe, tuples, epsilon, beta) for probe in rows_of(probes)]
    wanted = [(place, *match) for place, matches_of in enumerate(near) for match in matches_of]
    assert list(zip(*found, strict=True)) == wanted
    assert len(wanted) > 0


@pytest.mark.parametrize("noise", ["normal", "uniform", "exponential"])
@pytest.mark.parametrize("beta", [None, 0.0, 0.3, 0.5])
@pytest.mark.parametrize("samples", [1, 10, 41])
def test_streams_of_the_paper(noise, beta, samples):
    wave = np.sin(np.arange(100) * 0.1)
    held, probes = (perturbed(wave, seed, samples=samples, noise=noise) for seed in (1, 2))
    found = all_agree(held, probes, epsilon=0.6, beta=beta)
    few = probes.take(np.arange(0, 100, 33))
    expect_the_definition(all_agree(held, few, epsilon=0.6, beta=beta), held, few, 0.6, beta)
    all_near = samples == 41 and not beta and noise != "exponential"  # with so many samples some are always near
    assert len(found[0]) > 100 and (len(found[0]) == len(held) * len(probes)) == all_near


@pytest.mark.parametrize("scale", [1e-320, 1e-150, 1e15, 1e300])
def test_extreme_scales(scale):
    held, probes = (perturbed(np.arange(-40, 40) % 7 - 3.0, seed, samples=3) for seed in (3, 4))
    scaled = [
        stream_of([(values * scale, shares) for values, shares in zip(s.values, s.probabilities, strict=True)])
        for s in (held, probes)
    ]
    expect_the_definition(all_agree(*scaled, epsilon=0.5 * scale), *scaled, 0.5 * scale, None)


def test_a_few_deep_tuples_among_shallow_ones():
    rng = np.random.default_rng(8)
    counts = rng.choice([1, 3, 300, 700], 60, p=[0.5, 0.4, 0.05, 0.05])
    stream = stream_of([(rng.normal(0, 1, count), np.full(count, 0.9 / count)) for count in counts])
    for beta in (None, 0.2):
        assert len(all_agree(stream, stream, epsilon=0.7, beta=beta)[0]) > 60
        deep = stream.take(np.append(np.flatnonzero(counts > 3)[:1], [0, 1]))
        expect_the_definition(all_agree(stream, deep, epsilon=0.7, beta=beta), stream, deep, 0.7, beta)


def test_values_at_both_ends_of_the_floats():
    most = np.finfo(float).max
    rows = [((value,), (1.0,)) for value in (-most, -1.0, 0.0, 5e-324, 1.0, most)]
    stream = stream_of(rows)
    for epsilon in (0.0, 1.0, most):
        expect_the_definition(all_agree(stream, stream, epsilon=epsilon), stream, stream, epsilon, None)


def test_tiny_probabilities():
    rng = np.random.default_rng(7)
    rows = [(rng.normal(0, 1, 4), rng.random(4) * scale) for scale in (1e-160, 1e-8, 0.25) for _ in range(20)]
    stream = stream_of(rows)
    for beta in (5e-324, 1e-320, 1e-12):
        expect_the_definition(all_agree(stream, stream, epsilon=0.5, beta=beta), stream, stream, 0.5, beta)


TENTHS = st.integers(-12, 12).map(lambda tenth: round(tenth * 0.1, 1))
SAMPLES = st.lists(st.tuples(TENTHS, st.sampled_from([0.0, 0.05, 0.1, 0.2])), max_size=5)


@settings(max_examples=150, deadline=None)
@given(
    held=st.lists(SAMPLES, max_size=8),
    probes=st.lists(SAMPLES, max_size=4),
    epsilon=st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7]),
    beta=st.sampled_from([None, 0.01, 0.02, 0.25]),
)
def test_decimals_agree(held, probes, epsilon, beta):
    streams = [
        stream_of([([value for value, _ in row], [share for _, share in row]) for row in rows])
        for rows in (held, probes)
    ]
    all_agree(*streams, epsilon=epsilon, beta=beta)


@pytest.mark.parametrize("name", NAMES)
def test_evicted_tuples_are_released(name):
    matcher = skyband.create("matcher", name, epsilon=0.1)
    stream = perturbed(np.zeros(4000), 5, samples=4)
    sizes = []
    for row in range(0, 4000, 10):
        matcher.append(*stream.flat(row, row + 10))
        matcher.evict(max(0, matcher.end - 50))
        sizes.append(matcher.nbytes)
    assert max(sizes[200:]) <= 1.5 * max(sizes[:50])
    assert len(matcher) == 50
