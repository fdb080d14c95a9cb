"""The ranks that bound a quantile in a sample are the nearest that binomial tails allow: against exact sums."""

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.stats import binom
from skyband_quantiles.ranks import BILLION
from skyband_quantiles.sample_answers import of_sample, smallest
from skyband_quantiles.sample_bounds import count_around, ranks_around, sample_size, share_around


@pytest.mark.parametrize("rows", [1, 2, 7, 40, 120])
@pytest.mark.parametrize("part", [1, 70_000_000, 500_000_000, 950_000_000, 990_000_000, BILLION - 1])
@pytest.mark.parametrize("delta", [0.05, 0.2, 0.5])
def test_ranks_are_the_nearest(rows, part, delta):
    q = Fraction(part, BILLION)
    chances = [comb(rows, seen) * q**seen * (1 - q) ** (rows - seen) for seen in range(rows + 1)]
    half = Fraction(delta) / 2
    low, high = ranks_around(part, rows, delta)
    fewer = [sum(chances[:ends]) for ends in range(rows + 2)]
    assert low == max(ends for ends in range(rows + 1) if fewer[ends] <= half)
    at_least = [1 - one for one in fewer]
    assert high == min(ends for ends in range(rows + 2) if at_least[ends] <= half)


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.5])
@pytest.mark.parametrize("rows", [1, 2, 3, 10, 47, 1000])
def test_a_share_beyond_its_bounds_is_as_rare_as_promised_on_each_side(rows, delta):
    """Half delta each: the binomial tail of what was seen, if the share were the bound. Some bound reaches it."""
    tails = []
    for count in sorted({*range(min(rows, 20) + 1), *range(max(0, rows - 20), rows + 1), rows // 2}):
        low, high = share_around(count, rows, delta)
        assert low <= count / rows <= high
        tails += [binom.sf(count - 1, rows, low)] if count else []
        tails += [binom.cdf(count, rows, high)] if count < rows else []
        assert (low > 0, high < 1) == (count > 0, count < rows)
    assert max(tails) <= delta / 2 * (1 + 1e-9)
    assert max(tails) >= delta / 2 * (1 - 1e-9), "no row of the sample has it, or all: then the tail is reached"


@pytest.mark.parametrize("delta", [0.01, 0.2])
@pytest.mark.parametrize("k", [2, 3, 20, 500])
def test_a_number_of_rows_beyond_its_bounds_is_as_rare_as_promised_on_each_side(k, delta):
    """Half delta each: of fewer rows k numbers are rarely below the limit, of more rows rarely fewer than k."""
    for rows in (k, k + 1, 2 * k, 50 * k, 10**6):
        limit = int(k / (rows + 1) * 2**64)
        count, fewest, most = count_around(k, limit, delta)
        assert k <= fewest <= count <= most
        part = (limit + 1) / 2**64
        assert fewest == k or binom.sf(k - 1, fewest - 1, part) <= delta / 2
        assert binom.cdf(k - 1, most + 1, part) <= delta / 2
        goal = math.log(2 / delta)
        assert fewest == k or chernoff(fewest * part, k) >= goal >= chernoff((fewest + 1) * part, k) * (1 - 1e-9)
        assert chernoff(most * part, k - 1) >= goal * (1 - 1e-9)
        assert chernoff((most - 1) * part, k - 1) <= goal * (1 + 1e-9), "no further than the tail's bound"


def chernoff(mean, seen):
    """The exponent of the bound of a Poisson tail."""
    return mean - seen + seen * math.log(seen / mean)


def test_a_sample_does_not_bound_extremes():
    assert ranks_around(0, 100, 0.05)[0] == 0
    assert ranks_around(BILLION, 100, 0.05)[1] == 101


@pytest.mark.parametrize("more", [0, 1, 50])
def test_the_sample_has_the_rows_below_the_kth_smallest_number(more):
    """k - 1 of them: the k-th gives the number of rows, and is not part of the sample."""
    size = 20
    order = np.random.default_rng(1).permutation(size + more)
    scores, values = order.astype(np.uint64) * np.uint64(2**50), order * 1.0
    _, quantiles, shares = of_sample(scores, values, size, 0.5, np.array([500_000_000, BILLION]), np.array([9.0]))
    assert quantiles[:, 0].tolist() == [9.0, size - 2]
    assert shares[0, 0] == 9 / (size - 1)
    count, (median, *_), _ = of_sample(scores[:0], values[:0], size, 0.5, np.array([0]), np.empty(0))
    assert count == (0.0, 0.0, 0.0) and np.isnan(median).all()


@pytest.mark.parametrize("size", [2, 5, 60])
def test_a_quantile_lies_between_the_values_of_its_two_ranks(size):
    """Without a bound on a side where the sample has no such rank."""
    values = np.random.default_rng(size).normal(size=size).round(1)
    parts = np.array([1, 200_000_000, 500_000_000, 900_000_000, BILLION])
    scores = np.arange(size, dtype=np.uint64)
    _, quantiles, _ = of_sample(scores, values, size, 0.3, parts, np.empty(0))
    ranked = [-np.inf, *sorted(values[:-1].tolist()), np.inf]
    for part, (_, low, high) in zip(parts.tolist(), quantiles.tolist(), strict=True):
        assert [low, high] == [ranked[place] for place in ranks_around(part, size - 1, 0.3)]


@pytest.mark.parametrize("size", [1, 7, 200, 4613])
@pytest.mark.parametrize("kind", ["random", "rising", "falling", "few", "small where it is looked"])
def test_the_smallest_numbers_are_among_the_few_that_are_checked(size, kind):
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 2**64 - 1, 30_000, dtype=np.uint64)
    if kind in ("rising", "falling"):
        scores = np.sort(scores)[:: 1 if kind == "rising" else -1]
    elif kind == "few":
        scores %= np.uint64(5)
    elif kind == "small where it is looked":
        scores[::16] = np.arange(1875)
    few, values = smallest(scores, scores.astype(np.float64), size)
    assert np.sort(few)[:size].tolist() == np.sort(scores)[:size].tolist()
    assert (values == few.astype(np.float64)).all()
    assert kind != "random" or len(few) < 2 * size + 400


@pytest.mark.parametrize("epsilon", [0.001, 0.02, 0.05, 0.3])
@pytest.mark.parametrize("delta", [1e-9, 0.05, 0.5])
def test_the_size_of_a_sample_is_the_least_that_hoeffding_allows(epsilon, delta):
    """The k-th number is not part of the sample, which has one row less."""
    rows = sample_size(epsilon, delta) - 1
    assert 2 * math.exp(-2 * rows * epsilon**2) <= delta * (1 + 1e-9)
    assert 2 * math.exp(-2 * (rows - 1) * epsilon**2) > delta
