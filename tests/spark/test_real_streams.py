"""Real streams of every family: Spark batch and streaming have the rows of the local engine."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Window
from pyspark.sql import functions as sql
from skyband.queries import make_query

pytestmark = [pytest.mark.spark, pytest.mark.realdata]


def data(name: str) -> pa.Table:
    folder = os.environ.get("SKYBAND_DATA")
    if not folder or not (Path(folder) / name).exists():
        pytest.skip(f"needs {name} in the folder named by SKYBAND_DATA")
    return pq.read_table(Path(folder) / name)


def query(kind, **keys):
    return make_query({"kind": kind, "time": "ts", **keys})


def trades() -> pa.Table:
    """A part of the trades, numbered, each with its symbol and price level."""
    table = data("trades_20131008_4sym.parquet").slice(0, 30_000)
    level = pc.binary_join_element_wise(table["symbol"], pc.round(table["price"], 1).cast(pa.string()), "@")
    columns = {"number": pa.array(np.arange(len(table))), "level": level}
    volume = table["volume"].cast(pa.float64())
    return pa.table({"ts": table["ts"], "exchange": table["exchange"], "volume": volume, **columns})


@pytest.mark.slow
def test_busiest_price_levels_each_exchange_a_stream(agree):
    table = trades()
    exchanges = sorted(set(table["exchange"].to_pylist()))
    keys = {"object": "level", "stream": "exchange", "value": "volume", "streams": exchanges, "k": 10}
    windows = {"window": "5 minutes", "every": "1 minute", "repeats": 100_000, "upper": pc.max(table["volume"]).as_py()}
    assert len(agree(table, query("top-k", **keys, **windows), count=3, shards=2))


@pytest.mark.slow
def test_worst_air_every_hour(agree):
    air = data("beijing_air_12stations.parquet").slice(0, 12 * 24 * 20)
    pollutants = ["pm25", "pm10", "no2", "o3"]
    parts = [
        pa.table(
            {"ts": air["ts"], "station": air["station"], "what": [name] * len(air), "value": air[name].cast("float64")}
        )
        for name in pollutants
    ]
    table = pa.concat_tables(parts).sort_by("ts")
    keys = {"object": "station", "stream": "what", "value": "value", "streams": pollutants, "upper": 10_000.0}
    asked = query("top-k", **keys, k=3, window="6 hours", every="1 hour", repeats=6, aggregate="max")
    assert len(agree(table, asked, count=4)) == 3 * 20 * 24


@pytest.mark.slow
def test_clients_by_bytes_with_streams_by_page(agree):
    log = data("worldcup98_day6_sample.parquet").slice(100_000, 8_000)
    page = pc.bit_wise_and(log["object_id"].cast(pa.int64()), 3)
    table = pa.table({"ts": log["ts"], "client": log["client_id"], "page": page, "size": log["size"]})
    keys = {"object": "client", "stream": "page", "value": "size", "streams": [0, 1, 2, 3], "upper": 1e9}
    asked = query("top-k", **keys, k=10, window="10 minutes", every="1 minute", repeats=10_000)
    assert len(agree(table, asked, count=3))


def test_largest_trades_of_many_windows_equal_spark_sql(session, agree):
    table = trades()
    lengths = [(1, 1, 5), (5, 1, 3), (15, 5, 20)]
    queries = [
        {"name": f"{window} by {slide}", "window": f"{window} minutes", "slide": f"{slide} minutes", "k": k}
        for window, slide, k in lengths
    ]
    asked = query("top-k-workload", object="number", score="volume", queries=queries)
    answers = agree(table, asked, count=3, shards=2)
    frame = session.createDataFrame(table.select(["ts", "number", "volume"]).to_pandas())
    for (window, slide, k), name in zip(lengths, [entry["name"] for entry in queries], strict=True):
        placed = frame.withColumn("at", sql.window("ts", f"{window} minutes", f"{slide} minutes")["end"])
        best = Window.partitionBy("at").orderBy(sql.desc("volume"), "number")
        ranked = placed.withColumn("rank", sql.row_number().over(best)).where(sql.col("rank") <= k)
        mine = answers.filter(pc.equal(answers["query"], name))
        last = max(mine["at"].to_pylist()).replace(tzinfo=None)
        wanted = {(row["at"], row["rank"], row["number"]) for row in ranked.collect() if row["at"] <= last}
        found = zip(mine["at"].to_pylist(), mine["rank"].to_pylist(), mine["object"].to_pylist(), strict=True)
        assert {(at.replace(tzinfo=None), rank, number) for at, rank, number in found} == wanted


PAIRS = {"id": "id", "tokens": "tokens", "k": 10}


@pytest.mark.slow
def test_similar_questions(agree):
    tags = data("tags_ask_ubuntu.parquet").slice(0, 3_000)
    asked = pc.cast(tags["t_ms"], pa.timestamp("ms", "UTC"))
    table = pa.table({"ts": asked, "id": tags["post_id"], "tokens": tags["tags"]})
    assert len(agree(table, query("top-k-pairs", **PAIRS, window="1 day", every="6 hours"), 3))


@pytest.mark.slow
def test_similar_records(agree):
    records = data("dblp_mdate.parquet")
    text = pc.binary_join_element_wise(pc.binary_join(records["authors"], " "), records["title"], " ")
    words = pc.split_pattern_regex(pc.utf8_lower(text), r"[^\p{L}\p{N}]+")
    table = pa.table({"ts": records["mdate"], "id": records["key"], "tokens": words})
    assert len(agree(table, query("top-k-pairs", **PAIRS, similarity="dice", window="90 days", every="7 days"), 3))


def test_similar_baskets_by_sequence(agree):
    retail = data("fimi_retail.parquet").slice(0, 10_000)
    table = pa.table({"ts": retail["seq"], "id": retail["seq"], "tokens": retail["items"]})
    windows = {"window": "2000 rows", "every": "500 rows"}
    assert len(agree(table, query("top-k-pairs", **PAIRS, similarity="cosine", **windows), 3)) == 10 * 20


@pytest.fixture
def readings() -> pa.Table:
    """What a sensor within 3 of the truth may have read at two stations, three samples a reading."""
    air = data("beijing_air_12stations.parquet").slice(0, 12 * 24 * 20)
    air = air.filter(pc.field("pm25").is_valid() & pc.field("station").isin(["Dongsi", "Tiantan"]))
    samples = np.asarray(air["pm25"].cast("float64"))[:, None] + np.array([-3.0, 0.0, 3.0])
    return pa.table(
        {
            "ts": air["ts"],
            "id": np.arange(len(air)),
            "side": np.where(np.asarray(air["station"]) == "Dongsi", "left", "right"),
            "values": list(samples),
            "probabilities": [[0.25, 0.5, 0.2]] * len(air),
        }
    )


SAMPLES = {"values": "values", "probabilities": "probabilities", "size": 24, "alpha": 0.9}


@pytest.mark.slow
def test_stations_with_similar_readings(agree, readings):
    joined = query("uncertain-join", **SAMPLES, side="side", id="id", epsilon=2.0, beta=0.3)
    assert len(agree(readings, joined, count=3)) > 10


@pytest.mark.slow
def test_sums_of_the_last_day_at_each_station(agree, readings):
    assert len(agree(readings, query("uncertain-sum", **SAMPLES, by=["side"]), count=3)) == len(readings)
