"""One state a group beside Spark's HLL and theta sketches by pane: bytes, seconds and error for the same questions.

python tests/bench/spark_states.py [--rows 3000000] [--clients 400000] [--asked 10]

The questions: distinct clients of the last 1, 2, … 100 hundredths of a day, of every group of three columns and of
every rollup of them. Spark's sketches answer no window but one of whole panes, so that each group needs a hundred of
them; a state answers any. Errors are those of all answers of at least 1000 clients, over all windows for a state and
over the windows asked for panes. Bytes are those of the sketches themselves, in all groups.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from on_spark import session
from pyspark.sql import functions as sql
from skyband import spark
from skyband_spark import states as spark_states

DAY, PANES = 86_400_000_000, 100
PANE = DAY // PANES
START = 20_000 * DAY
BY = {"region": 4, "device": 3, "status": 4}
FEWEST = 1000
Answers = Iterator[tuple[int, tuple[Any, ...], float]]
"""The number of panes, the group (null: all values) and the count."""


def requests(rows: int, clients: int) -> pa.Table:
    """A day of requests; some clients come often, most seldom, and groups differ in size."""
    rng = np.random.default_rng(0)
    client = np.minimum(rng.zipf(1.2, rows), clients) * 7_919 % clients
    seldom = rng.random(rows) < 0.7
    client[seldom] = rng.integers(0, clients, int(seldom.sum()))
    columns = {"ts": pa.array(np.sort(rng.integers(START, START + DAY, rows)), pa.timestamp("us", "UTC"))}
    columns["client"] = pa.array(client)
    for name, size in BY.items():
        shares = 1.0 / np.arange(1, size + 1)
        columns[name] = pa.array(rng.choice(size, rows, p=shares / shares.sum()))
    return pa.table(columns)


def true_counts(table: pa.Table) -> dict[tuple[int, tuple[Any, ...]], int]:
    """The answers themselves."""
    pane = (np.asarray(table["ts"].cast(pa.int64())) - START) // PANE
    client = np.asarray(table["client"])
    found = {}
    for size in range(len(BY) + 1):
        for chosen in combinations(BY, size):
            group = np.zeros(len(table), np.int64)
            for name in chosen:
                group = group * BY[name] + np.asarray(table[name])
            pairs = group * (client.max() + 1) + client
            _, last = np.unique(pairs[::-1], return_index=True)  # by time: the last of each pair
            rows = len(pairs) - 1 - last
            for code in np.unique(group):
                named, rest = {}, int(code)
                for name in reversed(chosen):
                    rest, named[name] = divmod(rest, BY[name])
                values = tuple(named.get(name) for name in BY)
                counts = np.cumsum(np.bincount(pane[rows[group[rows] == code]], minlength=PANES)[::-1])
                found.update({(panes + 1, values): int(counts[panes]) for panes in range(PANES)})
    return found


def of_panes(made: Any, union: str, asked: list[int]) -> Answers:
    """Sketches by pane, united for each window and rollup."""
    for panes in asked:
        recent = made.where(sql.col("pane") >= PANES - panes)
        counted = recent.cube(*BY).agg(sql.expr(union).alias("count"))
        for row in counted.collect():
            yield panes, tuple(row[name] for name in BY), float(row["count"])


def of_states(made: Any, asked: list[int]) -> Answers:
    """States, united for each rollup once, then asked for every window."""
    united = made.cube(*BY).agg(spark_states.union("state").alias("state")).localCheckpoint()
    windows = sql.explode(sql.array(*(sql.lit(panes) for panes in asked)))
    each = united.withColumn("panes", windows)
    since = sql.timestamp_micros(sql.lit(START + DAY) - sql.col("panes").cast("bigint") * PANE)
    for row in each.select(*BY, "panes", spark_states.estimate("state", since=since)["count"].alias("count")).collect():
        yield row["panes"], tuple(row[name] for name in BY), row["count"]


def ways() -> Iterator[tuple[str, Callable[[Any], Any], str, Callable[..., Answers]]]:
    """What makes the sketches of a source, the column that holds them, and what answers."""
    query = {"kind": "distinct-count", "time": "ts", "item": "client", "windows": ["1 day"], "every": "1 day"}
    for name, epsilon in (("pcsa-ml", 0.02), ("pcsa-ml", 0.03), ("pcsa-ml", 0.07), ("k-skb", 0.1)):
        emitted = {**query, "by": list(BY), "emit": "state"}

        def states(source: Any, emitted: Any = emitted, name: str = name, epsilon: float = epsilon) -> Any:
            return spark.apply(source, emitted, {"sketch": {"name": name, "epsilon": epsilon}})

        yield f"state, {name} {epsilon}", states, "state", of_states
    pane = sql.expr(f"(unix_micros(ts) - {START}) div {PANE}").alias("pane")
    for name, size in (("hll", 10), ("hll", 12), ("theta", 10), ("theta", 12)):

        def panes(source: Any, made: str = f"{name}_sketch_agg(client, {size})") -> Any:
            return source.groupBy(*BY, pane).agg(sql.expr(made).alias("sketch"))

        last = f", {size}" if name == "theta" else ""
        union = f"{name}_sketch_estimate({name}_union_agg(sketch{last}))"
        yield f"panes, {name} {size}", panes, "sketch", lambda made, asked, union=union: of_panes(made, union, asked)


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--clients", type=int, default=400_000)
    parser.add_argument("--asked", type=int, default=10, help="windows asked of sketches by pane, of a hundred")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp())
    table = requests(options.rows, options.clients)
    pq.write_table(table, home / "requests.parquet")
    truth = true_counts(table)
    running = session()
    source = running.read.parquet(str(home / "requests.parquet"))
    print("                       MB   made in s   a window s   error: rms %   99 of 100 %   answers")  # noqa: T201
    for name, make, column, answer in ways():
        started = time.perf_counter()
        make(source).write.parquet(str(home / name))
        took = time.perf_counter() - started
        made = running.read.parquet(str(home / name))
        size = made.agg(sql.sum(sql.length(column))).first()[0]
        step = 1 if column == "state" else PANES // options.asked
        asked = list(range(step, PANES + 1, step))
        started = time.perf_counter()
        answers = list(answer(made, asked))
        each = (time.perf_counter() - started) / len(asked)
        pairs = [(count, truth[panes, values]) for panes, values, count in answers]
        errors = np.array([abs(count / true - 1) for count, true in pairs if true >= FEWEST])
        rms, most = 100 * np.sqrt(np.mean(errors**2)), 100 * np.quantile(errors, 0.99)
        line = f"{size / 1e6:>8.2f}   {took:>9.1f}   {each:>10.2f}   {rms:>12.2f}   {most:>11.2f}   {len(errors):>7,}"
        print(f"{name:<18}{line}", flush=True)  # noqa: T201
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
