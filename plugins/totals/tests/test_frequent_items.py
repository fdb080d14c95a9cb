"""Checks of the ranker that wraps DataSketches, beyond those of all total-rankers."""

import numpy as np
import pytest
import skyband
from datasketches import PyLongsSerDe, frequent_items_error_type, frequent_items_sketch
from skyband.errors import ConfigError
from skyband_totals.frequent_items import PaneSketch

SEEN = frequent_items_error_type.NO_FALSE_NEGATIVES


def ranker(**parameters):
    return skyband.create("total-ranker", "frequent-items-panes", windows=[20], every=10, k=3, **parameters)


def zipf(rows, seed=1):
    return np.random.default_rng(seed).zipf(1.2, rows) % 5000 - 7


def test_a_pane_is_the_sketch_that_datasketches_makes():
    objects, theirs = zipf(4000), frequent_items_sketch(9)
    for key in objects[2000:].tolist():
        theirs.update(key)
    ours = ranker(epsilon=0.007)
    ours.update(np.repeat([5, 15], 2000), objects)
    read = frequent_items_sketch.deserialize(ours.images()[10], PyLongsSerDe())
    assert read.total_weight == theirs.total_weight == 2000
    assert sorted(read.get_frequent_items(SEEN, 0)) == sorted(theirs.get_frequent_items(SEEN, 0))


def test_the_bounds_of_panes_add_up():
    objects = zipf(6000)
    ours = ranker(epsilon=0.05)
    ours.update(np.repeat([5, 15, 25], 2000), objects)
    ours.advance(30)
    top = ours.top(0)
    counts = dict(zip(*np.unique(objects[2000:], return_counts=True), strict=True))
    truth = np.array([counts[key] for key in top.objects.tolist()])
    assert top.grand == 4000
    assert (top.low <= truth).all()
    assert (truth <= top.high).all()
    assert 0 < (top.high - top.low).max() <= 0.05 * 4000


def test_a_pane_that_dropped_every_counter_remembers_its_error():
    """Objects that occur once each are all dropped together."""
    sketch = PaneSketch.empty(5)
    sketch.update(np.arange(25), None)
    before = sketch.summary()
    assert (before.weight, before.error, len(before.keys)) == (25, 1, 0)
    again = PaneSketch.of(before, 5)
    for one in (sketch, again):
        one.update(np.array([3, 3, 9]), None)
    first, second = sketch.summary(), again.summary()
    assert (second.weight, second.error, second.size) == (28, 1, 5)
    assert (
        (second.keys.tolist(), second.lows.tolist()) == (first.keys.tolist(), first.lows.tolist()) == ([3, 9], [2, 1])
    )


@pytest.mark.parametrize("size", [3, 5, 10])
def test_a_restored_sketch_drops_the_same_counters(size):
    objects, sketch = zipf(30_000), PaneSketch.empty(size)
    sketch.update(objects[:15_000], None)
    again = PaneSketch.of(sketch.summary(), size)
    for one in (sketch, again):
        one.update(objects[15_000:], None)
    assert sketch.summary().image(size) == again.summary().image(size)


def test_an_epsilon_that_needs_larger_sketches_is_refused():
    with pytest.raises(ConfigError, match=r"epsilon: must be at least 0\.0035"):
        ranker(epsilon=0.003)


@pytest.mark.parametrize("name", ["frequent-items-panes", "misra-gries"])
def test_no_object_outside_of_the_answer_exceeds_the_rest(name):
    """Including objects that no sketch names any more."""
    errors = 0
    for seed in range(4):
        objects = np.random.default_rng(seed).zipf(1.2, 4000) % 3000
        ranker = skyband.create("total-ranker", name, windows=[4000], every=1000, k=3, epsilon=0.4)
        ranker.update(np.arange(4000), objects)
        ranker.advance(4000)
        top = ranker.top(0)
        kinds, counts = np.unique(objects, return_counts=True)
        others = counts[~np.isin(kinds, top.objects)]
        assert others.max() <= top.rest
        errors += (top.low < top.high).any()
    assert errors
