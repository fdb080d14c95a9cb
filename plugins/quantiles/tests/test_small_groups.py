"""Small groups have the answers of separate sketches, also after they grow, for any order of questions."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.small_groups import limits
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.operator.resharding import take_over
from skyband.operator.row_encoding import encode
from skyband.queries import make_query

SECOND = 1_000_000
KEYS = {"kind": "quantiles", "time": "ts", "value": "value", "by": ["group"], "at": [0.95, 0.07, 0.5, 1, 0]}
LENGTHS = {"time": {"windows": ["20 seconds", "8 seconds"], "every": "4 seconds"}}
LENGTHS["rows"] = {"windows": ["40 rows", "13 rows"], "every": "5 rows"}


@pytest.mark.parametrize("backend", ["exact", "buckets", "k-skb"])
@pytest.mark.parametrize("unit", LENGTHS)
def test_groups_that_stay_small_grow_at_once_or_are_never_small_are_the_same(unit, backend, monkeypatch):
    rng = np.random.default_rng(13)
    rows = 400
    seconds = np.sort(rng.integers(0, 90, rows)) + 300 * (np.arange(rows) > 300)
    stream = pa.table(
        {
            "ts": pa.array(seconds * SECOND, pa.timestamp("us", "UTC")),
            "group": rng.integers(0, 3, rows),
            "value": np.choose(rng.integers(0, 2, rows), [rng.normal(size=rows).round(1), rng.zipf(2, rows)]) * 1.0,
        }
    )
    found = []
    for most in (512, 3, 0):
        monkeypatch.setattr(limits, "MOST_ENTRIES", most)
        answers = local.apply(stream, KEYS | LENGTHS[unit] | {"above": [1.5, -0.5, 0]}, {"quantile-sketch": backend})
        order = [(name, "ascending") for name in ("group", "at", "window", "quantile", "above")]
        found.append(answers.sort_by(order))
    assert len(found[0]) > 300
    assert found[0].equals(found[2])
    assert found[1].equals(found[2])


def test_a_state_of_small_groups_with_few_values_is_restored():
    rng = np.random.default_rng(4)
    times = pa.array(np.sort(rng.integers(0, 60, 200)) * SECOND, pa.timestamp("us"))
    rows = pa.record_batch({"ts": times, "group": rng.integers(0, 3, 200), "value": rng.integers(0, 3, 200) * 1.0})
    query = make_query(KEYS | LENGTHS["time"])

    def operator(_=None):
        return Operator(query, bind(query, rows.schema, None), rows.schema)

    began, always = operator(), operator()
    for part in (rows.slice(0, 120), rows.slice(120)):
        frame = encode(query, part).frame
        began.add(frame)
        always.add(frame)
        reached = int(frame.column("time").to_numpy().max())
        answers = [pa.Table.from_batches([one.advance(reached)]) for one in (began, always)]
        assert answers[0].equals(answers[1]) and len(answers[0])
        (began,) = take_over([began.snapshot()], query, operator, 1)


def _rows_of_groups(groups, each=10):
    values = np.random.default_rng(5).lognormal(4, 1, groups * each)
    times = pa.array(np.arange(groups * each) * 1_000, pa.timestamp("us"))
    return pa.record_batch({"ts": times, "group": np.tile(np.arange(groups), each), "value": values})


def _operator_after(rows, length):
    query = make_query(KEYS | {"windows": [length], "every": length})
    operator, encoded = Operator(query, bind(query, rows.schema, None), rows.schema), encode(query, rows)
    tracemalloc.start()
    try:
        operator.add(encoded.frame)
        operator.step(encoded.progress)
        return operator, tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("length", "bytes_"), [("1 hour", 200), ("1000 rows", 210)])
def test_a_group_of_ten_rows_takes_about_two_hundred_bytes(length, bytes_):
    groups = 8_000
    _operator_after(_rows_of_groups(groups), length)  # what is imported and compiled at first use is not of the groups
    operator, memory = _operator_after(_rows_of_groups(groups), length)
    assert 100 * groups < memory < bytes_ * groups
    assert len(operator.snapshot()) < 205 * groups


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("time", lambda times: times[::-1], "value: must be by value and time"),
        ("value", lambda values: values[::-1], "value: must be by value and time"),
        ("value", lambda values: values + np.nan, "value"),
        ("value", lambda values: values[1:], "value"),
    ],
)
def test_an_impossible_state_is_refused(name, change, said):
    """The state of a group: rows of one value by time, then those of a larger one."""
    times = pa.array(np.arange(6) * SECOND, pa.timestamp("us"))
    values = [2.0, 2.0, 2.0, 2.0, 3.0 if name == "value" else 2.0, 2.0]
    rows = pa.record_batch({"ts": times, "group": [1] * 6, "value": values})
    run = local.LocalRun.start(KEYS | LENGTHS["time"], rows.schema)
    run.push(rows)
    state = state_arrays.without_prefix("small_groups", run.operator.groups.dump_state())
    fresh = Operator(run.operator.query, run.operator.bindings, rows.schema)._groups._small_groups
    with pytest.raises(SnapshotError, match=said):
        fresh.load_state(state | {f"entries.{name}": change(state[f"entries.{name}"])})
    fresh.load_state(state)
    np.testing.assert_equal(fresh.dump_state(), state)
