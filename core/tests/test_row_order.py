"""Rows by group and time: as numpy sorts them by both, whatever the rows."""

import numpy as np
import pytest
from skyband.columns import row_order as module
from skyband.columns.row_order import row_order


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


@pytest.mark.parametrize("most", [6, 7])
def test_more_groups_than_two_bytes_number_are_sorted_too(most, monkeypatch):
    monkeypatch.setattr(module, "_TWO_BYTES", most)
    monkeypatch.setattr(module, "_are_many", lambda groups: False)
    keys, times = columns(np.random.default_rng(5), 9000, 7, 40, False)
    assert np.array_equal(row_order(keys, times), np.lexsort([times, keys]))


def test_the_largest_number_of_two_bytes_is_of_a_group(monkeypatch):
    monkeypatch.setattr(module, "_are_many", lambda groups: False)
    rng = np.random.default_rng(6)
    for groups in (2**16, 2**16 + 1):
        keys = rng.permutation(np.arange(groups, dtype=np.uint64))
        times = np.arange(groups)
        assert np.array_equal(row_order(keys, times), np.lexsort([times, keys]))


@pytest.mark.parametrize(("groups", "many"), [(1000, False), (30_000, False), (200_000, True), (2**63, True)])
def test_a_sample_tells_whether_groups_are_too_many_to_be_numbered(groups, many):
    rng = np.random.default_rng(groups % 1000)
    keys = rng.integers(0, groups, 300_000).astype(np.uint64)
    assert module._are_many(keys) == many
    assert np.array_equal(row_order(keys, np.arange(len(keys))), np.argsort(keys, kind="stable"))
