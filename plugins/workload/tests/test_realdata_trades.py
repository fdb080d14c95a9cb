"""The largest trades of 8 October 2013 in hundreds of windows, on the local engine."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from skyband.engines import local
from skyband.queries import make_query

pytestmark = pytest.mark.realdata
MINUTE = 60_000_000


@pytest.fixture(scope="module")
def trades():
    """ts, symbol, number (of the row), volume, and change: from the symbol's previous price, in %."""
    folder = os.environ.get("SKYBAND_DATA")
    name = "trades_20131008_4sym.parquet"
    if not folder or not (Path(folder) / name).exists():
        pytest.skip(f"needs {name} in the folder named by SKYBAND_DATA")
    table = pq.read_table(Path(folder) / name, columns=["ts", "symbol", "price", "volume"])
    symbol, price = (
        np.asarray(pc.dictionary_encode(table["symbol"]).combine_chunks().indices),
        np.asarray(table["price"]),
    )
    change = np.zeros(len(table))
    for one in np.unique(symbol):
        rows = np.flatnonzero(symbol == one)
        change[rows[1:]] = np.abs(np.diff(price[rows]) / price[rows[:-1]]) * 100
    return table.append_column("number", pa.array(np.arange(len(table)))).append_column("change", pa.array(change))


def workload(count):
    """Windows of 1 minute to 1 hour, slides from 1 minute to the window, k up to 50."""
    rng = np.random.default_rng(count)
    windows = rng.integers(1, 61, count)
    return [
        {"name": f"q{i}", "window": f"{w} minutes", "slide": f"{rng.integers(1, w + 1)} minutes", "k": int(k)}
        for i, (w, k) in enumerate(zip(windows.tolist(), rng.integers(1, 51, count), strict=True))
    ]


def ask(queries, score, **changes):
    keys = {"time": "ts", "object": "number", "score": score, "queries": queries}
    return make_query({"kind": "top-k-workload", **keys, **changes})


@pytest.mark.parametrize(("count", "score"), [(10, "volume"), (100, "change"), (1000, "volume")])
def test_sampled_answers_equal_sorting_the_window(trades, count, score):
    asked = ask(workload(count), score)
    result = local.apply(trades, asked)
    times = np.asarray(trades["ts"].cast(pa.int64()))
    scores = np.asarray(trades[score]).astype(float)
    at = np.asarray(result["at"].cast(pa.int64()))
    label = pc.dictionary_encode(result["query"]).combine_chunks()
    names, labels = np.asarray(label.indices), label.dictionary.to_pylist()
    objects, ranks = np.asarray(result["object"]), np.asarray(result["rank"])
    seen = set()
    chosen = np.random.default_rng(1).choice(np.flatnonzero(ranks == 1), 150, replace=False)
    for first in chosen.tolist():
        query = asked.queries[int(labels[names[first]][1:])]
        inside = np.flatnonzero((times >= at[first] - query.window.length) & (times < at[first]))
        best = inside[np.lexsort((inside, -scores[inside]))][: query.k]
        start, stop = np.searchsorted(at, [at[first], at[first] + 1])
        mine = start + np.flatnonzero(names[start:stop] == names[first])
        assert objects[mine][np.argsort(ranks[mine])].tolist() == best.tolist()
        seen.add(query.name)
    assert len(seen) > min(count, 50) // 2


def test_each_symbol_is_a_separate_stream(trades):
    queries = workload(20)
    grouped = local.apply(trades, ask(queries, "volume", by="symbol"))
    for symbol in pc.unique(trades["symbol"]).to_pylist():
        rows = trades.filter(pc.equal(trades["symbol"], symbol))
        alone = {tuple(row.values()) for row in local.apply(rows, ask(queries, "volume")).to_pylist()}
        part = grouped.filter(pc.equal(grouped["symbol"], symbol)).drop_columns("symbol")
        together = {tuple(row.values()) for row in part.to_pylist()}
        assert alone <= together
        last = pc.max(rows["ts"]).as_py()
        assert all(row[0] > last for row in together - alone)  # other symbols were traded later


@pytest.mark.parametrize("backend", ["mtoplist", "mtopband", "mintopk"])
def test_backends_agree_on_trades(trades, backend):
    asked = ask(workload(30), "change", by="symbol")
    part = trades.slice(0, 60_000)
    assert local.apply(part, asked, {"workload-ranker": backend}) == local.apply(part, asked)


def test_any_batches_give_the_same_rows(trades):
    asked = ask(workload(100), "volume", delay="1 second")
    run = local.LocalRun.start(asked, trades.schema)
    pieces = [run.push(batch) for batch in trades.combine_chunks().to_batches(max_chunksize=20_000)]
    pieces.append(run.finish())
    keys = [(name, "ascending") for name in ("at", "query", "rank")]
    whole = local.apply(trades, asked).sort_by(keys)
    assert pa.Table.from_batches(pieces).sort_by(keys).equals(whole)
    assert run.operator.take_metrics().rows_late == 0
