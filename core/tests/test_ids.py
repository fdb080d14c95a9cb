"""Names come back as they went in, and only those a window can still answer with are kept."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband.columns import ids as ids_module
from skyband.columns import keyed_frames
from skyband.columns.ids import ValuesByArrival, ValuesById, id_values, to_ids
from skyband.columns.rows import Rows

TEXTS = st.lists(st.lists(st.text(max_size=3), min_size=1, max_size=8), min_size=1, max_size=6)


def restored(frame):
    return keyed_frames.from_bytes(keyed_frames.to_bytes(frame))


@given(TEXTS)
def test_names_are_those_last_seen_since(batches):
    names = ValuesById(pa.string())
    seen = {}
    for moment, batch in enumerate(batches):
        ids, values = to_ids(pa.array(batch, pa.string()))
        names.update(np.full(len(batch), moment), Rows(np.empty(0, np.int64), {"object": ids, "name": values}))
        seen.update(dict.fromkeys(batch, moment))
    copy = ValuesById(pa.string())
    copy.load_state(restored(names.frame()))
    for held in (names, copy):
        assert held.lookup(to_ids(pa.array(list(seen), pa.string()))[0]).to_pylist() == list(seen)
        held.forget(len(batches) - 1)
        assert sorted(held.frame()["name"].to_pylist()) == sorted(set(batches[-1]))


def test_names_that_nobody_asks_for_are_forgotten_all_the_same():
    """Of groups that have rows and no answer for long."""
    names = ValuesById(pa.string())
    for moment in range(200):
        ids, values = to_ids(pa.array([f"{moment} {number}" for number in range(50)]))
        names.update(np.full(50, moment), Rows(np.empty(0, np.int64), {"object": ids, "name": values}))
        names.forget(moment)
        assert names._rows + len(names._names) <= 2 * (ids_module._LEAST + 50)


@given(TEXTS, st.integers(0, 7))
def test_arrivals_are_known_by_their_number(batches, before):
    arrivals = ValuesByArrival(pa.string())
    texts = [text for batch in batches for text in batch]
    times = [moment for moment, batch in enumerate(batches) for _ in batch]
    for moment, batch in enumerate(batches):
        arrivals.update(np.full(len(batch), moment), pa.array(batch, pa.string()))
    arrivals.forget(before)
    copy = ValuesByArrival(pa.string())
    copy.load_state(restored(arrivals.frame()), len(texts))
    kept = np.flatnonzero(np.array(times) >= before)
    for held in (arrivals, copy):
        assert held.lookup(kept[::-1]).to_pylist() == [texts[number] for number in kept[::-1]]
        assert len(held.frame()) == len(kept)
    assert keyed_frames.to_bytes(copy.frame()) == keyed_frames.to_bytes(arrivals.frame())


@pytest.mark.parametrize(
    "column",
    [
        pa.array([5, -1], pa.int32()),
        pa.array([2**64 - 1, 0], pa.uint64()),
        pa.array(["x", ""], pa.large_string()),
        pa.array(["x", "", "x"]).dictionary_encode(),
        pa.array([0.5, -0.0]),
        pa.array([1, 2], pa.date32()),
    ],
)
def test_values_of_any_type_are_spelled_as_they_were(column):
    codes, names = to_ids(column)
    assert len(codes) == len(column)
    frame = pa.RecordBatch.from_pydict({"time": codes, "group": codes, "code": codes})
    frame = frame if names is None else frame.append_column("name", names)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    values = id_values(Rows(*keyed_frames.payload(frame)), kind)
    assert (values.type, values.to_pylist()) == (kind, column.to_pylist())


def test_integers_of_any_type_are_ids_in_their_own_order():
    for kind in (pa.int8(), pa.uint8(), pa.int64(), pa.uint64()):
        least = 0 if pa.types.is_unsigned_integer(kind) else -(2 ** (kind.bit_width - 1))
        values = pa.array([least, least + 1, 5, least + 2**kind.bit_width - 1], kind)
        for column in (values, values.dictionary_encode()):
            codes, names = to_ids(column)
            assert (codes.dtype, names) == (np.int64, None)
            assert (np.diff(codes.astype(object)) > 0).all()
            assert ValuesById(kind).lookup(codes).equals(values)


def test_whole_numbers_are_their_own_id_and_need_no_memory():
    codes, names = to_ids(pa.array([5, None, -1], pa.int32()))
    assert (codes.tolist(), names) == ([5, 0, -1], None)
    held = ValuesById(pa.int32())
    held.update(np.arange(3), Rows(np.arange(3), {"object": codes}))
    assert held.lookup(codes).equals(pa.array([5, 0, -1], pa.int32()))
    assert len(held.frame()) == 0
