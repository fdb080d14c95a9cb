"""Rules on Spark: a stream of them with the rows, a table of them with a batch; the same rows as in process."""

import json
import os
import random
import re
import time
from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import Observation
from skyband import spark
from skyband.cli.commands import group
from skyband.engines import local
from skyband.errors import ConfigError, InputError
from skyband.queries import make_query

from . import faults
from .test_sinks import call

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


def test_a_stream_of_rules_is_answered_at_once_without_delay(session, tmp_path):
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


JOB = """
shards = 2
[source]
format = "parquet"
path = "rows/"
stream = true
options = { maxFilesPerTrigger = 1 }
[query]
kind = "top-k-workload"
time = "ts"
object = "what"
score = "points"
longest = "1 minute"
most = 3
bad_rows = "count"
rules = { path = "rules/", format = "json", stream = STREAM }
[sink]
format = "parquet"
path = "answers/"
checkpoint = "checkpoint/"
trigger = "available-now"
"""


@pytest.mark.parametrize("stream", [True, False])
def test_a_job_of_a_stream_takes_its_rules_from_a_stream_or_a_table(session, tmp_path, stream):
    """In the second run there is a rule more, with a column that the first lacks: the first ones hold as they did."""
    for name in ("rows", "rules"):
        (tmp_path / name).mkdir()
    (tmp_path / "job.toml").write_text(JOB.replace("STREAM", str(stream).lower()))
    run, expected = local.LocalRun.start(make_query({**KEYS, "bad_rows": "count"}), rows([0]).schema), []
    come = [
        [{"name": "a", "window": "20 seconds", "slide": "10 seconds", "k": 2}],
        [
            {"name": "b", "window": "1 minute", "slide": "5 seconds", "k": 3, "until": "1970-01-01T00:01:20Z"},
            {"name": "wide", "window": "2 minutes", "slide": "5 seconds", "k": 3},
        ],
    ]
    for number, (seconds, entries) in enumerate(zip((range(50), range(50, 110)), come, strict=True)):
        texts = [json.dumps(entry) + "\n" for entry in entries]
        (tmp_path / "rules" / f"{number}.json").write_text("".join(texts))
        table = pa.Table.from_pylist(entries)
        if "until" in table.column_names:
            until = pa.array([datetime.fromtimestamp(80, UTC), None], pa.timestamp("us", "UTC"))
            table = table.set_column(table.column_names.index("until"), "until", until)
        run.broadcast(table)
        pq.write_table(rows(seconds), tmp_path / "rows" / f"{number}.parquet")
        expected += run.push(rows(seconds).combine_chunks().to_batches()[0]).rename_columns(NAMES).to_pylist()
        ended = call("run", tmp_path / "job.toml")
        assert ended.exit_code == 0, ended.output
        written = session.read.parquet(str(tmp_path / "answers")).toDF(*NAMES).collect()
        assert plain(row.asDict() for row in written) == plain(expected)
        assert bool(re.search(r"bad +1 ", ended.output)) == (number == 1), ended.output
    assert {row["query"] for row in expected} == {"a", "b"}
    assert max(row["at"].timestamp() for row in expected if row["query"] == "b") == 80
    if stream:
        ended = call("run", tmp_path / "job.toml", "query.rules.path=elsewhere/")
        (tmp_path / "elsewhere").mkdir()
        ended = call("run", tmp_path / "job.toml", "query.rules.path=elsewhere/")
        assert "query.rules.path: was" in ended.output


def _bad(folder):
    """What is wrong with each row of a place of bad rows, in files of any depth."""
    entries = [json.loads(line) for path in folder.rglob("*.json") for line in path.read_text().splitlines()]
    return sorted((row["_field"], row["_reason"], row["_value"]) for row in entries)


def test_refused_rules_are_written_to_the_bad_rows_once(session, tmp_path):
    """As on the local engine, of a stream that gives its last micro-batch once more, and of a batch."""
    for name in ("rows", "rules"):
        (tmp_path / name).mkdir()
    a = {"name": "a", "window": "20 seconds", "slide": "10 seconds", "k": 2}
    steps = [
        [a, {**a, "name": "b", "window": "2 minutes"}, {**a, "name": "c", "k": 4}, {**a, "name": "d", "k": "ten"}],
        [{"name": "gone"}, {**a, "slide": 0}, {**a, "until": "never"}, {**a, "group": ["x"]}, {"name": "a"}],
    ]
    place = 'bad_rows = { format = "json", path = "bad/" }'
    streamed = JOB.replace("stream = STREAM", "options = { maxFilesPerTrigger = 1 }")
    streamed = streamed.replace('bad_rows = "count"', place)
    (tmp_path / "job.toml").write_text(streamed)
    run, expected, aside = local.LocalRun.start(make_query({**KEYS, "bad_rows": "count"}), rows([0]).schema), [], []
    run.on_bad_rows = aside.append
    for number, entries in enumerate(steps):
        lines = [json.dumps(entry) for entry in entries]
        (tmp_path / "rules" / f"{number}.json").write_text("\n".join(lines) + "\n")
        run.broadcast(pa.table({"value": lines}))
        seconds = range(number * 40, number * 40 + 40)
        pq.write_table(rows(seconds), tmp_path / "rows" / f"{number}.parquet")
        expected += run.push(rows(seconds).combine_chunks().to_batches()[0]).rename_columns(NAMES).to_pylist()
        wanted = sorted((row["_field"], row["_reason"], row["_value"]) for part in aside for row in part.to_pylist())
        for again in range(2 if number else 1):
            if again:
                (tmp_path / "checkpoint" / "commits" / "1").unlink()
            ended = call("run", tmp_path / "job.toml")
            assert ended.exit_code == 0, ended.output
            written = session.read.parquet(str(tmp_path / "answers")).toDF(*NAMES).collect()
            assert plain(row.asDict() for row in written) == plain(expected)
            assert _bad(tmp_path / "bad") == wanted
    assert len(wanted) == 7
    checked = call("check", tmp_path / "job.toml", 'query.bad_rows.path="dbfs:/bad"')
    assert "query.bad_rows.path: must be a folder that all machines reach" in checked.output
    batch = streamed.replace("stream = true\n", "").replace("bad/", "bad-2/").replace("answers/", "answers-2/")
    batch = batch.replace(", options = { maxFilesPerTrigger = 1 }", "")
    batch = re.sub(r"(?m)^(options|checkpoint|trigger) = .*\n", "", batch)
    (tmp_path / "batch.toml").write_text(batch)
    ended = call("run", tmp_path / "batch.toml")
    assert ended.exit_code == 0, ended.output
    run, aside = local.LocalRun.start(make_query({**KEYS, "bad_rows": "count"}), rows([0]).schema), []
    run.on_bad_rows = aside.append
    run.broadcast(pa.table({"value": [json.dumps(entry) for entries in steps for entry in entries]}))
    wanted = sorted((row["_field"], row["_reason"], row["_value"]) for row in aside[0].to_pylist())
    assert _bad(tmp_path / "bad-2") == wanted


def test_changes_tell_that_a_rule_has_ended(session, tmp_path):
    """Of groups in two shards: the log of the local engine, whose rows of a rule leave at its end."""
    (tmp_path / "rows").mkdir()
    keys = {**KEYS, "by": ["what"], "answers": "changes"}
    both = rules(("a", "20 seconds", "10 seconds", 2), ("b", "1 minute", "15 seconds", 1))
    both = both.append_column("until", pa.array([50 * SECOND, None], pa.timestamp("us", "UTC")))
    run, expected = local.LocalRun.start(make_query(keys), rows([0]).schema), []
    run.broadcast(both)
    for number, seconds in enumerate((range(45), range(45, 70))):
        pq.write_table(rows(seconds), tmp_path / "rows" / f"{number}.parquet")
        os.utime(tmp_path / "rows" / f"{number}.parquet", (1_000_000_000 + number,) * 2)
        expected += run.push(rows(seconds).combine_chunks().to_batches()[0]).to_pylist()
    source = session.readStream.schema(ROW).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "rows"))
    writer = spark.apply(source, keys, shards=2, rules=both).writeStream.trigger(availableNow=True)
    writer = writer.format("parquet").option("path", str(tmp_path / "out"))
    writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    written = [row.asDict() for row in session.read.parquet(str(tmp_path / "out")).collect()]
    for row in expected:
        row["at"] = row["at"].replace(tzinfo=None)
    assert sorted(map(str, ({**row, "at": row["at"].replace(tzinfo=None)} for row in written))) == sorted(
        map(str, expected)
    )
    emptied = {str(row["at"]) for row in expected if (row["query"], row["change"]) == ("a", "emptied")}
    assert emptied == {"1970-01-01 00:00:50.000001"}


def test_a_table_of_rules_next_to_a_stream_is_read_once(session, tmp_path):
    """The second run has a rule more, and one whose time is over, which is no news."""
    (tmp_path / "rows").mkdir()
    first, second = ("a", "20 seconds", "10 seconds", 2), ("b", "1 minute", "5 seconds", 3)
    run, expected = local.LocalRun.start(make_query(KEYS), rows([0]).schema), []
    over = pa.array([datetime.fromtimestamp(30, UTC)], pa.timestamp("us", "UTC"))
    old = rules(first).append_column("until", over)
    new = pa.concat_tables([old, rules(second)], promote_options="default")
    for number, (seconds, table, fresh) in enumerate([(range(50), old, old), (range(50, 80), new, new.slice(1))]):
        run.broadcast(fresh)
        pq.write_table(rows(seconds), tmp_path / "rows" / f"{number}.parquet")
        expected += run.push(rows(seconds).combine_chunks().to_batches()[0]).rename_columns(NAMES).to_pylist()
        source = session.readStream.schema(ROW).parquet(str(tmp_path / "rows"))
        given = table if number else session.createDataFrame(table)
        writer = spark.apply(source, KEYS, shards=2, rules=given).toDF(*NAMES).writeStream
        writer = writer.format("parquet").option("path", str(tmp_path / "out")).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
        written = plain(row.asDict() for row in session.read.parquet(str(tmp_path / "out")).collect())
        assert written == plain(expected)
    assert {(row["query"], row["at"].timestamp() > 30) for row in expected} == {("a", False), ("b", True)}


def test_rules_that_cannot_be_read_say_what_to_give(session, tmp_path):
    both = rules(("a", "20 seconds", "10 seconds", 2))
    stream = session.readStream.schema(ROW).parquet(str(tmp_path))
    with pytest.raises(InputError, match=r"rules\.window, row 0: of rule 'a' is above longest = '1 minute'"):
        spark.apply(stream, KEYS, rules=rules(("a", "2 minutes", "10 seconds", 2)))
    with pytest.raises(ConfigError, match="takes no second table"):
        keys = {name: value for name, value in KEYS.items() if name not in ("longest", "most")}
        query = {"name": "q", "window": "1 minute", "slide": "1 minute", "k": 1}
        spark.apply(stream, {**keys, "queries": [query]}, rules=both)
    with pytest.raises(InputError, match=r"is a stream, but the rows are a batch"):
        spark.apply(session.createDataFrame(rows([1])), KEYS, rules=stream)
    with pytest.raises(InputError, match=r"rules\.ts: is not a column of rules"):
        spark.apply(stream, KEYS, rules=stream)


def _where_it_is(process, checkpoint, commit, wait):
    """Waits a moment after the next commit, or after the first Python worker has begun; what a kill hits then."""
    if commit:
        if not faults.after_next_commit(process, checkpoint, wait):
            return "ended"
    else:
        while process.poll() is None and not faults.workers(process.pid):
            time.sleep(0.02)
        time.sleep(2 * wait)
    if process.poll() is not None:
        faults.finish(process)
        return "ended"
    begun = {path.name for path in (checkpoint / "offsets").glob("*") if path.name.isdigit()}
    return "in a micro-batch" if begun - faults.committed(checkpoint) else "between two"


@pytest.mark.slow
def test_thirty_kills_with_rules_in_flight(session, tmp_path):
    """A file of rows and one of rules, which come, change and go, in each micro-batch.

    Each rule says since when it holds, a few files ahead: a kill while Spark plans a micro-batch may leave one of two
    sources a file further than the other.
    """
    kills, chance, files = 30, random.Random(30), 20
    for name in ("rows", "rules"):
        (tmp_path / name).mkdir()
    run, expected = local.LocalRun.start(make_query({**KEYS, "bad_rows": "count"}), rows([0]).schema), []
    for number in range(files):
        window, slide, k = chance.randint(5, 60), chance.choice([1, 2, 5]), chance.randint(1, 3)
        rule = {"name": f"r{number % 5}", "window": f"{window} seconds", "slide": f"{slide} seconds", "k": k}
        ended = {**rule, "name": f"r{(number + 2) % 5}", "window": None, "slide": None, "k": None}
        entries = [rule, *([ended] if number > 5 and number % 3 == 0 else [])]
        after = datetime.fromtimestamp(10 * (number + 4), UTC)
        text = "".join(json.dumps({**entry, "after": after.isoformat()}) + "\n" for entry in entries)
        entries = [{**entry, "after": after} for entry in entries]
        for folder, name in (("rules", f"{number:02}.json"), ("rows", f"{number:02}.parquet")):
            path = tmp_path / folder / name
            seconds = range(number * 10, number * 10 + 10)
            path.write_text(text) if folder == "rules" else pq.write_table(rows(seconds), path)
            os.utime(path, (1_000_000_000 + number,) * 2)
        run.broadcast(pa.Table.from_pylist(entries))
        expected += run.push(rows(seconds).combine_chunks().to_batches()[0]).rename_columns(NAMES).to_pylist()
    once = JOB.replace("stream = STREAM", "options = { maxFilesPerTrigger = 1 }")
    settings = faults.JOB.partition("[spark]")[2].format(master="local[2]")
    job = tmp_path / "job.toml"
    job.write_text(f"{once}\n[spark]{settings}")
    hits = Counter()
    for kill in range(kills):
        process = faults.start(job)
        try:
            hits[_where_it_is(process, tmp_path / "checkpoint", kill % 3 == 0, chance.uniform(0, 1.0))] += 1
        finally:
            if process.poll() is None:
                faults.kill_group(process)
    ended = call("run", job)
    assert ended.exit_code == 0, ended.output
    assert hits["in a micro-batch"] >= kills // 3, hits
    assert hits["ended"] <= kills // 3, hits
    written = session.read.parquet(str(tmp_path / "answers")).toDF(*NAMES).collect()
    assert plain(row.asDict() for row in written) == plain(expected)
    assert len({row["query"] for row in expected}) == 5


def test_a_savepoint_resumes_rules_and_their_stream(session, tmp_path):
    """The rule that was read is not read again: it has ended since, and would begin anew."""
    for name in ("rows", "rules"):
        (tmp_path / name).mkdir()
    job = tmp_path / "job.toml"
    job.write_text(JOB.replace("stream = STREAM", "options = { maxFilesPerTrigger = 1 }"))
    run, expected = local.LocalRun.start(make_query({**KEYS, "bad_rows": "count"}), rows([0]).schema), []
    a = {"name": "a", "window": "20 seconds", "slide": "10 seconds", "k": 2}
    b = {"name": "b", "window": "30 seconds", "slide": "10 seconds", "k": 1}
    gone = {"name": "a", "window": None, "slide": None, "k": None}
    parts = [[a], [b], [gone], [{**b, "name": "c"}]]
    for number, entries in enumerate(parts):
        if number == 3:  # the first three are read by the stream that a savepoint is made of
            assert call("run", job).exit_code == 0
            made = CliRunner().invoke(group, ["savepoint", str(job), str(tmp_path / "saved")])
            assert made.exit_code == 0, made.output
        seconds = range(number * 30, number * 30 + 30)
        text = "".join(json.dumps(entry) + "\n" for entry in entries)
        (tmp_path / "rules" / f"{number}.json").write_text(text)
        pq.write_table(rows(seconds), tmp_path / "rows" / f"{number}.parquet")
        for folder, suffix in (("rules", "json"), ("rows", "parquet")):
            os.utime(tmp_path / folder / f"{number}.{suffix}", (1_000_000_000 + number,) * 2)
        run.broadcast(pa.Table.from_pylist(entries))
        expected += run.push(rows(seconds).combine_chunks().to_batches()[0]).rename_columns(NAMES).to_pylist()
    other = tmp_path / "other.toml"
    other.write_text(job.read_text().replace("checkpoint/", "other checkpoint/").replace("answers/", "others/"))
    wrong = CliRunner().invoke(
        group, ["run", str(other), "--from", str(tmp_path / "saved"), "--set", "query.rules.path=rows/"]
    )
    assert "query.rules" in wrong.output
    begun = CliRunner().invoke(group, ["run", str(other), "--from", str(tmp_path / "saved")])
    assert begun.exit_code == 0, begun.output
    tables = [session.read.parquet(str(tmp_path / name)).toDF(*NAMES).collect() for name in ("answers", "others")]
    assert plain(row.asDict() for row in [*tables[0], *tables[1]]) == plain(expected)
    assert {row["query"] for row in expected if row["at"].timestamp() > 100} == {"b", "c"}
