"""Row orders from a few sorts equal one sort by all keys."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from skyband.operator.answer_changes import _grouped, _in_order

SMALL = st.integers(0, 3)
FAR = st.sampled_from([0, 1, 2**30, 2**40, 2**62])


@given(st.lists(st.tuples(SMALL, SMALL)))
def test_rows_of_one_id_follow_each_other_in_order(rows):
    ids, then = np.array([row[0] for row in rows], np.uint64), np.array([row[1] for row in rows], np.int64)
    order = _grouped(ids, then)
    assert sorted(order.tolist()) == list(range(len(rows)))
    assert [(ids[at], then[at]) for at in order] == sorted(zip(ids, then, strict=True))


@given(st.lists(st.tuples(st.integers(-(2**62), 2**62), FAR, SMALL, FAR), unique=True))
def test_several_keys_in_one_number_or_where_they_do_not_fit_side_by_side(rows):
    keys = [np.array([row[at] for row in rows], np.int64) for at in range(4)]
    assert [rows[at] for at in _in_order(*keys)] == sorted(rows)
