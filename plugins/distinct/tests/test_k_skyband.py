"""k-skb holds exactly the k-skyband, and reads the kth smallest hash from it."""

import math

import numpy as np
import pytest
import skyband
from hypothesis import given
from hypothesis import strategies as st
from skyband_distinct.k_skb.sweep_kernel import hash_all, sweep
from skyband_distinct.time_order import in_one_order

MOST = 2**64 - 1
pairs = st.lists(st.tuples(st.integers(-4, 8), st.integers(0, 40)), max_size=80)


def last_of(pairs):
    last = {}
    for time, value in pairs:
        last[value] = max(time, last.get(value, time))
    return last


def skyband_of(pairs, k):
    """(time, hash) of the youngest copies with fewer than k smaller hashes that are at least as young."""
    last = last_of(pairs)
    kept = [(time, value) for value, time in last.items() if sum(v < value and t >= time for v, t in last.items()) < k]
    return sorted(kept, key=lambda pair: (-pair[0], pair[1]))


def swept(pairs, kept, k, since=-100):
    # Spread over all 64 bits, like hashes.
    pairs = sorted(pairs, key=lambda pair: pair[0])
    times = np.array([time for time, _ in pairs], np.int64)
    hashes = np.array([value << 57 for _, value in pairs], np.uint64)
    return sweep(times, hashes, *kept[:2], k, since)


def as_pairs(band):
    times, hashes = in_one_order(*band[:2])
    return [(time, value >> 57) for time, value in zip(times.tolist(), hashes.tolist(), strict=True)]


NO_PAIRS = np.empty(0, np.int64), np.empty(0, np.uint64)


@given(pairs, pairs, pairs, st.integers(1, 9))
def test_sweeping_in_parts_gives_the_skyband_of_the_whole(first, second, third, k):
    band = swept(third, swept(second, swept(first, NO_PAIRS, k), k), k)
    assert as_pairs(band) == skyband_of(first + second + third, k)


@given(pairs, st.integers(1, 9))
def test_the_limits_are_the_kth_smallest_hashes(pairs, k):
    band, last = swept(pairs, NO_PAIRS, k), last_of(pairs)
    for time, limit in zip(band[0].tolist(), band[2].tolist(), strict=True):
        young = sorted(value for value, t in last.items() if t >= time)
        assert limit == (young[k - 1] << 57 if len(young) >= k else MOST)


@given(pairs, st.integers(1, 9))
def test_the_rank_rule_of_theorem_5_holds(pairs, k):
    """If r - 1 kept pairs are older than a moment, the (r + k - 1)th smallest kept hash is the kth since then."""
    band, last = skyband_of(pairs, k), last_of(pairs)
    for since in range(-4, 9):
        young = sorted(value for value, time in last.items() if time >= since)
        older = sum(time < since for time, _ in band)
        if len(young) >= k:
            assert sorted(value for _, value in band)[older + k - 1] == young[k - 1]
        else:
            assert len(band) - older == len(young)


@given(pairs, st.integers(1, 9), st.integers(-4, 8))
def test_older_pairs_change_nothing_younger(pairs, k, since):
    whole, recent = swept(pairs, NO_PAIRS, k), swept(pairs, NO_PAIRS, k, since)
    count = len(recent[0])
    assert as_pairs(recent) == as_pairs([column[:count] for column in whole])
    assert np.array_equal(recent[2], whole[2][:count])
    assert (whole[0][count:] < since).all()


@pytest.mark.parametrize("k", [1, 2, 63, 64, 65, 500])
def test_the_skyband_of_many_rows_is_that_of_a_simple_walk(k):
    """Compared with a walk over a set, with enough rows for the bucket table to narrow many times."""
    rng = np.random.default_rng(k)
    hashes = rng.integers(0, 2**64, 40_000, dtype=np.uint64)
    hashes[rng.random(len(hashes)) < 0.3] = hashes[0]
    band = sweep(np.arange(len(hashes)), hashes, *NO_PAIRS, k, 0)
    smallest, kept = set(), []
    for time in range(len(hashes) - 1, -1, -1):
        value = int(hashes[time])
        if value not in smallest and (len(smallest) < k or value < max(smallest)):
            smallest.add(value)
            if len(smallest) > k:
                smallest.remove(max(smallest))
            kept.append((time, value))
    assert list(zip(band[0].tolist(), band[1].tolist(), strict=True)) == kept


def test_it_keeps_as_many_pairs_as_theorem_4_says():
    """k (1 + ln(n / k)) pairs a subsketch; the variance is below k ln(n / k), so 5 deviations are rare."""
    sketch = skyband.create("sketch", "k-skb", epsilon=0.05, seed=1)
    n = 200_000
    sketch.update(np.arange(n), np.arange(n))
    k, bands = sketch._k, sketch._skybands
    for times, _, _ in bands:
        assert abs(len(times) - k * (1 + math.log(n / k))) < 5 * math.sqrt(k * math.log(n / k))


def test_fewer_than_k_keys_are_counted_exactly():
    sketch = skyband.create("sketch", "k-skb", epsilon=0.1, seed=1)
    k = sketch._k
    sketch.update(np.arange(10 * k), np.arange(10 * k))
    for count in (0, 1, k - 1):
        assert sketch.bounds(9 * k + k - count) == (count, count)
    assert sketch.estimate(9 * k) >= k
    low, high = sketch.bounds(9 * k)
    assert k <= low < high


def test_the_estimate_is_the_median_of_k_minus_one_over_the_kth_hash():
    sketch = skyband.create("sketch", "k-skb", epsilon=0.1, seed=1)
    keys = np.arange(5000, dtype=np.uint64)
    sketch.update(np.arange(5000), keys)
    k = sketch._k
    for since in (0, 1000, 4000):
        each = sorted(
            (k - 1) / (float(np.sort(hash_all(keys[since:], word))[k - 1]) / 2.0**64) for word in sketch._salts
        )
        assert sketch.estimate(since) == pytest.approx(each[len(each) // 2], abs=1e-3)


def test_forgotten_pairs_are_dropped_and_late_rows_do_not_bring_them_back():
    sketch = skyband.create("sketch", "k-skb", epsilon=0.1)
    sketch.update(np.arange(20_000), np.arange(20_000))
    counts = [sketch.estimate(since) for since in range(15_000, 20_001, 100)]
    before = len(sketch)
    sketch.forget(15_000)
    assert len(sketch) < before
    sketch.update([14_999, 3], [50_000, 50_001])
    assert [sketch.estimate(since) for since in range(15_000, 20_001, 100)] == counts
    assert all(time >= 15_000 for time in skyband.restore(sketch.snapshot())._skybands[0][0])


def test_a_batch_of_more_than_a_million_rows_is_read_to_its_end():
    sketch = skyband.create("sketch", "k-skb", epsilon=0.1)
    times = np.arange((1 << 20) + 1000)
    sketch.update(times, (times >= 1 << 20).astype(np.uint64))
    assert [sketch.estimate(since) for since in (0, 1 << 20, len(times) - 1, len(times))] == [2, 1, 1, 0]
