"""Whole numbers as bytes: restored exactly, and no other bytes are accepted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband.errors import SnapshotError
from skyband_quantiles.varints import from_bytes, to_bytes

EDGES = sorted({max(2 ** (7 * size) + step, 0) for size in range(9) for step in (-1, 0, 1)} | {2**63 - 1})
NUMBERS = st.lists(st.sampled_from(EDGES) | st.integers(0, 2**63 - 1), max_size=6)


def test_each_number_takes_as_few_bytes_as_its_bits_need():
    for number in EDGES:
        assert len(to_bytes(np.array([number]))) == max(-(-number.bit_length() // 7), 1)


@given(NUMBERS)
def test_numbers_are_restored_and_cut_or_longer_bytes_are_refused(numbers):
    written = to_bytes(np.array(numbers, np.int64))
    assert from_bytes("times", written, len(numbers)).tolist() == numbers
    assert from_bytes("times", written).tolist() == numbers
    other = [
        written[:-1],
        np.append(written, np.uint8(128)),
        np.append(written, np.uint8(0)),
        np.append(np.full(9, 255, np.uint8), written),
    ]
    for bytes_ in other if numbers else other[1:]:
        with pytest.raises(SnapshotError, match="times: must be"):
            from_bytes("times", bytes_, len(numbers))
