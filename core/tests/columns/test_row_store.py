"""Rows by arrival number, compared with a list, while rows are added singly and in batches, forgotten and restored."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.columns.row_store_by_position import RowStore
from skyband.errors import SnapshotError

FIELDS = [pa.field("code", pa.int64()), pa.field("text", pa.string()), pa.field("small", pa.uint8())]


def columns(rng, count):
    texts = [None if number % 7 == 0 else f"text {number}" for number in rng.integers(0, 99, count)]
    codes = [None if code == 0 else code for code in rng.integers(-9, 9, count).tolist()]
    return [pa.array(codes, pa.int64()), pa.array(texts, pa.string()), pa.array(rng.integers(0, 9, count), pa.uint8())]


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_those_of_a_list_after_every_step(seed):
    rng = np.random.default_rng([45, seed])
    store, rows, times, first = RowStore(FIELDS), [], [], 0
    for step in range(150):
        count = int(rng.choice([1, 1, 1, 2, 70, 300])) if rng.random() < 0.95 else 0
        now = np.sort(rng.integers(step, step + 2, count))
        new = columns(rng, count)
        store.update(now, new)
        rows += zip(*(column.to_pylist() for column in new), strict=True)
        times += now.tolist()
        if rng.random() < 0.3:
            before = int(rng.integers(max(0, step - 30), step + 3))
            store.forget(before)
            first = max(first, int(np.searchsorted(times, before)))
        if rng.random() < 0.1:
            frame, store = store.frame(), RowStore(FIELDS)
            store.load_state(frame, len(rows))
        if rng.random() < 0.5 and first < len(rows):
            numbers = rng.integers(first, len(rows), rng.integers(0, 40))
            got = [column.to_pylist() for column in store.lookup(numbers)]
            assert list(zip(*got, strict=True)) == [rows[number] for number in numbers]
        assert store.frame().column("time").to_pylist() == times[first:]
        assert list(zip(*(column.to_pylist() for column in store.frame().columns[1:]), strict=True)) == rows[first:]
    for beyond in (first - 1, len(rows)):
        with pytest.raises(SnapshotError, match="no name for a row"):
            store.lookup(np.array([len(rows) - 1, beyond]))


@pytest.mark.parametrize("seed", range(6))
def test_rows_that_wait_are_those_of_a_list(seed):
    """Deferred or not, looked up, forgotten and restored at any step; most steps look up nothing."""
    rng = np.random.default_rng([46, seed])
    store, rows, times, before = RowStore(FIELDS), [], [], 0
    for step in range(400):
        count = int(rng.choice([1, 2, 30, 100], p=[0.6, 0.3, 0.08, 0.02]))
        many, start = columns(rng, count + 9), int(rng.integers(0, 9))
        now, own = np.full(count + 9, step), slice(start, start + count)
        if rng.random() < 0.7:
            store.defer(now, many, start, start + count)
        else:
            store.update(now[own], [column[own] for column in many])
        rows += zip(*(column[own].to_pylist() for column in many), strict=True)
        times += [step] * count
        each_before = rng.choice([step - 20, step - 40], rng.integers(1, 3), replace=False).tolist()
        for one in each_before:  # an earlier one says nothing new
            store.forget(one)
        before = max(before, *each_before)
        first = int(np.searchsorted(times, before))
        assert len(store._waiting) < 64
        if rng.random() < 0.1:
            numbers = rng.integers(first, len(rows), 20)
            got = [column.to_pylist() for column in store.lookup(numbers)]
            assert list(zip(*got, strict=True)) == [rows[number] for number in numbers]
        if rng.random() < 0.1:
            frame = store.frame()
            assert frame.column("time").to_pylist() == times[first:]
            assert list(zip(*(column.to_pylist() for column in frame.columns[1:]), strict=True)) == rows[first:]
            if rng.random() < 0.5:
                store = RowStore(FIELDS)
                store.defer(now, many, start, start + count)  # which the state takes the place of
                store.load_state(frame, len(rows))


def test_a_row_is_copied_a_few_times_however_many_there_are(monkeypatch):
    """One by one into a window of 20,000: copied each time with the whole window they would be 200 million."""
    copied, concat = [], pa.concat_arrays

    def counted(arrays):
        joined = concat(arrays)
        copied.append(len(joined))
        return joined

    monkeypatch.setattr(pa, "concat_arrays", counted)
    store = RowStore(FIELDS[:1])
    for number in range(20_000):
        store.update(np.array([number]), [pa.array([number])])
    assert sum(copied) < 20_000 * 50


@pytest.mark.parametrize("count", [1, 63, 64, 100])
def test_there_are_few_runs_for_any_batch_size(count):
    """A look-up goes through each of them."""
    store = RowStore(FIELDS[:1])
    for number in range(300):
        store.update(np.full(count, number), [pa.array(np.arange(count))])
        assert len(store._runs) <= 2 + np.log2((number + 1) * count)


@pytest.mark.parametrize(("times", "seen"), [([1, 2, 3], 2), ([1, 3, 2], 3), ([1, None, 2], 3)])
def test_a_state_with_too_many_or_unordered_rows_is_rejected(times, seen):
    columns_of = [pa.array(times, pa.int64()), pa.array([1, 2, 3])]
    frame = pa.RecordBatch.from_arrays(columns_of, names=["time", "code"])
    with pytest.raises(SnapshotError, match=f"3 names, not all in time order, for {seen} rows"):
        RowStore(FIELDS[:1]).load_state(frame, seen)


@pytest.mark.parametrize("before", [0, 100])
def test_the_batch_behind_a_slice_is_not_kept_alive(before):
    rng = np.random.default_rng(1)
    store, allocated = RowStore(FIELDS), pa.total_allocated_bytes()
    store.update(np.zeros(before), columns(rng, before))
    large = columns(rng, 100_000)
    store.update(np.array([2]), [column.slice(5, 1) for column in large])
    del large
    assert pa.total_allocated_bytes() - allocated < 20_000


def test_rows_that_went_take_no_memory_where_others_of_their_run_stay():
    rng = np.random.default_rng(1)
    store, allocated = RowStore(FIELDS), pa.total_allocated_bytes()
    store.update(np.repeat([0, 1], [99_990, 10]), columns(rng, 100_000))
    assert pa.total_allocated_bytes() - allocated > 1_000_000
    store.forget(1)
    assert len(store.frame()) == 10
    assert pa.total_allocated_bytes() - allocated < 20_000
