"""The minimum and maximum of a column."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from skyband.kernels.minmax import minmax


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=200))
def test_it_is_the_smallest_and_the_largest(values):
    column = np.array(values, np.int64)
    column.flags.writeable = False
    assert minmax(column) == (min(values), max(values))
