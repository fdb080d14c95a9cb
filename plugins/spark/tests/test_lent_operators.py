"""Workers of one machine lend each other the operators they have in memory: answers, metrics and state stay the same.

Workers are processes here as they are in Spark; each takes the tasks that the test gives it, one after the other.
"""

import os
import sys
import threading
import time
from collections import OrderedDict

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from lending_workers import Worker, run
from skyband.operator.bind_backends import bind
from skyband.queries import make_query
from skyband_spark.frames import lent_operators, state_store
from skyband_spark.frames.lent_operators import CachedOperator, Neighbours
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.frames.state_store import StateStore
from task_stores import Store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers lend on Linux only")

SECOND = 1_000_000
WINDOWS = {"time": "ts", "by": ["place"], "every": "10 seconds", "delay": "5 seconds"}
QUERIES = {
    "counts": WINDOWS | {"kind": "distinct-count", "item": "name", "windows": ["60 seconds"]},
    "heavy hitters": WINDOWS | {"kind": "heavy-hitters", "object": "name", "windows": ["60 seconds"], "k": 3},
}


def plan_of(name, **changes):
    query, schema = make_query(QUERIES[name] | changes), rows(0, 1).schema
    return ShardedPlan(query, bind(query, schema), schema, 1)


def rows(begin, count):
    rng = np.random.default_rng(begin)
    return pa.table(
        {
            "ts": pa.array(np.sort(rng.integers(begin, begin + 20, count)) * SECOND, pa.timestamp("us", "UTC")),
            "place": [f"place {number}" for number in rng.integers(0, 5, count)],
            "name": [f"name {number}" for number in rng.integers(0, 300, count)],
        }
    )


def packed(plan, table):
    batches = plan.to_shuffle_rows(iter(table.to_batches()))
    return pd.DataFrame([row for batch in batches for row in batch.to_pylist()])


@pytest.fixture(autouse=True)
def serving(monkeypatch):
    """The threads that lend, all of which end with the test: one that had an operator given back offers it again."""
    threads, lenders, serve = [], [], Neighbours._serve

    def noted(lender, *arguments):
        threads.append(threading.current_thread())
        lenders.append(lender)
        serve(lender, *arguments)

    monkeypatch.setattr(Neighbours, "_serve", noted)
    yield threads
    ends = time.monotonic() + 30
    while any(thread.is_alive() for thread in threads):
        assert time.monotonic() < ends, "somebody goes on listening"
        for lender in lenders:
            for shard in [*lender._listeners]:
                lender.withdraw(shard)
        time.sleep(0.001)


@pytest.fixture
def workers():
    """Makes workers that end with the test."""
    there = []

    def make(*arguments):
        there.append(Worker(*arguments))
        return there[-1]

    yield make
    for worker in there:
        worker.end()


@pytest.fixture
def alone(monkeypatch):
    """Runs tasks here, in one undisturbed worker."""
    monkeypatch.setattr(state_store, "_CACHE", OrderedDict())
    return lambda *task: run(*task, None)


def snapshot_of(plan, held, monkeypatch):
    """The operator restored from a state, as bytes."""
    monkeypatch.setattr(state_store, "_CACHE", OrderedDict())
    return StateStore(Store(held)).load(plan, 0).snapshot()


@pytest.mark.parametrize("name", QUERIES)
def test_a_shard_that_moves_between_workers_answers_as_in_one(name, workers, alone, monkeypatch):
    """Tasks fail after all their work, and workers end: no row is lost or duplicated, and hardly any state is read."""
    plan, rng, team = plan_of(name), np.random.default_rng(3), [workers(), workers()]
    held, expected_held, borrowed = {}, {}, 0
    for turn in range(16):
        given = packed(plan, rows(10 * turn, 400))
        *expected, expected_held, _ = alone(plan, expected_held, given)
        if rng.random() < 0.2:  # its work is done, and then it fails
            team[rng.integers(2)].run(plan, held, given)
        if rng.random() < 0.1:
            number = rng.integers(2)
            team[number].end()
            team[number] = workers()
        *answered, held, read = team[turn % 2].run(plan, held, given)
        assert answered == expected
        borrowed += read == 0
    assert borrowed > 6, "the other worker has the operator, so that no state is read"
    assert snapshot_of(plan, held, monkeypatch) == snapshot_of(plan, expected_held, monkeypatch)


@pytest.mark.parametrize("fault", ["dies", "dies at the end", "raises"])
def test_what_a_neighbour_does_not_bring_to_its_end_is_done_again_here(fault, workers, alone):
    plan, first, second = plan_of("counts"), workers(fault), workers()
    held, expected_held = {}, {}
    for turn, worker in enumerate([first, second, second]):
        given = packed(plan, rows(10 * turn, 400))
        *expected, expected_held, _ = alone(plan, expected_held, given)
        *answered, held, read = worker.run(plan, held, given)
        assert answered == expected
        assert (read > 0) == (turn == 1), "it loads the state in the turn in which the other fails"
    assert first.process.is_alive() == (fault == "raises")


def test_a_state_is_loaded_if_rows_far_outnumber_it(workers):
    few = {"every": "10 seconds", "windows": ["10 seconds"]}
    plan, first, second = plan_of("counts", **few), workers(), workers()
    held = first.run(plan, {}, packed(plan, rows(0, 10)))[2]
    *_, held, read = second.run(plan, held, packed(plan, rows(40, 20_000)))
    assert read > 0
    assert first.run(plan, held, packed(plan, rows(80, 10)))[-1] == 0


def test_a_busy_worker_lends_nothing_and_the_shard_moves(workers):
    plan, first, second = plan_of("counts"), workers(), workers()
    held = first.run(plan, {}, packed(plan, rows(0, 400)))[2]
    first.ask("work")
    *_, held, read = second.run(plan, held, packed(plan, rows(10, 400)))
    assert read > 0
    assert second.run(plan, held, packed(plan, rows(20, 400)))[-1] == 0


def test_an_operator_is_lent_at_its_token_and_of_its_query_alone(workers):
    plan, first, second = plan_of("counts"), workers(), workers()
    token = first.run(plan, {}, packed(plan, rows(0, 400)))[2]["head"][2]
    assert not second.ask("borrow", plan, bytes(16))
    assert not second.ask("borrow", plan_of("counts", every="20 seconds"), token)
    token = first.run(plan, {}, packed(plan, rows(0, 400)))[2]["head"][2]
    assert second.ask("borrow", plan, token)


def test_no_worker_borrows_from_itself_or_another_user(monkeypatch):
    plan, mine = plan_of("counts"), Neighbours()
    monkeypatch.setattr(state_store, "_CACHE", OrderedDict())
    held = run(plan, {}, packed(plan, rows(0, 400)), mine)[2]
    assert mine.borrow(plan, held["head"][2]) is None
    monkeypatch.setattr(os, "getpid", lambda: 0)
    remote = mine.borrow(plan, held["head"][2])
    assert remote is not None, "as another process it would"
    remote.add([])
    remote.keep(2, held["head"][2], 0.0, 0.0)
    monkeypatch.setattr(os, "getuid", lambda: -1)
    assert mine.borrow(plan, held["head"][2]) is None


def test_no_worker_listens_for_shards_that_it_no_longer_has(serving, monkeypatch):
    """Returned, at another token, or evicted by others: as many listen as are kept."""
    mine = Neighbours()
    monkeypatch.setattr(state_store, "_CACHE", OrderedDict())
    monkeypatch.setattr(state_store, "MOST_CACHED", 3)
    for number in range(30):
        shard, token = bytes([number % 10]) * 16, bytes([number, 1]) * 8
        state_store._keep(shard, CachedOperator(None, number, token, 0.0, 0.0), mine)
        if number % 4 == 3:
            state_store._forget(shard, mine)
        assert {*mine._listeners} <= {*state_store._CACHE} and len(state_store._CACHE) <= 3
    for shard in [*state_store._CACHE]:
        state_store._forget(shard, mine)
    assert not mine._listeners
    assert serving
    ends = time.monotonic() + 30
    for thread in serving:
        thread.join(max(0.0, ends - time.monotonic()))
    assert not [thread for thread in serving if thread.is_alive()]


def test_a_worker_that_does_not_reply_is_not_waited_for(monkeypatch):
    plan, mine = plan_of("counts"), Neighbours()
    monkeypatch.setattr(lent_operators, "_PATIENCE", 0.01)
    monkeypatch.setattr(lent_operators, "_is_neighbour", lambda other: True)
    done = threading.Event()
    mine.offer(b"shard", b"token", lambda shard, token: done.wait() and None, lambda shard, back: None)
    assert mine.borrow(plan, b"token") is None
    done.set()
    mine.withdraw(b"shard")
    assert mine.borrow(plan, b"token") is None
