"""Many groups in one operator: each answers as if it were alone, however they sleep, grow, fall silent and return."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.groups.small_groups import limits
from skyband.operator import processor_cache
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.queries import make_query
from skyband_distinct.distinct_count import execution as distinct_count_execution

SECOND = 1_000_000
WINDOW = {"window": "20 seconds", "every": "5 seconds"}
QUERIES = {
    "distinct-count": {"item": "name", "windows": ["5 seconds", "20 seconds"], "every": "5 seconds"},
    "top-k": {"object": "name", "stream": "side", "value": "value", "streams": ["left", "right"], "k": 2}
    | WINDOW
    | {"repeats": "per-window"},
    "top-k-pairs": {"id": "number", "tokens": "words", "similarity": "jaccard", "k": 2} | WINDOW,
    "top-k-workload": {
        "object": "name",
        "score": "value",
        "queries": [
            {"name": "short", "window": "10 seconds", "slide": "5 seconds", "k": 2},
            {"name": "long", "window": "20 seconds", "slide": "10 seconds", "k": 3},
        ],
    },
    "uncertain-sum": {"values": "value", "probabilities": "chance", "size": 3, "alpha": 0.9},
    "uncertain-join": {"side": "side", "id": "number", "values": "value", "probabilities": "chance", "size": 3}
    | {"alpha": 0.9, "beta": 0.05, "epsilon": 0.3},
}
SMALL = {"distinct-count": {"sketch": {"name": "pcsa-ml", "epsilon": 0.3}}}
"""A sketch for as few as 27 keys, which groups outgrow here."""


def stream(seed: int, rows: int = 1500, groups: int = 40, span: int = 300) -> pa.Table:
    """A few busy groups and many quiet ones, each silent for most of the time, some names null."""
    rng = np.random.default_rng(seed)
    group = np.minimum(rng.zipf(1.4, rows), groups)
    bursts = rng.integers(0, span // 40, (groups + 1, 2)) * 40
    seconds = bursts[group, rng.integers(0, 2, rows)] + rng.integers(0, 25, rows) - span // 2
    return (
        pa.table(
            {
                "ts": pa.array(seconds * SECOND + rng.integers(0, 2, rows), pa.timestamp("us", "UTC")),
                "place": [None if g == 5 else f"place {g}" for g in group],
                "name": [f"name {i}" for i in rng.integers(0, 60, rows)],
                "number": np.arange(rows),
                "side": [["left", "right"][i] for i in rng.integers(0, 2, rows)],
                "value": rng.integers(0, 11, rows) / 10,
                "chance": rng.choice([0.5, 0.9], rows),
                "words": [[f"w{i}" for i in rng.integers(0, 9, n)] for n in rng.integers(1, 4, rows)],
            }
        )
        .sort_by("ts")
        .combine_chunks()
    )


def query(kind, by=("place",), **changes):
    return make_query({"kind": kind, "time": "ts", "by": list(by), "delay": "7 seconds", **QUERIES[kind], **changes})


def batches_of(table, pieces, seed):
    """The rows in some order within the delay, cut into batches of random sizes, some of them empty."""
    rng = np.random.default_rng(seed)
    times = np.asarray(table["ts"].cast(pa.int64()))
    order = np.argsort(times + rng.integers(0, 7 * SECOND, len(table)))
    cuts = np.sort(rng.integers(0, len(table) + 1, pieces - 1))
    for rows in np.split(order, cuts):
        yield pa.RecordBatch.from_struct_array(
            pa.array(table.take(pa.array(rows)).to_pylist(), pa.struct(table.schema))
        )


def rows_of(answers):
    return sorted(map(str, answers.to_pylist()))


def one_by_one(table, kind, backends):
    """The answers of each group, each asked as a stream of its own, up to the last moment of all."""
    latest = int(np.asarray(table["ts"].cast(pa.int64())).max())
    places = table["place"].to_pylist()
    found = []
    for place in dict.fromkeys(places):
        own = table.filter(pa.array([other == place for other in places])).combine_chunks()
        run = local.LocalRun.start(query(kind, by=()), table.schema, backends)
        run.add(own.to_batches()[0])
        found += [{"place": place, **row} for row in run.operator.finish(latest).to_pylist()]
    return sorted(map(str, found))


AWAKE = {
    "one": {"MOST_ACTIVE": 1},
    "all": {"MOST_ACTIVE": 1000},
    "some, by their bytes": {"FEW_ACTIVE": 1, "MOST_BYTES": 40_000},
}


@pytest.mark.parametrize("awake", AWAKE)
@pytest.mark.parametrize("kind", QUERIES)
@pytest.mark.parametrize("seed", range(2))
def test_each_group_answers_as_if_it_were_alone(seed, kind, awake, monkeypatch):
    for name, limit in AWAKE[awake].items():
        monkeypatch.setattr(processor_cache, name, limit)
    monkeypatch.setattr(distinct_count_execution, "_MOST_KEYS", 20)
    monkeypatch.setattr(limits, "MOST_ENTRIES", 6)
    table = stream(seed)
    backends = {"sketch": "exact"} if kind == "distinct-count" else None
    run, pieces = local.LocalRun.start(query(kind), table.schema, backends), []
    for batch in batches_of(table, 12, seed):
        pieces.append(run.push(batch))
        if len(batch) % 3 == 0:
            blob = run.operator.snapshot()
            run.operator = Operator(run.operator.query, run.operator.bindings, table.schema)
            run.operator.restore(blob)
            assert run.operator.snapshot() == blob
    pieces.append(run.finish())
    assert rows_of(pa.Table.from_batches(pieces)) == one_by_one(table, kind, backends)


@pytest.mark.parametrize("backend", ["exact", "pcsa-ml", "k-skb", "se-fm", "se-pcsa"])
@pytest.mark.parametrize("seed", range(3))
def test_neither_answers_nor_bytes_tell_how_groups_came_to_outgrow_the_crowd(seed, backend, monkeypatch):
    monkeypatch.setattr(distinct_count_execution, "_MOST_KEYS", 20)
    table = stream(seed, groups=8)
    small = {"name": backend} if backend == "exact" else {"name": backend, "epsilon": 0.3}
    seen, snapshots = [], []
    for pieces, awake in ((1, 1000), (5, 1), (40, 2)):
        monkeypatch.setattr(processor_cache, "MOST_ACTIVE", awake)
        run, answers = local.LocalRun.start(query("distinct-count"), table.schema, {"sketch": small}), []
        answers += [run.push(batch) for batch in batches_of(table, pieces, seed + pieces)]
        snapshots.append(run.operator._groups.dump_state())
        answers.append(run.finish())
        seen.append(rows_of(pa.Table.from_batches(answers)))
    assert seen[0] == seen[1] == seen[2]
    np.testing.assert_equal(snapshots[0], snapshots[1])
    np.testing.assert_equal(snapshots[0], snapshots[2])
    assert len(snapshots[0]["processors.key"]) > 0


@pytest.mark.parametrize("kind", ["distinct-count", "top-k"])
def test_groups_that_fell_silent_are_forgotten(kind):
    table = stream(3)
    run = local.LocalRun.start(query(kind), table.schema, SMALL.get(kind))
    latest = int(np.asarray(table["ts"].cast(pa.int64())).max())
    run.add(table.to_batches()[0])
    run.operator.advance(latest - 100 * SECOND)
    assert 0 < run.operator.take_metrics().groups < 40
    run.operator.advance(latest + 26 * SECOND)
    metrics = run.operator.take_metrics()
    assert (metrics.groups, metrics.retained) == (0, 0)
    fresh = Operator(run.operator.query, bind(run.operator.query, table.schema, SMALL.get(kind)), table.schema)
    fresh.advance(latest + 26 * SECOND)
    np.testing.assert_equal(run.operator._groups.dump_state(), fresh._groups.dump_state())


def test_a_group_asleep_holds_no_objects_and_few_bytes(monkeypatch):
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    monkeypatch.setattr(processor_cache, "MOST_ACTIVE", 1000)
    places = 3000
    table = pa.table(
        {
            "ts": pa.array(np.arange(2 * places) % 1000 * 1000, pa.timestamp("us", "UTC")),
            "place": np.arange(2 * places) % places,
            "name": np.arange(2 * places) % 7,
            "side": ["left", "right"] * places,
            "value": np.arange(2 * places) % 11 / 10,
        }
    ).sort_by("ts")
    run = local.LocalRun.start(query("top-k", delay="0 seconds"), table.schema)
    run.push(table.combine_chunks().to_batches()[0])
    run.operator.advance(SECOND)
    held = run.operator._groups._processors
    assert (len(held), len(held._active)) == (places, processor_cache.MOST_ACTIVE)
    assert len(run.operator.snapshot()) < 600 * places
    answers = run.operator.advance(5 * SECOND)
    assert (
        len(answers)
        == places * 2
        == len({*zip(answers["place"].to_pylist(), answers["rank"].to_pylist(), strict=True)})
    )


STATES = {
    "distinct-count": {"item": "number", "windows": ["20 seconds"], "every": "5 seconds"},
    "heavy-hitters": {"object": "number", "windows": ["20 seconds"], "every": "5 seconds", "k": 3},
    "quantiles": {"value": "value", "windows": ["20 seconds"], "every": "5 seconds", "at": [0.5]},
}


@pytest.mark.parametrize("emit", ["state", "changed-state"])
@pytest.mark.parametrize("kind", STATES)
def test_states_of_many_groups_are_given_turn_by_turn_as_of_all_rows(kind, emit):
    table = stream(7, groups=30)
    keys = {"kind": kind, "time": "ts", "by": ["place"], "emit": emit, **STATES[kind]}
    whole = local.apply(table, make_query(keys))
    run = local.LocalRun.start(make_query(keys), table.schema)
    pieces = [run.push(batch) for batch in table.to_batches(max_chunksize=40)]
    assert rows_of(pa.Table.from_batches([*pieces, run.finish()])) == rows_of(whole)
    assert len(whole) > 100
