"""Distinct clients and pages of a real web log: every engine agrees, and the exact sketch agrees with Spark SQL."""

import os
from datetime import timedelta
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as sql
from skyband import spark
from skyband.engines import local
from skyband.queries import make_query

pytestmark = [pytest.mark.spark, pytest.mark.realdata]

ROWS_A_FILE = 10_000
SOME_HOURS, DAY = 3, 24


@pytest.fixture(scope="module")
def log():
    """A part of the day's requests, in time order."""
    folder = os.environ.get("SKYBAND_DATA")
    if not folder:
        pytest.skip("SKYBAND_DATA does not name the folder of real streams")
    return pq.read_table(Path(folder) / "worldcup98_day6_sample.parquet")


def requests(log, hours):
    """The requests of some hours in the middle of the day, or of the whole day."""
    start = log["ts"][0].as_py() + (timedelta(hours=12) if hours < DAY else timedelta(0))
    return log.filter((pc.field("ts") >= start) & (pc.field("ts") < start + timedelta(hours=hours)))


def query(item, by):
    keys = {"time": "ts", "item": item, "by": by, "windows": ["10 minutes", "1 hour"], "every": "1 minute"}
    return make_query({"kind": "distinct-count", **keys})


def keyed(rows, by):
    return {(*(row[name] for name in by), str(row["at"])[:19], row["window"]): row["count"] for row in rows}


def by_sql(frame, item, by):
    """(group…, end of window, length) -> count(distinct), as a Spark user would ask for it."""
    found = {}
    for length in ("10 minutes", "1 hour"):
        window = sql.window("ts", length, "1 minute")
        counted = frame.groupBy(*by, window).agg(sql.count_distinct(item).alias("count"))
        ended = counted.withColumn("at", sql.col("window.end")).withColumn("window", sql.lit(length))
        found.update(keyed(ended.collect(), by))
    return found


@pytest.mark.parametrize("hours", [SOME_HOURS, pytest.param(DAY, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("item", "by"), [pytest.param("client_id", [], marks=pytest.mark.slow), ("url", ["status"])])
def test_exact_counts_equal_count_distinct(session, files, stream, log, item, by, hours):
    table = requests(log, hours)
    folder = files(table, -(-len(table) // ROWS_A_FILE))
    frame = session.read.parquet(folder)
    asked = query(item, by)
    answers = keyed(local.apply(table, asked, {"sketch": "exact"}).to_pylist(), by)
    expected = by_sql(frame, item, by)
    last = max(at for *_, at, _ in answers)
    # Spark's windows go on until the hour after the last row is over; ours end with the first moment after it. A
    # window without a row has no line in SQL, and a zero in ours while the longest still holds one.
    assert {key: count for key, count in answers.items() if count} == {
        key: count for key, count in expected.items() if key[-2] <= last
    }
    assert keyed(spark.apply(frame, asked, {"sketch": "exact"}).collect(), by) == answers
    streamed, _ = stream(folder, asked, {"sketch": "exact"})
    reached = str(table["ts"][-1].as_py())[:19]
    assert keyed(streamed, by) == {key: count for key, count in answers.items() if key[-2] <= reached}


def test_the_default_sketch_gives_the_same_rows_on_every_engine(session, files, stream, log):
    table = requests(log, SOME_HOURS)
    folder = files(table, -(-len(table) // ROWS_A_FILE))
    asked = query("client_id", ["status"])
    answers = keyed(local.apply(table, asked).to_pylist(), ["status"])
    assert keyed(spark.apply(session.read.parquet(folder), asked).collect(), ["status"]) == answers
    streamed, _ = stream(folder, asked)
    reached = str(table["ts"][-1].as_py())[:19]
    assert keyed(streamed, ["status"]) == {key: count for key, count in answers.items() if key[-2] <= reached}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "total"),
    [
        ({"total": "rows"}, "count(*)"),
        ({"total": "sum", "weight": "size"}, "sum(size)"),
        ({"total": "distinct", "value": "client_id"}, "count(distinct client_id)"),
    ],
    ids=["requests", "bytes", "clients"],
)
def test_the_busiest_pages_are_those_of_spark_sql(session, files, log, keys, total):
    """By status, in batch: the totals of each rank, and that they are the pages' own; equal ones rank by a hash."""
    table = requests(log, SOME_HOURS)
    table = table.filter(pc.and_(pc.is_valid(table["size"]), pc.is_valid(table["status"])))
    frame = session.read.parquet(files(table, 4))
    asked = {"kind": "heavy-hitters", "time": "ts", "by": ["status"], "object": "url", "k": 10, **keys}
    asked |= {"windows": ["10 minutes"], "every": "5 minutes"}
    found = {}
    for row in sorted(spark.apply(frame, asked).collect(), key=lambda row: row["rank"]):
        found.setdefault((row["status"], str(row["at"])[:19]), []).append((row["object"], row["total"]))
    window = sql.window("ts", "10 minutes", "5 minutes")
    counted = frame.groupBy("status", window, "url").agg(sql.expr(total).alias("total")).filter("total > 0")
    expected = {}
    for row in counted.collect():
        expected.setdefault((row["status"], str(row["window"]["end"])[:19]), {})[row["url"]] = row["total"]
    last = max(at for _, at in found)
    expected = {key: totals for key, totals in expected.items() if key[1] <= last}
    assert found.keys() == expected.keys()
    assert len(found) > 50
    for key, totals in expected.items():
        assert [total for _, total in found[key]] == sorted(totals.values(), reverse=True)[:10]
        assert all(totals[url] == total for url, total in found[key])
