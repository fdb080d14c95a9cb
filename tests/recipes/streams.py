"""Real streams under the names and columns of the page of sixteen questions: its jobs run on them as they are."""

import os
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

STREAMS = {
    "requests": (
        "worldcup98_day6_sample.parquet",
        "ts, client_id as client, url, status, size as bytes",
        {"short": "ts < '1998-05-01 12:00:00+00'", "long": "true"},
    ),
    "trades": (
        "trades_20131008_4sym.parquet",
        "ts, row_number() over () as trade, symbol, exchange, price, volume",
        {"short": "ts < '2013-10-08 16:00:00+00'", "long": "true"},
    ),
    "air": (
        "beijing_air_12stations.parquet",
        "ts, station, pm25, temp as degrees",
        {"short": "ts between '2013-11-01 00:00:00+00' and '2014-01-31 00:00:00+00'", "long": "true"},
    ),
    "readings": (
        "beijing_air_12stations.parquet",
        """
        ts, row_number() over () as reading, station,
        [pm25 - 3, pm25, pm25 + 3]::double[] as dust, [temp - 1, temp, temp + 1]::double[] as degrees,
        [0.25, 0.5, if(hour(ts) % 3 = 0, 0.125, 0.25)]::double[] as chances
        """,
        {
            "short": "pm25 + temp is not null and station in ('Dongsi', 'Tiantan', 'Wanliu') and ts < '2013-05-01'",
            "long": "pm25 + temp is not null and ts < '2013-07-01'",
        },
    ),
    "questions": (
        "tags_ask_ubuntu.parquet",
        "make_timestamp(t_ms * 1000)::timestamptz as ts, post_id as question, tags",
        {"short": "make_timestamp(t_ms * 1000) > '1978-06-01'", "long": "make_timestamp(t_ms * 1000) > '1977-01-01'"},
    ),
    "tags": (
        "tags_ask_ubuntu.parquet",
        "make_timestamp(t_ms * 1000)::timestamptz as ts, post_id as question, unnest(tags) as tag",
        {"short": "make_timestamp(t_ms * 1000) >= '1976-01-01'", "long": "true"},
    ),
}
"""The page's file: the real one, the page's columns as SQL, and the rows of a short and of a long run.

A reading is what a sensor within 3 of the truth may have seen, and perhaps a mistake.
"""


def write_streams(folder: Path, length: str, parts: int = 1):
    """The page's files in a folder; a connection of DuckDB with a table of each, `us` its time in microseconds.

    `parts`: how many files each of them is split into, in the order of time, in a folder of its name.
    """
    data = os.environ.get("SKYBAND_DATA")
    if not data:
        pytest.skip("SKYBAND_DATA does not name the folder of real streams")
    database = duckdb.connect()
    database.sql("set TimeZone = 'UTC'")
    for name, (file, columns, rows) in STREAMS.items():
        target = folder / f"{name}.parquet"
        chosen = f"select {columns} from '{Path(data) / file}' where {rows[length]}"
        database.sql(f"copy ({chosen}) to '{target}' (format parquet)")
        database.sql(f"create table {name} as select *, epoch_us(ts) as us from '{target}'")
        if parts > 1:
            split(target, parts)
    return database


def split(path: Path, parts: int) -> None:
    """Makes a file a folder of several files, which streams read in this order."""
    table = pq.read_table(path)
    path.unlink()
    path.mkdir()
    size = -(-len(table) // parts)
    for number in range(parts):
        part = path / f"{number}.parquet"
        pq.write_table(table.slice(number * size, size), part)
        os.utime(part, (1_000_000_000 + number,) * 2)
