"""Tables of last times, of few keys and of more than fit, are dictionaries that forget only what no answer needs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from skyband_detect.newest.last_times import LastTimes

APART = 6
KEYS = 40
"""Many times more than the table has room for at first, so that it is cleared and enlarged again and again."""


@some.composite
def turns(draw):
    """Batches of rows (time, key) in order of time; most gaps between rows of a key are near APART."""
    rows, time = [], draw(some.integers(-50, 50))
    for _ in range(draw(some.integers(1, 60))):
        time += draw(some.sampled_from([0, 0, 1, 1, 2, APART - 1, APART, APART + 1]))
        rows.append((time, draw(some.integers(0, KEYS))))
    cuts = sorted(draw(some.lists(some.integers(0, len(rows)), max_size=4)))
    return [rows[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def columns_of(rows):
    times, keys = zip(*rows, strict=True) if rows else ((), ())
    return np.array(times, np.int64), np.array(keys, np.uint64)


def resumed(table, since):
    """A table with the entries since a moment, as a restored state has them."""
    keys, times = table.entries(since)
    again = LastTimes()
    again.load(keys, times)
    return again


@given(turns(), some.booleans())
def test_rows_that_are_far_enough_from_the_last_one_of_their_key_are_entered(batches, is_restored):
    table, last = LastTimes(), {}
    for rows in batches:
        expected = []
        for time, key in rows:
            expected.append(key not in last or time - last[key] >= APART)
            last[key] = time if expected[-1] else last[key]
        assert table.spaced(*columns_of(rows), APART).tolist() == expected
        if is_restored and rows:
            table = resumed(table, rows[-1][0] - APART + 1)


@given(turns(), some.booleans())
def test_keys_are_unseen_without_a_row_in_the_window_before(batches, is_restored):
    table, seen, windows = LastTimes(), {}, [1, APART - 1, APART]
    for rows in batches:
        expected = []
        for row, (time, key) in enumerate(rows):
            before = seen.get(key)
            if before != time:
                expected += [
                    (row, place) for place, window in enumerate(windows) if before is None or before < time - window
                ]
            seen[key] = time
        found = table.unseen(*columns_of(rows), np.array(windows), APART)
        assert [*zip(*(column.tolist() for column in found), strict=True)] == expected
        if is_restored and rows:
            table = resumed(table, rows[-1][0] - APART)


@pytest.mark.parametrize("gap", range(-2, 3))
@pytest.mark.parametrize("keys", range(3, 24))
def test_a_full_table_keeps_the_keys_that_still_matter(keys, gap):
    """Whatever the number of keys when it is full, one that is just old enough to matter is known afterwards."""
    for apart in (5, 50):
        times, of = np.zeros(keys, np.int64), np.arange(keys, dtype=np.uint64)
        later = np.full(keys + 1, apart + gap)
        again = np.concatenate([np.array([1000], np.uint64), of])
        table = LastTimes()
        table.spaced(times, of, apart)
        assert table.spaced(later, again, apart).tolist() == [True, *[gap >= 0] * keys]
        table = LastTimes()
        table.unseen(times, of, np.array([apart]), apart)
        assert table.unseen(later, again, np.array([apart]), apart)[0].tolist() == [
            0,
            *[*range(1, keys + 1)] * (gap > 0),
        ]
