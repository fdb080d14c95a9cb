"""Ids come back as they went in, and only those a window can still answer with are kept."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from skyband.queries.ids import Ids, codes_of


@given(st.lists(st.lists(st.text(max_size=3), min_size=1, max_size=8), min_size=1, max_size=6))
def test_text_ids_come_back(batches):
    ids = Ids(pa.string())
    seen = {}
    for moment, batch in enumerate(batches):
        column = pa.array(batch, pa.string())
        ids.add(codes_of(column), np.full(len(batch), moment), column)
        seen.update(dict.fromkeys(batch, moment))
    copy = Ids(pa.string())
    copy.load(ids.state())
    for held in (ids, copy):
        assert held.values(codes_of(pa.array(list(seen), pa.string()))).to_pylist() == list(seen)
    ids.forget(len(batches) - 1)
    recent = [text for text, moment in seen.items() if moment == len(batches) - 1]
    assert ids.values(codes_of(pa.array(recent, pa.string()))).to_pylist() == recent
    assert len(ids.state()["ids.codes"]) == len(recent)


def test_integers_are_their_own_code_and_need_no_memory():
    column = pa.array([5, -1, 2**31 - 1], pa.int32())
    ids = Ids(pa.int32())
    codes = codes_of(column)
    ids.add(codes, np.zeros(3, np.int64))
    assert ids.values(codes).equals(column)
    assert ids.state() == {}
