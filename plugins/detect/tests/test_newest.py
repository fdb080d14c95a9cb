"""The rings of key-counter/newest take the room that rows need, not the room that the largest bound would."""

import numpy as np
import pytest
import skyband
from hypothesis import given
from hypothesis import strategies as some

MOST = 1 << 20


@pytest.mark.parametrize("measure", ["rows", "distinct"])
def test_a_large_bound_costs_what_the_rows_do(measure):
    counter = skyband.create("key-counter", measure=measure, longest=10**9, most=MOST)
    assert counter.nbytes < 2000
    values = {"values": np.arange(300, dtype=np.uint64)} if measure == "distinct" else {}
    counter.update(np.arange(300), np.arange(300, dtype=np.uint64) % 7, **values)
    assert counter.nbytes < 60_000


@pytest.mark.parametrize("rows", [1, 5, 3000])
@pytest.mark.parametrize("most", [1, 2, 1000, MOST])
@pytest.mark.parametrize("measure", ["rows", "distinct"])
def test_many_rows_of_one_key_and_time_find_room(measure, most, rows):
    counter = skyband.create("key-counter", measure=measure, longest=100, most=most)
    for time in range(4):
        values = {"values": np.arange(rows, dtype=np.uint64) + np.uint64(time)} if measure == "distinct" else {}
        crossings = counter.update(
            np.full(rows, time), np.zeros(rows, np.uint64), windows=[2], at_least=[most], **values
        )
        seen = rows * min(time + 1, 2) if measure == "rows" else rows + min(time, 1)
        earlier = 0 if time == 0 else rows
        expected = [seen] if earlier < most <= seen else []
        assert crossings.value.tolist() == expected
    assert len(skyband.restore(counter.snapshot())) == len(counter)


MOMENTS = some.lists(
    some.tuples(some.integers(1, 7), some.lists(some.tuples(some.integers(0, 2), some.integers(0, 3)), min_size=1)),
    max_size=12,
)
"""The time since the moment before, and (key, value) of each row."""
LONGEST = 6


def retained(measure, most, rows, now):
    """The number of entries that a later answer may need."""
    needed = 0
    for key in range(3):
        own = [(time, value) for time, of, value in rows if of == key]
        if measure == "unseen":
            needed += any(time >= now - LONGEST for time, _ in own)
            continue
        inside = [value for time, value in own if time > now - LONGEST]
        needed += min(len(set(inside)) if measure == "distinct" else len(inside), most + 1)
    return needed


def push(counter, now, new):
    keys, values = (np.array(column, np.uint64) for column in zip(*new, strict=True))
    counter.update(np.full(len(new), now), keys, **({"values": values} if counter.measure == "distinct" else {}))


@given(some.sampled_from(["rows", "distinct", "unseen"]), some.integers(1, 3), MOMENTS, some.integers(0, 8))
def test_exactly_what_a_later_answer_may_need_is_retained(measure, most, moments, wait):
    """Of each key the newest rows, or values, in the longest window that ends now, one more than the largest bound."""
    now, rows = 0, []
    counter = skyband.create("key-counter", measure=measure, longest=LONGEST, most=most)
    for step, new in moments:
        now += step
        push(counter, now, new)
        rows += [(now, key, value) for key, value in new]
        assert len(counter) == len(skyband.restore(counter.snapshot())) == retained(measure, most, rows, now)
    counter.advance(now + wait)
    assert len(counter) == len(skyband.restore(counter.snapshot())) == retained(measure, most, rows, now + wait)


@given(some.sampled_from(["rows", "distinct", "unseen"]), some.integers(1, 3), MOMENTS, some.data())
def test_merged_counters_are_that_of_all_rows_byte_for_byte(measure, most, moments, data):
    """Each moment's rows in one of three counters, which are merged in any order."""
    whole, *parts = (skyband.create("key-counter", measure=measure, longest=LONGEST, most=most) for _ in range(4))
    now, rows = 0, []
    for step, new in moments:
        now += step
        push(whole, now, new)
        push(data.draw(some.sampled_from(parts)), now, new)
        rows += [(now, key, value) for key, value in new]
    merged, *others = data.draw(some.permutations(parts))
    for other in others:
        merged.merge(other)
    assert merged.now == whole.now
    assert merged.snapshot() == whole.snapshot()
    assert len(merged) == len(skyband.restore(merged.snapshot())) == retained(measure, most, rows, now)
