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


@given(
    some.sampled_from(["rows", "distinct", "unseen"]),
    some.integers(1, 3),
    some.lists(
        some.tuples(some.integers(1, 7), some.lists(some.tuples(some.integers(0, 2), some.integers(0, 3)), min_size=1)),
        max_size=12,
    ),
    some.integers(0, 8),
)
def test_exactly_what_a_later_answer_may_need_is_retained(measure, most, moments, wait):
    """Of each key the newest rows, or values, in the longest window that ends now, one more than the largest bound.

    moments: the time since the one before, and (key, value) of each row.
    """
    longest, now, rows = 6, 0, []
    counter = skyband.create("key-counter", measure=measure, longest=longest, most=most)
    for step, new in moments:
        now += step
        keys, values = (np.array(column, np.uint64) for column in zip(*new, strict=True))
        counter.update(np.full(len(new), now), keys, **({"values": values} if measure == "distinct" else {}))
        rows += [(now, key, value) for key, value in new]
        for moment in (now, now + wait) if (step, new) == moments[-1] else (now,):
            counter.advance(moment)
            needed = 0
            for key in range(3):
                own = [(time, value) for time, of, value in rows if of == key]
                if measure == "unseen":
                    needed += any(time >= moment - longest for time, _ in own)
                    continue
                inside = [value for time, value in own if time > moment - longest]
                needed += min(len(set(inside)) if measure == "distinct" else len(inside), most + 1)
            assert len(counter) == needed
            assert len(skyband.restore(counter.snapshot())) == needed
        if counter.now > now:
            break
