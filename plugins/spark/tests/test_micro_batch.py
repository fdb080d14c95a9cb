"""The result of a shard's task for a micro-batch, called as by Spark: answers, and metrics of exactly these rows."""

from collections import Counter, OrderedDict

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from attrs import evolve
from skyband.columns import record_batch_bytes
from skyband.engines.local import LocalRun
from skyband.operator.bind_backends import bind
from skyband.operator.static_broadcast_table import WholeTable
from skyband.queries import make_query
from skyband_spark.frames import state_store
from skyband_spark.frames.micro_batch import process_micro_batch
from skyband_spark.frames.results_and_metrics import METRICS
from skyband_spark.frames.shard_keys import keys_of
from skyband_spark.frames.sharded_plan import SHUFFLE_SCHEMA, ShardedPlan
from skyband_spark.frames.state_store import StateStore
from task_stores import Store

SECOND = 1_000_000
QUERY = {"kind": "distinct-count", "time": "ts", "item": "name", "windows": ["10 seconds"], "every": "10 seconds"}
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("name", pa.string())])


def batch(seconds):
    """Rows at these seconds; None: without a time."""
    times = [None if second is None else second * SECOND for second in seconds]
    return pa.RecordBatch.from_arrays(
        [pa.array(times, SCHEMA.field("ts").type), [f"at {second}" for second in seconds]], schema=SCHEMA
    )


def answer(row):
    return row["name"], row["rule"], pd.Timestamp(row["at"]), row["count"]


@pytest.mark.parametrize("shards", [1, 2])
def test_metrics_are_those_of_a_turn_whatever_happens_to_its_rows(shards, monkeypatch):
    """Waiting, late and unusable rows, alone and with others; after each the worker ends or stays."""
    query = make_query({**QUERY, "delay": "2 seconds"})
    plan = ShardedPlan(query, bind(query, SCHEMA), SCHEMA, shards)
    monkeypatch.setattr(state_store, "_CACHE", OrderedDict())
    states = [{} for _ in range(shards)]
    turns = [[1, 12, None], [None, None], [3, 13], [], [None, 25], [4], [None]]
    for number, seconds in enumerate(turns):
        if number % 2:
            state_store._CACHE.clear()
        packed = [row for each in plan.to_shuffle_rows(iter([batch(seconds)])) for row in each.to_pylist()]
        total, late_by = dict.fromkeys(("rows_in", "rows_late", "rows_null_time"), 0), 0
        for shard, key in enumerate(keys_of(shards)):
            store = Store(states[shard])
            own = pd.DataFrame([row for row in packed if row["shard"] == shard])
            given = process_micro_batch(plan, StateStore(store), key, [own[:1], own[1:]])
            states[shard] = store.held
            (metrics,) = [one for one in given[METRICS] if one is not None]
            assert metrics["state_bytes"] > 0
            for name in total:
                total[name] += metrics[name]
            late_by = max(late_by, metrics["late_by"])
        newest = max((second or 0 for turn in turns[:number] for second in turn), default=0)
        late = [newest - second for second in seconds if second is not None and second < newest - 2]
        assert total == {"rows_in": len(seconds), "rows_late": len(late), "rows_null_time": seconds.count(None)}
        assert late_by == max(late, default=0) * SECOND


@pytest.mark.parametrize("keys", [{"delay": "5 seconds"}, {"delay": "9 seconds", "ahead": "20 seconds"}])
def test_answers_appear_once_and_equal_those_of_a_run_in_one_process(keys, monkeypatch):
    """Also if a task is repeated, or runs on another worker that catches up from a log; rows far ahead are in none."""
    query = make_query({**QUERY, **keys})
    plan, run = ShardedPlan(query, bind(query, SCHEMA), SCHEMA, 1), LocalRun.start(query, SCHEMA)
    monkeypatch.setattr(state_store, "_CACHE", OrderedDict())
    rng, held, newest, counts = np.random.default_rng(8), {}, 0, Counter()
    for _ in range(30):
        newest += int(rng.integers(0, 9))
        ahead = rng.choice([0, 31], 4, p=[0.8, 0.2]) if "ahead" in keys else np.zeros(4, np.int64)
        rows = batch((newest + ahead - rng.integers(0, 8, 4)).tolist())
        if rng.random() < 0.5:
            state_store._CACHE.clear()
        store = Store(held)
        packed = pd.DataFrame([row for each in plan.to_shuffle_rows(iter([rows])) for row in each.to_pylist()])
        given = process_micro_batch(plan, StateStore(store), keys_of(1)[0], [packed])
        if rng.random() < 0.3:  # the task failed after its work, and is done again
            store = Store(held)
            given = process_micro_batch(plan, StateStore(store), keys_of(1)[0], [packed])
        held = store.held
        (metrics,) = [one for one in given[METRICS] if one is not None]
        counts.update({name: metrics[name] for name in ("rows_in", "rows_late", "rows_ahead") if name in metrics})
        answers = given[given[METRICS].isna()].drop(columns=METRICS)
        expected = run.push(rows)
        assert answers["count"].tolist() == expected.column("count").to_pylist()
        assert len(answers) == len(expected)
    whole = run.operator.take_metrics()
    assert (counts["rows_in"], counts["rows_late"]) == (whole.rows_in, whole.rows_late) == (120, 0)
    assert counts["rows_ahead"] == whole.dropped.get("ahead", 0)
    assert (counts["rows_ahead"] > 10) == ("ahead" in keys)


@pytest.mark.parametrize("whole", [False, True], ids=["stream", "table"])
def test_rules_apply_wherever_a_task_runs_and_the_first_shard_reports_refused_ones(whole, monkeypatch):
    """Rules arrive with rows, or as a table that each run has; tasks are repeated, or run on new workers."""
    query = make_query(
        {
            **QUERY,
            "windows": [],
            "every": "1 second",
            "longest": "20 seconds",
            "by": "name",
            "delay": "2 seconds",
            "bad_rows": "count",
        }
    )
    columns = pa.schema([(name, pa.string()) for name in ("name", "window", "slide")])
    plan, run = ShardedPlan(query, bind(query, SCHEMA), SCHEMA, 2), LocalRun.start(query, SCHEMA)
    monkeypatch.setattr(state_store, "_CACHE", OrderedDict())
    rng, states, newest, count, refused_count = np.random.default_rng(5), [{}, {}], 0, 0, 0
    for _ in range(30):
        newest += int(rng.integers(0, 4))
        rows, news, told = batch((newest - rng.integers(0, 3, 3)).tolist()), columns.empty_table(), {}
        if rng.random() < 0.3:
            rules = [rng.choice(some, 2).tolist() for some in (["a", "b", "c", ""], ["5 seconds", "9 s", "9 seconds"])]
            news = pa.table([*rules, ["2 seconds", "3 seconds"]], schema=columns)
        if whole and len(news):
            plan = evolve(plan, broadcast=WholeTable.of(news))
        plan = evolve(plan, bad_rows=told.__setitem__)
        packed = [row for each in plan.to_shuffle_rows(iter([rows])) for row in each.to_pylist()]
        answers, bad_rows = [], 0
        for shard, key in enumerate(keys_of(2)):
            own = [row for row in packed if row["shard"] == shard]
            if len(news) and not whole:
                piece = record_batch_bytes.to_bytes(news.combine_chunks().to_batches()[0])
                own.append({**dict.fromkeys(SHUFFLE_SCHEMA.names), "rows": 0, "broadcast": piece})
            for _ in range(int(rng.integers(1, 3))):
                if rng.random() < 0.5:
                    state_store._CACHE.clear()
                store = Store(states[shard])
                given = process_micro_batch(plan, StateStore(store), key, [pd.DataFrame(own)])
            states[shard] = store.held
            bad_rows += sum(one["rows_bad"] for one in given[METRICS] if one is not None)
            answers += given[given[METRICS].isna()].drop(columns=METRICS).to_dict("records")
        progress, table, refused = run.add(rows), plan.broadcast, []
        if whole and table is not None and not run.operator.has_whole(table):
            refused = run.operator.broadcast_whole(table)
        elif not whole and len(news):
            refused = run.operator.broadcast(news)
        expected = run.step(progress).to_pylist()
        assert sorted(map(answer, answers)) == sorted(map(answer, expected))
        assert bad_rows == len(refused) and [*told] == [0]
        assert len(refused) == (0 if told[0] is None else len(told[0]))
        count, refused_count = count + len(expected), refused_count + len(refused)
    assert count > 50 and refused_count > 3
