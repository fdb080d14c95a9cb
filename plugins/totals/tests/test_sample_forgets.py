"""total-ranker/k-skb while its sample has all rows: it retains exactly those of the longest window."""

import numpy as np
import pytest
import skyband
from skyband_totals.k_skb import sample_kernels


@pytest.mark.parametrize("total", ["rows", "sum", "distinct"])
def test_rows_are_forgotten_as_time_passes_without_new_ones(total):
    ranker = skyband.create("total-ranker", "k-skb", windows=[10], every=1, k=3, total=total, epsilon=0.3)
    times = np.arange(20)
    amounts = {"rows": {}, "sum": {"weights": np.ones(20)}, "distinct": {"values": times.astype(np.uint64)}}[total]
    ranker.update(times, times, **amounts)
    for now in range(20, 33):
        ranker.advance(now)
        assert len(ranker) == np.count_nonzero(times >= now - 10)
        assert len(skyband.restore(ranker.snapshot())) == len(ranker)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_entries_with_fewer_than_k_smaller_younger_scores_are_kept(k):
    """However rows are cut; the limit of each is the k-th smallest score at least as young."""
    rng = np.random.default_rng(k)
    times, scores = np.sort(rng.integers(0, 30, 300)), rng.permutation(300).astype(np.uint64) * np.uint64(2**55)
    number = np.arange(300)
    none = np.empty(0, np.int64)
    held, start = (none, np.empty(0, np.uint64), none, none), 0
    for stop in (*np.sort(rng.integers(0, 300, 7)).tolist(), 300):
        piece = slice(start, stop)
        held, limits = sample_kernels.sweep(
            (times[piece], scores[piece], number[piece], number[piece]), held, k, -1, False
        )
        expected = {}
        for row in range(stop):
            young = np.sort(scores[:stop][times[:stop] >= times[row]])
            if (young < scores[row]).sum() < k:
                expected[row] = int(young[k - 1]) if len(young) >= k else 2**64 - 1
        assert dict(zip(held[2].tolist(), limits.tolist(), strict=True)) == expected
        start = stop
