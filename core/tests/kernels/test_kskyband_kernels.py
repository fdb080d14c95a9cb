"""The k-skyband equals its definition: an item is kept iff fewer than k others dominate it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from skyband.kernels import kskyband_kernels
from skyband.kernels.kskyband import KSkyband

# (score, expiry, tie, key): few values, so that ties are everywhere.
ITEMS = st.tuples(st.integers(0, 3).map(float), st.integers(0, 6), st.integers(0, 2), st.integers(0, 2))
STEPS = st.lists(st.one_of(ITEMS, st.integers(0, 7), st.just("flush")), max_size=60)


def ranking(items):
    """Order B; Python's sort is stable, so equal items stay in order of arrival."""
    return sorted(items, key=lambda item: (-item[0], item[2], item[3]))


def skyband(items, k, now):
    """By the definition: ranked before, and expiring no earlier, k times over."""
    alive = [item for item in ranking(items) if item[1] >= now]
    return [item for i, item in enumerate(alive) if sum(better[1] >= item[1] for better in alive[:i]) < k]


def rows(items):
    return [tuple(item) for item in items.tolist()]


def play(band, steps):
    added, now = [], kskyband_kernels.TIME_MIN
    for step in steps:
        if step == "flush":
            band.flush()
        elif isinstance(step, tuple):
            band.add(*[[value] for value in step])
            added.append(step)
        else:
            now = max(now, step)
            band.advance(now)
    return added, now


@given(st.integers(1, 4), st.integers(1, 5), STEPS)
@settings(max_examples=400, deadline=None)
def test_keeps_exactly_what_fewer_than_k_dominate(k, room, steps):
    band = KSkyband(k, room)
    added, now = play(band, steps)
    assert rows(band.items()) == skyband(added, k, now)


@given(st.integers(1, 4), st.integers(1, 5), st.lists(ITEMS, max_size=60))
@settings(max_examples=100, deadline=None)
def test_items_added_at_once_are_no_different(k, room, items):
    band = KSkyband(k, room)
    columns = zip(*items, strict=True) if items else ([], [], [], [])
    band.add(*columns)
    assert rows(band.items()) == skyband(items, k, kskyband_kernels.TIME_MIN)


@given(st.integers(1, 4), st.integers(1, 40), st.lists(ITEMS, max_size=80))
@settings(max_examples=200, deadline=None)
def test_items_in_order_of_expiry_give_the_same_result(k, room, items):
    band = KSkyband(k, room)
    added, now = play(band, sorted(items, key=lambda item: item[1]))
    assert rows(band.items()) == skyband(added, k, now)
    assert band.expiries().tolist() == sorted(item[1] for item in skyband(added, k, now))


@given(st.integers(1, 4), st.integers(1, 5), STEPS)
@settings(max_examples=300, deadline=None)
def test_answers_every_later_moment(k, room, steps):
    band = KSkyband(k, room)
    added, now = play(band, steps)
    for moment in range(max(now, -1), 8):
        alive = [item for item in ranking(added) if item[1] >= moment]
        for size in range(1, k + 1):
            assert rows(band.topk(size, since=moment)) == alive[:size]
        assert band.lower_bound(moment) == (alive[k - 1][0] if len(alive) >= k else -math.inf)


@given(st.integers(1, 4), st.integers(1, 5), STEPS, ITEMS)
@settings(max_examples=400, deadline=None)
def test_bounds_are_safe_between_flushes(k, room, steps, item):
    band = KSkyband(k, room)
    added, now = play(band, steps)
    score, expiry = item[:2]
    if expiry < now:
        return
    wanted = sum(other == item for other in skyband([*added, item], k, now)) > sum(
        other == item for other in skyband(added, k, now)
    )
    if wanted:
        assert band.admits(*item)
        assert band.lower_bound(expiry) <= score
        assert expiry >= band.crop(score)
    band.flush()
    assert (expiry >= band.crop(score)) == (band.lower_bound(expiry) <= score)


@given(st.integers(1, 4), STEPS, ITEMS)
@settings(max_examples=200, deadline=None)
def test_an_item_ranked_behind_the_bound_at_its_end_is_refused(k, steps, item):
    band = KSkyband(k, 3)
    added, now = play(band, steps)
    band.flush()
    alive = [other for other in ranking(added) if other[1] >= max(item[1], now)]
    ahead = [other for other in alive if (-other[0], *other[2:]) <= (-item[0], *item[2:])]
    if item[1] >= now:
        assert band.admits(*item) == (len(ahead) < k)


@given(st.integers(1, 3), STEPS)
@settings(max_examples=100, deadline=None)
def test_expiry_order_is_the_reverse_of_the_ranking_on_ties(k, steps):
    band = KSkyband(k, 2)
    play(band, steps)
    items, ends = band.items(), band.expiries()
    order = band.band.order[: len(items)].tolist()
    assert sorted(order) == list(range(len(items)))
    assert [int(items[p]["expiry"]) for p in order] == ends.tolist()
    assert order == sorted(range(len(items)), key=lambda p: (items[p]["expiry"], -p))


@pytest.mark.parametrize("k", [1, 7, 60, 500])
def test_long_random_streams_with_mass_expiry(k):
    rng = np.random.default_rng(k)
    band = KSkyband(k, room=16)
    now, added = 0, []
    for _ in range(30):
        n = int(rng.integers(0, 300))
        batch = (rng.integers(0, 40, n) / 7, now + rng.integers(0, 60, n), rng.integers(0, 9, n), rng.integers(0, 9, n))
        band.add(*batch)
        added = skyband([*added, *zip(*map(np.ndarray.tolist, batch), strict=True)], k, now)
        now += int(rng.choice([0, 1, 5, 80], p=[0.3, 0.4, 0.25, 0.05]))
        band.advance(now)
        added = [item for item in added if item[1] >= now]
        assert rows(band.items()) == skyband(added, k, now)
    assert len(band.band.buffer) >= len(band) // 4


def test_all_expire_at_once():
    band = KSkyband(3)
    band.add(np.arange(50.0), 9, 0, np.arange(50))
    assert band.topk()["key"].tolist() == [49, 48, 47]
    band.advance(10)
    assert (len(band), rows(band.topk()), band.lower_bound(10)) == (0, [], -math.inf)
    band.add([1.0], [10])
    assert len(band) == 1


def test_extreme_expiries_and_scores():
    band = KSkyband(1)
    band.add([math.inf, -math.inf, 0.0], [-(2**63), 2**63 - 1, 0], 0, [1, 2, 3])
    assert band.topk()["key"].tolist() == [1]
    assert band.topk(since=-5)["key"].tolist() == [3]
    assert band.topk(since=1)["key"].tolist() == [2]
    assert band.crop(5.0) == -(2**63) + 1


def test_time_going_back_is_ignored():
    band = KSkyband(1)
    band.advance(5)
    band.advance(3)
    band.add([1.0], [4])
    assert len(band) == 0


def test_retained_grows_with_the_logarithm_of_the_stream():
    rng = np.random.default_rng(3)
    k, n = 10, 100_000
    band = KSkyband(k)
    band.add(rng.random(n), np.arange(n), 0, np.arange(n))
    expected = k * (1 + math.log(n / k))
    assert 0.7 * expected < len(band) < 1.4 * expected
    assert band.nbytes < 100_000


def test_compiled_loops_drive_the_same_functions():
    @njit
    def drive(band, scores):
        for i in range(len(scores)):
            if kskyband_kernels.admits(band, scores[i], i, 0, i):
                if kskyband_kernels.is_full(band):
                    band = kskyband_kernels.flush(band)
                kskyband_kernels.add(band, scores[i], i, 0, i)
        return kskyband_kernels.flush(band)

    scores = np.random.default_rng(5).integers(0, 50, 2000) / 3
    compiled = drive(kskyband_kernels.new(4), scores)
    python = KSkyband(4)
    python.add(scores, np.arange(2000), 0, np.arange(2000))
    assert rows(compiled.items[: compiled.counts[kskyband_kernels.SIZE]]) == rows(python.items())
