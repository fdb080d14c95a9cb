"""Groups with more keys than their sketch counts exactly have the same answers without their own sketch as with one."""

import numpy as np
import pyarrow as pa
import pytest
from cut_run import cut_run
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband_distinct.distinct_count import execution
from skyband_distinct.stamps.pcsa_ml import PcsaMl

QUERY = {"kind": "distinct-count", "time": "t", "item": "item", "by": ["group"], "every": "10 seconds"}
ROUGH = {"sketch": {"name": "pcsa-ml", "epsilon": 0.5}}
"""It counts 16 keys exactly."""


def stream(rng, rows, groups, items, seconds=200):
    times = np.sort(rng.integers(0, seconds, rows)) * 1_000_000
    return pa.table(
        {
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "group": pa.array(rng.integers(0, groups, rows) ** 2 // groups),  # some with many rows, some with few
            "item": pa.array(rng.integers(0, items, rows)),
        }
    )


def answers(rows, query, backends, most, monkeypatch):
    monkeypatch.setattr(execution, "_MOST_KEYS", most)
    order = [("at", "ascending"), ("group", "ascending"), ("window", "ascending")]
    return local.apply(rows, query, backends).sort_by(order).to_pylist()


@pytest.mark.parametrize("seed", range(6))
def test_estimates_are_those_of_a_sketch_a_group(seed, monkeypatch):
    rng = np.random.default_rng([61, seed])
    windows = (["60 seconds"], ["60 seconds", "20 seconds"], ["10 seconds", "100 seconds", "30 seconds"])[seed % 3]
    query = QUERY | {"windows": windows} | ({"empty": "zero"} if seed % 2 else {})
    rows = stream(rng, 6000, 7, 400)
    few, many = answers(rows, query, ROUGH, 300, monkeypatch), answers(rows, query, ROUGH, 0, monkeypatch)
    assert few == many
    assert sum(row["count"] != round(row["count"]) for row in few) > 50


def test_the_default_sketch_estimates_groups_of_thousands_without_one(monkeypatch):
    rng = np.random.default_rng(3)
    rows, query = stream(rng, 30_000, 40, 10**6, 60), QUERY | {"windows": ["60 seconds", "20 seconds"]}
    few, many = answers(rows, query, None, 4096, monkeypatch), answers(rows, query, None, 0, monkeypatch)
    assert few == many
    assert {row["count"] == round(row["count"]) for row in few} == {True, False}
    monkeypatch.undo()
    run = LocalRun.start(query, rows.schema)
    run.push(rows.combine_chunks().to_batches()[0])
    groups = run.operator._groups
    sizes = groups._small_groups._entries.size
    assert sizes.max() > 400 and len(groups._processors) > 0 and groups._small_groups._table.most == 4096


@pytest.mark.parametrize("seed", range(8))
def test_answers_and_states_are_the_same_however_rows_are_cut(seed, monkeypatch):
    rng = np.random.default_rng([67, seed])
    monkeypatch.setattr(execution, "_MOST_KEYS", int(rng.choice([20, 40, 300])))  # groups that grow, and that do not
    query = QUERY | {"windows": ["30 seconds", "60 seconds"][: 1 + seed % 2]}
    rows = stream(rng, int(rng.integers(500, 3000)), 5, int(rng.choice([30, 200, 10**6])))
    (whole, state), *others = [cut_run(rows, query, rng, ROUGH) for _ in range(3)]
    order = [("at", "ascending"), ("group", "ascending"), ("window", "ascending")]
    assert len(whole) >= 60
    for answered, other in others:
        assert answered.sort_by(order).equals(whole.sort_by(order)) and other == state


@pytest.mark.parametrize("rows_each", [1, 6, 7, 40])
def test_few_rows_and_many_are_counted_alike(rows_each, monkeypatch):
    """Few rows are searched among all entries, many through a hash table: at, below and above that limit."""
    rng = np.random.default_rng(rows_each)
    query = QUERY | {"windows": ["60 seconds"]}
    seconds = np.repeat(np.arange(120), rows_each)
    rows = pa.table(
        {
            "t": pa.array(seconds * 1_000_000, pa.timestamp("us", "UTC")),
            "group": np.zeros(len(seconds), np.int64),
            "item": rng.integers(0, 200, len(seconds)),
        }
    )
    monkeypatch.setattr(execution, "_MOST_KEYS", 512)
    exact = {"sketch": "exact"}
    run, counts = LocalRun.start(query, rows.schema, exact), []
    for second in range(120):
        batch = rows.slice(second * rows_each, rows_each).combine_chunks().to_batches()[0]
        counts += [int(row["count"]) for row in run.push(batch).to_pylist()]
        run.operator._groups._check()
    items = rows["item"].to_numpy()
    expected = [len(set(items[(seconds >= at - 60) & (seconds < at)])) for at in range(10, 120, 10)]
    assert counts == expected


@pytest.mark.parametrize("at_once", [7, 400, 3000])
@pytest.mark.parametrize("values", [{}, {"value": "value"}], ids=["counts", "sums"])
def test_returning_keys_count_once_while_older_ones_make_room(values, at_once, monkeypatch):
    """Windows hold 35 keys, groups 40: in long batches, the oldest keys are forgotten again and again."""
    monkeypatch.setattr(execution, "_MOST_KEYS", 40)
    rng = np.random.default_rng(at_once)
    seconds = np.repeat(np.arange(300), 10)
    items = 5 * (seconds - rng.integers(0, 2, 3000)) + rng.integers(0, 5, 3000)
    worth = rng.integers(1, 100, 3000)
    times = pa.array(np.arange(3000) * 100_000, pa.timestamp("us", "UTC"))
    rows = pa.table({"t": times, "group": np.zeros(3000, np.int64), "item": items, "value": worth})
    query = QUERY | {"every": "2 seconds", "windows": ["6 seconds"]} | values
    run = LocalRun.start(query, rows.schema, {"sketch": "exact"})
    answers = [run.push(part) for part in rows.combine_chunks().to_batches(max_chunksize=at_once)]
    assert len(run.operator.groups.dump_state()["processors.key"]) == 0
    answers = pa.Table.from_batches(answers).to_pylist()
    assert len(answers) > 140
    for place, answer in enumerate(answers):
        inside = (seconds >= 2 * place - 4) & (seconds < 2 * place + 2)
        latest = dict(zip(items[inside].tolist(), worth[inside].tolist(), strict=True))
        assert answer["count"] == len(latest)
        assert not values or answer["sum"] == sum(latest.values())


def test_a_sketch_of_too_many_cells_has_no_bitmap():
    assert PcsaMl(epsilon=0.01).bitmap() is not None
    assert PcsaMl(epsilon=0.001).bitmap() is None


def test_the_largest_groups_are_reported_with_and_without_a_sketch(monkeypatch):
    monkeypatch.setattr(execution, "_MOST_KEYS", 300)
    sizes = {"b": 200, "a": 500, "d": 250, "c": 20}
    groups = np.repeat([*sizes], [*sizes.values()])
    rows = pa.table(
        {
            "t": pa.array(np.arange(len(groups)) // 20 * 1_000_000, pa.timestamp("us", "UTC")),
            "group": groups,
            "item": np.arange(len(groups)),
        }
    )
    run = LocalRun.start(QUERY | {"windows": ["1 hour"]}, rows.schema, {"sketch": "exact"})
    run.push(rows.combine_chunks().to_batches()[0])
    largest = run.operator.groups.largest(3)
    assert [(values["group"], retained) for values, retained, _ in largest] == [("a", 500), ("d", 250), ("b", 200)]
    assert [nbytes for _, _, nbytes in largest[1:]] == [16 * 250, 16 * 200] and largest[0][2] > 16 * 500
