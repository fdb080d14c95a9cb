"""Ranks are those of exact decimals, up to 2^62 rows."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband_quantiles import varints
from skyband_quantiles.ranks import BILLION, billionths, fault_of_share, rank, rank_of


@given(st.integers(0, BILLION), st.integers(1, 2**62))
def test_rank_in_64_bits_is_the_rank_of_the_fraction(part, rows):
    assert rank(part, rows) == rank_of(part, rows) == max(1, ceil(Fraction(part, BILLION) * rows))


def test_whole_percentages_are_not_rounded_up():
    for rows in range(1, 301):
        for percent in range(101):
            assert rank(billionths(percent / 100), rows) == max(1, -(-percent * rows // 100))


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (95, "0.95 for the 95th percentile"),
        (-0.1, "must be from 0 to 1 "),
        (0.1234567891, "at most nine decimals"),
        (float("nan"), "must be from 0 to 1"),
        (True, "must be a number from 0 to 1"),
        ("0.5", "must be a number from 0 to 1"),
    ],
)
def test_a_number_that_is_not_a_share_is_refused_with_the_remedy(share, said):
    assert said in fault_of_share(share)


@given(st.lists(st.integers(0, 2**63 - 1)))
def test_numbers_are_restored_from_their_bytes(numbers):
    written = varints.to_bytes(np.array(numbers, np.int64))
    assert varints.from_bytes("numbers", written, len(numbers)).tolist() == numbers
