"""Sketches at the first and last moments, with the loosest and tightest parameters, and after forgetting."""

import math

import numpy as np
import pytest
import skyband
from hypothesis import given, settings
from hypothesis import strategies as st

FIRST, LAST = -(2**63) + 1, 2**63 - 1
NAMES = ["pcsa-ml", "exact", "k-skb", "se-pcsa", "se-fm"]
moments = st.one_of(st.integers(FIRST, FIRST + 2), st.integers(-2, 2), st.integers(LAST - 2, LAST))


def small(name, seed=0):
    zeta = {"zeta": 7} if name == "se-pcsa" else {}
    return skyband.create(
        "sketch", name, **({} if name == "exact" else {"epsilon": 0.9, "delta": 0.9, "seed": seed}), **zeta
    )


def check_answers(sketch, last_times):
    for since in (FIRST - 1, FIRST, FIRST + 1, -1, 0, 1, LAST - 1, LAST, LAST + 1):
        count = sum(time >= since for time in last_times)
        estimate, (low, high) = sketch.estimate(since), sketch.bounds(since)
        assert 0 <= low <= estimate <= high < math.inf
        if count == 0 or low == high:
            assert estimate == count
    assert sketch.estimate(-(10**30)) == sketch.estimate(FIRST)
    assert sketch.estimate(10**30) == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", ["a", 1.5, None, np.float64(2)])
def test_a_value_that_is_not_a_moment_is_refused(name, value):
    sketch = small(name)
    sketch.update([1, 2, 3], [1, 2, 3])
    before = sketch.snapshot()
    for call, argument in ((sketch.estimate, "since"), (sketch.bounds, "since"), (sketch.forget, "before")):
        with pytest.raises(skyband.InputError, match=f"{argument}: must be a whole number"):
            call(value)
    assert sketch.snapshot() == before
    assert sketch.estimate(np.int64(2)) == sketch.estimate(2)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(st.lists(moments, max_size=60), st.integers(0, 300))
def test_the_first_and_the_last_moment_are_valid(name, times, more):
    """With few keys, and with enough at each that the sketch must estimate."""
    sketch = small(name)
    times = [*times, *[FIRST, LAST] * more]
    sketch.update(np.array(times, np.int64), np.arange(len(times), dtype=np.uint64))
    check_answers(sketch, times)
    back = skyband.restore(sketch.snapshot())
    check_answers(back, times)
    assert back.snapshot() == sketch.snapshot()


@pytest.mark.parametrize("name", NAMES)
def test_the_reserved_time_of_never_is_refused_without_a_trace(name):
    sketch = small(name)
    before = sketch.snapshot()
    with pytest.raises(skyband.InputError, match="reserved for never"):
        sketch.update([0, FIRST - 1], np.array([1, 2], np.uint64))
    assert sketch.snapshot() == before


@pytest.mark.parametrize(
    ("name", "epsilon", "delta", "keys"),
    [
        *[("k-skb", epsilon, delta, 3_000) for epsilon in (0.5, 0.001) for delta in (0.5, 1e-6)],
        *[(name, 0.5, delta, 3_000) for name in ("pcsa-ml", "se-fm") for delta in (0.5, 1e-6)],
        ("se-pcsa", 0.5, 1e-6, 3_000),
        ("pcsa-ml", 0.001, 0.05, 20_000),
        ("se-pcsa", 0.001, 0.05, 3_000),
        ("se-fm", 0.001, 0.05, 900),
    ],
)
def test_loose_and_tight_sketches_answer_in_their_bounds(name, epsilon, delta, keys):
    sketch = skyband.create("sketch", name, epsilon=epsilon, delta=delta, seed=1)
    sketch.update(np.arange(keys), np.arange(keys, dtype=np.uint64))
    for since in (0, keys // 2, keys - 1, keys):
        low, high = sketch.bounds(since)
        assert low <= sketch.estimate(since) <= high < math.inf
        if delta < 0.1:
            assert low <= keys - since <= high


rows = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 300)), max_size=300)


def columns(rows):
    return np.array([time for time, _ in rows], np.int64), np.array([key for _, key in rows], np.uint64)


def fed(name, rows, cut):
    sketch = small(name)
    for start in range(0, len(rows), cut):
        sketch.update(*columns(rows[start : start + cut]))
    return sketch


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(rows, rows, st.integers(-5, 65), st.integers(1, 100))
def test_a_state_after_forgetting_does_not_depend_on_batches(name, first, second, before, cut):
    whole, parts = fed(name, first, 1000), fed(name, first, cut)
    for sketch, size in ((whole, 1000), (parts, cut)):
        sketch.forget(before)
        for start in range(0, len(second), size):
            sketch.update(*columns(second[start : start + size]))
    assert parts.snapshot() == whole.snapshot()
    assert skyband.restore(whole.snapshot()).snapshot() == whole.snapshot()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(rows, rows, st.integers(-5, 65), st.integers(-5, 65))
def test_merged_sketches_answer_later_moments_as_the_whole_does_after_forgetting(
    name, first, second, before, other_before
):
    merged, other, whole = fed(name, first, 50), fed(name, second, 50), fed(name, first + second, 50)
    merged.forget(before)
    other.forget(other_before)
    unchanged = other.snapshot()
    merged.merge(other)
    assert other.snapshot() == unchanged
    for since in range(max(before, other_before), 66):
        assert merged.estimate(since) == whole.estimate(since)
        assert merged.bounds(since) == whole.bounds(since)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(rows, rows, st.integers(-5, 65), st.integers(-5, 65), st.integers(1, 70))
def test_the_order_of_merging_does_not_matter_after_forgetting(name, first, second, before, other_before, age):
    """If a sketch drops rows exactly, it drops late rows too."""
    merged, other = fed(name, first, 50), fed(name, second, 50)
    merged.forget(before)
    other.forget(other_before)
    original = skyband.restore(merged.snapshot())
    merged.merge(other)
    other.merge(original)
    assert merged.snapshot() == other.snapshot()
    if name in ("exact", "k-skb"):
        floor = max(before, other_before)
        count = merged.estimate(floor)
        assert merged.estimate(FIRST) == count
        merged.update([floor - age], np.array([1000], np.uint64))
        assert merged.estimate(FIRST) == merged.estimate(floor) == count


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(rows)
def test_merging_with_itself_changes_nothing(name, rows):
    sketch = fed(name, rows, 50)
    before = sketch.snapshot()
    sketch.merge(sketch)
    assert sketch.snapshot() == before
