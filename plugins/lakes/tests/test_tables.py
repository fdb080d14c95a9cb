"""Tables in process: answers are written once and read back unchanged, and a wrong table is reported."""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group
from skyband.errors import ConfigError, EngineError
from skyband_jobs.formats import NetChanges, extras, open_sink, open_table
from skyband_lakes.libraries import DELTA, ICEBERG
from table_places import arguments, keys

ANSWERS = pa.table(
    {
        "place": ["a", "b", None],
        "at": pa.array([1_000_000, 2_000_000, 2_000_000], pa.timestamp("us", "UTC")),
        "count": [1.5, 2.5, None],
        "rank": pa.array([1, 2, 3], pa.int64()),
        "state": [b"\x00", b"", b"\xff"],
    }
)
FORMATS = {"delta": DELTA, "iceberg": ICEBERG}
JOB = """
[source]
format = "parquet"
path = "visits.parquet"

[query]
kind = "distinct-count"
time = "ts"
item = "who"
windows = ["1 minute"]
every = "1 minute"

[sink]
format = "parquet"
"""


@pytest.fixture(name="format", params=FORMATS)
def _format(request):
    lacking = FORMATS[request.param].missing()
    if lacking is not None:
        pytest.skip(f"{request.param} {lacking}")
    return request.param


@pytest.fixture
def place(format, tmp_path):
    return arguments(format, tmp_path)


def rows(format, place):
    table = open_table(format, *place)
    return pa.Table.from_batches(table.batches(table.schema.names), table.schema).to_pylist()


def test_each_micro_batch_is_written_once_with_its_number(format, place):
    sink = open_sink(format, *place)
    assert not sink.exists() and sink.latest("one") is None
    for batch in range(3):
        sink.write(ANSWERS.slice(batch, 1), "one", batch)
        assert open_sink(format, *place).latest("one") == batch
    sink.write(ANSWERS.slice(0, 0), "one", 3)
    assert sink.latest("one") == 3, "also for a micro-batch without answers"
    assert sink.exists() and sink.latest("another") is None
    assert rows(format, place) == ANSWERS.to_pylist()


def test_a_batch_is_appended_or_replaces_the_table(format, place):
    sink = open_sink(format, *place)
    sink.append(ANSWERS.slice(0, 0))
    assert rows(format, place) == []
    sink.append(ANSWERS)
    sink.append(ANSWERS.slice(0, 1))
    assert rows(format, place) == [*ANSWERS.to_pylist(), ANSWERS.to_pylist()[0]]
    sink.append(ANSWERS.slice(1), replace=True)
    assert rows(format, place) == ANSWERS.to_pylist()[1:]


def test_changes_are_applied_to_the_table_or_replace_it(format, place):
    sink, key = open_sink(format, *place), ("name",)
    table = pa.table({"name": ["a", "b"], "count": [1, 2]})
    nobody = table.slice(0, 0).select(["name"])
    for replace, some, expected in ((False, table, "ab"), (True, table.slice(1), "b")):
        sink.apply(NetChanges(key, nobody, some), replace=replace)
        assert sorted(row["name"] for row in rows(format, place)) == [*expected]


def test_instants_of_another_zone_are_stored_in_utc(format, place):
    instants = pa.array([1_000_000, None], pa.timestamp("us", "Europe/Paris"))
    table = pa.table({"name": instants, "seen": [[instants[0]], None]})
    sink, key = open_sink(format, *place), ("name",)
    for batch in range(2):
        sink.write(table, "one", batch)
    sink.append(table)
    sink.check(table.schema)
    seen = rows(format, place)
    assert [row["name"] for row in seen] == instants.to_pylist() * 3 and seen[0]["seen"] == [seen[0]["name"]]
    sink.apply(NetChanges(key, table.select(["name"]).slice(0, 1), table.slice(1)))
    assert [row["name"] for row in rows(format, place) if row["name"]] == []


def drop(format, place):
    name, options = place
    if format == "delta":
        shutil.rmtree(name)
    else:
        ICEBERG.imported("catalog.sql").SqlCatalog("default", **options).drop_table(name)


def test_a_table_that_is_dropped_while_a_stream_runs_takes_nothing_more(format, place):
    sink = open_sink(format, *place)
    sink.write(ANSWERS, "one", 0)
    drop(format, place)
    said = "the table had micro-batch 0 of this stream, and now has none of it: restore it"
    for _ in range(2):
        with pytest.raises(EngineError, match=said):
            sink.latest("one")
    assert sink.latest("another") is None
    sink.write(ANSWERS, "another", 0)
    assert sink.latest("another") == 0


def test_a_table_that_is_set_back_while_a_stream_runs_takes_nothing_more(format, place, tmp_path):
    sink = open_sink(format, *place)
    sink.write(ANSWERS, "one", 3)
    copy = shutil.copytree(tmp_path, tmp_path.parent / f"{tmp_path.name} of before")
    sink.write(ANSWERS, "one", 4)
    shutil.rmtree(tmp_path)
    shutil.copytree(copy, tmp_path)
    with pytest.raises(EngineError, match="had micro-batch 4 of this stream, and now is at 3: restore it"):
        sink.latest("one")
    assert open_sink(format, *place).latest("one") == 3, "another run checks its own checkpoint"


@pytest.mark.parametrize(
    "wrong", [pa.table({"x": [1]}), ANSWERS.set_column(2, "count", pa.array([1, 2, 3])), ANSWERS.select(["at"])]
)
def test_a_table_with_other_columns_is_refused_with_both_schemas(format, place, wrong):
    sink = open_sink(format, *place)
    sink.append(ANSWERS)
    sink.check(ANSWERS.schema)
    said = r"(path|table): the .* table '.*' has place string, at .*: choose another \1"
    with pytest.raises(ConfigError, match=said):
        sink.write(wrong, "one", 0)
    with pytest.raises(ConfigError, match=said):
        sink.check(wrong.schema)
    assert rows(format, place) == ANSWERS.to_pylist() and sink.latest("one") is None


def test_a_path_that_is_not_a_table_is_refused(format, tmp_path):
    with pytest.raises(ConfigError, match=r"path: the .* table: |catalog.uri: no such file \("):
        open_table(format, *arguments(format, tmp_path / "nowhere"))


@pytest.fixture
def call(tmp_path):
    seconds = pa.array([5, 20, 65, 130], pa.timestamp("s", "UTC"))
    pq.write_table(pa.table({"ts": seconds, "who": ["ann", "bob", "ann", "cho"]}), tmp_path / "visits.parquet")
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "second.toml").write_text(JOB.replace('path = "visits.parquet"', ""))

    def run(command, *sets):
        changes = [part for change in sets for part in ("--set", change)]
        job = "second.toml" if any(change.startswith("source.format=") for change in sets) else "job.toml"
        return CliRunner().invoke(group, [command, str(tmp_path / job), "--engine", "local", *changes])

    return run


def into(format, **others):
    """The settings with which a job writes a table."""
    return [f"sink.{key}={value}" for key, value in {"format": format, **keys(format), **others}.items()]


def reading(format, **others):
    """The settings with which a job reads the table of its answers."""
    source = {f"source.{key}": value for key, value in {"format": format, **keys(format), **others}.items()}
    return [f"{key}={value}" for key, value in {**source, "query.time": "at", "query.item": "count"}.items()]


def test_a_job_writes_a_table_that_another_reads(call, format, place):
    assert call("check", *into(format)).exit_code == 0
    ran = call("run", *into(format))
    assert ran.exit_code == 0, ran.stderr
    assert [row["count"] for row in rows(format, place)] == [2.0, 1.0, 1.0]
    again = call("run", *into(format))
    assert again.exit_code == 1 and 'set sink.mode to "overwrite" or "append"' in again.stderr
    assert f": sink.{'path' if format == 'delta' else 'table'}: " in again.stderr
    assert "nothing is written" in call("run", *into(format, mode="ignore")).stderr
    assert call("run", *into(format, mode="append")).exit_code == 0
    assert call("run", *into(format, mode="overwrite")).exit_code == 0
    assert len(rows(format, place)) == 3
    shown = call("run", *reading(format, where="count < 2"), "sink.format=console")
    assert shown.exit_code == 0, shown.stderr
    assert [line.split()[-1] for line in shown.stdout.splitlines()[1:]] == ["1", "1"], shown.stdout


def test_problems_of_a_job_with_tables_are_reported_before_it_runs(call, format):
    assert call("check", *reading(format), "sink.format=console").exit_code == 1, "the table does not exist yet"
    assert call("run", *into(format)).exit_code == 0
    for setting, said in (
        ('source.schema="at TIMESTAMP"', "source.schema: a table in"),
        ("query.every=1 minute", "is the source"),
        ("query.item=cuont", "did you mean 'count'?"),
    ):
        told = call("check", *reading(format), *into(format), setting).stdout
        assert said in told


def test_a_table_with_other_columns_is_reported_before_a_run(call, format, place):
    sink = open_sink(format, *place)
    sink.append(ANSWERS)
    for mode in ("append", "overwrite"):
        told = call("check", *into(format, mode=mode))
        key = "path" if format == "delta" else "table"
        assert told.exit_code == 1 and f"sink.{key}: the " in told.stdout, told.stdout
        assert "has place string, at" in told.stdout and "count double" in told.stdout
    assert call("check", *into(format, mode="ignore")).exit_code == 0, "nothing will be written"
    assert rows(format, place) == ANSWERS.to_pylist()


@pytest.mark.parametrize("format", FORMATS)
def test_a_missing_library_is_named_with_its_extra(call, monkeypatch, format):
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    checked = call("check", *into(format))
    assert f"sink.format: {format} needs " in checked.stdout
    assert f"pip install 'skyband-lakes[{format}]'" in checked.stdout
    with pytest.raises(EngineError, match=rf"{format} needs .*: pip install 'skyband-lakes\[{format}\]'"):
        open_sink(format, "counts", {"name": "lake"}).exists()


@pytest.mark.parametrize(
    ("format", "columns", "told"),
    [
        ("delta", {"Page": ["b"]}, "path: the columns 'page' and 'Page' are one name in Delta: rename one"),
        ("delta", {"a\0": ["b"]}, r"path: column 'a\x00' cannot be a name: choose another, by AS in source.select"),
        ("iceberg", {"": ["b"]}, "table: column '' cannot be a name: choose another, by AS in source.select"),
        (
            "iceberg",
            {"seen": pa.array([253_402_300_800_000_000], pa.timestamp("us", "UTC"))},
            "table: the table takes the years 1 to 9999 (column 'seen', value +10000-01-01 00:00:00+00:00)",
        ),
    ],
    ids=["case", "nul", "empty", "year"],
)
@pytest.mark.parametrize("key", [(), ("page",)], ids=["log", "current"])
def test_the_error_of_an_unsupported_value_names_the_column(format, columns, told, key, tmp_path):
    pytest.importorskip("deltalake" if format == "delta" else "pyiceberg")
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/lake"}
    place, options = (f"{tmp_path}/board", {}) if format == "delta" else ("db.board", catalog)
    sink = open_sink(format, place, options, key=key)
    at = pa.array([0], pa.timestamp("us", "UTC"))
    with pytest.raises(ConfigError) as error:
        sink.write(pa.table({"change": ["entered"], "at": at, "page": ["a"], **columns}), "one", 0)
    assert told in str(error.value)


IN_THE_WAY = {
    "file": "'{0}/file' is a file: name a folder",
    "file/below/it": "'{0}/file/below/it' is below '{0}/file', which is a file",
    "/dev/null": "'/dev/null' is a device",
    "/dev/null/x": "'/dev/null/x' is below '/dev/null', which is a device",
    "link": "'{0}/link' is a broken link",
    "answers": None,
    "new/answers": None,
}


@pytest.mark.parametrize("format", ["delta", "parquet", "csv"])
@pytest.mark.parametrize("path", IN_THE_WAY)
def test_check_reports_what_occupies_the_place_of_the_answers(format, path, tmp_path):
    if format == "delta" and DELTA.missing() is not None:
        pytest.skip(f"delta {DELTA.missing()}")
    pq.write_table(pa.table({"ts": pa.array([0], pa.timestamp("us")), "who": ["a"]}), tmp_path / "visits.parquet")
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    words = IN_THE_WAY[path]
    sink = JOB.replace('[sink]\nformat = "parquet"', f'[sink]\nformat = "{format}"')
    stream = JOB.replace("[source]", "[source]\nstream = true").replace('"visits.parquet"', f'"{tmp_path}"')
    checkpoint = f'path = "other"\ntrigger = "available-now"\ncheckpoint = "{path}"\n'
    for key, job in (("sink.path", f'{sink}path = "{path}"\n'), ("sink.checkpoint", stream + checkpoint)):
        (tmp_path / "job.toml").write_text(job)
        result = CliRunner().invoke(group, ["check", str(tmp_path / "job.toml"), "--engine", "local"])
        if words is not None:
            assert result.exit_code == 1
            assert f"{key}: {words.format(tmp_path)}" in result.output
        elif key == "sink.path":
            assert result.exit_code == 0, result.output


def test_a_damaged_log_of_a_delta_table_is_reported_in_one_line(tmp_path):
    """Some of the library's messages contain colours and a backtrace of its code."""
    if DELTA.missing() is not None:
        pytest.skip(f"delta {DELTA.missing()}")
    place = arguments("delta", tmp_path)
    open_sink("delta", *place).append(ANSWERS)
    (log,) = tmp_path.rglob("*.json")
    whole = log.read_bytes()
    damaged = [
        whole[: len(whole) // 3],
        whole.replace(b'"path":"', b'"path":"lacks-'),
        whole.replace(b"{", b"\xff", 1),
        whole.replace(b'"type', b'"typ'),
        whole.replace(b'"add":{', b'"add":7,"x":{'),
        b"",
    ]
    for log_bytes in damaged:
        log.write_bytes(log_bytes)
        with pytest.raises(ConfigError) as caught:
            rows("delta", place)
        (problem,) = caught.value.problems
        assert problem.field == "path" and "the Delta table" in problem.message
        assert len(problem.message) < 400 and "unknown" not in problem.message and "\x1b" not in problem.message
        assert problem.message.isprintable(), problem.message
