"""Real streams with top-k on the local engine: air quality, trades, a web log."""

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

POLLUTANTS = ["pm25", "pm10", "so2", "no2", "co", "o3"]
HOUR = 3_600_000_000


def data(name):
    folder = os.environ.get("SKYBAND_DATA")
    if not folder:
        pytest.skip("SKYBAND_DATA does not name the folder of real streams")
    return pq.read_table(Path(folder) / name)


def query(**keys):
    return make_query({"kind": "top-k", "time": "ts", "object": "object", "stream": "stream", "value": "value", **keys})


def by_moment(result):
    """at -> ([object], [score])"""
    found = {}
    at = np.asarray(result["at"].cast(pa.int64()))
    for moment, name, score in zip(at.tolist(), result["object"].to_pylist(), result["score"].to_pylist(), strict=True):
        names, scores = found.setdefault(moment, ([], []))
        names.append(name)
        scores.append(score)
    return found


def by_grouping(table, streams, every, k):
    """The k best sums of each tumbling window, by grouping: at -> scores."""
    at = np.asarray(table["ts"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())) // every * every + every
    known = table.append_column("at", pa.array(at)).filter(pc.is_valid(table["value"]))
    sums = known.filter(pc.is_in(known["stream"], pa.array(streams))).group_by(["at", "object"])
    best = {}
    rows = sums.aggregate([("value", "sum")])
    for moment, score in zip(rows["at"].to_pylist(), rows["value_sum"].to_pylist(), strict=True):
        best.setdefault(moment, []).append(score)
    return {moment: sorted(scores, reverse=True)[:k] for moment, scores in best.items()}


def same_scores(found, wanted):
    assert found.keys() == wanted.keys()
    for moment, (_, scores) in found.items():
        np.testing.assert_allclose(scores, wanted[moment], rtol=1e-9)


@pytest.mark.parametrize(("window", "hours"), [("1 hour", 1), ("24 hours", 24)])
def test_the_stations_with_the_worst_air_every_hour(window, hours):
    """One stream per pollutant, with missing readings, compared with sums over a grid of readings."""
    table = data("beijing_air_12stations.parquet").slice(0, 12 * 24 * 40)
    stations = sorted(set(table["station"].to_pylist()))
    times = np.asarray(table["ts"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()))
    start, steps = times.min(), (times.max() - times.min()) // HOUR + 1
    place = np.array([stations.index(name) for name in table["station"].to_pylist()])
    worst = max(pc.max(table[name]).as_py() for name in POLLUTANTS)
    grid, parts = np.zeros((len(POLLUTANTS), len(stations), steps)), []
    for number, name in enumerate(POLLUTANTS):
        values = pc.divide(table[name].cast(pa.float64()), worst)
        grid[number, place, (times - start) // HOUR] = values.fill_null(0.0).to_numpy()
        columns = {"ts": table["ts"], "object": table["station"], "stream": pa.array([name] * len(table))}
        parts.append(pa.table({**columns, "value": values}))
    scores = np.zeros((len(stations), steps))
    for number in range(len(POLLUTANTS)):
        total = np.zeros_like(scores)
        for back in range(hours):
            total[:, back:] += grid[number, :, : steps - back]
        scores += total
    asked = query(streams=POLLUTANTS, k=3, window=window, every="1 hour", repeats=hours)
    result = by_moment(local.apply(pa.concat_tables(parts), asked))
    assert len(result) == steps
    for moment, (names, found) in result.items():
        step = (moment - start) // HOUR - 1
        assert found == sorted(scores[:, step], reverse=True)[:3]
        assert [scores[stations.index(name), step] for name in names] == found


def test_the_busiest_price_levels_of_the_trades():
    """One stream per exchange; an object is a symbol and price level, and its value the share volume."""
    table = data("trades_20131008_4sym.parquet").slice(0, 60_000)
    level = pc.binary_join_element_wise(table["symbol"], pc.round(table["price"], 1).cast(pa.string()), "@")
    volume = table["volume"].cast(pa.float64())
    exchanges = sorted(set(table["exchange"].to_pylist()))
    trades = pa.table({"ts": table["ts"], "object": level, "stream": table["exchange"], "value": volume})
    minutes = 5
    keys = {"streams": exchanges, "k": 10, "window": f"{minutes} minutes", "every": f"{minutes} minutes"}
    asked = query(**keys, upper=pc.max(volume).as_py(), repeats=10_000)
    result = by_moment(local.apply(trades, asked))
    same_scores(result, by_grouping(trades, exchanges, minutes * HOUR // 60, 10))


@pytest.mark.parametrize("backend", ["eaa", "sla"])
def test_the_clients_that_download_most(backend):
    """One stream per URL; missing sizes are dropped and counted."""
    log = data("worldcup98_day6_sample.parquet").slice(100_000, 20_000)
    stream = pc.bit_wise_and(log["object_id"].cast(pa.int64()), 3)
    table = pa.table({"ts": log["ts"], "object": log["client_id"], "stream": stream, "value": log["size"]})
    top = float(pc.max(log["size"]).as_py())
    keys = {"streams": [0, 1, 2, 3], "k": 20, "window": "5 minutes", "every": "5 minutes"}
    run = local.LocalRun.start(query(**keys, upper=top, repeats=5000), table.schema, {"object-ranker": backend})
    for batch in table.to_batches():
        run.add(batch)
    result = by_moment(pa.Table.from_batches([run.finish()]))
    assert run.operator.take_metrics().dropped == {"null value": log["size"].null_count}
    same_scores(result, by_grouping(table, [0, 1, 2, 3], 5 * HOUR // 60, 20))
