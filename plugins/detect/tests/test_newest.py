"""The rings of key-counter/newest take the room that rows need, not the room that the largest bound would."""

import numpy as np
import pytest
import skyband

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
