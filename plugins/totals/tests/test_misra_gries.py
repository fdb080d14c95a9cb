"""The history of misra-gries: the invariant of nodes, bounds at all their borders, and restored states."""

from collections import Counter

import numpy as np
import pytest
import skyband
from skyband_totals.conformance.streams import binding
from skyband_totals.misra_gries.since_any_moment_kernels import (
    ERROR,
    FIRST,
    HEAD,
    HEAVY,
    LAST,
    NODES,
    POOL,
    RAW,
    ROWS,
    SIZE,
    START,
    WEIGHT,
    M,
)
from skyband_totals.top import UNKNOWN


def check(history, part):
    """Raise AssertionError if nodes and rows contradict each other or the invariants behind their bounds."""
    counts, nodes = history.counts, history.nodes[: history.counts[NODES]]
    rows = (counts[HEAD] + np.arange(counts[ROWS])) % len(history.times)
    times, units = history.times[rows], history.units[rows]
    assert counts[WEIGHT] == nodes[:, HEAVY].sum() + units.sum()
    ends = np.concatenate([nodes[:, [FIRST, LAST]].ravel(), times])
    assert (np.diff(ends) >= 0).all()
    assert (nodes[:-1, FIRST] < nodes[1:, LAST]).all(), "those of one time are one node"
    younger = counts[WEIGHT] - np.cumsum(nodes[:, HEAVY])
    for node, later in zip(nodes, younger, strict=True):
        entries = slice(node[START], node[START] + node[SIZE])
        keys, lows = history.keys[entries], history.lows[entries]
        assert node[START] + node[SIZE] <= counts[POOL]
        assert (np.diff(keys) > 0).all()
        assert (lows > 0).all()
        assert len(keys) <= max(counts[M], 128 if node[ERROR] == 0 else 0)
        assert lows.sum() + (counts[M] + 1) * node[ERROR] <= node[HEAVY]
        assert node[FIRST] == node[LAST] or node[HEAVY] <= part * later


def check_bounds(ranker, begin, times, objects, weights, epsilon):
    """Check the bounds of the rows since a moment; returns how many of them are tight."""
    recent = times >= begin
    keys, places = np.unique(objects[recent], return_inverse=True)
    truth = Counter(dict(zip(keys.tolist(), np.bincount(places, weights[recent]).tolist(), strict=True)))
    top, grand, reached = ranker.since(begin), float(weights[recent].sum()), 0
    assert top.grand_low <= grand <= top.grand_high
    for key, low, high in zip(top.objects.tolist(), top.low.tolist(), top.high.tolist(), strict=True):
        assert low <= truth[key] <= high
        assert high - low <= epsilon * grand
        reached += low == truth[key] or high == truth[key]
    assert top.objects_in_all in (UNKNOWN, len(keys))
    others = [total for key, total in truth.items() if key not in set(top.objects.tolist())]
    assert max(others, default=0) <= top.rest
    return reached


def streams():
    for seed in range(4):
        rows = binding(seed, 8)
        yield pytest.param(rows.times, rows.objects, rows.weights, id=f"binding {seed}")
    rng = np.random.default_rng(22)
    times = np.cumsum(rng.choice([0, 0, 0, 1, 40], 9000, p=[0.4, 0.3, 0.2, 0.099, 0.001]))
    yield pytest.param(times, rng.integers(0, 30, 9000), np.ones(9000), id="many of one time")
    flood = np.minimum(np.arange(9000), 3000)
    yield pytest.param(flood, np.arange(9000) % 3, np.ones(9000), id="at last all of one time")
    heavy = np.ones(9000)
    heavy[::100] = 2.0 ** rng.integers(0, 20, 90)
    yield pytest.param(np.arange(9000), np.arange(9000) % 11, heavy, id="heavy among light")
    bound, later = np.ones(9000), 1.0
    for row in range(8998, -1, -1):
        later += bound[row + 1]
        if row % 300 == 0:
            bound[row] = max(1, int(later * rng.uniform(0.1, 0.126)))
    yield pytest.param(np.arange(9000), np.arange(9000) % 11, bound, id="as heavy as a node may be")


@pytest.mark.parametrize(("times", "objects", "weights"), list(streams()))
@pytest.mark.parametrize("window", [10**6, 6000])
def test_nodes_keep_their_invariant_and_bounds_hold_at_all_their_borders(times, objects, weights, window):
    epsilon = 0.25
    ranker = skyband.create(
        "total-ranker", "misra-gries", windows=[window], every=1, k=50, total="sum", epsilon=epsilon
    )
    for start in range(0, len(times), 1024):
        part = slice(start, start + 1024)
        ranker.update(times[part], objects[part], weights=weights[part])
        check(ranker._history, epsilon / 2)
        known = slice(start + 1024)
        for begin in (int(times[known][-1]) - window + step for step in (0, 1, 40)):  # just after rows have expired
            check_bounds(ranker, begin, times[known], objects[known], weights[known], epsilon)
        assert ranker._history.counts[ROWS] >= min(ranker._history.counts[RAW], start) * (window > 10**5)
    history = ranker._history
    nodes = history.nodes[: history.counts[NODES]]
    assert len(nodes) > 1
    oldest = int(times[-1]) - window
    borders = {int(time) + step for time in nodes[:, [FIRST, LAST]].ravel() for step in (0, 1)}
    borders |= {oldest, oldest + 1, oldest + 40}
    tight = 0
    for begin in sorted(border for border in borders if border >= oldest):
        tight += check_bounds(ranker, begin, times, objects, weights, epsilon)
    assert tight > 0, "no bound was reached"


def test_a_node_without_entries_is_restored_and_bounds_hold_at_its_borders():
    """A part of the stream without any possibly heavy object."""
    ranker = skyband.create("total-ranker", "misra-gries", windows=(100_000,), every=1000, k=3, epsilon=0.25)
    times = np.arange(50_000)
    ranker.update(times, times)
    check(ranker._history, 0.125)
    blob = ranker.snapshot()
    again = skyband.restore(blob)
    assert again.snapshot() == blob
    for other in (ranker, again):
        other.update(times + 50_000, np.full(50_000, -1))
        other.advance(100_000)
    assert again.snapshot() == ranker.snapshot()
    for begin, rows in ((0, 50_000), (25_000, 50_000), (50_000, 50_000), (75_000, 25_000), (99_999, 1)):
        top = again.since(begin)
        assert top.objects[0] == -1
        assert top.low[0] <= rows <= top.high[0]
        assert top.high[0] - top.low[0] <= 0.25 * (100_000 - begin)
        assert top.grand_low <= 100_000 - begin <= top.grand_high
        assert top.rest >= (begin < 50_000)


def test_the_likely_total_is_right_for_an_object_that_every_node_names():
    """Each node took its whole error from such an object: nothing is estimated unless a node is cut."""
    ranker = skyband.create("total-ranker", "misra-gries", windows=[10**6], every=1, k=1, epsilon=0.25)
    rows = 12_000
    ranker.update(np.arange(rows), np.where(np.arange(rows) % 2 == 0, -1, np.arange(rows)))
    nodes = ranker._history.nodes[: ranker._history.counts[NODES]]
    assert len(nodes) > 10 and (nodes[:, ERROR] > 0).all()
    for first, last in nodes[:, [FIRST, LAST]].tolist():
        top, truth = ranker.since(first), (rows + 1) // 2 - (first + 1) // 2
        assert (top.objects[0], top.totals[0]) == (-1, truth)
        assert top.low[0] < truth <= top.high[0]
        for begin in range(first + 1, last + 1, 9):  # half of the rows of the node that is cut
            truth = (rows + 1) // 2 - (begin + 1) // 2
            assert abs(ranker.since(begin).totals[0] - truth) <= (last - first + 1) / 4 + 1


def test_the_grand_total_is_exact_to_the_unit_at_the_borders_of_a_node():
    """The last row of a cut node counts and the first does not: these are the ends of the bounds."""
    ranker = skyband.create("total-ranker", "misra-gries", windows=[10**6], every=1, k=1, epsilon=0.25)
    rows = 9000
    ranker.update(np.arange(rows), np.arange(rows) % 7)
    nodes = ranker._history.nodes[: ranker._history.counts[NODES]]
    assert len(nodes) > 5
    for first, last in nodes[:, [FIRST, LAST]].tolist():
        whole, all_but_first, only_last = (ranker.since(begin) for begin in (first, first + 1, last))
        assert whole.grand_low == whole.grand_high == rows - first
        assert all_but_first.grand_high == rows - first - 1
        assert only_last.grand_low == rows - last


@pytest.mark.parametrize("heavy_from", [6000, 7500, 9000])
def test_the_state_does_not_depend_on_when_rows_expired(heavy_from):
    """In batches, queried after each, or all at once: expired rows are not part of a node that has not expired.

    Once rows weigh a thousand times as much, old rows are light in comparison, and their nodes unite at once.
    """
    rows, states = heavy_from + 1000, []
    objects = np.random.default_rng(5).zipf(1.3, rows) % 500
    weights = np.where(np.arange(rows) < heavy_from, 1.0, 1000.0)
    for size in (500, rows):
        ranker = skyband.create("total-ranker", "misra-gries", windows=[5000], every=100, k=3, epsilon=0.5, total="sum")
        for first in range(0, rows, size):
            stop = first + size
            ranker.update(np.arange(first, stop), objects[first:stop], weights=weights[first:stop])
            ranker.advance(stop)
            ranker.top(0)
        states.append(ranker.snapshot())
    assert states[0] == states[1]
