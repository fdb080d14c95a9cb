"""The rank in E of a pair by its older set: how many pairs of the stock end before that set arrives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband.kernels import kskyband_kernels
from skyband_setjoin import sets as window
from skyband_setjoin import stairs, swoop_memory
from skyband_setjoin.stairs import BASE, SHIFT


def window_of(times, sets=None):
    """A window of empty sets with these times."""
    for time in times:
        sets = sets or window.new()
        if not window.has_room(sets, 0):
            sets = window.enlarged(sets, 0)
        window.append(sets, sets.marks[window.NEXT], time, 0, np.empty(0, np.int64), 0)
    return sets


def settled(numbers, sets, k=1_000_000):
    """The stairs of a stock with one pair for each of these older sets."""
    band = kskyband_kernels.new(k, max(1, len(numbers)))
    for number in numbers:
        kskyband_kernels.add(band, 0.5, sets.records[number & (len(sets.records) - 1)]["time"], number, 2**62)
    band, built = swoop_memory.with_room_to_flush(band, stairs.new())
    stairs.canonicalize(band, built, sets)
    return band, built


def check(band, built, times, numbers):
    """The stairs say how many pairs end before each set arrives; their steps are at most one too high."""
    size = band.counts[kskyband_kernels.SIZE]
    older, (base, shift) = built.older[:size], built.marks[[BASE, SHIFT]].tolist()
    ends = np.sort(times[numbers])
    for number, time in enumerate(times.tolist()):
        true = int(np.searchsorted(ends, time))
        assert int(np.searchsorted(older, number)) == true
        assert true <= stairs.at_most(built.steps, base, shift, number)
        assert stairs.rank_before(built.older, built.steps, base, shift, size, number) == true


@given(
    st.lists(st.sampled_from([0, 0, 0, 1, 2, 1000]), min_size=1, max_size=60),
    st.lists(st.integers(0, 59), max_size=60),
    st.lists(st.sampled_from([0, 0, 1, 50]), max_size=10),
)
@settings(max_examples=200, deadline=None)
def test_stairs_have_the_rank_and_keep_it_as_sets_arrive(gaps, chosen, further):
    times = np.cumsum(gaps)
    numbers = np.array([number % len(times) for number in chosen], np.int64)
    sets = window_of(times.tolist())
    band, built = settled(numbers.tolist(), sets)
    check(band, built, times, numbers)
    for gap in further:
        times = np.append(times, times[-1] + gap)
        stairs.close(band, built, len(times) - 2, times[-1])
        sets = window_of(times[-1:].tolist(), sets)
        check(band, built, times, numbers)


@pytest.mark.parametrize("size", [1, 256, 257, 5000])
def test_there_are_as_many_steps_as_pairs(size):
    numbers = np.random.default_rng(size).integers(0, 10_000, size).tolist()
    band, built = settled(numbers, window_of(range(10_001)))
    assert len(built.older) >= band.counts[kskyband_kernels.SIZE] == size
    assert len(built.steps) == len(built.older) + 1
    assert (np.diff(built.steps) >= 0).all()
    assert built.steps[-1] == size
