"""An operator's state in a store that commits or forgets each task: nothing is lost, duplicated or written in vain."""

from collections import OrderedDict

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from skyband.columns import keyed_frames
from skyband.engines import local
from skyband.errors import SnapshotError
from skyband.operator.bind_backends import bind
from skyband.operator.row_encoding import encode
from skyband.queries import make_query
from skyband.watermark import EventTimeProgress
from skyband_spark.frames import state_store
from skyband_spark.frames.sharded_plan import ShardedPlan
from task_stores import Store

SECOND = 1_000_000
QUICK = {"name": "quick", "window": "20 seconds", "slide": "5 seconds", "k": 2}
SLOW = {"name": "slow", "window": "60 seconds", "slide": "10 seconds", "k": 3}
WINDOW = {"window": "60 seconds", "every": "10 seconds"}
TOP = {"kind": "top-k", "object": "name", "stream": "side", "value": "value", "streams": ["a", "b"], "k": 2}
COUNT = {"kind": "distinct-count", "item": "name", "windows": ["60 seconds"], "every": "10 seconds"}
QUERIES = {
    "counts": COUNT,
    "counts by place": COUNT | {"by": ["place"]},
    "tops by place": TOP | WINDOW | {"by": ["place"], "repeats": "per-window"},
    "workload": {"kind": "top-k-workload", "object": "name", "score": "value", "queries": [QUICK]},
    "sums": {"kind": "uncertain-sum", "values": "value", "probabilities": "value", "size": 3, "alpha": 0.9},
}


class Cluster:
    """Workers that run the tasks of one shard, and the state that was last committed."""

    def __init__(self, monkeypatch, workers):
        self.caches = [OrderedDict() for _ in range(workers)]
        self.monkeypatch = monkeypatch
        self.committed, self.metrics = {}, []

    def run(self, plan, frame, latest, worker, fails=False):
        """A task; if it fails, it does so after all its work. Its answers and store; metrics are kept."""
        store = Store(self.committed)
        self.monkeypatch.setattr(state_store, "_CACHE", self.caches[worker])
        kept = state_store.StateStore(store)
        operator = kept.load(plan, 0)
        given = [keyed_frames.to_bytes(frame)] if len(frame) else []
        for data in given:
            operator.add(keyed_frames.from_bytes(data))
        answers = operator.step(EventTimeProgress([latest], latest))
        kept.commit(operator, given)
        metrics = operator.take_metrics()
        if not fails:
            self.committed = store.held
            self.metrics.append(evolve(metrics, seconds=0.0))
        return answers, store


def rows(seed, count=1200, span=600):
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, span, count))
    return pa.table(
        {
            "ts": pa.array(seconds * SECOND, pa.timestamp("us", "UTC")),
            "place": [f"place {i}" for i in rng.integers(0, 12, count)],
            "name": [f"name {i}" for i in rng.integers(0, 50, count)],
            "side": [["a", "b"][i] for i in rng.integers(0, 2, count)],
            "value": rng.integers(1, 10, count) / 10,
        }
    )


def asked(name, **changes):
    return make_query({"time": "ts", "delay": "15 seconds", **QUERIES[name], **changes})


def ship(query, schema, shards=1):
    return ShardedPlan(query, bind(query, schema), schema, shards)


def turns_of(query, table, pieces, seed):
    """The rows out of order, cut into turns: each a frame and the latest time in it."""
    rng = np.random.default_rng(seed)
    times = np.asarray(table["ts"].cast(pa.int64()))
    order = np.argsort(times + rng.integers(0, 20 * SECOND, len(table)))  # some come late
    for part in np.array_split(order, pieces):
        batch = table.take(pa.array(part)).combine_chunks().to_batches()[0]
        yield encode(query, batch).frame, int(times[part].max())


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize(("seed", "most_logged"), [(0, None), (1, 3), (2, 12)])
def test_tasks_that_fail_and_move_between_workers_change_nothing(name, seed, most_logged, monkeypatch):
    """Steps beside a small state are seldom logged: with `most_logged` there are as many to catch up with."""
    if most_logged is not None:
        due = lambda store, head, given: store._anew or head.step - head.base > most_logged  # noqa: E731
        monkeypatch.setattr(state_store.StateStore, "_is_to_be_whole", due)
    table, query = rows(seed), asked(name)
    plan = ship(query, table.schema)
    alone, cluster = Cluster(monkeypatch, 1), Cluster(monkeypatch, 3)
    rng = np.random.default_rng(seed)
    for frame, latest in turns_of(query, table, 60, seed):
        expected, _ = alone.run(plan, frame, latest, 0)
        while rng.random() < 0.3:
            cluster.run(plan, frame, latest, rng.integers(3), fails=True)
        if rng.random() < 0.1:
            cluster.caches[rng.integers(3)].clear()  # a worker is replaced
        answers, _ = cluster.run(plan, frame, latest, rng.integers(3))
        assert answers.equals(expected)
        assert all(len(cache) <= 1 for cache in cluster.caches), "a worker keeps the newest operator of a shard only"
        assert cluster.metrics[-1] == alone.metrics[-1], "each row is counted once, in the micro-batch that brought it"
    states = [c.run(plan, frame.slice(0, 0), latest, 0)[1] for c in (alone, cluster)]
    caches = [alone.caches[0], OrderedDict()]  # one has come all the way, the other catches up
    operators = []
    for store, cache in zip(states, caches, strict=True):
        monkeypatch.setattr(state_store, "_CACHE", cache)
        operators.append(state_store.StateStore(Store(store.held)).load(plan, 0))
    assert operators[0].snapshot() == operators[1].snapshot()


def test_a_turn_costs_its_rows_and_not_the_state():
    """A state of 400 KB, a few rows a turn: whole states are written once in as many bytes of rows."""
    rng = np.random.default_rng(1)
    schema = rows(0, 1).schema
    plan = ship(asked("counts", windows=["10 hours"]), schema)
    with pytest.MonkeyPatch.context() as patch:
        cluster = Cluster(patch, 2)
        written, read, given, state = [], [], 0, 0
        for turn in range(120):
            count = 300_000 if turn == 0 else 100
            table = pa.table(
                {
                    "ts": pa.array(np.full(count, turn * SECOND), pa.timestamp("us", "UTC")),
                    "place": [""] * count,
                    "name": [f"{i}" for i in rng.integers(0, 10**6, count)],
                    "side": ["a"] * count,
                    "value": np.zeros(count),
                }
            )
            frame = encode(plan.query, table.to_batches()[0]).frame
            _, store = cluster.run(plan, frame, turn * SECOND, turn // 2 % 2)
            written.append(store.written)
            read.append(store.read)
            state = max(state, sum(len(chunk[0]) for chunk in store.held["chunks"].values()))
            given += len(keyed_frames.to_bytes(frame)) if turn else 0
    assert state > 300_000
    assert np.median(written) < 6_000
    assert sum(written[1:]) < 2 * given + 2 * state
    assert max(read[4:]) <= 4  # what the other worker did since: never the state


@pytest.mark.parametrize("workers", [1, 2])
def test_a_log_has_no_more_work_than_a_restart_may_take(monkeypatch, workers):
    """Beside a state of 3 MB each step is small in bytes: its log ends where catching up would take too long."""
    rng = np.random.default_rng(1)
    queries = [QUICK | {"name": str(size), "window": f"{size} seconds"} for size in range(5, 305)]
    plan = ship(asked("workload", queries=queries, carry=["place"]), rows(0, 1).schema)
    longest = {}
    for most in (1e9, 0.02):
        monkeypatch.setattr(state_store, "MOST_TO_CATCH_UP", most)
        cluster, longest[most] = Cluster(monkeypatch, workers), 0
        for turn in range(60):
            count = 20_000 if turn == 0 else 50
            seconds = np.sort(rng.integers(0, 300, count)) if turn == 0 else np.full(count, 300 + turn)
            given = {
                "ts": pa.array(seconds * SECOND, pa.timestamp("us", "UTC")),
                "place": ["x" * 150] * count,
                "name": [f"{i}" for i in rng.integers(0, 10**6, count)],
                "side": ["a"] * count,
                "value": -seconds.astype(float),
            }
            frame = encode(plan.query, pa.table(given).to_batches()[0]).frame
            cluster.run(plan, frame, int(seconds[-1]) * SECOND, turn % workers)
            steps = [key for (key,) in cluster.committed["log"] if key > 0]
            longest[most] = max(longest[most], len(steps))
    assert longest[1e9] == 59, "by its bytes the log could hold them all"
    assert 0 < longest[0.02] < 40, longest


def test_a_small_state_is_written_whole_rather_than_its_rows(monkeypatch):
    table, query = rows(2, 20_000), asked("counts", windows=["10 seconds"])
    plan, cluster = ship(query, table.schema), Cluster(monkeypatch, 1)
    for frame, latest in turns_of(query, table, 5, 2):
        _, store = cluster.run(plan, frame, latest, 0)
        assert store.written < len(keyed_frames.to_bytes(frame)) / 5
        assert store.held["log"] == {}


def test_a_query_that_joins_finds_the_same_watermark_in_every_shard(monkeypatch):
    """The log of one shard is longer than another's; both let the new query begin where the stream stood."""
    table = rows(4).combine_chunks()
    before, after = asked("workload"), asked("workload", queries=[QUICK, SLOW])
    schema = table.schema
    whole, logged = Cluster(monkeypatch, 1), Cluster(monkeypatch, 1)
    found = []
    for cluster, most in ((whole, 0), (logged, 1000)):
        monkeypatch.setattr(state_store, "MOST_LOGGED", most)
        answers = []
        for number, (frame, latest) in enumerate(turns_of(before, table, 40, 4)):
            query = before if number < 25 else after
            answers += cluster.run(ship(query, schema), frame, latest, 0)[0].to_pylist()
            if number % 7 == 0:
                cluster.caches[0].clear()
        found.append(sorted(map(str, answers)))
    assert found[0] == found[1]
    assert any("slow" in row for row in found[0])
    assert local.apply(table, after)["query"].to_pylist().count("slow") > sum("slow" in row for row in found[0]) > 0


def test_what_does_not_fit_is_refused(monkeypatch):
    table, query = rows(3, 100), asked("counts")
    cluster = Cluster(monkeypatch, 1)
    for frame, latest in turns_of(query, table, 3, 3):
        cluster.run(ship(query, table.schema), frame, latest, 0)
    with pytest.raises(SnapshotError, match="shards = 1, this job has 2: change it back"):
        cluster.run(ship(query, table.schema, shards=2), frame, latest, 0)
    with pytest.raises(SnapshotError, match="item was name, is place"):
        cluster.run(ship(asked("counts", item="place"), table.schema), frame, latest, 0)
    damaged = bytearray(cluster.committed["chunks"][(0,)][0])
    damaged[len(damaged) // 2] ^= 1
    cluster.committed["chunks"][(0,)] = (bytes(damaged),)
    cluster.caches[0].clear()
    with pytest.raises(SnapshotError, match="damaged: its checksum does not match"):
        cluster.run(ship(query, table.schema), frame, latest, 0)
    cluster.committed["head"] = (1, *cluster.committed["head"][1:])
    with pytest.raises(SnapshotError, match="format 1, this Skyband reads 3"):
        cluster.run(ship(query, table.schema), frame, latest, 0)
