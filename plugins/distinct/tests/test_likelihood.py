"""The likeliest count maximises the likelihood."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband_distinct.stamps.likelihood import DEVIATION, LEVELS, likeliest

ARRAYS = 100
tables = st.lists(st.integers(0, ARRAYS), min_size=1, max_size=LEVELS)


def log_likelihood(counts, arrays, keys):
    """The log-likelihood of independent cells, filled in level j with probability 1 - exp(-keys q_j)."""
    counts = np.pad(counts, (0, LEVELS - len(counts)))
    shares = 2.0 ** -(np.minimum(np.arange(LEVELS), LEVELS - 2) + 1) / arrays
    filled = counts > 0
    return (counts[filled] * np.log(-np.expm1(-keys * shares[filled]))).sum() - (
        (arrays - counts) * keys * shares
    ).sum()


def test_the_levels_take_all_keys():
    assert sum(2.0 ** -(min(level, LEVELS - 2) + 1) for level in range(LEVELS)) == 1


def test_an_empty_table_has_no_keys():
    assert likeliest(np.zeros(5, np.int64), ARRAYS) == 0.0
    assert likeliest(np.zeros(0, np.int64), ARRAYS) == 0.0


@given(tables.filter(any))
def test_no_other_count_is_likelier(counts):
    keys = likeliest(np.array(counts), ARRAYS)
    assert 0 < keys < math.inf
    top = log_likelihood(np.array(counts), ARRAYS, keys)
    for factor in (0.5, 0.9, 0.999, 1.001, 1.1, 2.0):
        assert log_likelihood(np.array(counts), ARRAYS, keys * factor) <= top + 1e-9 * abs(top)


@given(tables, st.data())
def test_a_fuller_table_means_more_keys(counts, data):
    level = data.draw(st.integers(0, len(counts) - 1))
    fuller = [count + (at == level and count < ARRAYS) for at, count in enumerate(counts)]
    assert likeliest(np.array(fuller), ARRAYS) >= likeliest(np.array(counts), ARRAYS)


def test_a_full_table_gives_a_finite_count():
    assert ARRAYS * 2.0**31 < likeliest(np.full(LEVELS, ARRAYS), ARRAYS) < math.inf


@pytest.mark.parametrize("keys", [10**5, 10**7, 10**9, 10**12])
def test_the_expected_table_yields_its_count(keys):
    """A table filled as on average, with enough arrays and keys that rounding does not matter."""
    arrays = 10**9
    shares = 2.0 ** -(np.minimum(np.arange(LEVELS), LEVELS - 2) + 1) / arrays
    counts = np.rint(arrays * -np.expm1(-keys * shares)).astype(np.int64)
    assert likeliest(counts, arrays) == pytest.approx(keys, rel=1e-4)


def test_the_deviation_is_that_of_the_fisher_information():
    """Averaged over an octave of loads: the sum of x^2 / (e^x - 1), where x is the expected keys of a cell."""
    loads = 1000 * 2.0 ** np.linspace(0, 1, 64, endpoint=False)
    expected = loads[:, None] * 2.0 ** -np.arange(1, 60)
    information = (expected**2 / np.expm1(np.minimum(expected, 700))).sum(axis=1).mean()
    assert pytest.approx(information**-0.5, rel=1e-3) == DEVIATION
