"""total-ranker/k-skb while its sample has all rows: what it retains are those of the longest window, no others."""

import numpy as np
import pytest
import skyband


@pytest.mark.parametrize("total", ["rows", "sum", "distinct"])
def test_rows_are_forgotten_as_time_goes_on_without_any(total):
    ranker = skyband.create("total-ranker", "k-skb", windows=[10], every=1, k=3, total=total, epsilon=0.3)
    times = np.arange(20)
    amounts = {"rows": {}, "sum": {"weights": np.ones(20)}, "distinct": {"values": times.astype(np.uint64)}}[total]
    ranker.update(times, times, **amounts)
    for now in range(20, 33):
        ranker.advance(now)
        assert len(ranker) == np.count_nonzero(times >= now - 10)
        assert len(skyband.restore(ranker.snapshot())) == len(ranker)
