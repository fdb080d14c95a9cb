"""The exact sketch stays exact through growing, forgetting and its cache of sorted times."""

import numpy as np
import skyband
from hypothesis import given, settings
from hypothesis import strategies as st

moves = st.lists(
    st.one_of(
        st.tuples(st.just("update"), st.integers(0, 2**32), st.integers(1, 3000)),
        st.tuples(st.just("forget"), st.integers(-100, 1500)),
        st.tuples(st.just("ask"), st.integers(-100, 1500)),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(moves)
def test_it_equals_a_dictionary(moves):
    """Batches large enough to fill the table and to overflow the log of changes."""
    sketch, last, floor = skyband.create("sketch", "exact"), {}, -1000
    for what, *arguments in moves:
        if what == "update":
            rng = np.random.default_rng(arguments[0])
            times, keys = rng.integers(-50, 1500, arguments[1]), rng.integers(0, 2000, arguments[1]).astype(np.uint64)
            sketch.update(times, keys)
            for time, key in zip(times.tolist(), keys.tolist(), strict=True):
                last[key] = max(time, last.get(key, time))
        elif what == "forget":
            floor = max(floor, arguments[0])
            sketch.forget(arguments[0])
        else:
            since = max(floor, arguments[0])
            assert sketch.estimate(since) == sum(time >= since for time in last.values())
    assert len(sketch) == sum(time >= floor for time in last.values())
    for since in (floor, floor + 1, 700, 1499, 1500):
        if since >= floor:
            assert sketch.estimate(since) == sum(time >= since for time in last.values())


def test_memory_is_limited_by_the_keys_of_the_window():
    sketch, most = skyband.create("sketch", "exact"), 0
    for start in range(0, 400_000, 1000):
        moments = np.arange(start, start + 1000)
        sketch.update(moments, moments.astype(np.uint64))
        sketch.forget(start - 9000)
        most = max(most, sketch.nbytes)
        assert sketch.estimate(start - 9000) == min(start + 1000, 10_000)
    assert most < 100 * 20_000


def test_a_union_has_forgotten_the_keys_that_either_has():
    for before, other_before in ((30, 10), (10, 30)):
        merged, other = skyband.create("sketch", "exact"), skyband.create("sketch", "exact")
        for number, (sketch, floor) in enumerate(((merged, before), (other, other_before))):
            sketch.update(np.arange(40), np.arange(40, dtype=np.uint64) + np.uint64(40 * number))
            sketch.forget(floor)
        merged.merge(other)
        assert len(merged) == merged.estimate(30) == 20
        restored = skyband.create("sketch", "exact")
        restored.load_state(merged.dump_state())
        assert len(restored) == 20


def test_the_smallest_and_largest_keys_and_times_count():
    sketch = skyband.create("sketch", "exact")
    top = 2**63 - 1
    sketch.update([-top, top, 0, 0], np.array([0, 2**64 - 1, 2**63, 0], np.uint64))
    assert [sketch.estimate(since) for since in (-top - 1, -top, -top + 1, 0, 1, top)] == [3, 3, 3, 3, 1, 1]
