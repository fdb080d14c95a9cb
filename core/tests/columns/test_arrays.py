"""Array checks find the first bad row in short arrays (checked in Python) and long ones (checked by numpy)."""

import numpy as np
import pytest
from skyband.arrays import FEW, column, first_bad_span, never_back, offsets_of, within
from skyband.errors import InputError
from skyband.roles.matcher import checked_tuples

LENGTHS = [1, 2, FEW, FEW + 1, 5 * FEW]


def row_at_fault(check, *given):
    """The row that a check names, None where it passes."""
    try:
        check("given", *given)
    except InputError as error:
        return error.row
    return None


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("wrong", [np.nan, -1e-9, 1.0 + 1e-9, np.inf, -np.inf])
def test_the_first_value_outside_is_named(length, wrong):
    assert row_at_fault(within, np.linspace(0.0, 1.0, length), 0.0, 1.0) is None
    for row in {0, length // 2, length - 1}:
        values = np.linspace(0.0, 1.0, length)
        values[[row, -1]] = wrong
        assert row_at_fault(within, values, 0.0, 1.0) == row


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_sample_that_is_not_finite_is_named(length, wrong):
    offsets = np.array([0, length])
    for row in {0, length // 2, length - 1}:
        values = np.arange(length, dtype=float)
        values[[row, -1]] = wrong
        with pytest.raises(InputError, match="values") as refused:
            checked_tuples(offsets, values, np.zeros(length))
        assert refused.value.row == row


@pytest.mark.parametrize("tuples", [1, 2, FEW, 5 * FEW])
def test_a_tuple_that_exists_more_than_surely_is_named(tuples):
    """Though all tuples together may sum to more than 1."""
    offsets, weights = np.arange(0, 2 * tuples + 1, 2), np.full(2 * tuples, 0.5)
    checked_tuples(offsets, weights, weights)
    weights[-1] = 0.6
    with pytest.raises(InputError, match="probabilities") as refused:
        checked_tuples(offsets, weights, weights)
    assert refused.value.row == tuples - 1


@pytest.mark.parametrize("length", LENGTHS)
def test_the_first_span_outside_is_named(length):
    starts, stops = np.full(length, 3), np.full(length, 7)
    assert first_bad_span(starts, stops, 3, 7) is None
    for row in {0, length // 2, length - 1}:
        for start, stop in ((2, 7), (3, 8), (6, 5)):
            wrong = starts.copy(), stops.copy()
            wrong[0][[row, -1]], wrong[1][[row, -1]] = start, stop
            assert first_bad_span(*wrong, 3, 7) == row


@pytest.mark.parametrize("length", LENGTHS)
def test_what_falls_is_named(length):
    times = np.arange(length)
    assert row_at_fault(never_back, times, 0) is None
    assert row_at_fault(never_back, times, 1) == 0
    assert row_at_fault(offsets_of, times, length - 1) is None
    if length > 2:
        times[1] = length
        assert row_at_fault(never_back, times, None) == 2
        assert row_at_fault(offsets_of, times, length - 1) == 2


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_whole_numbers_with_more_digits_than_a_float_are_named(kind):
    fits = np.array([2**53, 2**53 + 2, 2**62, 5], kind)
    assert column("values", fits, np.float64).tolist() == fits.tolist()
    wrong = np.array([2**53, 7, 2**53 + 1, 2**63 - 1], kind)
    with pytest.raises(InputError, match="values, row 2: 9007199254740993 does not fit float64"):
        column("values", wrong, np.float64)
    with pytest.raises(InputError, match="row 0: 9223372036854775807"):
        column("values", [2**63 - 1], np.float64)
    with pytest.raises(InputError, match="row 0: -9007199254740993"):
        column("values", [-(2**53) - 1], np.float64)
    with pytest.raises(InputError, match="row 1: 16777217 does not fit float32"):
        column("values", np.array([2**24, 2**24 + 1], kind), np.float32)
    assert column("values", np.array([True, False]), np.float64).tolist() == [1.0, 0.0]
    assert np.isnan(column("values", np.array([np.nan, 1], np.float32), np.float64)[0])
