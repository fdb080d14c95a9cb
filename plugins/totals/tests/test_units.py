"""Sums equal those of the decimals that were added."""

import numpy as np
import pytest
from skyband_totals.fixed_point import MOST, MOST_TOGETHER, worth
from skyband_totals.units import VALID, to_units, weights_of


@pytest.mark.parametrize(("unit", "digits"), [(0.1, 1), (0.01, 2), (0.05, 2), (0.25, 2), (1e-6, 6), (5.0, 0), (0.3, 1)])
def test_units_are_worth_their_decimal(unit, digits):
    units = np.concatenate([np.arange(2000), np.random.default_rng(1).integers(0, 2**40, 1000)])
    scaled = units * round(unit * 10**digits)
    wanted = [float(f"{number}e-{digits}") for number in scaled.tolist()]
    assert worth(units, unit).tolist() == wanted


@pytest.mark.parametrize("unit", [1 / 3, np.pi, 1e-300, 5e-324, 1e300])
def test_a_unit_that_is_not_a_short_decimal_is_multiplied(unit):
    assert worth(np.array([0, 1, 3]), unit).tolist() == [0.0, unit, 3 * unit]


@pytest.mark.parametrize("unit", [1.0, 0.1, 0.01, 0.3, 1 / 3, 1e-9, 7e5, 123.456])
def test_weights_count_as_their_units(unit):
    rng = np.random.default_rng(2)
    merged = np.concatenate([rng.integers(0, 2**20, 1000), rng.integers(2**49, MOST_TOGETHER + 1, 20_000)])
    single, codes = to_units(rng.uniform(MOST_TOGETHER, MOST - 1, 20_000) * unit, unit)
    for units in (merged, single[codes == VALID]):
        counted, codes = to_units(weights_of(units, unit), unit)
        np.testing.assert_array_equal(counted, units)
        assert (codes == VALID).all()
    assert len(single[codes == VALID]) > 0
