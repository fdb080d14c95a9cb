"""States on Spark: the same bytes as the local engine's, and functions on columns of them."""

import datetime
import json
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import functions as sql
from skyband import spark, states
from skyband.cli.commands import group
from skyband.engines import local
from skyband.errors import InputError
from skyband_spark import states as spark_states
from skyband_spark.frames import checkpoint as checkpoint_reader
from skyband_spark.frames.checkpoint import read_shards
from skyband_spark.program import plan_of

pytestmark = pytest.mark.spark
START = 1_760_000_400_000_000
"""A multiple of an hour."""

QUERY = {
    "kind": "distinct-count",
    "time": "ts",
    "item": "client",
    "windows": ["1 hour"],
    "every": "30 minutes",
    "by": "status",
    "emit": "state",
}


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


@cache
def local_answers():
    return local.apply(TABLE, QUERY)


def in_order(answers):
    return sorted((row["at"].isoformat()[:19], row["status"], row["state"]) for row in answers.to_pylist())


@pytest.fixture(scope="module")
def table(session):
    frame = session.createDataFrame(TABLE.to_pandas())
    made = frame.transform(spark.apply, QUERY, shards=2).cache()
    yield made
    made.unpersist()


def test_batch_gives_the_bytes_of_the_local_engine(table):
    assert in_order(table.toArrow()) == in_order(local_answers())


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
    moments = sorted(set(local_answers()["at"].to_pylist()))
    assert len(moments) == len(rows) == len(said)
    for at, row, one in zip(moments, rows, said, strict=True):
        alike = local_answers().filter(pa.compute.equal(local_answers()["at"], at))
        expected = states.estimate(alike["state"], last="37 minutes")
        assert tuple(row.e) == tuple(row.s) == tuple(one.e) == expected
        assert row.b == "sketch/pcsa-ml"


@pytest.mark.slow
def test_two_columns_of_states_are_put_next_to_each_other(table):
    left, right = (
        table.where(f"status = {status}").select("at", sql.col("state").alias(f"s{status}")) for status in (200, 404)
    )
    found = (
        left.join(right, "at")
        .select(
            "at",
            spark_states.overlap("s200", "s404", last="30 minutes").alias("o"),
            spark_states.change("s200", "s404", last="30 minutes").alias("c"),
        )
        .orderBy("at")
        .collect()
    )
    by_at = {}
    for row in local_answers().to_pylist():
        by_at.setdefault(row["at"], {})[row["status"]] = row["state"]
    for row, (_, groups) in zip(found, sorted(by_at.items()), strict=True):
        expected = states.overlap(groups["200"], groups["404"], last="30 minutes")
        assert tuple(row.o.intersection) == expected.intersection
        assert tuple(row.o.jaccard) == expected.jaccard
        assert tuple(row.c) == states.change(groups["200"], groups["404"], last="30 minutes")


@pytest.mark.slow
def test_arrays_of_states_are_asked_together_in_their_order(session):
    query = {**QUERY, "windows": ["3 hours"], "every": "3 hours"}
    made = local.apply(TABLE, query, {"sketch": "exact"})
    rows = {row["status"]: row["state"] for row in made.to_pylist()}
    pair = [rows["404"], rows["200"]]
    frame = session.createDataFrame([(1, pair), (2, [*pair, None]), (3, []), (4, None)], "id int, held array<binary>")
    frame.createOrReplaceTempView("pairs")
    spark_states.register(session)
    found = session.sql(
        "SELECT skyband_count_of(held, '1 hour', 'a - b') AS c, skyband_estimate(held, '1 hour') AS e "
        "FROM pairs ORDER BY id"
    ).collect()
    assert tuple(found[0].c) == states.count_of(pair, last="1 hour", expression="a - b")
    assert tuple(found[0].c) != states.count_of(pair[::-1], last="1 hour", expression="a - b")
    assert tuple(found[0].e) == states.estimate(pair, last="1 hour")
    assert [(row.c, row.e) for row in found[1:]] == [(None, None)] * 3
    own = frame.where("id = 1").select(spark_states.count_of("held", last="1 hour", expression="b - a").alias("c"))
    assert tuple(own.collect()[0].c) == states.count_of(pair, last="1 hour", expression="b - a")


@pytest.mark.slow
def test_distances_of_two_columns_are_those_in_python(session):
    values = np.random.default_rng(9).lognormal(0, 1, 20_000)
    log = pa.table({"ts": pa.array(np.arange(20_000) * 360_000 + START, pa.timestamp("us", "UTC")), "value": values})
    query = {"kind": "quantiles", "time": "ts", "value": "value", "windows": ["1 hour"], "every": "1 hour"}
    pair = local.apply(log, query | {"emit": "state", "at": [0.5]})["state"].to_pylist()[:2]
    spark_states.register(session)
    session.createDataFrame([tuple(map(bytearray, pair))], "a binary, b binary").createOrReplaceTempView("pairs")
    for of, bins in (("ks", []), ("wasserstein", []), ("psi", [0.5, 1.0, 2.0])):
        said = ", ".join(map(str, bins))
        row = session.sql(
            f"SELECT skyband_distance(a, b, '37 minutes', '{of}', cast(array({said}) AS array<double>)) AS d FROM pairs"
        ).first()
        expected = states.distance(*pair, last="37 minutes", of=of, bins=bins)
        assert tuple(row.d) == expected
        with_columns = session.table("pairs").select(
            spark_states.distance("a", "b", last="37 minutes", of=of, bins=bins).alias("d")
        )
        assert tuple(with_columns.first().d) == expected


def test_frequencies_of_a_column_are_those_in_python(session):
    people = np.random.default_rng(2).geometric(0.01, 3_000)
    log = pa.table({"ts": pa.array(np.arange(3_000) * 1_200_000 + START, pa.timestamp("us", "UTC")), "who": people})
    query = {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 hour"], "every": "1 hour"}
    state = local.apply(log, query | {"emit": "state", "seen": [1, 5]}, {"sketch": "k-skb"})["state"][0].as_py()
    spark_states.register(session)
    session.createDataFrame([(bytearray(state),)], "s binary").createOrReplaceTempView("seen")
    row = session.sql("SELECT skyband_frequency(s, '37 minutes', array(1, 2, 4)) AS f FROM seen").first()
    expected = states.frequency(state, last="37 minutes", seen=[1, 2, 4]).to_pylist()
    assert [part.asDict() for part in row.f] == expected and expected[-1]["seen"] == "4+"
    of_all = session.table("seen").select(spark_states.frequency("s", last="37 minutes").alias("f")).first()
    assert [part.asDict() for part in of_all.f] == states.frequency(state, last="37 minutes").to_pylist()


def every_theta_type(rows=40_000):
    """An hour of rows, with a column of each type that `theta_sketch_agg` takes; all but `text` of few values."""
    rng = np.random.default_rng(4)
    numbers = rng.integers(0, 3000, rows)
    words = [f"client-{number}" for number in numbers.tolist()]
    return pa.table(
        {
            "ts": pa.array(np.sort(rng.integers(0, 3600 * 10**6, rows)) + START, pa.timestamp("us", "UTC")),
            "tiny": pa.array(numbers % 100, pa.int8()),
            "small": pa.array(numbers, pa.int16()),
            "int": pa.array(-numbers, pa.int32()),
            "big": pa.array(numbers << 40, pa.int64()),
            "float": pa.array(numbers / 4, pa.float32()),
            "double": pa.array((numbers - 5) / 3),
            "word": pa.array(words),
            "bytes": pa.array([word.encode("utf-16") for word in words], pa.binary()),
            "text": pa.array([f"visitor {number}" for number in rng.integers(0, 60_000, rows)]),
        }
    )


def test_theta_sketches_of_any_window_mix_with_those_of_spark(session):
    """Beside Spark's own of the rows of the last 37 minutes: the same hashes, and in a union each client once."""
    table = every_theta_type()
    items = table.column_names[1:]
    hour = {"kind": "distinct-count", "time": "ts", "windows": ["1 hour"], "every": "1 hour", "emit": "state"}
    made = [local.apply(table, {**hour, "item": name, "hash": "theta"}, {"sketch": "k-skb"}) for name in items]
    held = [(name, bytearray(one["state"][0].as_py())) for name, one in zip(items, made, strict=True)]
    begin = datetime.datetime.fromtimestamp(START // 10**6 + 23 * 60, datetime.UTC)
    recent = session.createDataFrame(table).where(sql.col("ts") >= sql.lit(begin))
    for name in ("tiny", "small"):
        recent = recent.withColumn(name, sql.col(name).cast("int"))  # which theta_sketch_agg asks for
    theirs = recent.agg(*(sql.theta_sketch_agg(name, 16).alias(name) for name in items))
    counts = recent.agg(*(sql.count_distinct(name).alias(name) for name in items)).first().asDict()
    beside = session.createDataFrame(held, "item string, state binary").join(
        theirs.unpivot([], [*items], "item", "spark"), "item"
    )
    spark_states.register(session)
    found = beside.withColumn("ours", spark_states.theta("state", last="37 minutes")).selectExpr(
        "item",
        "theta_sketch_estimate(ours) AS own",
        "theta_sketch_estimate(spark) AS theirs",
        "theta_sketch_estimate(theta_union(ours, spark, 16)) AS either",
        "theta_sketch_estimate(theta_intersection(ours, spark)) AS both",
        "theta_sketch_estimate(theta_difference(ours, spark)) AS ours_only",
        "theta_sketch_estimate(theta_difference(spark, ours)) AS theirs_only",
        "skyband_theta(state, '37 minutes') = ours AND skyband_theta(NULL, '37 minutes') IS NULL AS same_in_sql",
        "theta_sketch_estimate(skyband_theta(state, NULL)) AS of_the_hour",
    )
    rows = {row.item: row for row in found.collect()}
    assert {*rows} == {*items}
    text, exact = rows.pop("text"), counts["text"]
    assert text.theirs == exact > 15_000, "more than the state keeps of"
    assert text.own == text.either == text.both == pytest.approx(exact, rel=0.04)
    assert (text.ours_only, text.theirs_only, text.same_in_sql) == (0, 0, True)
    for item, row in rows.items():
        assert row.own == row.theirs == row.either == row.both == counts[item], row
        assert (row.ours_only, row.theirs_only, row.same_in_sql) == (0, 0, True), row
        assert row.of_the_hour == len(set(table[item].to_pylist())), row


AMOUNTS = TABLE.append_column("bytes", pa.array(np.arange(len(TABLE)) * 7919 % 1000))
"""The visits, each with a number of bytes."""
VALUED = {**QUERY, "value": "bytes"}


@pytest.mark.slow
def test_states_with_values_have_the_bytes_of_the_local_engine(session):
    frame = session.createDataFrame(AMOUNTS)
    found = frame.transform(spark.apply, VALUED, backends={"sketch": "k-skb"}, shards=2).toArrow()
    assert in_order(found) == in_order(local.apply(AMOUNTS, VALUED, {"sketch": "k-skb"}))


def test_ranges_of_values_are_counted_as_in_python(session):
    """A column of states, one of them null, with one range for all and one for each row."""
    held = local.apply(AMOUNTS, VALUED, {"sketch": "k-skb"}).select(["status", "state"]).slice(0, 4)
    frame = session.createDataFrame(
        pa.concat_tables([held, pa.table({"status": ["200"], "state": [None]}, held.schema)])
    )
    spark_states.register(session)
    found = frame.select(
        "state",
        spark_states.estimate("state", last="20 minutes", between=(100, None)).alias("open"),
        sql.expr("skyband_estimate_between(state, '20 minutes', 100, 250 + length(status))").alias("sql"),
        spark_states.estimate("state", between=(sql.lit(100), sql.length("status") + 250)).alias("each"),
    ).collect()
    assert [row.state is None for row in found] == [False] * 4 + [True]
    *rows, nothing = found
    assert nothing.open is nothing.sql is nothing.each is None
    for row in rows:
        state = bytes(row.state)
        assert tuple(row.open) == states.estimate(state, last="20 minutes", between=(100, None))
        assert tuple(row.sql) == states.estimate(state, last="20 minutes", between=(100, 253))
        assert tuple(row.each) == states.estimate(state, between=(100, 253))
    with pytest.raises(InputError, match="between: must have its first end below its second"):
        spark_states.estimate("state", between=(10, 10))


def test_null_is_null_and_what_is_not_covered_ends_the_query(session, table):
    nothing = session.range(1).select(sql.lit(None).cast("binary").alias("state"))
    assert nothing.select(spark_states.estimate("state")).collect()[0][0] is None
    with pytest.raises(Exception, match="ask for at most the last 1 hour"):
        table.select(spark_states.estimate("state", last="2 hours")).collect()


def test_a_stream_writes_states_and_queries_them(session, files, tmp_path):
    folder = files(TABLE, 2)
    out, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
    frame = session.readStream.schema(session.read.parquet(folder).schema).parquet(folder)
    answers = frame.transform(spark.apply, QUERY, shards=2)
    asked = answers.withColumn("count", spark_states.estimate("state", last="37 minutes")["count"])
    writer = asked.writeStream.option("checkpointLocation", checkpoint).option("path", out)
    writer.trigger(availableNow=True).start().awaitTermination()
    got = session.read.parquet(out).toArrow()
    answered = local_answers().filter(pa.compute.less(local_answers()["at"], TABLE["ts"][-1]))
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
    assert missing.exit_code == 1 and "does not exist: run the job first" in missing.stderr
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
    both = json.loads(call("state", "--json").stdout)["largest"]
    assert both == sorted(both, key=lambda one: -one["nbytes"]) and both[0] == largest and len(both) == 2
    lines = dict(line.split(maxsplit=1) for line in call("state").stdout.splitlines() if line)
    assert lines["groups"] == "2" and lines["made"].startswith("by")
    before = job.read_text()
    job.write_text(before.replace('[sink]\nformat = "parquet"', '[sink]\nformat = "json"'))
    refused = call("run")
    job.write_text(before)
    assert refused.exit_code == 1 and "sink.format: was 'parquet' when the checkpoint was created" in refused.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint_reader, "FORMAT", 2)
        assert "has format 3, but this Skyband reads 2: use the version that made it" in call("state").stderr


def test_the_state_of_a_running_stream_is_that_of_one_micro_batch(session, files, tmp_path, monkeypatch):
    """Micro-batches end while it is read: the head, the snapshot and the log are all of the same one."""
    half = len(TABLE) // 2
    folder, checkpoint = files(TABLE.slice(0, half), 1), str(tmp_path / "checkpoint")
    frame = session.readStream.schema(session.read.parquet(folder).schema).parquet(folder)

    def run():
        answers = frame.transform(spark.apply, QUERY, shards=2)
        writer = answers.writeStream.format("noop").option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()

    run()
    before = [(shard.number, shard.head.step) for shard in read_shards(session, checkpoint)]
    heads = checkpoint_reader._States.heads

    def and_the_stream_goes_on(states):
        seen = heads(states)
        pq.write_table(TABLE.slice(half), f"{folder}/later.parquet")
        run()
        return seen

    monkeypatch.setattr(checkpoint_reader._States, "heads", and_the_stream_goes_on)
    shards = read_shards(session, checkpoint)
    monkeypatch.undo()
    assert [(shard.number, shard.head.step) for shard in shards] == before == [(0, 1), (1, 1)]
    plan = plan_of(frame, QUERY, None, 2)
    operators = [shard.restore(plan) for shard in shards]
    assert sum(operator.progress.newest for operator in operators) == 2 * TABLE["ts"][half - 1].value
    assert [shard.head.step for shard in read_shards(session, checkpoint)] == [2, 2]


def test_the_objects_with_the_largest_totals_of_any_window(session):
    asked = {**QUERY, "kind": "heavy-hitters", "object": "client", "windows": ["2 hours"], "k": 5}
    del asked["item"]
    expected = local.apply(TABLE, asked, {"total-ranker": "k-skb"})
    frame = session.createDataFrame(TABLE.to_pandas())
    made = frame.transform(spark.apply, asked, {"total-ranker": "k-skb"}, shards=2).cache()
    assert in_order(made.toArrow()) == in_order(expected)
    united = made.groupBy("at").agg(spark_states.union("state").alias("state"))
    columns = united.select("at", spark_states.heavy_hitters("state", last="37 minutes", k=3).alias("top"))
    for row in columns.collect():
        blobs = [each["state"] for each in expected.to_pylist() if each["at"].timestamp() == row["at"].timestamp()]
        told = states.heavy_hitters(blobs, last="37 minutes", k=3).to_pylist()
        assert [entry.asDict() for entry in row["top"]] == [{**each, "object": str(each["object"])} for each in told]
    spark_states.register(session)
    made.createOrReplaceTempView("tops")
    (one,) = session.sql("SELECT skyband_heavy_hitters(state, '10 minutes', 2) AS top FROM tops LIMIT 1").collect()
    assert [entry["rank"] for entry in one["top"]] == [1, 2]
    made.unpersist()


def test_features_of_a_moment_are_those_in_python_as_json(session):
    log = pa.table({"ts": pa.array([START, START + 90_000_000], pa.timestamp("us", "UTC")), "paid": [12.5, 900.0]})
    query = {"kind": "row-features", "time": "ts", "windows": ["1 minute", "1 hour"], "sums": ["paid"], "unit": 0.5}
    state = local.apply(log, query | {"emit": "state", "every": "2 minutes"})["state"][0].as_py()
    now = datetime.datetime.fromtimestamp(START / 1_000_000 + 130, datetime.UTC)
    spark_states.register(session)
    session.createDataFrame([(bytearray(state),), (None,)], "s binary").createOrReplaceTempView("cards")
    found = session.sql(f"SELECT skyband_features(s, null, '{now:%F %T}', array()) AS f FROM cards").collect()
    expected = states.features(state, now=now)
    assert json.loads(found[0].f) == expected
    assert (expected["count_1_minute"], expected["paid_sum_1_hour"]) == (1, 912.5)
    assert found[1].f is None
    some = session.table("cards").select(spark_states.features("s", now=f"{now:%F %T}", feature=["count_1_hour"]))
    assert json.loads(some.first()[0]) == {"count_1_hour": 2}
