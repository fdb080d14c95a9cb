"""Time on Spark: zones and kinds of columns, late rows, lagging sources, finished or idle streams."""

import datetime
import json
import tomllib

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from families import DELAY, SECOND, events, family
from skyband import spark
from skyband.cli.commands import group
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.errors import ConfigError
from skyband_jobs import read_job

from .conftest import rows_of
from .documents import blocks

pytestmark = pytest.mark.spark

UTC = datetime.UTC
ZONE = "spark.sql.session.timeZone"


@pytest.fixture
def in_new_york(session):
    before = session.conf.get(ZONE)
    session.conf.set(ZONE, "America/New_York")
    yield session
    session.conf.set(ZONE, before)


def around_the_changes() -> list[int]:
    """Microseconds: every ten minutes around the nights in which New York changed its clocks, and before 1970."""
    nights = [datetime.datetime(*day, 2, tzinfo=UTC) for day in ((2025, 11, 2), (2025, 3, 9), (1969, 10, 26))]
    starts = [round(night.timestamp()) for night in nights]
    return sorted((start + 600 * step + 7) * SECOND for start in starts for step in range(60))


def test_windows_are_instants_whatever_the_zone_and_the_night(in_new_york, files, stream):
    times = pa.array([*around_the_changes(), None], pa.int64())
    instants = pa.table({"ts": times.cast(pa.timestamp("us", "UTC")), "name": [f"v{n}" for n in range(len(times))]})
    asked = family("distinct-count", windows=["1 hour", "3 hours"], every="30 minutes", delay="0 seconds")
    exact = {"sketch": "exact"}
    expected = local.apply(instants, asked, exact)
    assert {row["count"] for row in expected.to_pylist() if row["window"] == "1 hour"} >= {6.0}
    names = expected.column_names
    folder = files(instants, 1)
    batch = spark.apply(in_new_york.read.parquet(folder), asked, exact)
    assert batch.schema["at"].dataType.typeName() == "timestamp"
    assert rows_of(batch.collect(), names) == rows_of(expected.to_pylist(), names)
    streamed, progress = stream(folder, asked, exact)
    last = instants["ts"][-2].as_py()
    assert rows_of(streamed, names) == rows_of([row for row in expected.to_pylist() if row["at"] <= last], names)
    assert sum(entry.observedMetrics["skyband"]["rows_null_time"] for entry in progress) == 1

    clocks = instants.set_column(0, "ts", times.cast(pa.timestamp("us")))  # read as the clock on the wall
    found = spark.apply(in_new_york.read.parquet(files(clocks, 1, "clocks")), asked, exact)
    assert found.schema["at"].dataType.typeName() == "timestamp_ntz"
    assert rows_of(found.collect(), names) == rows_of(local.apply(clocks, asked, exact).to_pylist(), names)

    daily = family("distinct-count", windows=["2 days"], every="1 day")
    days = instants.set_column(0, "ts", times.cast(pa.timestamp("us")).cast(pa.date32(), safe=False))
    found = spark.apply(in_new_york.read.parquet(files(days, 1, "days")), daily, exact)
    assert rows_of(found.collect(), names) == rows_of(local.apply(days, daily, exact).to_pylist(), names)


def test_days_of_a_zone_are_those_of_the_local_engine(in_new_york, files, stream):
    times = pa.array(around_the_changes(), pa.int64()).cast(pa.timestamp("us", "UTC"))
    source = pa.table({"ts": times, "name": [f"v{n % 7}" for n in range(len(times))]})
    windows = [f"{window} in America/New_York" for window in ("today", "since 02:30", "this month")]
    asked = family("distinct-count", windows=windows, every="1 hour", offset="20 minutes", delay="0 seconds")
    exact = {"sketch": "exact"}
    expected = local.apply(source, asked, exact)
    names = expected.column_names
    folder = files(source, 3)
    found = spark.apply(in_new_york.read.parquet(folder), asked, exact)
    assert rows_of(found.collect(), names) == rows_of(expected.to_pylist(), names)
    streamed, _ = stream(folder, asked, exact, batches=3)
    last = source["ts"][-1].as_py()
    assert rows_of(streamed, names) == rows_of([row for row in expected.to_pylist() if row["at"] <= last], names)


def shifted(table: pa.Table, by: int) -> pa.Table:
    times = pc.add(table["ts"].cast(pa.int64()), by * SECOND).cast(table.schema.field("ts").type)
    return table.set_column(0, "ts", times)


def newest(table: pa.Table) -> int:
    return pc.max(table["ts"].cast(pa.int64())).as_py()


@pytest.mark.parametrize("kind", ["top-k", pytest.param("top-k-workload", marks=pytest.mark.slow), "uncertain-join"])
def test_late_rows_and_rows_without_a_time_leave_only_their_number(stream, files, kind):
    table, asked = events(7), family(kind, by=["place"])
    late = shifted(table.slice(0, 30), -3600)
    timeless = table.slice(0, 4).set_column(0, "ts", pa.nulls(4, table.schema.field("ts").type))
    folder = files(table, 3)
    files(pa.concat_tables([late, timeless]), 1)
    got, progress = stream(folder, asked)
    told = [entry.observedMetrics["skyband"] for entry in progress]
    assert sum(metrics["rows_late"] for metrics in told) == len(late)
    assert sum(metrics["rows_null_time"] for metrics in told) == len(timeless)
    watermark = newest(table) - DELAY * SECOND
    assert told[-1]["watermark"] == watermark
    expected = LocalRun.start(asked, table.schema)
    expected.add(table.combine_chunks().to_batches()[0])
    answers = expected.operator.advance(watermark)
    assert rows_of(got, answers.schema.names) == rows_of(answers.to_pylist(), answers.schema.names)


def test_two_streams_of_which_one_lags_and_then_falls_idle(session, files, tmp_path):
    table = events(8, rows=900).sort_by("ts")
    table = table.filter(pc.greater(pc.list_value_length(table["words"]), 0))  # others are left out, time and all
    sides = {side: table.filter(pc.equal(table["side"], side)) for side in ("left", "right")}
    asked = family("top-k-pairs", side="side", source="side", sources=["left", "right"], idle="5 minutes")
    # A micro-batch takes a file of each: the left side is through when the right one has come a third of the way.
    folders = [files(sides["left"], 2, "left"), files(sides["right"], 6, "right")]
    schema = session.read.parquet(folders[0]).schema
    reader = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    sink, checkpoint = str(tmp_path / "sink"), str(tmp_path / "checkpoint")

    def run() -> list:
        answers = spark.apply(reader.parquet(folders[0]).union(reader.parquet(folders[1])), asked)
        writer = answers.writeStream.option("path", sink).option("checkpointLocation", checkpoint)
        started = writer.trigger(availableNow=True).start()
        started.awaitTermination()
        return [entry.observedMetrics["skyband"] for entry in started.recentProgress]

    def given() -> list:
        return rows_of(session.read.parquet(sink).collect(), names)

    told, whole = run(), local.apply(table, asked)
    names = whole.column_names
    assert sum(metrics["rows_late"] for metrics in told) == 0
    assert told[0]["watermark"] < newest(sides["left"]) / 3, "the left side waits"
    watermark = min(map(newest, sides.values())) - DELAY * SECOND
    assert told[-1]["watermark"] == watermark
    assert given() == rows_of(whole.filter(pc.less_equal(whole["at"].cast(pa.int64()), watermark)).to_pylist(), names)

    ahead = shifted(sides["left"].slice(0, 50), 900)
    files(ahead, 1, "left")
    (metrics,) = run()
    assert metrics["watermark"] == newest(ahead) - DELAY * SECOND, "the right side is not waited for any longer"
    whole = local.apply(pa.concat_tables([table, ahead]), asked)
    reached = pc.less_equal(whole["at"].cast(pa.int64()), metrics["watermark"])
    assert given() == rows_of(whole.filter(reached).to_pylist(), names)


JOB = """
shards = 2
[source]
format = "parquet"
path = "source"
stream = true
finish = true
options = { maxFilesPerTrigger = 1 }
[query]
kind = "top-k"
time = "ts"
by = "place"
object = "name"
stream = "origin"
value = "value"
streams = ["air", "water", "soil"]
k = 4
window = "1 minute"
every = "15 seconds"
repeats = "latest"
delay = "20 seconds"
[sink]
format = "parquet"
path = "answers"
checkpoint = "checkpoint"
trigger = "available-now"
"""


def test_a_nightly_job_answers_its_last_windows_and_resumes_the_next_night(session, files, tmp_path):
    table, asked = events(9), family("top-k", by=["place"])
    (tmp_path / "job.toml").write_text(JOB)

    def run(*sets: str, engine: str = "spark") -> dict:
        changes = [part for change in sets for part in ("--set", change)]
        ran = CliRunner().invoke(group, ["run", str(tmp_path / "job.toml"), "--engine", engine, *changes])
        assert ran.exit_code == 0, ran.stderr
        return {line.split()[0]: line.split()[1:3] for line in ran.stderr.splitlines() if line.split()}

    def given(name: str) -> list:
        return rows_of(pq.read_table(tmp_path / name).to_pylist(), whole.column_names)

    files(table, 3)
    whole = local.apply(table, asked)
    run()
    run("sink.path=local", engine="local")
    assert given("answers") == given("local") == rows_of(whole.to_pylist(), whole.column_names)
    run()
    assert given("answers") == given("local"), "a night without rows adds nothing"

    next_day = shifted(table, 86_400)
    files(pa.concat_tables([table.slice(0, 11), next_day]), 2)
    assert run()["late"] == ["11", "(dropped;"]
    whole = local.apply(pa.concat_tables([table, next_day]), asked)
    assert given("answers") == rows_of(whole.to_pylist(), whole.column_names)

    changed = CliRunner().invoke(group, ["run", str(tmp_path / "job.toml"), "--set", "source.finish=false"])
    assert changed.exit_code == 1
    assert (
        "source.finish and source.idle_after add one: change it back, or give the changed job a new" in changed.stderr
    )


def test_the_jobs_in_the_guide_to_time_run(session, files, tmp_path):
    (tmp_path / "job.toml").write_text(JOB)
    base = ["source.finish=false", "sink.trigger=10 seconds"]
    table = events(11, rows=200)
    folder = files(table, 1)
    for block in blocks("ask/time.md", "toml"):
        tables = tomllib.loads(block)
        sets = [f"{name}.{key}={json.dumps(value)}" for name, keys in tables.items() for key, value in keys.items()]
        read_job(tmp_path / "job.toml", [*base, *sets])
    (program,) = blocks("ask/time.md", "python")
    schema = session.read.parquet(folder).schema
    path, asked = str(tmp_path / "sink"), family("distinct-count")
    names = {"spark": spark, "events": session.readStream.schema(schema).parquet(folder), "query": asked}
    exec(compile(program, "time.md", "exec"), {**names, "path": path, "checkpoint": str(tmp_path / "checkpoint")})
    expected = local.apply(table, asked)
    found = rows_of(session.read.parquet(path).collect(), expected.column_names)
    assert found == rows_of(expected.to_pylist(), expected.column_names)


@pytest.mark.parametrize("reader", ["spark", "python"])
def test_an_idle_stream_continues_with_the_clock(session, files, tmp_path, reader):
    table, asked = events(10, rows=300), family("top-k-workload", delay="1 second")
    moment = 390 * SECOND
    table = table.filter(pc.less(table["ts"].cast(pa.int64()), moment)).sort_by("ts")
    folder = files(table, 1)
    plain = session.readStream.schema(session.read.parquet(folder).schema).parquet(folder)
    source = plain if reader == "spark" else spark.files(folder, stream=True)
    answers = spark.apply(source, asked, shards=2, idle_after="2 seconds")
    writer = answers.writeStream.option("path", str(tmp_path / "sink"))
    started = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        told: list[dict] = []
        while not told or told[-1]["watermark"] < moment:
            assert not started.awaitTermination(0.2), "it goes on for ever"
            told = [entry.observedMetrics["skyband"] for entry in started.recentProgress if entry.observedMetrics]
    finally:
        started.stop()
    marks = [metrics["watermark"] for metrics in told]
    assert newest(table) - SECOND in marks, "it waits first"
    assert marks == sorted(marks)
    expected = LocalRun.start(asked, table.schema)
    expected.add(table.combine_chunks().to_batches()[0])
    whole = expected.operator.advance(marks[-1])
    at = pc.max(whole.column("at").cast(pa.int64())).as_py()
    assert newest(table) < moment <= at, "of windows that no row has passed"
    rows = session.read.schema(answers.schema).parquet(str(tmp_path / "sink")).collect()
    assert rows_of(rows, whole.schema.names) == rows_of(whole.to_pylist(), whole.schema.names)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"idle_after": "soon"}, "idle_after: must be a duration"),
        ({"idle_after": "5 rows"}, "idle_after: must be a length of time above 0"),
        ({"finish": 1}, "finish: must be true or false"),
        (
            {"finish": True, "idle_after": "1 second"},
            "idle_after: is for streams that never end, finish for those that do",
        ),
    ],
)
def test_ticks_that_make_no_sense_are_refused(session, files, asked, message):
    frame = session.read.parquet(files(events(1, rows=10), 1))
    with pytest.raises(ConfigError, match=message):
        spark.apply(frame, family("uncertain-sum"), **asked)
