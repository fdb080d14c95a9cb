"""Sets as ascending arrays: what numpy's own functions give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from skyband.kernels.sorted_arrays import among, distinct

NUMBERS = st.one_of(
    arrays.arrays(np.uint64, st.integers(0, 30), elements=st.integers(0, 9) | st.integers(0, 2**64 - 1)),
    arrays.arrays(np.int64, st.integers(0, 30), elements=st.integers(-3, 3)),
)


@given(NUMBERS, st.integers(0, 30), st.integers(0, 30))
def test_as_numpy(values, cut, other):
    known = distinct(values[:cut], values[other:])
    expected = np.unique(np.concatenate([values[:cut], values[other:]]))
    assert known.dtype == values.dtype
    np.testing.assert_array_equal(known, expected)
    np.testing.assert_array_equal(among(values, known), np.isin(values, expected))


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_of_nothing(kind):
    nothing = np.empty(0, kind)
    assert distinct(nothing, nothing).dtype == kind
    assert among(np.array([1, 2], kind), nothing).tolist() == [False, False]
    assert among(nothing, np.array([1], kind)).tolist() == []
