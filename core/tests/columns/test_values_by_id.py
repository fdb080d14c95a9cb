"""Names are restored unchanged, and only those that a window may still need are kept."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband.columns import keyed_frames
from skyband.columns import values_by_id as module
from skyband.columns.grouped_rows import GroupedRows
from skyband.columns.ids import id_values, to_ids
from skyband.columns.rows import Rows
from skyband.columns.values_by_id import ValuesById, ValuesInUse
from skyband.errors import SnapshotError

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


@pytest.mark.parametrize("count", [50, 64, 65, 100])
def test_names_are_forgotten_even_if_never_looked_up(count):
    """Of groups that have rows and no answer for long, a few at a time or many."""
    names = ValuesById(pa.string())
    for moment in range(200):
        ids, values = to_ids(pa.array([f"{moment} {number}" for number in range(count)]))
        names.update(np.full(count, moment), Rows(np.empty(0, np.int64), {"object": ids, "name": values}))
        names.forget(moment)
        assert names._rows + len(names._names) + len(names._few) <= 2 * (module._LEAST + count)


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.float64(), pa.timestamp("ns")], ids=str
)
def test_names_are_the_same_for_any_batch_size(kind):
    """Answers, what is forgotten and the bytes of a state: a row at a time, some, and all of a moment at once."""
    rng = np.random.default_rng(7)
    pool = [f"object {number}" for number in range(400)]
    values = pa.array(pool) if not pa.types.is_primitive(kind) else pa.array(range(400), pa.int64())
    ids, pool = to_ids(values.cast(kind))
    each = [ValuesById(kind) for _ in range(3)]
    seen = {}
    for moment in range(60):
        few = rng.integers(0, 1 + moment * 6, int(rng.integers(0, 90)))
        rows = np.arange(400) if moment == 30 else few
        seen.update(dict.fromkeys(rows.tolist(), moment))
        for names, most in zip(each, (1, 64, 1000), strict=True):
            for start in range(0, len(rows), most):
                some = rows[start : start + most]
                names.learn(np.full(len(some), moment), ids[some], pool.take(pa.array(some)))
        alive = np.array([row for row, last in seen.items() if last >= moment - 5], np.int64)
        for count in (0, 1, 64, 65, len(alive)):
            asked = rng.permutation(alive)[:count]
            expected = pool.take(pa.array(asked, pa.int64())).to_pylist()
            for names in each:
                assert names.lookup(ids[asked]).to_pylist() == expected
                assert names.lookup(ids[asked]).type == kind
        for names in each:
            names.forget(moment - 5)
        if moment % 9 == 8:
            frames = [keyed_frames.to_bytes(names.frame()) for names in each]
            assert frames[0] == frames[1] == frames[2]
            assert sorted(each[0].frame()["id"].to_pylist()) == sorted(ids[alive].tolist())
    with pytest.raises(SnapshotError, match="no name for an id"):
        each[0].lookup(np.array([int(ids.max()) + 1 if ids.max() < 2**63 - 1 else int(ids.min()) - 1]))


def test_few_names_are_merged_even_if_never_looked_up():
    names = ValuesById(pa.string())
    for moment in range(3000):
        ids, values = to_ids(pa.array([f"object {moment}"]))
        names.learn(np.array([moment]), ids, values)
        names.forget(moment - 100)
        assert len(names._few) + len(names._names) <= 300


def test_names_of_several_groups_are_learned_and_looked_up_together():
    ids, values = to_ids(pa.array(["a", "b", "c", "a", "d"]))
    rows = Rows(np.arange(5), {"object": ids, "name": values})
    several = [ValuesById(pa.string()) for _ in range(3)]
    module.learn_together(several, rows, np.array([[0, 3], [3, 3], [3, 5]]))
    together = module.values_together(several, ids[[2, 0, 4]], np.array([0, 2, 2, 3]))
    assert together.to_pylist() == ["c", "a", "d"]
    assert [sorted(names.frame()["name"].to_pylist()) for names in several] == [["a", "b", "c"], [], ["a", "d"]]
    assert several[2].frame()["last"].to_pylist() == [
        3 if name == "a" else 4 for name in several[2].frame()["name"].to_pylist()
    ]
    many = pa.array([f"text {number}" for number in range(100)])
    assert module.joined_values([["a"], many, []]).to_pylist() == ["a", *many.to_pylist()]


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
    times = np.arange(len(codes))
    frame = pa.RecordBatch.from_pydict({"time": times, "group": times * 0, "code": codes})
    frame = frame if names is None else frame.append_column("name", names)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    values = id_values(GroupedRows([frame]).rows, kind)
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


@pytest.mark.parametrize("seed", range(5))
def test_values_in_use_are_those_of_a_dictionary_after_every_step(seed, monkeypatch):
    """Few and many at a time, again and new, forgotten at once or once there are many, copied, saved and restored."""
    monkeypatch.setattr(module, "_LEAST", 8)
    rng = np.random.default_rng([45, seed])
    names, texts, swept = ValuesInUse(pa.string()), {}, 0
    for _ in range(200):
        ids = rng.integers(-400, 400, int(rng.choice([0, 1, 1, 2, 9, 300])))
        names.learn(ids, pa.array([f"text {one}" for one in ids], pa.string()))
        texts |= {one: f"text {one}" for one in ids.tolist()}
        assert len(names) == len(texts)
        other = names.copy()
        if rng.random() < 0.2:
            keep = rng.integers(-400, 400, 200)
            lazily = bool(rng.integers(2))
            names.keep(keep, lazily)
            if not lazily or len(texts) > 2 * swept + 8:
                texts = {one: text for one, text in texts.items() if one in keep}
                swept = len(texts)
        if rng.random() < 0.1:
            restored_names = ValuesInUse(pa.string())
            restored_names.load_state(restored(names.frame(np.array([*texts], np.int64))))
            names, swept = restored_names, len(texts)
        other.learn(np.array([999]), pa.array(["of the copy alone"]))
        assert other.lookup(np.array([999])).to_pylist() == ["of the copy alone"]
        assert names.knows(np.array([999, *texts])).tolist() == [False] + [True] * len(texts)
        asked = rng.choice(np.array([*texts, 999]), int(rng.choice([0, 1, 3, 500])))
        if 999 in asked:
            with pytest.raises(SnapshotError, match="no name for an id"):
                names.lookup(asked)
        else:
            assert names.lookup(asked).to_pylist() == [texts[one] for one in asked.tolist()]
        frame = names.frame(np.array([*texts], np.int64))
        assert dict(zip(*(column.to_pylist() for column in frame.columns), strict=True)) == texts
        assert frame.column("id").to_pylist() == sorted(texts)


def test_learning_a_new_value_does_not_copy_the_others(monkeypatch):
    """A thousand, one by one, among 100,000: these are copied a few times, not each time."""
    names, copied, concat = ValuesInUse(pa.string()), [], pa.concat_arrays

    def counted(arrays):
        joined = concat(arrays)
        copied.append(len(joined))
        return joined

    texts = pa.array([f"text {one}" for one in range(101_000)])
    names.learn(np.arange(100_000), texts[:100_000])
    monkeypatch.setattr(pa, "concat_arrays", counted)
    for one in range(100_000, 101_000):
        names.learn(np.array([one]), texts[one : one + 1])
        assert names.lookup(np.array([one, 5])).to_pylist() == [f"text {one}", "text 5"]
    assert sum(copied) < 300_000
