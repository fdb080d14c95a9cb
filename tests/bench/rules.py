"""Measures rules that come while a stream runs, beside the same queries known from the start.

    python tests/bench/rules.py [--rows 400000] [--spark | --groups 10000]

One stream without groups in this process, a row every 10 ms, uniform scores, in micro-batches of 10,000 rows (100 s).
Rules have windows up to an hour and slides from 10 s to 10 min. Thread CPU: microseconds a row by the number of rules,
rules beside `queries`; milliseconds of the micro-batch in which 100 rules come beside those before and after it; and
bytes of a snapshot for k = 10 and 100 beside all events of the widest window at 24 bytes each (time, object, score).

With --groups an hour of 20 rows a group, integer objects, in 40 micro-batches, with 10 and 100 rules of windows from 10
minutes to an hour and slides from 10 to 30 minutes: seconds of CPU of each query that takes rules, of three runs.

With --spark the same micro-batches as a stream of Spark, two cores and one shard, rules as a stream of files beside it:
milliseconds of `triggerExecution` while 1000 rules are live, of the micro-batch with 100 more in the middle.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from skyband.engines.local import LocalRun

STEP, BATCH = 10_000, 10_000
LONGEST = 3_600
KEYS = {"kind": "top-k-workload", "time": "ts", "object": "what", "score": "points"}


def batches(rows: int) -> list[pa.RecordBatch]:
    """The stream, cut into micro-batches."""
    random = np.random.default_rng(1)
    ts = pa.array(np.arange(rows) * STEP, pa.timestamp("us"))
    table = pa.table({"ts": ts, "what": np.arange(rows), "points": random.random(rows)})
    return table.combine_chunks().to_batches(max_chunksize=BATCH)


def rules(count: int, first: int = 0, most: int = 10) -> list[dict]:
    """Rules with windows of a minute to an hour, slides of ten seconds to ten minutes, and k up to `most`."""
    random = np.random.default_rng(first)
    windows, slides = random.integers(60, LONGEST + 1, count), random.integers(1, 61, count) * 10
    return [
        {"name": f"r{first + place}", "window": f"{window} seconds", "slide": f"{slide} seconds", "k": int(k)}
        for place, (window, slide, k) in enumerate(
            zip(windows, slides, random.integers(1, most + 1, count), strict=True)
        )
    ]


def spent(run: LocalRun, parts: list[pa.RecordBatch]) -> tuple[list[float], int]:
    """Seconds of thread CPU of each micro-batch, and the rows of all answers."""
    seconds, answers = [], 0
    for part in parts:
        start = time.thread_time()
        answers += len(run.push(part))
        seconds.append(time.thread_time() - start)
    return seconds, answers


OF_GROUPS = {
    "top-k-workload": {"object": "what", "score": "points", "most": 10},
    "heavy-hitters": {"object": "what", "windows": [], "every": "10 seconds", "most": 10},
    "distinct-count": {"item": "what", "windows": [], "every": "10 seconds"},
    "quantiles": {"value": "points", "at": [0.5, 0.95], "windows": [], "every": "10 seconds"},
}


def in_groups(groups: int) -> None:
    """Print what rules cost over many groups."""
    random, rows = np.random.default_rng(1), 20 * groups
    ts = pa.array(np.sort(random.integers(0, LONGEST * 1_000_000, rows)), pa.timestamp("us"))
    columns = {"group": random.integers(0, groups, rows), "what": random.integers(0, 1000, rows)}
    table = pa.table({"ts": ts, **columns, "points": random.random(rows)}).combine_chunks()
    parts = table.to_batches(max_chunksize=rows // 40)
    for kind, keys in OF_GROUPS.items():
        for count in (10, 100):
            random = np.random.default_rng(0)
            windows, slides = random.integers(60, 361, count) * 10, random.choice([600, 900, 1200, 1800], count)
            some_rules = [
                {"name": f"r{place}", "window": f"{window} seconds", "slide": f"{slide} seconds"}
                | ({"k": 1 + place % 10} if "most" in keys else {})
                for place, (window, slide) in enumerate(zip(windows, slides, strict=True))
            ]
            took = []
            for some in ([part.slice(0, 50) for part in parts[:4]], *[parts] * 3):  # the first compiles
                query = {"kind": kind, "time": "ts", "by": ["group"], "longest": "1 hour", **keys}
                run = LocalRun.start(query, table.schema)
                run.broadcast(pa.Table.from_pylist(some_rules))
                start = time.process_time()
                answers = sum(len(run.push(part)) for part in some) + len(run.finish())
                took.append(time.process_time() - start)
            tell(f"{kind}, {count} rules:", *(f"{one:.2f}" for one in took[1:]), f"s, {answers:,} answers")


def tell(*parts: str) -> None:
    """Write a line."""
    sys.stdout.write(" ".join(parts) + "\n")
    sys.stdout.flush()


def on_spark_stream() -> None:
    """Print what the micro-batches of a stream of Spark take, one of which has 100 rules more."""
    import on_spark
    from skyband import spark

    parts, more = batches(16 * BATCH), 9
    with tempfile.TemporaryDirectory() as place, on_spark.session() as session:
        folder = Path(place)
        schema = pa.schema([(name, pa.string()) for name in ("name", "window", "slide")]).append(
            pa.field("k", pa.int64())
        )
        for name in ("rows", "rules"):
            (folder / name).mkdir()
        for number, part in enumerate(parts):
            come = rules(1000) if number == 0 else rules(100, 1000) if number == more else []
            for name, table in (
                ("rows", pa.Table.from_batches([part])),
                ("rules", pa.Table.from_pylist(come, schema)),
            ):
                path = folder / name / f"{number:03}.parquet"
                pq.write_table(table, path)
                os.utime(path, (1_000_000_000 + number,) * 2)
        rows, of_rules = (
            session.readStream.schema(session.read.parquet(str(folder / name)).schema)
            .option("maxFilesPerTrigger", 1)
            .parquet(str(folder / name))
            for name in ("rows", "rules")
        )
        answers = spark.apply(rows, {**KEYS, "longest": f"{LONGEST} seconds", "most": 10}, shards=1, rules=of_rules)
        writer = answers.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
        started = writer.trigger(availableNow=True).start()
        started.awaitTermination()
        took = [entry.durationMs["triggerExecution"] for entry in started.recentProgress if entry.numInputRows]
    tell(
        "on Spark, ms a trigger, 1000 rules:",
        *map(str, took[:more]),
        "| 100 more:",
        str(took[more]),
        "|",
        *map(str, took[more + 1 :]),
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=800_000)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--groups", type=int)
    asked = parser.parse_args()
    if asked.groups:
        in_groups(asked.groups)
        return
    if asked.spark:
        on_spark_stream()
        return
    parts = batches(asked.rows)
    limits, schema = {"longest": f"{LONGEST} seconds", "most": 10}, parts[0].schema
    spent(LocalRun.start({**KEYS, **limits, "queries": rules(3)}, schema), parts[:3])  # compiles
    spent(LocalRun.start({**KEYS, "queries": rules(3)}, schema), parts[:3])
    warm = len(parts) // 2
    tell("rules   µs a row: rules  queries   answers a row")
    for count in (1, 10, 100, 1000):
        with_rules = LocalRun.start({**KEYS, **limits}, schema)
        with_rules.broadcast(pa.Table.from_pylist(rules(count)))
        seconds, answers = spent(with_rules, parts)
        others, same = spent(LocalRun.start({**KEYS, "queries": rules(count)}, schema), parts)
        assert same == answers
        each = [1e6 * sum(one[warm:]) / (BATCH * len(one[warm:])) for one in (seconds, others)]
        tell(f"{count:5}  {each[0]:14.2f} {each[1]:8.2f} {answers / (BATCH * len(parts)):15.1f}")
    run = LocalRun.start({**KEYS, **limits}, schema)
    run.broadcast(pa.Table.from_pylist(rules(1000)))
    before = spent(run, parts[:warm])[0][-5:]
    start = time.thread_time()
    run.broadcast(pa.Table.from_pylist(rules(100, 1000)))
    taking = time.thread_time() - start
    after = spent(run, parts[warm : warm + 5])[0]
    tell(
        "1000 rules, 100 more at once, ms a micro-batch:",
        *(f"{1e3 * one:.0f}" for one in before),
        f"| taking them {1e3 * taking:.1f} |",
        *(f"{1e3 * one:.0f}" for one in after),
    )
    start = time.thread_time()
    LocalRun.start({**KEYS, **limits}, schema).broadcast(pa.Table.from_pylist(rules(100_000)))
    tell(f"100,000 rules taken in {time.thread_time() - start:.1f} s")
    window = min(LONGEST * 1_000_000 // STEP, BATCH * len(parts))
    for most in (10, 100):
        run = LocalRun.start({**KEYS, **limits, "most": most}, schema)
        spent(run, parts)
        size, retained = len(run.operator.snapshot()), run.operator.take_metrics().retained
        theory = most * (1 + np.log(window / most))
        tell(
            f"k = {most}: {size:,} bytes, {retained:,} rows kept (theory {theory:.0f}) of {window:,}, "
            f"whose events take {24 * window:,} bytes"
        )


if __name__ == "__main__":
    main()
