"""Answers at every pane equal counting by hand, while tables grow, bars move, and windows become empty."""

from collections import Counter

import numpy as np
import pytest
import skyband

ROWS = 3000
RNG = np.random.default_rng(3)
OBJECTS = {
    "few": RNG.integers(0, 12, ROWS),
    "Zipf": RNG.zipf(1.3, ROWS) % 400,
    "none repeats": np.arange(ROWS),
    "other ones each while": RNG.integers(0, 40, ROWS) + np.arange(ROWS) // 300 * 100,
}


@pytest.mark.parametrize("objects", OBJECTS)
@pytest.mark.parametrize(("gaps", "every"), [([1], 1), ([0, 1, 1, 7], 5), ([0] * 400 + [900], 30)])
def test_answers_at_every_pane_equal_counting_by_hand(objects, gaps, every):
    times, seen = np.cumsum(np.random.default_rng(1).choice(gaps, ROWS)), OBJECTS[objects]
    windows, k = [every, 20 * every], 4
    ranker = skyband.create("total-ranker", "exact", windows=windows, every=every, k=k)
    cut = ROWS // 2
    ranker.update(times[:cut], seen[:cut])
    moments = np.arange(0, times[-1] + 22 * every, every)
    moments = moments[moments > times[cut - 1]]
    found = ranker.answers(times[cut:], seen[cut:], moments=moments)
    assert len(found) == 2 * len(moments) > 100
    for number, top in enumerate(found):
        moment, window = int(moments[number // 2]), windows[number % 2]
        first, last = np.searchsorted(times, [moment - window, moment])
        counted = Counter(seen[first:last].tolist())
        wanted = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
        assert list(zip(top.objects.tolist(), top.totals.tolist(), strict=True)) == wanted
        assert top.grand == last - first
