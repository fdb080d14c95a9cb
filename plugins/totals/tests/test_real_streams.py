"""A web log and trades: answers equal those of DuckDB, and the bounds of other backends hold."""

import os
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from skyband.columns.hashing import hash_column
from skyband.engines import local

pytestmark = pytest.mark.realdata

SECOND = 1_000_000
WINDOWS = {"10 minutes": 600, "1 hour": 3600, "6 hours": 21_600}
STEP = 3600
"""The seconds between compared moments; answers are due every minute."""
TOTALS = {
    "urls by requests": ("url", {}, "count(*)"),
    "clients by requests": ("client_id", {}, "count(*)"),
    "urls by bytes": ("url", {"total": "sum", "weight": "size"}, "sum(size)"),
    "clients by bytes": ("client_id", {"total": "sum", "weight": "size"}, "sum(size)"),
    "clients by urls": ("client_id", {"total": "distinct", "value": "url"}, "count(distinct url)"),
    "urls by clients": ("url", {"total": "distinct", "value": "client_id"}, "count(distinct client_id)"),
}


def data(name):
    folder = os.environ.get("SKYBAND_DATA")
    if not folder:
        pytest.skip("SKYBAND_DATA does not name the folder of real streams")
    return pq.read_table(Path(folder) / name)


@pytest.fixture(scope="module")
def log():
    """A day of requests; those of unknown size are left out."""
    table = data("worldcup98_day6_sample.parquet")
    return table.filter(pc.and_(pc.is_valid(table["size"]), pc.is_valid(table["status"])))


@pytest.fixture(scope="module")
def trades():
    return data("trades_20131008_4sym.parquet")


def ask(table, name, backend="exact", **keys):
    query = {
        "kind": "heavy-hitters",
        "time": "ts",
        "object": name,
        "windows": list(WINDOWS),
        "every": "1 minute",
        **keys,
    }
    return local.apply(table, {"k": 10, **query}, {"total-ranker": backend})


def by_duckdb(table, name, total, by=None, k=10):
    """{(group, moment in seconds, window, rank, object, total, share)} at every STEP, counted row by row."""
    group = by or "0"
    ids = table[name].combine_chunks()
    place = ids if pa.types.is_integer(ids.type) else pa.array(hash_column(ids).view(np.int64))
    rows = table.append_column("place", place).append_column("instant", pc.cast(table["ts"], pa.int64()))
    first, last = (rows["instant"][row].as_py() // SECOND for row in (0, -1))
    moments = pa.table({"moment": np.arange(first // STEP + 1, (last + 60) // STEP + 1) * STEP})
    lengths = pa.table({"label": list(WINDOWS), "length": list(WINDOWS.values())})
    database = duckdb.connect()
    for label, columns in (("rows", rows), ("moments", moments), ("lengths", lengths)):
        database.register(label, columns)
    found = database.sql(
        f"""
        with totals as (
            select {group} as part, moment, label, {name} as object, any_value(place) as place, {total} as total
            from moments, lengths, rows
            where instant < moment * {SECOND} and instant >= (moment - length) * {SECOND} group by all)
        select part, moment, label, row_number() over ranked as rank, object, total,
            total / sum(total) over (partition by part, moment, label) as share
        from totals where total > 0
        window ranked as (partition by part, moment, label order by total desc, place)
        qualify rank <= {k}
        """
    ).fetchall()
    return {(*row[:5], float(row[5]), round(row[6], 12)) for row in found}


def compared(answers, by=None):
    """The answers at the compared moments, in the form of `by_duckdb`."""
    assert answers["low"].equals(answers["total"])
    assert answers["high"].equals(answers["total"])
    seconds = pc.divide(pc.cast(answers["at"], pa.int64()), SECOND)
    chosen = answers.append_column("moment", seconds).filter(pa.array(np.asarray(seconds) % STEP == 0)).to_pylist()
    names = ("moment", "window", "rank", "object", "total")
    return {(row[by] if by else 0, *(row[name] for name in names), round(row["share"], 12)) for row in chosen}


@pytest.mark.parametrize("asked", TOTALS)
def test_the_busiest_clients_of_a_web_log(log, asked):
    name, keys, total = TOTALS[asked]
    expected = by_duckdb(log, name, total)
    assert len(expected) > 24 * 3 * 9
    assert compared(ask(log, name, **keys)) == expected


def test_the_busiest_urls_of_each_status(log):
    assert compared(ask(log, "url", by="status"), "status") == by_duckdb(log, "url", "count(*)", "status")


def test_symbols_and_price_levels_by_volume(trades):
    volume = {"total": "sum", "weight": "volume"}
    assert compared(ask(trades, "symbol", **volume)) == by_duckdb(trades, "symbol", "sum(volume)")
    levels = ask(trades, "price", by="symbol", **volume)
    assert compared(levels, "symbol") == by_duckdb(trades, "price", "sum(volume)", "symbol")


@pytest.mark.parametrize("backend", ["misra-gries", "k-skb"])
@pytest.mark.parametrize("asked", ["clients by requests", "clients by bytes"])
def test_bounds_contain_the_exact_totals(log, asked, backend):
    name, keys, _ = TOTALS[asked]
    exact, bounded = (ask(log, name, way, **keys, every="1 hour", k=k) for way, k in (("exact", 10**6), (backend, 10)))
    totals = dict(zip(answered(exact), exact["total"].to_pylist(), strict=True))
    rows = zip(answered(bounded), bounded["low"].to_pylist(), bounded["high"].to_pylist(), strict=True)
    outside = sum(not low <= totals[key] <= high for key, low, high in rows)
    assert len(bounded) > 24 * 3 * 9
    assert outside <= (0 if backend == "misra-gries" else 0.1 * len(bounded))


def answered(answers):
    """The key of an answer's row."""
    return list(zip(*(answers[name].to_pylist() for name in ("at", "window", "object")), strict=True))
