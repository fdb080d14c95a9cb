"""States on Spark: the same bytes as the local engine's, and functions on columns of them."""

import json

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyspark.sql import functions as sql
from skyband import spark, spark_states, states
from skyband.cli.commands import group
from skyband.engines import local

pytestmark = pytest.mark.spark

QUERY = {
    "kind": "distinct-count", "time": "ts", "item": "client", "windows": ["1 hour"], "every": "30 minutes",
    "by": "status", "emit": "state",
}  # fmt: skip


def visits(rows=20_000):
    rng = np.random.default_rng(0)
    times = np.sort(rng.integers(0, 3 * 3600 * 10**6, rows)) + 1_760_000_400_000_000
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "client": rng.integers(0, 5000, rows),
            "status": rng.choice(["200", "404"], rows),
        }
    )


TABLE = visits()
EXPECTED = local.apply(TABLE, QUERY)


def in_order(answers):
    return sorted((row["at"].isoformat()[:19], row["status"], row["state"]) for row in answers.to_pylist())


@pytest.fixture(scope="module")
def table(session):
    frame = session.createDataFrame(TABLE.to_pandas())
    made = frame.transform(spark.apply, QUERY, shards=2).cache()
    yield made
    made.unpersist()


def test_batch_gives_the_bytes_of_the_local_engine(table):
    assert in_order(table.toArrow()) == in_order(EXPECTED)


@pytest.mark.slow
def test_shards_of_one_group_make_one_state(session):
    whole = {**QUERY, "by": []}
    frame = session.createDataFrame(TABLE.to_pandas())
    found = frame.transform(spark.apply, whole, shards=3).toArrow().sort_by("at")["state"].to_pylist()
    expected = local.apply(TABLE, whole)["state"].to_pylist()
    assert [states.estimate(state, last="40 minutes") for state in found] == [
        states.estimate(state, last="40 minutes") for state in expected
    ]


def test_sql_and_dataframes_answer_as_python_does(session, table):
    table.createOrReplaceTempView("held")
    spark_states.register(session)
    said = session.sql(
        "SELECT at, skyband_estimate(skyband_union(state), '37 minutes') AS e FROM held GROUP BY at ORDER BY at"
    ).collect()
    united = table.groupBy("at").agg(spark_states.union("state").alias("u"))
    columns = [
        spark_states.estimate("u", last="37 minutes").alias("e"),
        spark_states.estimate("u", since=sql.col("at") - sql.expr("INTERVAL 37 MINUTES")).alias("s"),
        spark_states.describe("u")["backend"].alias("b"),
    ]
    rows = united.select("at", *columns).orderBy("at").collect()
    moments = sorted(set(EXPECTED["at"].to_pylist()))
    assert len(moments) == len(rows) == len(said)
    for at, row, one in zip(moments, rows, said, strict=True):
        expected = states.estimate(EXPECTED.filter(pa.compute.equal(EXPECTED["at"], at))["state"], last="37 minutes")
        assert tuple(row.e) == tuple(row.s) == tuple(one.e) == expected
        assert row.b == "sketch/pcsa-ml"


@pytest.mark.slow
def test_two_columns_of_states_are_laid_beside_each_other(table):
    left, right = (
        table.where(f"status = {status}").select("at", sql.col("state").alias(f"s{status}")) for status in (200, 404)
    )
    found = (
        left.join(right, "at")
        .select("at", spark_states.overlap("s200", "s404", last="30 minutes").alias("o"))
        .orderBy("at")
        .collect()
    )
    by_at = {}
    for row in EXPECTED.to_pylist():
        by_at.setdefault(row["at"], {})[row["status"]] = row["state"]
    for row, (_, groups) in zip(found, sorted(by_at.items()), strict=True):
        expected = states.overlap(groups["200"], groups["404"], last="30 minutes")
        assert tuple(row.o.intersection) == expected.intersection
        assert tuple(row.o.jaccard) == expected.jaccard


def test_null_is_null_and_what_is_not_covered_ends_the_query(session, table):
    nothing = session.range(1).select(sql.lit(None).cast("binary").alias("state"))
    assert nothing.select(spark_states.estimate("state")).collect()[0][0] is None
    with pytest.raises(Exception, match="ask for at most the last 1 hour"):
        table.select(spark_states.estimate("state", last="2 hours")).collect()


def test_a_stream_gives_states_and_asks_them(session, files, tmp_path):
    folder = files(TABLE, 2)
    out, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
    frame = session.readStream.schema(session.read.parquet(folder).schema).parquet(folder)
    answers = frame.transform(spark.apply, QUERY, shards=2)
    asked = answers.withColumn("count", spark_states.estimate("state", last="37 minutes")["count"])
    writer = asked.writeStream.option("checkpointLocation", checkpoint).option("path", out)
    writer.trigger(availableNow=True).start().awaitTermination()
    got = session.read.parquet(out).toArrow()
    answered = EXPECTED.filter(pa.compute.less(EXPECTED["at"], TABLE["ts"][-1]))
    assert in_order(got) == in_order(answered)
    expected = {row["state"]: states.estimate(row["state"], last="37 minutes").count for row in answered.to_pylist()}
    assert {row["state"]: row["count"] for row in got.to_pylist()} == expected


JOB = """
[source]
format = "parquet"
path = "source"
stream = true

[query]
kind = "distinct-count"
time = "ts"
item = "client"
by = "status"
windows = ["1 hour"]
every = "30 minutes"

[sink]
format = "parquet"
path = "counts"
checkpoint = "checkpoint"
trigger = "available-now"
"""


def test_the_state_of_a_checkpoint_is_that_of_the_local_engine(session, files, tmp_path):
    files(TABLE, 2)
    job = tmp_path / "job.toml"
    job.write_text(JOB.replace("[source]", "shards = 2\n[source]", 1))

    def call(*arguments):
        return CliRunner().invoke(group, [*arguments, str(job)])

    missing = call("state")
    assert missing.exit_code == 1 and "is not there: run the job first" in missing.stderr
    ran = call("run")
    assert ran.exit_code == 0, ran.stderr
    told = json.loads(call("state", "--json", "--largest", "1").stdout)
    run = local.LocalRun.start({**QUERY, "emit": None}, TABLE.schema)
    for batch in TABLE.to_batches():
        run.push(batch)
    metrics = run.operator.take_metrics()
    assert (told["groups"], told["retained"], told["shards"]) == (2, metrics.retained, 2)
    assert (told["watermark"], told["latest"]) == (run.operator.watermark, run.operator.progress.newest)
    assert told["waiting"] == run.operator.waiting
    (largest,) = told["largest"]
    assert largest["values"]["status"] in ("200", "404") and 0 < largest["nbytes"] <= told["nbytes"]
    lines = dict(line.split(maxsplit=1) for line in call("state").stdout.splitlines() if line)
    assert lines["groups"] == "2" and lines["made"].startswith("by")
