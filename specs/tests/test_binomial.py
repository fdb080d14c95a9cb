from fractions import Fraction
from math import comb

import pytest
from skyband_specs.binomial import allowed_failures


def tail(trials, delta, more_than):
    """P(more than so many fail), exactly."""
    chances = (comb(trials, k) * delta**k * (1 - delta) ** (trials - k) for k in range(more_than + 1, trials + 1))
    return sum(chances, Fraction(0))


@pytest.mark.parametrize("trials", [1, 20, 60, 300])
@pytest.mark.parametrize("delta", [Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2)])
@pytest.mark.parametrize("flake", [1e-2, 1e-8])
def test_is_the_smallest_number_with_so_small_a_tail(trials, delta, flake):
    allowed = allowed_failures(trials, float(delta), flake)
    assert tail(trials, delta, allowed) <= flake
    assert allowed == 0 or tail(trials, delta, allowed - 1) > flake


def test_a_backend_that_promises_never_to_fail_must_not():
    assert allowed_failures(100, 0.0, 1e-8) == 0


def test_who_may_always_fail_is_never_convicted():
    assert allowed_failures(100, 1.0, 1e-8) == 100
