"""100,000 groups in one job: rows a second, memory, bytes of state a group, and that silent groups are let go of.

    python tests/bench/groups.py spark|local|steady [--groups 100000] [--queries distinct-count top-k …] [--mixed]

Micro-batches 40 seconds apart, windows of 10 minutes, an answer a minute: three with a row of every group, then rows of
1 % of them and of ten in turn, then ten groups alone until the others' windows are empty. Answers are a row a group and
minute while its windows are not. With `--mixed` windows are of a day, and one group of ten has 1,000 entries in it, the
others five: after a micro-batch that brings them, some a minute apart have 10 rows a group on average, by Zipf's law.

`steady`, in process: a row and an answer of every group each minute, integer objects; microseconds of CPU a group and
turn, once the windows are full.
"""

import argparse
import json
import os
import resource
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import on_spark
import pyarrow as pa
import pyarrow.parquet as pq
from memory import below, resident
from pyspark.sql.streaming import StreamingQueryListener
from skyband import spark
from skyband.engines import local
from skyband.queries import make_query

SECOND = 1_000_000
SHARDS = 8
COMMON = {"time": "ts", "by": ["group"], "every": "1 minute"}
QUERIES: dict[str, dict[str, Any]] = {
    "distinct-count": {"item": "item", "windows": ["10 minutes"]},
    "top-k": {"object": "item", "stream": "stream", "value": "value", "streams": ["a", "b"], "k": 3}
    | {"window": "10 minutes", "repeats": "per-window"},
}
WORKLOAD = [
    {"name": f"{minutes} minutes", "window": f"{minutes} minutes", "slide": "1 minute", "k": 3}
    for minutes in (10, 5, 2)
]
IN_ROWS = [{"name": "10 rows", "window": "10 rows", "slide": "1 rows", "k": 3}]
WORDS_IN_ROWS = {"repeats": "latest", "window": "10 rows", "every": "1 rows", "carry": ["words"]}
BY_ROW = {"time": "ts", "by": ["group"]}
SETS = {"id": "item", "tokens": "words"}
UNCERTAIN = BY_ROW | {"values": "value", "probabilities": "chance"}
STEADY: dict[str, dict[str, Any]] = {
    "distinct-count": COMMON | QUERIES["distinct-count"],
    "top-k": COMMON | QUERIES["top-k"] | {"repeats": "latest"},
    "top-k promised": COMMON | QUERIES["top-k"],
    "top-k-workload": {"time": "ts", "by": ["group"], "object": "item", "score": "value", "queries": WORKLOAD[:1]},
    "top-k-workload of 3": {"time": "ts", "by": ["group"], "object": "item", "score": "value", "queries": WORKLOAD},
    "heavy-hitters": COMMON | {"object": "item", "windows": ["10 minutes"], "k": 3},
    "top-k-pairs": COMMON | SETS | {"k": 3, "window": "10 minutes"},
    "top-k-pairs of two sides": COMMON | SETS | {"k": 3, "window": "10 minutes", "side": "side"},
    "near-duplicates": BY_ROW | SETS | {"threshold": 0.6, "window": "10 minutes"},
    "near-duplicates of the first": BY_ROW | SETS | {"threshold": 0.6, "window": "10 minutes", "keep": "first"},
    "near-vectors": BY_ROW
    | {"id": "item", "vector": "vector", "dimensions": 64, "threshold": 0.3}
    | {"window": "10 minutes"},
    "uncertain-sum": UNCERTAIN | {"size": 5},
    "uncertain-sum of a length of time": UNCERTAIN | {"window": "10 minutes"},
    "uncertain-sum by change": UNCERTAIN | {"delta": 0.9},
    "uncertain-join": UNCERTAIN | {"id": "item", "size": 5, "epsilon": 0.1},
    "uncertain-join of two sides": UNCERTAIN | {"id": "item", "size": 5, "epsilon": 0.1, "side": "side"},
    "uncertain-join of a length of time": UNCERTAIN | {"id": "item", "window": "10 minutes", "epsilon": 0.1},
    "uncertain-join by change": UNCERTAIN | {"id": "item", "delta": 0.9, "epsilon": 0.1},
    "uncertain-join with words": UNCERTAIN | {"id": "item", "size": 5, "epsilon": 0.1, "carry": ["words"]},
    "uncertain-join in a plane": UNCERTAIN | {"id": "item", "size": 5, "epsilon": 0.3, "values": ["value", "chance"]},
    "top-k by a function": COMMON | QUERIES["top-k"] | {"repeats": "latest", "aggregate": np.max},
    "top-k approximately": COMMON | QUERIES["top-k"] | {"repeats": "never", "upper": 1.0},
    "top-k in rows": COMMON | QUERIES["top-k"] | {"repeats": "latest", "window": "10 rows", "every": "1 rows"},
    "top-k in rows promised": COMMON | QUERIES["top-k"] | {"window": "10 rows", "every": "1 rows"},
    "top-k in rows with words": COMMON | QUERIES["top-k"] | WORDS_IN_ROWS,
    "top-k-workload in rows": {"time": "ts", "by": ["group"], "object": "item", "score": "value", "queries": IN_ROWS},
    "near-duplicates in rows": BY_ROW | SETS | {"threshold": 0.6, "window": "10 rows"},
    "quantiles": COMMON | {"value": "value", "windows": ["10 minutes"], "at": [0.5, 0.95, 0.99]},
    "heavy-hitters in rows": COMMON | {"object": "item", "windows": ["10 rows"], "every": "1 rows", "k": 3},
}
FEW = {name: COMMON | spec for name, spec in QUERIES.items()}
"""What `spark` and `local` run where nothing is asked for."""
OF_A_DAY = {
    "distinct-count": FEW["distinct-count"] | {"windows": ["1 day"]},
    "top-k": FEW["top-k"] | {"window": "1 day", "repeats": "latest"},
    "heavy-hitters": STEADY["heavy-hitters"] | {"windows": ["1 day"]},
}
BACKENDS = {"top-k approximately": {"object-ranker": "approx"}}
WARM, MEASURED = 11, 4
"""Turns until the windows are full, and turns timed."""


def batches(groups: int) -> list[tuple[str, pa.Table]]:
    """What each micro-batch is of, and its rows."""
    rng = np.random.default_rng(1)
    some, ten = rng.choice(groups, groups // 100).repeat(20), rng.choice(groups, 10).repeat(2000)
    every = [("all", np.arange(groups), number * 40) for number in range(3)]
    mixed = [("1 %", some, number * 40) if number % 2 else ("ten", ten, number * 40) for number in range(3, 9)]
    plan = [*every, *mixed, ("ten", ten, 1000), ("ten", ten, 1040)]
    return [(name, _table(rng, who, at)) for name, who, at in plan]


def mixed(groups: int) -> list[tuple[str, pa.Table]]:
    """The micro-batches of groups of which one of ten is large."""
    rng = np.random.default_rng(2)
    ranks = rng.permutation(groups)
    first = np.concatenate([np.repeat(ranks[: groups // 10], 1000), np.repeat(ranks[groups // 10 :], 5)])
    turns = [("turn", ranks[(rng.zipf(1.2, 10 * groups) - 1) % groups], minute * 60) for minute in range(1, 6)]
    plan = [("first", first, 0), *turns]
    return [(name, _table(rng, rng.permutation(who), at, 1 << 40)) for name, who, at in plan]


def _table(rng: Any, groups: Any, at: int, items: int = 50) -> pa.Table:
    times = np.full(len(groups), at * SECOND)
    times[-1:] += SECOND
    columns = {"group": [f"group {group}" for group in groups], "item": rng.integers(0, items, len(groups))}
    columns |= {"stream": np.where(rng.random(len(groups)) < 0.5, "a", "b"), "value": rng.random(len(groups))}
    columns |= {"chance": rng.choice([0.5, 0.9], len(groups)), "side": rng.choice(["left", "right"], len(groups))}
    columns["words"] = pa.array(list(rng.integers(0, 12, (len(groups), 6))))
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), **columns})


def _query(name: str, specs: dict[str, dict[str, Any]]) -> Any:
    return make_query({"kind": name.partition(" ")[0], **specs[name]})


def in_process(query: Any, parts: list[tuple[str, pa.Table]]) -> None:
    """The local engine: a push each."""
    run = local.LocalRun.start(query, parts[0][1].schema)
    for name, table in parts:
        (batch,) = table.combine_chunks().to_batches()
        started = time.perf_counter()
        answers = run.push(batch)
        took = time.perf_counter() - started
        groups, state = run.operator.take_metrics().groups, len(run.operator.snapshot())
        _line(name, len(table), took, state, groups, f"{len(answers):9,} answers")
    print(f"  most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB")  # noqa: T201


def steadily(name: str, groups: int) -> None:
    """One row a group and minute, in process: what a group costs in a turn, with its row and its answer."""
    rng = np.random.default_rng(1)
    query = _query(name, STEADY)
    run, took, answers = None, [], 0
    for minute in range(WARM + MEASURED):
        seconds = minute * 60 + np.sort(rng.integers(0, 60, groups))
        columns: dict[str, Any] = {"ts": pa.array(seconds * SECOND, pa.timestamp("us", "UTC"))}
        columns |= {"group": rng.permutation(groups), "item": rng.integers(0, 50, groups)}
        columns |= {"stream": np.where(rng.random(groups) < 0.5, "a", "b"), "value": rng.random(groups)}
        columns |= {
            "chance": rng.choice([0.5, 0.9], groups),
            "side": np.where(rng.random(groups) < 0.5, "left", "right"),
            "words": pa.FixedSizeListArray.from_arrays(pa.array(rng.integers(0, 12, 6 * groups)), 6),
        }
        vectors = np.random.default_rng(minute).standard_normal(64 * groups).astype(np.float32)
        columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors), 64)
        (batch,) = pa.table(columns).to_batches()
        run = run or local.LocalRun.start(query, batch.schema, BACKENDS.get(name))
        started = time.process_time()
        answers = len(run.push(batch))
        took.append(time.process_time() - started)
    assert run is not None
    arrays = run.operator.groups.dump_state().values()
    metrics, state = run.operator.take_metrics(), sum(array.nbytes for array in arrays)
    print(  # noqa: T201
        f"{name:36} {groups:9,} groups {np.median(took[WARM:]) / groups * 1e6:8.2f} us of CPU a group and turn,"
        f" {state / groups:6.0f} bytes and {metrics.retained / groups:5.1f} items a group, {answers:9,} answers a turn,"
        f" {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB"
    )


class Peaks(StreamingQueryListener):  # type: ignore[misc]
    """The most memory of the JVM, and of all its Python workers, at the end of any micro-batch."""

    def __init__(self, jvm: int) -> None:
        self.jvm, self.most = jvm, [0.0, 0.0, 0.0]

    def onQueryStarted(self, event: object) -> None:
        """Nothing to note."""

    def onQueryIdle(self, event: object) -> None:
        """Nothing to note."""

    def onQueryTerminated(self, event: object) -> None:
        """Nothing to note."""

    def onQueryProgress(self, event: object) -> None:
        """Look at them all."""
        now = resident(os.getpid()), resident(self.jvm), sum(map(resident, below(self.jvm)))
        self.most = list(map(max, self.most, now))


def on_stream(session: Any, query: Any, parts: list[tuple[str, pa.Table]]) -> None:
    """A stream with a file a micro-batch."""
    home = Path(tempfile.mkdtemp())
    folder = home / "source"
    folder.mkdir()
    for number, (_, table) in enumerate(parts):
        pq.write_table(table, folder / f"{number:04}.parquet")
    peaks = Peaks(session._jvm.ProcessHandle.current().pid())
    session.streams.addListener(peaks)
    source = session.readStream.schema(session.read.parquet(str(folder)).schema).option("maxFilesPerTrigger", 1)
    answers = spark.apply(source.parquet(str(folder)), query, shards=SHARDS).writeStream.format("noop")
    stream = answers.option("checkpointLocation", str(home / "checkpoint")).trigger(availableNow=True).start()
    stream.awaitTermination()
    progress = [entry for entry in stream.recentProgress if entry.numInputRows]
    for (name, table), entry in zip(parts, progress, strict=True):
        seen, operators = entry.observedMetrics["skyband"], json.loads(entry.json)["stateOperators"]
        written = sum(each["customMetrics"]["rocksdbTotalBytesWritten"] for each in operators)
        took = entry.durationMs["triggerExecution"] / 1e3
        more = f"{seen['seconds']:5.2f} s in operators, {written / 1e6:6.2f} MB written"
        _line(name, len(table), took, seen["state_bytes"], seen["groups"], more)
    session.streams.removeListener(peaks)
    driver, jvm, workers = peaks.most
    print(f"  most memory: driver {driver:,.0f} MB, JVM {jvm:,.0f} MB, all Python workers {workers:,.0f} MB")  # noqa: T201
    shutil.rmtree(home)


def _line(name: str, rows: int, took: float, state: int, groups: int, more: str) -> None:
    print(  # noqa: T201
        f"  {name:4} {rows:8,} rows {took:6.2f} s {rows / took:10,.0f} rows/s   {groups:8,} groups,"
        f" {state / 1e6:6.1f} MB of state, {state / max(groups, 1):8,.0f} bytes a group   {more}"
    )


def main() -> None:
    """Run the queries asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", choices=["spark", "local", "steady"])
    parser.add_argument("--groups", type=int, default=100_000)
    parser.add_argument("--queries", nargs="+", choices=[*{**QUERIES, **STEADY}])
    parser.add_argument("--mixed", action="store_true")
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    if options.engine == "steady":
        for name in options.queries or STEADY:
            steadily(name, options.groups)
        return
    parts = mixed(options.groups) if options.mixed else batches(options.groups)
    session = on_spark.session(options.cores) if options.engine == "spark" else None
    for name in options.queries or QUERIES:
        print(f"{name}, {options.groups:,} groups, {options.engine}")  # noqa: T201
        query = _query(name, {**STEADY, **FEW} | (OF_A_DAY if options.mixed else {}))
        if session is None:
            in_process(query, parts)
        else:
            on_stream(session, query, parts)


if __name__ == "__main__":
    main()
