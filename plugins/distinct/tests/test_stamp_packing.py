"""Cells and ages are packed into few bytes as numpy does, and unpacked again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband import SnapshotError
from skyband.arrays import TIME_MIN
from skyband.state_validation import StateReader
from skyband_distinct.stamps.stamp_table import StampTable, pack_ages, pack_cells, unpack_ages, unpack_cells

times = st.lists(st.integers(TIME_MIN + 1, 2**63 - 1), max_size=50)


@given(st.integers(0, 300), st.data())
def test_cells_are_packed_as_numpy_packs_bits(most, data):
    filled = np.array(data.draw(st.lists(st.booleans(), min_size=most, max_size=most)), bool)
    cells = np.flatnonzero(filled)
    packed = pack_cells(cells, most)
    assert packed.tolist() == np.packbits(filled).tolist()
    assert unpack_cells(packed, most).tolist() == cells.tolist()


@pytest.mark.parametrize("most", [0, 1, 7, 8, 9, 63, 64, 65])
def test_bits_behind_the_last_cell_are_ignored(most):
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


@pytest.mark.parametrize("begin_small", [False, True])
@pytest.mark.parametrize("now", [0, 7, -(2**62), 2**62])
def test_an_age_reaches_back_to_the_earliest_time_and_no_further(now, begin_small):
    """The time before it marks a cell that no key has reached."""
    for age, fits in ((now - TIME_MIN - 1, True), (now - TIME_MIN, False)):
        state = {
            "levels": np.array([1, 8]),
            "filled": np.array([0b00100000], np.uint8),
            "ages": np.frombuffer(age.to_bytes(8, "little"), np.uint8),
        }
        table = StampTable(8, begin_small)
        if fits:
            table.load(StateReader(state), now)
            assert table.filled_since(TIME_MIN + 1)[0] == len(table) == 1
            np.testing.assert_equal(table.state(now), state)
        else:
            with pytest.raises(SnapshotError, match="must not reach back beyond the earliest time"):
                table.load(StateReader(state), now)
