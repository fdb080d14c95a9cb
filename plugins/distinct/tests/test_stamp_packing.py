"""Cells and ages in few bytes are those that numpy packs, and come back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband.arrays import TIME_MIN
from skyband_distinct.stamp_packing import pack_ages, pack_cells, unpack_ages, unpack_cells

times = st.lists(st.integers(TIME_MIN + 1, 2**63 - 1), max_size=50)


@given(st.integers(0, 300), st.data())
def test_cells_are_bits_as_numpy_has_them(most, data):
    filled = np.array(data.draw(st.lists(st.booleans(), min_size=most, max_size=most)), bool)
    cells = np.flatnonzero(filled)
    packed = pack_cells(cells, most)
    assert packed.tolist() == np.packbits(filled).tolist()
    assert unpack_cells(packed, most).tolist() == cells.tolist()


@pytest.mark.parametrize("most", [0, 1, 7, 8, 9, 63, 64, 65])
def test_bits_behind_the_last_cell_are_none(most):
    assert unpack_cells(np.full((most + 7) // 8, 255, np.uint8), most).tolist() == list(range(most))


@given(times, st.integers(0, 8))
def test_ages_take_as_many_bytes_as_the_oldest(times, spare):
    now = max(times, default=0)
    ages = [now - time for time in times]
    planes = pack_ages(np.array(times, np.int64), now)
    assert planes.shape == ((max(ages, default=0).bit_length() + 7) // 8, len(times))
    assert [int.from_bytes(planes[:, place].tobytes(), "little") for place in range(len(times))] == ages
    assert unpack_ages(planes).tolist() == ages
    wider = np.concatenate([planes, np.zeros((min(spare, 8 - len(planes)), len(times)), np.uint8)])
    assert unpack_ages(wider).tolist() == ages
