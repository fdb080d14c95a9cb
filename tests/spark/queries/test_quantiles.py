"""States of quantiles in SQL and on columns: the answers of Python, also merged by Spark."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from families import events, family
from skyband import spark, states
from skyband.engines import local
from skyband_spark import states as spark_states

from ..conftest import rows_of
from ..streams.test_savepoints import Jobs

pytestmark = pytest.mark.spark
START = 1_760_000_400_000_000
QUERY = {"kind": "quantiles", "time": "ts", "value": "millis", "every": "15 minutes", "by": "place", "emit": "state"}
QUERY |= {"windows": ["1 hour"], "above": [400]}
RNG = np.random.default_rng(5)
TABLE = pa.table(
    {
        "ts": pa.array(np.sort(RNG.integers(0, 7_200_000_000, 9_000)) + START, pa.timestamp("us", "UTC")),
        "millis": np.exp(RNG.normal(3.6, 1.2, 9_000)).round(1),
        "place": RNG.choice(["search", "cart"], 9_000),
    }
)


def test_any_quantile_and_share_in_sql_and_on_columns(session):
    expected = local.apply(TABLE, QUERY)
    made = session.createDataFrame(TABLE.to_pandas()).transform(spark.apply, QUERY).cache()
    order = [("at", "ascending"), ("place", "ascending")]
    assert made.toArrow().select(expected.column_names).sort_by(order).equals(expected.sort_by(order))
    united = made.groupBy("at").agg(spark_states.union("state").alias("state")).orderBy("at")
    asked = united.select(
        "at",
        spark_states.quantiles("state", last="37 minutes", q=[0.5, 0.99], above=[400]).alias("all"),
        spark_states.share_above("state", above=400).alias("share"),
    ).collect()
    for row in asked:
        at = row["at"].timestamp()
        blobs = [each["state"] for each in expected.to_pylist() if each["at"].timestamp() == at]
        whole = states.union(blobs)
        answers = states.quantiles(whole, last="37 minutes", q=[0.5, 0.99], above=[400]).to_pylist()
        assert [entry.asDict() for entry in row["all"]] == answers
        assert tuple(row["share"]) == states.share_above(whole, above=400)
    spark_states.register(session)
    united.createOrReplaceTempView("latencies")
    (one,) = session.sql(
        "SELECT skyband_quantile(state, '37 minutes', 0.07) AS few, skyband_quantile(state, at) AS none, "
        "skyband_quantiles(state, null, array(0.5, 0.99)) AS two, skyband_share_above(state, null, 400) AS share "
        "FROM latencies ORDER BY at DESC LIMIT 1"
    ).collect()
    assert tuple(one["few"]) == states.quantile(whole, last="37 minutes", q=0.07)
    assert tuple(one["none"]) == (None, None, None, 0)
    assert [(entry["quantile"], entry["above"]) for entry in one["two"]] == [(0.5, None), (0.99, None)]
    assert one["share"] == asked[-1]["share"]
    made.unpersist()


OTHERWISE = {"at": [0.99, 0.25], "above": [0.7, 0.05], "windows": ["1 minute", "15 seconds"]}


def after(table, at):
    """Rows of the answers after a moment."""
    kept = table.filter(pc.greater(table["at"], at))
    return rows_of(kept.to_pylist(), kept.column_names)


def test_a_stream_continues_with_other_questions_and_shards(session, files, tmp_path):
    """Of groups both small and grown."""
    table = events(7, rows=7_200, span=240)
    first, second = table.slice(0, 4_000), table.slice(4_000)
    jobs = Jobs(tmp_path, "quantiles")
    one, two = jobs.write("one", 1), jobs.write("two", 3, **OTHERWISE)
    files(first, 1)
    jobs.call("run", one)
    assert jobs.rows(session, "one") == jobs.expected(first)
    jobs.call("savepoint", one, tmp_path / "saved")
    files(second, 1)
    jobs.call("run", two, "--from", tmp_path / "saved")
    expected = after(Jobs(tmp_path, "quantiles", **OTHERWISE).asked(table), pc.max(jobs.asked(first)["at"]))
    assert jobs.rows(session, "two") == expected and expected


@pytest.mark.slow
def test_a_stream_starts_with_a_table_of_states_and_other_questions(session, files, tmp_path):
    table = events(7, rows=7_200, span=240)
    jobs = Jobs(tmp_path, "quantiles", **OTHERWISE)
    states_of = local.apply(table, family("quantiles", by=["place"], emit="state"))
    pq.write_table(states_of, tmp_path / "states.parquet")
    moments = sorted(set(states_of["at"].to_pylist()))
    at = moments[len(moments) // 2]
    files(table, 1)
    job, saved = jobs.write("one", 1), tmp_path / "saved"
    jobs.call("savepoint", job, saved, "--states", tmp_path / "states.parquet", "--at", at.isoformat())
    jobs.call("run", job, "--from", saved)
    expected = after(jobs.asked(table), pa.scalar(at, states_of.schema.field("at").type))
    assert jobs.rows(session, "one") == expected and expected
