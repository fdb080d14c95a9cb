"""Columns by key, compared with a dictionary, while rows are added, forgotten and added again, and in copies."""

from copy import copy

import numpy as np
import pyarrow as pa
import pytest
from skyband.columns.values_by_key import KeyedColumns

FIELDS = [pa.field("text", pa.string()), pa.field("number", pa.int16())]


def columns(keys, version):
    texts = [None if key % 7 == 0 else f"{key} of {version}" for key in keys.tolist()]
    numbers = [None if key % 5 == 0 else version % 1000 for key in keys.tolist()]
    return [pa.array(texts, pa.string()), pa.array(numbers, pa.int16())]


def rows_of(arrays):
    return list(zip(*(array.to_pylist() for array in arrays), strict=True))


def expect(known, rows):
    keys, arrays = known.whole()
    assert dict(zip(keys.tolist(), rows_of(arrays), strict=True)) == rows
    assert keys.tolist() == sorted(rows)
    assert len(known) == len(rows)


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
@pytest.mark.parametrize("seed", range(4))
def test_rows_are_those_of_a_dictionary_after_every_step(seed, kind):
    rng = np.random.default_rng([45, 2, seed])
    pool = np.unique(rng.integers(-(2**63), 2**63, 900).view(kind))
    known, rows = KeyedColumns(kind, FIELDS), {}
    for step in range(250):
        some = np.unique(rng.choice(pool, int(rng.choice([0, 1, 1, 2, 9, 300]))))
        if rng.random() < 0.5:
            assert known.knows(some).tolist() == [key in rows for key in some.tolist()]
            some = rng.permutation(some[~known.knows(some)])
            before = copy(known)
            known.learn(some, columns(some, step))
            expect(before, rows)
            rows |= dict(zip(some.tolist(), rows_of(columns(some, step)), strict=True))
        elif rng.random() < 0.8:
            before, all_before = copy(known), dict(rows)
            known.forget(some)
            rows = {key: row for key, row in rows.items() if key not in some}
            if rng.random() < 0.1:
                expect(before, all_before)
        elif rng.random() < 0.3:
            kept, arrays = known.of(some)
            rows = {key: row for key, row in rows.items() if key in some}
            assert kept.tolist() == sorted(rows)
            known.replace(kept, arrays)
        asked = rng.choice(pool, int(rng.choice([0, 1, 3, 400])))
        if all(key in rows for key in asked.tolist()):
            assert rows_of(known.lookup(asked)) == [rows[key] for key in asked.tolist()]
        else:
            with pytest.raises(KeyError):
                known.lookup(asked)
        there = asked[[key in rows for key in asked.tolist()]]
        assert rows_of(known.lookup(there)) == [rows[key] for key in there.tolist()]
        if step % 10 == 0:
            expect(known, rows)
    expect(known, rows)


def test_keys_without_columns_are_known_too():
    known = KeyedColumns(np.uint64, [])
    for key in (5, 3, 9):
        known.learn(np.array([key], np.uint64), [])
    known.forget(np.array([3], np.uint64))
    assert known.whole()[0].tolist() == [5, 9]
    assert known.lookup(np.array([9, 5], np.uint64)) == []


def test_adding_and_removing_few_rows_does_not_copy_many(monkeypatch):
    """One row is added and one removed, 1,000 times, among 100,000: these are copied a few times, not 1,000 times."""
    known, copied, concat = KeyedColumns(np.int64, FIELDS), [], pa.concat_arrays

    def counted(arrays):
        joined = concat(arrays)
        copied.append(len(joined))
        return joined

    many = np.arange(100_000)
    known.learn(many, columns(many, 0))
    stored = known._runs[0].columns
    monkeypatch.setattr(pa, "concat_arrays", counted)
    for key in range(100_000, 101_000):
        new = np.array([key])
        known.learn(new, columns(new, 1))
        known.forget(np.array([key - 100_000]))
        (own,), (old,) = (rows_of(columns(np.array([one]), version)) for one, version in ((key, 1), (99_999, 0)))
        assert rows_of(known.lookup(np.array([key, 99_999]))) == [own, old]
    assert sum(copied) < 500_000
    assert known._runs[0].columns is stored


@pytest.mark.parametrize("count", [1, 2, 100])
def test_there_are_few_runs_for_any_batch_size(count):
    """A look-up goes through each of them."""
    known = KeyedColumns(np.int64, FIELDS)
    for start in range(0, 300 * count, count):
        new = np.arange(start, start + count)
        known.learn(new, columns(new, 0))
        assert len(known._runs) <= 1 + np.log2(start + count)


def test_what_is_forgotten_takes_no_memory_once_it_is_most():
    known, allocated = KeyedColumns(np.int64, FIELDS), pa.total_allocated_bytes()
    many = np.arange(100_000)
    known.learn(many, columns(many, 0))
    assert pa.total_allocated_bytes() - allocated > 1_000_000
    whole = pa.total_allocated_bytes() - allocated
    for start in range(0, 99_000, 1000):
        known.forget(many[start : start + 1000])
        assert pa.total_allocated_bytes() - allocated < 2.2 * whole * len(known) / 100_000 + 50_000
    assert len(known) == 1000
    assert pa.total_allocated_bytes() - allocated < 100_000
