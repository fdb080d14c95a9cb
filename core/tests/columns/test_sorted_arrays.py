"""Sets as ascending arrays, compared with numpy's set functions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from skyband.kernels.selection import search_ascending
from skyband.kernels.sorted_arrays import among, distinct, search_sorted

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


@settings(max_examples=300)
@given(st.data())
def test_places_are_numpys_whether_values_ascend_or_not(data):
    """Keys from a small range: some repeat, some are below and some above all members."""
    most = data.draw(st.sampled_from([3, 40, 2**64 - 1]))
    keys = arrays.arrays(np.uint64, st.integers(0, 60), elements=st.integers(0, most))
    members, values = np.sort(data.draw(keys)), data.draw(keys)
    for searched in (values, np.sort(values)):
        np.testing.assert_array_equal(search_ascending(members, searched), np.searchsorted(members, searched))


@pytest.mark.parametrize("count", [1023, 1024, 5000])
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_places_of_many(count, kind):
    rng = np.random.default_rng(count)
    members = np.unique(rng.integers(0, 3 * count, 2 * count)).astype(kind)
    values = rng.integers(0, 4 * count, count).astype(kind)
    for searched in (values, np.sort(values), members):
        places = search_sorted(members, searched)
        assert places.dtype == np.int64
        np.testing.assert_array_equal(places, np.searchsorted(members, searched))
    np.testing.assert_array_equal(among(values, members), np.isin(values, members))
