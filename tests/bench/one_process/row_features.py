"""row-features beside the rolling windows of Polars and DuckDB, on simulated payments by card and by terminal.

    python tests/bench/one_process/row_features.py [--rows 1750000] [--only card terminal] [--peers duckdb polars]
    python tests/bench/one_process/row_features.py history [--peers duckdb polars]

18 columns: the number, sum, mean, maximum, deviation and distinct values of windows of 1, 7 and 30 days. CPU time of
this process with one thread each; of row-features the least of three rounds, and its kernels alone, as rows are in
order and encoded. The peers have to be installed, run once, and sort their rows, as row-features does. That all give
the same counts, maxima and distinct values is checked, and that sums are equal except for their last digits.

`history` counts the windows of 30 days whose sum and deviation have other bits when the payments before the hundredth
day are left out. Only windows are compared that have all their payments in both runs.
"""

import argparse
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.engines import local
from skyband.queries import make_query
from skyband.text_tables import table
from skyband_totals.row_features.layout import layout_of
from skyband_totals.row_features.window_values import Questions, WindowValues

DAY = 86_400_000_000
DAYS, CUT, WINDOWS = 183, 100, (1, 7, 30)
OTHER = {"card": "terminal", "terminal": "card"}
ROUNDS = 3


def payments(rows: int, cards: int = 5_000, terminals: int = 10_000) -> pa.Table:
    """Simulated payments of half a year: each card pays at terminals near it, at its own rate and its own amounts.

    As in Le Borgne, Siblini, Lebichot and Bontempi, Reproducible machine learning for credit card fraud detection,
    2022, chapter 3: rates, amounts, places and times of the day are drawn from the same distributions.
    """
    rng = np.random.default_rng(70)
    at, of = rng.uniform(0, 100, (cards, 1, 2)), rng.uniform(0, 100, (1, terminals, 2))
    near = ((at - of) ** 2).sum(axis=2) < 25
    near[~near.any(axis=1), 0] = True
    counts = near.sum(axis=1)
    rates = rng.uniform(0, 4, cards)
    card = rng.choice(cards, rows, p=rates / rates.sum())
    place = (np.cumsum(counts) - counts)[card] + (rng.random(rows) * counts[card]).astype(int)
    seconds = rng.normal(43_200, 20_000, rows).astype(int) % 86_400
    times = rng.integers(0, DAYS, rows) * DAY + seconds * 1_000_000
    means = rng.uniform(5, 100, cards)[card]
    paid = np.round(np.abs(rng.normal(means, means / 2)), 2)
    order = np.argsort(times, kind="stable")
    columns = {"card": card, "terminal": np.nonzero(near)[1][place], "paid": paid}
    ts = pa.array(times[order], pa.timestamp("us"))
    return pa.table({"ts": ts, **{name: column[order] for name, column in columns.items()}})


def query_of(key: str, unit: float | None = 0.01) -> dict[str, Any]:
    """The query of 18 columns."""
    keys = {"kind": "row-features", "time": "ts", "by": [key], "windows": [f"{days} days" for days in WINDOWS]}
    features = [{"of": of, "column": "paid"} for of in ("mean", "max", "std")]
    return {**keys, "sums": ["paid"], "distinct": [OTHER[key]], "features": features, "unit": unit}


def by_row_features(rows: pa.Table, key: str, unit: float | None = 0.01) -> pa.Table:
    """The whole query, as a program calls it."""
    answers = local.apply(rows, query_of(key, unit)).rename_columns({"time": "ts"})
    return answers.rename_columns([name.removesuffix("_days").removesuffix("_day") for name in answers.column_names])


def kernels_of(rows: pa.Table, key: str) -> Callable[[], Any]:
    """The kernels alone, on rows in order of their groups and times."""
    query = make_query(query_of(key))
    batch = rows.sort_by([(key, "ascending"), ("ts", "ascending")]).combine_chunks().to_batches()[0]
    layout = layout_of(query.all_features, query.unit, batch.schema)
    columns = {name: column.to_numpy(zero_copy_only=False) for name, column in layout.encode(batch).items()}
    columns["time"] = batch.column("ts").cast(pa.int64()).to_numpy()
    owners, values = batch.column(key).to_numpy(), WindowValues(query, layout)
    return lambda: values.answers(owners, columns, Questions(owners, columns["time"]))


def by_polars(rows: pa.Table, key: str) -> pa.Table:
    """`rolling`, once for each window."""
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    import polars as pl

    paid, frame = pl.col("paid"), pl.from_arrow(rows).sort(key, "ts")
    of = {"count": pl.len(), "paid_sum": paid.sum(), "paid_mean": paid.mean(), "paid_max": paid.max()}
    of |= {"paid_std": paid.std(), f"{OTHER[key]}_distinct": pl.col(OTHER[key]).n_unique()}
    frames = [
        frame.rolling("ts", period=f"{days}d", group_by=key).agg(
            *(one.alias(f"{name}_{days}") for name, one in of.items())
        )
        for days in WINDOWS
    ]
    return pl.concat([frames[0], *(one.drop(key, "ts") for one in frames[1:])], how="horizontal").to_arrow()


def by_duckdb(rows: pa.Table, key: str) -> pa.Table:
    """`RANGE` frames, three in one statement."""
    import duckdb

    of = {"count": "count(*)", "paid_sum": "sum(paid)", "paid_mean": "avg(paid)", "paid_max": "max(paid)"}
    of |= {"paid_std": "stddev_samp(paid)", f"{OTHER[key]}_distinct": f"count(DISTINCT {OTHER[key]})"}
    columns = [f"{one} OVER days_{days} AS {name}_{days}" for days in WINDOWS for name, one in of.items()]
    frames = [
        f"days_{days} AS (PARTITION BY {key} ORDER BY ts "
        f"RANGE BETWEEN INTERVAL {days * DAY - 1} MICROSECONDS PRECEDING AND CURRENT ROW)"
        for days in WINDOWS
    ]
    connection = duckdb.connect(config={"threads": 1})
    connection.register("rows", rows)
    text = f"SELECT {key}, ts, {', '.join(columns)} FROM rows WINDOW {', '.join(frames)}"
    return connection.sql(text).to_arrow_table()


PEERS: Mapping[str, Callable[[pa.Table, str], pa.Table]] = {"duckdb": by_duckdb, "polars": by_polars}


def in_order(answers: pa.Table, key: str) -> pa.Table:
    """Rows of one key and time have equal features, so their order among each other does not matter."""
    return answers.sort_by([(key, "ascending"), ("ts", "ascending")])


def check_equal(ours: pa.Table, theirs: pa.Table, key: str) -> None:
    """Raises AssertionError if a count differs, or a sum by more than its last digits."""
    theirs = in_order(theirs, key)
    for name in (name for name in ours.column_names if name not in (key, "ts")):
        left, right = (one[name].cast(pa.float64()).to_numpy(zero_copy_only=False) for one in (ours, theirs))
        exact = any(of in name for of in ("count", "max", "distinct"))
        near = np.isclose(left, right, rtol=0 if exact else 1e-9, atol=0 if exact else 1e-5, equal_nan=True)
        assert near.all(), (name, int((~near).sum()))


def measure(rows: pa.Table, key: str, peers: list[str]) -> list[list[str]]:
    """Lines of the table, one a way."""
    kernels = kernels_of(rows, key)
    ours = in_order(by_row_features(rows, key), key)  # compiles
    kernels()
    least = {
        name: min(cpu_of(way) for _ in range(ROUNDS))
        for name, way in (("row-features", lambda: by_row_features(rows, key)), ("its kernels alone", kernels))
    }
    for name in peers:
        PEERS[name](rows.slice(0, 1000), key)  # its own preparations
        answers: list[pa.Table] = []
        least[name] = cpu_of(lambda: answers.append(PEERS[name](rows, key)))  # noqa: B023
        check_equal(ours, answers[0], key)
    return [
        [f"by {key}", name, f"{seconds:.2f}", f"{len(rows) / seconds:,.0f}", f"{seconds / least['row-features']:.1f}"]
        for name, seconds in least.items()
    ]


def cpu_of(way: Callable[[], Any]) -> float:
    """Seconds of this process."""
    begin = time.process_time()
    way()
    return time.process_time() - begin


def other_bits(rows: pa.Table, key: str, way: Callable[[pa.Table, str], pa.Table]) -> list[int]:
    """The windows of 30 days that are whole in both runs; of these, sums and deviations with other bits."""
    cut = pa.scalar(CUT * DAY, pa.timestamp("us"))
    since = pa.scalar((CUT + 30) * DAY, pa.timestamp("us"))
    late = rows.filter(pc.greater_equal(rows["ts"], cut))
    whole, part = (
        in_order(answers.filter(pc.greater_equal(answers["ts"], since)), key)
        for answers in (way(some, key) for some in (rows, late))
    )
    assert whole["count_30"].equals(part["count_30"])
    differ = [pc.sum(pc.not_equal(whole[name], part[name])).as_py() for name in ("paid_sum_30", "paid_std_30")]
    return [len(whole), *differ]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="speed", choices=["speed", "history"])
    parser.add_argument("--rows", type=int, default=1_750_000)
    parser.add_argument("--only", nargs="+", default=["card", "terminal"], choices=OTHER)
    parser.add_argument("--peers", nargs="+", default=[], choices=PEERS, help="these have to be installed")
    options = parser.parse_args()
    rows = payments(options.rows)
    if options.what == "speed":
        names = ["18 columns", "way", "s", "rows/s", "of row-features"]
        table(names, [line for key in options.only for line in measure(rows, key, options.peers)])
        return
    ways = {
        "row-features": lambda rows, key: by_row_features(rows, key, None),
        **{name: PEERS[name] for name in options.peers},
    }
    lines = [
        [f"by {key}", name, *(f"{count:,}" for count in other_bits(rows, key, way))]
        for key in options.only
        for name, way in ways.items()
    ]
    table(["of 30 days", "way", "windows", "sums with other bits", "deviations with other bits"], lines)


if __name__ == "__main__":
    main()
