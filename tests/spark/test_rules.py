"""Rules on Spark: a stream of them beside the rows, a table of them beside a batch; the same rows as in process."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Observation
from skyband import spark
from skyband.engines import local
from skyband.errors import InputError
from skyband.queries import make_query

pytestmark = pytest.mark.spark

SECOND = 1_000_000
KEYS = {"kind": "top-k-workload", "time": "ts", "object": "what", "score": "points", "longest": "1 minute", "most": 3}
NAMES = ["at", "query", "rank", "what", "score"]
ROW = "ts TIMESTAMP, what STRING, points DOUBLE"
RULE = "name STRING, window STRING, slide STRING, k BIGINT, after TIMESTAMP"


def rows(seconds):
    seconds = list(seconds)
    points = [float(second * 7 % 5) for second in seconds]
    ts = pa.array([second * SECOND for second in seconds], pa.timestamp("us", "UTC"))
    return pa.table({"ts": ts, "what": [f"w{second % 7}" for second in seconds], "points": points})


def rules(*entries):
    columns = zip(*entries, strict=True)
    names = ("name", "window", "slide", "k")
    table = pa.table({name: list(column) for name, column in zip(names, columns, strict=True)})
    return table.append_column("after", pa.nulls(len(table), pa.timestamp("us", "UTC")))


def plain(answers):
    return sorted((str(one["at"].timestamp()), one["query"], one["rank"], one["what"], one["score"]) for one in answers)


def test_a_batch_has_a_table_of_rules(session):
    table = rows(range(90))
    both = rules(("a", "20 seconds", "10 seconds", 2), ("b", "1 minute", "30 seconds", 3))
    frame = session.createDataFrame(table)
    expected = plain(local.apply(table, KEYS, rules=both).rename_columns(NAMES).to_pylist())
    for shards, given in ((1, both), (3, session.createDataFrame(both))):
        answers = spark.apply(frame, KEYS, shards=shards, rules=given)
        assert plain(row.asDict() for row in answers.toDF(*NAMES).collect()) == expected
    count = Observation("rules")
    wide = pa.concat_tables([both, rules(("wide", "1 hour", "10 seconds", 2))])
    answers = spark.apply(frame, {**KEYS, "bad_rows": "count"}, shards=3, observe=count, rules=wide)
    assert plain(row.asDict() for row in answers.toDF(*NAMES).collect()) == expected
    assert count.get["rows_bad"] == 1
    with pytest.raises(InputError, match=r"rules\.window: is missing"):
        spark.apply(frame, KEYS, rules=both.drop_columns("window"))


def test_a_stream_of_rules_is_answered_at_once_and_holds_nothing_back(session, tmp_path):
    """Two runs on one checkpoint: a rule comes in each, and in the second none any more while the rows go on."""
    for name in ("rows", "rules"):
        (tmp_path / name).mkdir()
    first, second = ("a", "20 seconds", "10 seconds", 2), ("b", "1 minute", "5 seconds", 3)
    steps = [([range(40)], first), ([range(40, 75), range(75, 100)], second)]
    keys = {**KEYS, "bad_rows": "count"}
    wide = ("wide", "2 minutes", "10 seconds", 2)
    run, expected, bad = local.LocalRun.start(make_query(keys), rows([0]).schema), [], 0
    for number, (files, rule) in enumerate(steps):
        pq.write_table(rules(rule, wide), tmp_path / "rules" / f"{number}.parquet")
        run.broadcast(rules(rule, wide))
        for place, seconds in enumerate(files):
            path = tmp_path / "rows" / f"{number}{place}.parquet"
            pq.write_table(rows(seconds), path)
            os.utime(path, (1_000_000_000 + 10 * number + place,) * 2)
            expected += run.push(rows(seconds).combine_chunks().to_batches()[0]).rename_columns(NAMES).to_pylist()
        source = session.readStream.schema(ROW).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "rows"))
        of_rules = session.readStream.schema(RULE).parquet(str(tmp_path / "rules"))
        writer = spark.apply(source, keys, shards=2, rules=of_rules).toDF(*NAMES).writeStream
        writer = writer.format("parquet").option("path", str(tmp_path / "out")).trigger(availableNow=True)
        started = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        started.awaitTermination()
        bad += sum(entry.observedMetrics["skyband"]["rows_bad"] for entry in started.recentProgress)
        written = plain(row.asDict() for row in session.read.parquet(str(tmp_path / "out")).collect())
        assert written == plain(expected)
    assert bad == run.operator.take_metrics().dropped["bad"] == 2, "by one shard of two"
    assert {row["query"] for row in expected} == {"a", "b"}
    assert max(row["at"].timestamp() for row in expected) == 95


def test_a_table_of_rules_beside_a_stream_says_what_to_give(session, tmp_path):
    both = rules(("a", "20 seconds", "10 seconds", 2))
    stream = session.readStream.schema(ROW).parquet(str(tmp_path))
    with pytest.raises(InputError, match=r"must be a stream beside a stream.*session\.readStream"):
        spark.apply(stream, KEYS, rules=session.createDataFrame(both))
    with pytest.raises(InputError, match=r"is a stream, and the rows are a batch"):
        spark.apply(session.createDataFrame(rows([1])), KEYS, rules=stream)
    with pytest.raises(InputError, match=r"rules\.ts: is no column of a rule"):
        spark.apply(stream, KEYS, rules=stream)
