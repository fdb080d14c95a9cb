"""Rows sorted by group and time, compared with numpy."""

import numpy as np
import pytest
from skyband.columns import grouped_rows as module
from skyband.columns.grouped_rows import row_order
from skyband.kernels.group_numbers import number_groups, place_rows


def columns(rng, rows, groups, moments, shuffled):
    times = np.sort(rng.integers(-moments, moments, rows)) * 1_000_003
    if shuffled:
        times = rng.permutation(times)
    names = rng.integers(0, 2**64, groups, dtype=np.uint64)
    return names[rng.integers(0, groups, rows)], times


@pytest.mark.parametrize("rows", [0, 1, 4095, 4096, 20_000])
@pytest.mark.parametrize("groups", [1, 7, 3000])
@pytest.mark.parametrize("moments", [1, 50, 2**40])
@pytest.mark.parametrize("shuffled", [False, True])
def test_it_is_that_of_lexsort(rows, groups, moments, shuffled):
    rng = np.random.default_rng([rows, groups, moments])
    keys, times = columns(rng, rows, groups, moments, shuffled)
    ties = [rng.integers(0, 3, rows).astype(np.uint64), rng.integers(-2, 2, rows).astype(np.float64)]
    for some in ([], ties[:1], ties):
        assert np.array_equal(row_order(keys, times, some), np.lexsort([keys, times, *some][::-1]))


@pytest.mark.parametrize("groups", [1, 511, 512, 513, 1024, 40_000])
def test_a_table_of_groups_grows_with_them(groups):
    names = np.random.default_rng(groups).integers(0, 2**64, groups, dtype=np.uint64)
    for rows in (names, np.repeat(names, 3), np.tile(names, 3), np.arange(groups, dtype=np.uint64) << np.uint64(54)):
        numbers, distinct, counts = number_groups(rows)
        first = np.sort(np.unique(rows, return_index=True)[1])
        assert np.array_equal(distinct, rows[first])
        assert np.array_equal(distinct[numbers], rows)
        assert np.array_equal(counts, np.bincount(numbers))


def test_a_group_zero_is_one_like_others():
    numbers, distinct, counts = number_groups(np.array([0, 5, 0, 0, 5], np.uint64))
    assert (numbers.tolist(), distinct.tolist(), counts.tolist()) == ([0, 1, 0, 0, 1], [0, 5], [3, 2])
    assert place_rows(numbers, np.array([2, 0])).tolist() == [1, 4, 0, 2, 3]
    assert place_rows(numbers, np.array([2, 0]), np.array([4, 3, 2, 1, 0])).tolist() == [4, 1, 3, 2, 0]


def test_no_rows_are_in_no_group():
    numbers, distinct, counts = number_groups(np.empty(0, np.uint64))
    assert (len(numbers), len(distinct), len(counts)) == (0, 0, 0)
    assert len(place_rows(numbers, np.empty(0, np.int64))) == 0


@pytest.mark.parametrize(("groups", "many"), [(1000, False), (100_000, False), (2**40, True), (2**63, True)])
def test_a_sample_shows_whether_there_are_too_many_groups_to_number(groups, many):
    rng = np.random.default_rng(groups % 1000)
    keys = rng.integers(0, groups, 600_000).astype(np.uint64)
    assert module._are_many(keys) == many
    assert np.array_equal(row_order(keys, np.arange(len(keys))), np.argsort(keys, kind="stable"))
