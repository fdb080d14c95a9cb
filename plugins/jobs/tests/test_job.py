"""Job files: read with `--set`, checked, every problem at once with its place and the closest valid name."""

import os
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband.engines.reference import LocalEngine
from skyband_jobs import JobError, read_job
from skyband_jobs.job.progress import Progress
from skyband_jobs.local.run import run as run_locally
from skyband_jobs.programs.engines import engine_named
from skyband_jobs.tables.model import local_path

JOB = """
[source]
format = "parquet"
path = "requests"

[query]
kind = "distinct-count"
time = "ts"
item = "client"
windows = ["10 minutes"]
every = "1 minute"

[backends]
sketch = "pcsa-ml"

[sink]
format = "parquet"
path = "counts"
"""
COLUMNS = {"ts": pa.array([1, 2], pa.timestamp("s", "UTC")), "client": ["a", "b"], "size": [1.5, 2.5]}


@pytest.fixture
def job(tmp_path):
    """A folder with a source; called with the text of a job, it returns the path of its file."""
    (tmp_path / "requests").mkdir()
    pq.write_table(pa.table(COLUMNS), tmp_path / "requests" / "a.parquet")

    def write(text=JOB):
        (tmp_path / "job.toml").write_text(text)
        return tmp_path / "job.toml"

    return write


def problems(path, sets=(), engine="spark"):
    """The problems of a job, each without the file's name."""
    with pytest.raises(JobError) as caught:
        read_job(path, sets, engine)
    return [line.removeprefix(f"{path}: ") for line in str(caught.value).splitlines()]


def test_a_job_is_read_with_its_paths_taken_from_its_folder(job):
    path = job()
    found = read_job(path)
    assert (found.name, found.query.item, found.backends) == ("job", "client", {"sketch": "pcsa-ml"})
    assert found.source.path == str(path.parent / "requests")
    assert found.sink.path == str(path.parent / "counts")
    assert found.schema.names == list(COLUMNS)


def test_every_problem_is_reported_at_once(job):
    path = job("""
        nam = "x"
        shards = 0
        [source]
        format = "parqet"
        checkpoint = "x"
        [query]
        kind = "distinct-count"
        time = "ts"
        itm = "client"
        windows = ["0 minutes"]
        every = "1 minute"
        [backends]
        sketch = { name = "pcsa-ml", epsilon = 2, delt = 0.05 }
        [sink]
        format = "parquet"
    """)
    assert problems(path) == [
        "nam: unknown; did you mean 'name'?",
        "source.checkpoint: belongs in [sink]",
        "source.format: unknown format 'parqet'; did you mean 'parquet'?",
        "query.itm: unknown; did you mean 'item'?",
        "query.windows[0]: must be longer than 0 (got 0 minutes)",
        "sink.path: is required for parquet: the folder for the answers",
        "backends.sketch.delt: unknown; did you mean 'delta'?",
        "backends.sketch.epsilon: must be at least 0.001 and below 1 (got 2.0)",
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("query.item=clinet", "query.item: the source has no column 'clinet'; did you mean 'client'?"),
        ("query.time=size", "query.time: column 'size' must be a timestamp or a date (it is double); cast it first"),
        ('query.by=["size", "statsu"]', "query.by: the source has no column 'statsu'"),
        ("query.kind=distinct-counts", "query.kind: unknown 'distinct-counts'; did you mean 'distinct-count'?"),
        ("query.delay=soon", "query.delay: must be a duration"),
        ("backends.sketch=kskb", "backends.sketch: unknown backend 'kskb'; did you mean 'k-skb'?"),
        ("backends.window=exact", "backends.window: this query has no such role; known: sketch"),
        ("backends.sketch.epsilon=1", "backends.sketch.epsilon: must be at least 0.001 and below 1 (got 1.0)"),
        ("backends.sketch=3", "backends.sketch: must be a name or a table"),
        ("source.path=reqests", "does not exist"),
        ("source.path=*.parqet", "no file matches"),
        ("source.format=csv", "source.path: cannot be read as csv: "),
        ("source.stream=yes", "source.stream: must be true or false (got 'yes')"),
        ("source.schema=ts TIMSTAMP", "source.schema: unknown type 'timstamp'; did you mean 'timestamp'?"),
        ("source.options=3", "source.options: must be a table"),
        ("source.options={ a = [1] }", "source.options: a: must be text, a number, true or false (got [1])"),
        ("source.format=arrow", "source.path: cannot be read as arrow: "),
        ("sink.format=prquet", "sink.format: unknown format 'prquet'; did you mean 'parquet'?"),
        ("sink.mode=overwrte", "sink.mode: must be one of append, errorifexists, ignore, overwrite"),
        ("sink.trigger=available-now", "sink.trigger: is for streams: set source.stream = true, or remove it"),
        ("sink.checkpoint=x", "sink.checkpoint: is for streams: set source.stream = true, or remove it"),
        ("sink.stream=true", "sink.stream: belongs in [source]"),
        ("source.finish=true", "source.finish: is for streams: set source.stream = true, or remove it"),
        ("source.idle_after=1 minute", "source.idle_after: is for streams: set source.stream = true, or remove it"),
        ("source.idle_after=5 rows", "source.idle_after: must be a length of time above 0"),
        ("query.source=client", "query.sources: is required with source = 'client'"),
        ("query.delay=5 rows", "query.delay: must be in time, as column 'ts' is"),
        ("shards=0", "shards: must be a whole number, at least 1 (got 0)"),
        ("shards=x", "shards: must be a whole number, at least 1 (got 'x')"),
        ("shards=true", "shards: must be a whole number, at least 1 (got true)"),
        ("name=3", "name: must be text (got 3)"),
        ("path=x", "path: belongs in a table such as [source]"),
        ("sinks.path=x", "sinks: unknown; did you mean 'sink'?"),
        ('query.item=["size", "size"]', "query.item: names a column twice"),
        ('query.time=["a", "b"]', "query.time: must be a column name (got ['a', 'b'])"),
        ("query=3", "query: must be a table, [query] (got 3)"),
    ],
)
def test_one_wrong_key_is_named_with_the_remedy(job, change, said):
    found = problems(job(), [change])
    assert len(found) == 1, found
    assert said in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "[source",
        "source]\nformat",
        'path = "req',
        "[query",
        "kind",
        "time",
        "item",
        "windows",
        "every",
        "[sink",
        "sink]\nformat",
    ],
)
def test_a_misspelt_key_is_one_problem(job, text):
    """Not two: that it is unknown, and that the right one is missing."""
    misspelt = text.replace("path", "pathe") if "path" in text else f"{text}e"
    assert JOB.count(text) == 1
    assert len(problems(job(JOB.replace(text, misspelt)))) == 1


@pytest.mark.parametrize("engine", ["spark", "local"])
def test_answers_that_csv_cannot_hold_are_told_by_the_check(job, tmp_path, engine):
    columns = {**COLUMNS, "words": [["a"], ["b", "c"]]}
    pq.write_table(pa.table(columns), tmp_path / "requests" / "a.parquet")
    query = 'query={ kind = "top-k-pairs", time = "ts", id = "client", tokens = "words", carry = ["words"], k = 2, '
    sets = [query + 'window = "1 hour", every = "1 hour" }', "backends={}", "sink.format=csv"]
    said = "CSV cannot hold the answers' column 'left_words', which is list<item: string>: use parquet or json"
    assert problems(job(), sets, engine) == [f"--set: sink.format: {said}"]
    assert read_job(job(), [*sets, "sink.format=json"], engine).sink.format == "json"


def test_what_only_streams_have_is_one_problem(job):
    changes = ["sink.checkpoint=c", "sink.trigger=available-now", "source.finish=true"]
    assert problems(job(), changes) == [
        "--set: sink.checkpoint: is for streams, and so are sink.trigger, source.finish: set source.stream = true, "
        "or remove them"
    ]


def test_row_windows_on_several_shards_are_refused_by_the_check(job):
    found = problems(job(), ['query.windows=["10 rows"]', "query.every=5 rows", "shards=2"])
    assert found == [
        "--set: shards: row windows need one order of all rows: use shards = 1, or group with `by` (got 2)"
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["source.stream=true"], "sink.checkpoint: is required for a stream"),
        (["sink.checkpoint=c", "sink.mode=overwrite"], "sink.mode: a stream only appends"),
        (["sink.checkpoint=c", "sink.trigger=now"], 'sink.trigger: must be "available-now" or a duration'),
        (["sink.checkpoint=c", "sink.trigger=0 seconds"], "sink.trigger: must be a length of time above 0"),
        (["sink.checkpoint=c", "sink.trigger=5 rows"], "sink.trigger: must be a length of time above 0"),
        (["sink.checkpoint=c", "source.finish=true"], "source.finish: is only for streams that end: set sink.trigger"),
        (
            ["sink.checkpoint=c", "source.idle_after=5 seconds", "sink.trigger=available-now"],
            'source.idle_after: is only for streams that never end, but sink.trigger is "available-now": use',
        ),
    ],
)
def test_keys_that_need_one_another_in_a_stream(job, changes, said):
    found = problems(job(), ["source.stream=true", *changes])
    assert len(found) == 1
    assert said in found[0]


def test_columns_are_looked_at_though_another_key_is_wrong(job):
    assert problems(job(), ["query.windows=5", "query.item=clint"])[1:] == [
        "--set: query.item: the source has no column 'clint'; did you mean 'client'?"
    ]
    assert problems(job(), ["query.windows=5", 'query.item=["ts", "clint"]'])[1:] == [
        "--set: query.item: the source has no column 'clint'; did you mean 'client'?"
    ]


def test_a_csv_whose_header_is_not_read_says_how_to_read_it(job, tmp_path):
    (tmp_path / "visits.csv").write_text("ts,client\n2026-06-20 09:00:00,ann\n")
    found = problems(job(), ["source.format=csv", "source.path=visits.csv"])
    assert all(line.endswith("set source.options = { header = true }") for line in found)
    assert len(found) == 1


def test_a_fault_in_the_source_is_not_blamed_on_the_sink(job):
    found = problems(job(), ["source.stream=true", "source.formt=csv", "sink.checkpoint=c", "sink.trigger=1 minute"])
    assert found == ["--set: source.formt: unknown; did you mean 'format'?"]


def test_a_stream_with_all_it_needs_has_no_problem(job):
    changes = ["source.stream=true", "sink.checkpoint=c", "sink.trigger=10 seconds", "sink.mode=append"]
    assert read_job(job(), changes).sink.trigger == "10 seconds"
    assert read_job(job(), ["source.stream=true", "sink.format=console"]).sink.checkpoint is None
    assert read_job(job(), ["source.stream=true"], "local").sink.checkpoint is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "source.format=rate",
            "source.format: the local engine reads parquet, csv, json, text, arrow, delta, iceberg, kafka and sql (got",
        ),
        ("source.path=dbfs:/bucket/x", "source.path: the local engine reads only local files"),
        (
            "source.select=CAST(value AS BINARY) AS client",
            "source.select[0]: a cast to `BINARY` is not supported",
        ),
        (
            "sink.format=jdbc",
            "writes parquet, csv, json, console, delta, iceberg, kafka and sql (got 'jdbc')",
        ),
        ("sink.path=hdfs://x/y", "sink.path: the local engine writes only to this machine"),
    ],
)
def test_what_the_local_engine_cannot_do(job, change, said):
    assert said in "\n".join(problems(job(), [change], "local"))


def test_the_local_engine_does_not_read_text_in_another_zone_than_utc(job):
    (job().parent / "log.csv").write_text("2026-01-01,a\n")
    text = ["source.format=csv", "source.path=log.csv", "source.schema=ts TIMESTAMP, client STRING"]
    text.append("spark.sql.session.timeZone=Asia/Tokyo")
    (said,) = problems(job(), text, "local")
    assert "spark.sql.session.timeZone: the local engine reads times without a zone as UTC" in said
    assert read_job(job(), text).spark == {"spark.sql.session.timeZone": "Asia/Tokyo"}
    assert read_job(job(), text[3:], "local").query.item == "client", "Parquet holds instants"
    assert read_job(job(), [*text, "spark.sql.session.timeZone=UTC"], "local").query.item == "client"


def test_options_the_local_engine_does_not_know_are_not_passed_over(job):
    path = job()
    (path.parent / "log.csv").write_text("ts,client\n2026-01-01,a\n")
    changes = ["source.format=csv", "source.path=log.csv", "source.options={ header = true, lineSep = '|' }"]
    assert "source.options.lineSep: is unknown to the local engine" in "\n".join(problems(path, changes, "local"))


def test_text_columns_are_told_where_to_declare_their_types(job):
    path = job()
    (path.parent / "log.csv").write_text("ts,client\n2026-01-01,a\n")
    changes = ["source.format=csv", "source.path=log.csv", "source.options.header=true"]
    found = problems(path, changes)
    assert found == [
        "query.time: column 'ts' must be a timestamp or a date (it is string); "
        "set the columns' types with source.schema"
    ]
    assert read_job(path, [*changes, "source.schema=ts TIMESTAMP, client STRING"]).schema.names == ["ts", "client"]


@pytest.mark.parametrize("stream", ["false", "true"])
def test_an_empty_folder(job, stream):
    path = job()
    (path.parent / "empty").mkdir()
    changes = ["source.path=empty", f"source.stream={stream}", "sink.format=console"]
    assert "has no data file" in problems(path, changes)[0]
    with_schema = [*changes, "source.schema=ts TIMESTAMP, client STRING"]
    if stream == "true":
        assert read_job(path, with_schema).schema.names == ["ts", "client"]
        assert "source.schema" in problems(path, changes)[0]
    else:
        assert "has no data file" in problems(path, with_schema)[0]


def test_a_file_that_is_no_parquet(job):
    path = job()
    (path.parent / "requests" / "a.parquet").write_text("not parquet")
    assert "source.path: cannot be read as parquet: " in problems(path)[0]


def test_hidden_files_are_no_data(job):
    path = job()
    for name in ("_SUCCESS", ".a.parquet.crc", "_part-0.parquet.partial"):
        (path.parent / "requests" / name).write_text("not parquet")
    assert read_job(path).schema.names == list(COLUMNS)


def test_a_source_that_only_spark_can_read_is_checked_as_far_as_possible(job):
    found = read_job(job(), ["source.format=kafka", "source.options={ subscribe = 'x' }"])
    assert found.schema is None
    assert problems(job(), ["source.path=dbfs:/bucket/x", "backends.sketch.epsilon=7"]) == [
        "--set: backends.sketch.epsilon: must be at least 0.001 and below 1 (got 7.0)"
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[source\n", "line 1, column 8: expected ']'"),
        ("[source]\npath = requests\n", 'line 2, column 8: invalid value: path = requests; text needs quotes: "…"'),
        ("[source]\n[source]\n", "cannot declare"),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(job, text, said):
    found = problems(job(text))
    assert len(found) == 1
    assert said.lower() in found[0].lower()


def test_an_empty_file_needs_three_tables(job):
    assert problems(job("")) == [
        "source: is required: a table [source] that says where the rows come from",
        "sink: is required: a table [sink] that says where the answers go",
        "query: is required: a table [query] that says what is asked",
    ]


def test_a_missing_or_unreadable_file(tmp_path):
    assert problems(tmp_path / "none.toml") == ["does not exist"]
    assert "cannot be read" in problems(tmp_path)[0]
    (tmp_path / "job.toml").write_bytes(b"\xff\xfe")
    assert "cannot be read" in problems(tmp_path / "job.toml")[0]


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("query.delay=10 minutes", "10 minutes"),
        ('query.delay="10 minutes"', "10 minutes"),
        (" query.delay = 10 minutes", "10 minutes"),
    ],
)
def test_set_accepts_toml_and_plain_text(job, change, value):
    assert str(read_job(job(), [change]).query.delay) == value


def test_set_reaches_into_tables_and_the_last_one_wins(job):
    changes = ["backends.sketch.epsilon=0.1", "backends.sketch.epsilon=0.2", "sink.options.compression=zstd"]
    found = read_job(job(), changes)
    assert found.backends == {"sketch": {"name": "pcsa-ml", "epsilon": 0.2}}
    assert found.sink.options == {"compression": "zstd"}


def test_the_name_of_an_option_may_have_dots(job):
    changes = ["source.options.mergeSchema.of.all=true", 'source.options.a.b="x"', "sink.options.header=false"]
    changed = read_job(job(), changes)
    assert changed.source.options == {"mergeSchema.of.all": True, "a.b": "x"}
    assert changed.sink.options == {"header": False}
    path = job(JOB.replace('path = "requests"', 'path = "requests"\noptions = { "a.b" = 1, c = 2 }'))
    assert read_job(path).source.options == {"a.b": 1, "c": 2}
    assert read_job(path, ["-source.options.a.b"]).source.options == {"c": 2}


def test_set_removes_keys(job):
    path = job()
    path.write_text("shards = 3\n" + path.read_text())
    assert (read_job(path).shards, read_job(path, ["-shards"]).shards) == (3, None)
    assert read_job(path, ["-shards", "shards=2"]).shards == 2
    assert read_job(path, ["shards=2", "-shards"]).shards is None
    assert problems(path, ["-query.item"])[0].startswith("--set: query.item: is required")
    (unknown,) = problems(path, ["-query.itm"])
    assert unknown == "--set: query.itm: is not in the job, so it cannot be removed; did you mean 'item'?"
    assert "must be KEY=VALUE" in problems(path, ["-query..delay"])[0]


def test_set_that_is_no_key_and_value(job):
    for change in ("query.k", "=3", "a..b=3"):
        assert "must be KEY=VALUE" in problems(job(), [change])[0]
    for change in ("query.k=\udcff", "\udcff=3"):
        assert "must be text in UTF-8" in problems(job(), [change])[0]
    assert "query.item is 'client', not a table" in problems(job(), ["query.item.x=1"])[0]


def test_a_backend_comes_from_set_then_the_file_then_the_spark_setting(job):
    setting = "spark.skyband.backends.sketch=exact"
    without = JOB.replace('sketch = "pcsa-ml"', "")
    assert read_job(job(without)).backends == {}
    assert read_job(job(without), [setting]).backends == {"sketch": "exact"}
    assert read_job(job(without), [f"spark.{setting}"]).backends == {"sketch": "exact"}
    assert read_job(job(), [setting]).backends == {"sketch": "pcsa-ml"}
    assert read_job(job(), [setting, "backends.sketch=se-fm"]).backends == {"sketch": "se-fm"}
    assert "unknown backend 'exakt'" in problems(job(without), [setting.replace("exact", "exakt")])[0]


def test_spark_settings_may_be_nested_or_written_out(job):
    text = JOB + '[spark]\nmaster = "local[2]"\nui.enabled = false\n"spark.sql.shuffle.partitions" = 4\n'
    assert read_job(job(text)).spark == {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
    }


def test_paths_elsewhere_stay_as_they_are(job):
    assert read_job(job(), ["sink.path=s3://bucket/counts"]).sink.path == "s3://bucket/counts"
    assert read_job(job(), ["sink.path=/counts"]).sink.path == "/counts"
    assert str(local_path("file:///counts")) == "/counts"
    assert local_path("hdfs://host/x") is None


def test_a_typed_fault_is_distinguished_from_one_in_the_file(job):
    path = job(JOB.replace('item = "client"', 'item = "clinet"'))
    with pytest.raises(JobError) as caught:
        read_job(path, ["query.time=tss"])
    assert str(caught.value).splitlines() == [
        "--set: query.time: the source has no column 'tss'; did you mean 'ts'?",
        f"{path}: query.item: the source has no column 'clinet'; did you mean 'client'?",
    ]


def test_a_job_error_survives_pickling(job):
    with pytest.raises(JobError) as caught:
        read_job(job(), ["query.item=x"])
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("where", ["ts = 5", "ts = true", "CLIENT = 'a'"])
def test_conditions_that_only_spark_compares_are_left_to_it(job, where):
    assert read_job(job(), [f"source.where={where}"]).schema is not None
    assert "source.where" in "\n".join(problems(job(), [f"source.where={where}"], "local"))


def test_an_option_that_only_spark_knows_is_left_to_it(job):
    (job().parent / "log.csv").write_text("2026-01-01,a\n")
    sets = ["source.format=csv", "source.path=log.csv", "source.options.lineSep='|'"]
    assert read_job(job(), sets).schema is None
    assert read_job(job(), [*sets, "source.schema=ts TIMESTAMP, client STRING"]).schema.names == ["ts", "client"]


def test_a_line_of_names_that_was_forgotten_is_told_by_the_check(job):
    (job().parent / "log.csv").write_text("ts,client\n2026-01-01,a\n")
    sets = ["source.format=csv", "source.path=log.csv", "source.schema=ts TIMESTAMP, client STRING"]
    for engine in ("spark", "local"):
        (said,) = problems(job(), sets, engine)
        assert "log.csv: ts, row 0: cannot be read" in said
        assert "set source.options = { header = true }" in said
        assert read_job(job(), [*sets, "source.options.header=true"], engine).query.item == "client"


@pytest.mark.parametrize(("files", "late", "hours"), [(1, 2, 8), (2, 1, 7), (4, 0, 0)])
def test_rows_are_late_by_the_files_that_a_micro_batch_reads(job, files, late, hours):
    """As on Spark: rows of one micro-batch are not late relative to each other."""
    path = job()
    folder = path.parent / "logs"
    folder.mkdir()
    for number, hour in enumerate((9, 1, 2, 10)):
        (folder / f"{number}.csv").write_text(f"2026-01-01 {hour:02}:00:00,a\n")
        os.utime(folder / f"{number}.csv", (1_000_000_000 + number,) * 2)
    sets = ["source.format=csv", "source.path=logs", "source.schema=ts TIMESTAMP, client STRING", "source.stream=true"]
    sets += [f"source.options.maxFilesPerTrigger={files}", "sink.format=console", "query.delay=0 seconds"]
    read = read_job(path, sets, "local")
    totals = run_locally(read, engine_named("local"), LocalEngine(), Progress())
    assert (totals.rows_in, totals.rows_late) == (4, late)
    assert totals.late_by == hours * 3_600_000_000, "that of the latest row of all, whenever it came"
