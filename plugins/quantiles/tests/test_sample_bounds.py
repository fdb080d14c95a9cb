"""The ranks between which a sample has a quantile are the nearest that binomial tails allow: against exact sums."""

from fractions import Fraction
from math import comb

import pytest
from skyband_quantiles.ranks import BILLION
from skyband_quantiles.sample_bounds import ranks_around


@pytest.mark.parametrize("rows", [1, 2, 7, 40, 120])
@pytest.mark.parametrize("part", [1, 70_000_000, 500_000_000, 950_000_000, 990_000_000, BILLION - 1])
@pytest.mark.parametrize("delta", [0.05, 0.2, 0.5])
def test_they_are_the_nearest(rows, part, delta):
    q = Fraction(part, BILLION)
    chances = [comb(rows, seen) * q**seen * (1 - q) ** (rows - seen) for seen in range(rows + 1)]
    half = Fraction(delta) / 2
    low, high = ranks_around(part, rows, delta)
    fewer = [sum(chances[:ends]) for ends in range(rows + 2)]
    assert low == max(ends for ends in range(rows + 1) if fewer[ends] <= half)
    at_least = [1 - one for one in fewer]
    assert high == min(ends for ends in range(rows + 2) if at_least[ends] <= half)


def test_a_sample_bounds_no_extreme():
    assert ranks_around(0, 100, 0.05)[0] == 0
    assert ranks_around(BILLION, 100, 0.05)[1] == 101
