"""Sketches have the sizes that their papers, epsilon and delta require."""

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from skyband_distinct.sketch_sizes import (
    fm_arrays,
    fm_recent,
    likelihood_arrays,
    likelihood_recent,
    pcsa_recent,
    quantile,
    skyband_size,
    subsketches,
)

epsilons, deltas = st.floats(0.001, 0.99), st.floats(1e-6, 0.99)


def test_the_figures_of_the_paper_at_two_and_five_percent():
    assert fm_arrays(0.02, 0.05) == 64 * 235  # l = 14,979 in whole words
    assert (subsketches(0.05), skyband_size(0.02, 0.05, 3)) == (3, 5000)
    assert fm_recent(0.02) == 50
    assert likelihood_recent(0.02) == 400
    assert pcsa_recent(0.02, 15_040, 100) == 1204


@given(epsilons, deltas)
def test_the_median_of_the_subsketches_misses_at_most_delta(epsilon, delta):
    """Computed exactly for many keys, with gamma distributed 1 / v."""
    count = subsketches(delta)
    k = skyband_size(epsilon, delta, count)
    above, below = scipy.stats.gamma.cdf((k - 1) / (1 + epsilon), k), scipy.stats.gamma.sf((k - 1) / (1 - epsilon), k)
    assert scipy.stats.binom.sf(count // 2, count, above) + scipy.stats.binom.sf(count // 2, count, below) <= delta


@given(deltas)
def test_the_number_of_subsketches_is_odd(delta):
    assert subsketches(delta) % 2 == 1


@given(epsilons, epsilons, deltas)
def test_a_smaller_epsilon_needs_a_larger_sketch(epsilon, other, delta):
    small, large = sorted((epsilon, other))
    assert likelihood_arrays(small, delta) >= likelihood_arrays(large, delta)
    assert fm_arrays(small, delta) >= fm_arrays(large, delta)
    assert skyband_size(small, delta, 3) >= skyband_size(large, delta, 3)


def test_deviations_are_two_sided():
    assert quantile(0.05) == pytest.approx(1.959964, abs=1e-5)
