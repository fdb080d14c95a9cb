"""distinct-count gives the same rows on every engine, whatever the micro-batches, shards and order within the delay."""

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import Observation
from skyband import spark
from skyband.engines import local
from skyband.errors import ConfigError, EngineError
from skyband.queries import make_query

pytestmark = pytest.mark.spark

SECOND = 1_000_000
DELAY = 20


def visits(seed: int, rows: int = 3000, span: int = 600) -> pa.Table:
    """Visits to three places, out of order by less than the delay, with a silence and some null visitors."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, span, rows))
    seconds = np.where(seconds > span // 2, seconds + 3000, seconds) - 200
    arrival = np.argsort(seconds + rng.uniform(0, DELAY, rows))
    who = [None if i == 0 else f"visitor {i}" for i in rng.integers(0, 90, rows).tolist()]
    table = pa.table(
        {
            "ts": pa.array(seconds * SECOND + rng.integers(0, 2, rows), pa.timestamp("us", "UTC")),
            "who": pa.array(who),
            "place": pa.array([["a", "b", None][i] for i in rng.integers(0, 3, rows)]),
            "unused": pa.array(np.zeros(rows)),
        }
    )
    return table.take(pa.array(arrival))


def query(**changes):
    keys = {"time": "ts", "item": "who", "windows": ["30 seconds", "2 minutes"], "every": "15 seconds"}
    return make_query({"kind": "distinct-count", **keys, "delay": f"{DELAY} seconds", **changes})


def rows_of(rows, columns):
    """Rows as sortable text; Spark returns instants without a zone, in UTC here."""
    return sorted(tuple(str(row[name]).removesuffix("+00:00") for name in columns) for row in rows)


def reached(rows, until):
    """The answers of moments at most `until`, which is as far as a stream's watermark has come."""
    return [row for row in rows if row["at"] <= until]


@pytest.mark.parametrize(("by", "shards"), [([], 1), ([], 3), (["place"], 2)])
def test_batch_equals_local(session, files, by, shards):
    table = visits(1)
    folder = files(table, 4)
    observation = Observation()
    expected = local.apply(table, query(by=by), {"sketch": "exact"})
    frame = session.read.parquet(folder)
    got = spark.apply(frame, query(by=by), {"sketch": "exact"}, shards=shards, observe=observation)
    assert rows_of(got.collect(), expected.column_names) == rows_of(expected.to_pylist(), expected.column_names)
    assert observation.get["rows_in"] == len(table)
    assert observation.get["rows_null_item"] == table["who"].null_count


@pytest.mark.parametrize(
    ("by", "shards", "backend"),
    [pytest.param([], 1, "pcsa-ml", marks=pytest.mark.slow), ([], 2, "exact"), (["place"], 3, "k-skb")],
)
def test_stream_equals_local_up_to_its_watermark(stream, files, by, shards, backend):
    table = visits(2)
    expected = local.apply(table, query(by=by), {"sketch": backend})
    last = max(row.as_py() for row in table["ts"])
    got, progress = stream(files(table, 4), query(by=by), {"sketch": backend}, shards)
    assert sum(entry.observedMetrics["skyband"]["rows_late"] for entry in progress) == 0
    wanted = reached(expected.to_pylist(), last - np.timedelta64(DELAY, "s").astype(object))
    assert rows_of(got, expected.column_names) == rows_of(wanted, expected.column_names)
    assert wanted


def test_a_stopped_stream_resumes_from_its_checkpoint(stream, files):
    table = visits(3)
    undisturbed, _ = stream(files(table, 4, "whole"), query(by=["place"]), checkpoint="undisturbed")
    folder = files(table.slice(0, 1500), 2, "part")
    stream(folder, query(by=["place"]), checkpoint="resumed")
    files(table.slice(1500), 2, "part")
    resumed, _ = stream(folder, query(by=["place"]), checkpoint="resumed")
    assert rows_of(resumed, undisturbed[0].asDict()) == rows_of(undisturbed, undisturbed[0].asDict())


def test_late_rows_are_dropped_and_counted(stream, files):
    table = visits(4, rows=400)
    late = table.slice(0, 5).set_column(0, "ts", pa.array([-10_000 * SECOND] * 5, pa.timestamp("us", "UTC")))
    on_time, _ = stream(files(table, 2, "on time"), query(), {"sketch": "exact"}, checkpoint="first")
    got, progress = stream(
        files(pa.concat_tables([table, late]), 3, "late"), query(), {"sketch": "exact"}, checkpoint="second"
    )
    counted = sum(entry.observedMetrics["skyband"]["rows_late"] for entry in progress)
    assert counted == 5 - late["who"].null_count
    assert {*rows_of(on_time, ["at", "window", "count"])} <= {*rows_of(got, ["at", "window", "count"])}


def test_a_changed_job_is_refused_on_an_old_checkpoint(stream, files):
    folder = files(visits(5, rows=200), 2)
    stream(folder, query(), {"sketch": "exact"})
    files(visits(6, rows=200), 1)
    with pytest.raises(Exception, match=r"backends.sketch was .*exact.*, is .*pcsa-ml.*new checkpoint"):
        stream(folder, query(), {"sketch": "pcsa-ml"})
    with pytest.raises(Exception, match="shards = 1, this job has 2"):
        stream(folder, query(), {"sketch": "exact"}, shards=2)


def test_wrong_calls_are_refused_before_anything_runs(session, files):
    frame = session.read.parquet(files(visits(7, rows=20), 1))
    with pytest.raises(ConfigError, match=r"query.item: the source has no column 'hwo'; did you mean 'who'\?"):
        spark.apply(frame, query(item="hwo"))
    with pytest.raises(ConfigError, match="row windows need one order"):
        spark.apply(frame, query(windows=["10 rows"], every="5 rows"), shards=2)
    with pytest.raises(ConfigError, match="shards: must be a whole number"):
        spark.apply(frame, query(), shards=0)


def test_a_column_may_have_any_name(session):
    frame = session.sql("SELECT TIMESTAMP'2026-06-20 09:00:00' AS `a.b`, 'x' AS `the ``who``?`")
    found = spark.apply(frame, query(time="a.b", item="the `who`?", by="the `who`?")).collect()
    assert {row["count"] for row in found} == {1.0}
    assert {row["the `who`?"] for row in found} == {"x"}


def test_a_stream_needs_the_rocksdb_store(session, files):
    folder = files(visits(8, rows=20), 1)
    key = "spark.sql.streaming.stateStore.providerClass"
    source = session.readStream.schema(session.read.parquet(folder).schema).parquet(folder)
    session.conf.set(key, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with pytest.raises(EngineError, match=r"RocksDB store: create the session with skyband\.spark\.session"):
            spark.apply(source, query())
    finally:
        session.conf.set(key, spark.ROCKSDB)


def test_the_backend_can_come_from_a_spark_setting(session, files):
    table = visits(9, rows=300)
    frame = session.read.parquet(files(table, 2))
    session.conf.set("spark.skyband.backends.sketch", "exact")
    try:
        got = spark.apply(frame, query()).collect()
    finally:
        session.conf.unset("spark.skyband.backends.sketch")
    assert all(row["low"] == row["count"] == row["high"] for row in got)


@pytest.mark.parametrize("limits", [{"memory": "100 MB"}, "auto"])
def test_a_batch_takes_limits_and_a_stream_says_where_to_get_a_name(session, files, limits):
    table = visits(10, rows=300)
    folder = files(table.rename_columns(["ts", "the `who`?", "place", "unused"]), 2)
    frame, asked = session.read.parquet(folder), query(item="the `who`?")
    got = spark.apply(frame, asked, {"sketch": limits}).collect()
    assert all(row["low"] == row["count"] == row["high"] for row in got)
    expected = local.apply(table, query(), {"sketch": "exact"})
    assert rows_of(got, expected.column_names) == rows_of(expected.to_pylist(), expected.column_names)
    stream = session.readStream.schema(frame.schema).parquet(folder)
    with pytest.raises(
        ConfigError, match=r"backends\.sketch: cannot be chosen by limits here: .*choose_backends\(rows"
    ):
        spark.apply(stream, asked, {"sketch": limits})


def test_limits_in_a_setting_of_spark_and_limits_that_nothing_meets(session, files):
    frame = session.read.parquet(files(visits(11, rows=300), 2))
    session.conf.set("spark.skyband.backends.sketch", "auto")
    try:
        got = spark.apply(frame, query()).collect()
    finally:
        session.conf.unset("spark.skyband.backends.sketch")
    assert all(row["low"] == row["count"] == row["high"] for row in got)
    for limits, said in (
        ({"memory": "1 B"}, "no installed backend meets"),
        ({"eror": 0.1}, "did you mean 'error'"),
    ):
        with pytest.raises(ConfigError, match=said):
            spark.apply(frame, query(), {"sketch": limits})
    with pytest.raises(ConfigError, match="must be a mapping of roles to backends"):
        spark.apply(frame, query(), "auto")
    with pytest.raises(ConfigError, match="has no column 'whom'"):
        spark.apply(frame, query(item="whom"), {"sketch": "auto"})
