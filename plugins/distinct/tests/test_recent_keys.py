"""The list of most recent keys is right in whatever order the rows arrive."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from skyband_distinct.stamps.recent_keys import RecentKeys

SIZE = 7
row = st.tuples(st.integers(-30, 30), st.integers(0, 90))
rows = st.lists(row, max_size=40) | st.lists(row, min_size=60, max_size=110)
"""Short lists alone would rarely have more keys than are kept, and never more than fit the table."""


def columns(rows):
    return np.array([time for time, _ in rows], np.int64), np.array([key for _, key in rows], np.uint64)


def last_of(rows):
    last = {}
    for time, key in rows:
        last[key] = max(time, last.get(key, time))
    return last


def best_of(rows):
    return sorted((-time, key) for key, time in last_of(rows).items())[:SIZE]


def fed(rows, cut=None):
    recent = RecentKeys(SIZE)
    for start in range(0, len(rows), cut or max(1, len(rows))):
        recent.add(*columns(rows[start : start + (cut or len(rows))]))
    return recent


def entries(recent):
    times, keys = recent.entries()
    return list(zip((-times).tolist(), keys.tolist(), strict=True))


@given(rows, st.integers(1, 50), st.booleans())
def test_it_keeps_the_youngest_then_smallest_keys(rows, cut, ordered):
    rows = sorted(rows) if ordered else rows
    recent = fed(rows, cut)
    assert entries(recent) == best_of(rows)
    assert len(recent) == len(best_of(rows))
    assert recent.overflowed == (len(last_of(rows)) >= SIZE)


@given(rows, st.integers(1, 50))
def test_counts_are_right_as_far_as_it_reaches_back(rows, cut):
    recent, last = fed(rows, cut), last_of(rows).values()
    for since in range(-31, 32):
        if recent.reaches_back(since):
            assert recent.count(since) == sum(time >= since for time in last)
    assert recent.reaches_back(max(last, default=0) + 1)


@given(rows, st.integers(1, 50))
def test_it_reaches_back_to_moments_with_fewer_keys_than_its_size(rows, cut):
    recent, last = fed(rows, cut), last_of(rows).values()
    for since in range(-31, 32):
        assert recent.reaches_back(since) == (sum(time >= since for time in last) < SIZE)


@given(rows, st.integers(1, 50))
def test_how_far_it_reaches_back_does_not_depend_on_batches_or_questions(rows, cut):
    whole, asked = fed(rows), RecentKeys(SIZE)
    for start in range(0, len(rows), cut):
        asked.add(*columns(rows[start : start + cut]))
        asked.reaches_back(0)
    assert entries(asked) == entries(whole)
    reloaded = RecentKeys(SIZE)
    reloaded.load(*whole.entries(), overflowed=whole.overflowed)
    for since in range(-31, 32):
        assert whole.reaches_back(since) == asked.reaches_back(since) == reloaded.reaches_back(since)


def test_it_reaches_less_far_back_when_the_oldest_key_arrives_again():
    recent = fed([(time, time) for time in range(SIZE + 1)])
    assert [recent.reaches_back(since) for since in (1, 2, 3)] == [False, True, True]
    recent.add(*columns([(50, 1)]))
    assert [recent.reaches_back(since) for since in (1, 2, 3)] == [False, False, True]


@given(rows, rows)
def test_merging_equals_adding_both(rows, others):
    merged, whole = fed(rows), fed(rows + others)
    merged.merge(fed(others))
    assert entries(merged) == entries(whole)
    assert merged.overflowed == whole.overflowed
    assert [merged.reaches_back(since) for since in range(-31, 32)] == [
        whole.reaches_back(since) for since in range(-31, 32)
    ]


def test_its_table_stays_small():
    recent = RecentKeys(SIZE)
    for start in range(0, 100_000, 1000):
        moments = np.arange(start, start + 1000)
        recent.add(moments, moments.astype(np.uint64))
    assert recent.nbytes <= 16 * 16 * SIZE
