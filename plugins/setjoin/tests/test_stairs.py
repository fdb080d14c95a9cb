"""The rank in E of a pair, from the number of its older set: never below the true one, at most one step above."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband.kernels import kskyband_kernels
from skyband_setjoin import stairs
from skyband_setjoin.stairs import BASE, SHIFT


def settled(numbers, k=1_000_000):
    """Stairs of a stock that has one pair with each of these older sets; the set's time is a third of its number."""
    band = kskyband_kernels.new(k, max(1, len(numbers)))
    for number in numbers:
        kskyband_kernels.add(band, 0.5, number // 3, number, 2**62)
    return stairs.settle(band, stairs.new())


def latest(numbers):
    """The largest older number so far, in order E: ties of time come in reverse of B."""
    ranked = sorted(numbers, key=lambda number: (number // 3, -number))
    return np.maximum.accumulate(np.array(ranked, np.int64)) if numbers else np.empty(0, np.int64)


@given(
    st.lists(st.one_of(st.integers(0, 40), st.integers(0, 5000), st.integers(10**9, 10**9 + 10**6)), max_size=60),
    st.lists(st.one_of(st.integers(-1, 5010), st.integers(10**9 - 2, 10**9 + 10**6)), max_size=20),
)
@settings(max_examples=200, deadline=None)
def test_steps_bound_the_rank_and_are_no_more_than_one_apart(numbers, asked):
    band, built = settled(numbers)
    older = built.older[: band.counts[kskyband_kernels.SIZE]]
    assert older.tolist() == latest(numbers).tolist()
    base, shift = built.marks[BASE], built.marks[SHIFT]
    for number in [*numbers, *asked]:
        found = stairs.at_most(built.steps, base, shift, number)
        behind = int(np.searchsorted(older, number + (1 << int(shift))))
        assert np.searchsorted(older, number) <= found <= behind


@pytest.mark.parametrize("size", [1, 256, 257, 5000])
def test_there_are_as_many_steps_as_pairs(size):
    numbers = np.random.default_rng(size).integers(0, 10**6, size).tolist()
    band, built = settled(numbers)
    assert len(built.older) >= band.counts[kskyband_kernels.SIZE] == size
    assert len(built.steps) == len(built.older) + 1
    assert (np.diff(built.steps) >= 0).all()
    assert built.steps[-1] == size
