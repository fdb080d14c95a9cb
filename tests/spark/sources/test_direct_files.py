"""Parquet and Arrow files that Spark lists and Python reads: the same rows, checkpoints and errors."""

import datetime as dt
import json
import os

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband import spark
from skyband.cli.commands import group
from skyband.engines import local
from skyband.queries import make_query
from skyband_jobs.files import file_parts
from skyband_jobs.files.text_files import ranges
from skyband_spark.reading import python_file_reader

pytestmark = pytest.mark.spark

JOB = """
[source]
path = "in"
format = "parquet"

[query]
kind = "distinct-count"
time = "ts"
item = "item"
windows = ["1 hour"]
every = "1 hour"
by = "client"

[backends]
sketch = "exact"

[sink]
format = "json"
path = "out"
"""
QUERY = {
    "kind": "distinct-count",
    "time": "ts",
    "item": "item",
    "windows": ["1 hour"],
    "every": "1 hour",
    "by": "client",
}
STREAM = ["source.stream=true", "sink.trigger=available-now", "source.options.maxFilesPerTrigger=1"]
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def table(first: int, rows: int = 300) -> pa.Table:
    numbers = range(first, first + rows)
    texts = [None if number % 7 == 0 else f"{number % 5} é" for number in numbers]
    return pa.table(
        {
            "ts": pa.array([START + dt.timedelta(minutes=number) for number in numbers], pa.timestamp("us", "UTC")),
            "unread": [[number] for number in numbers],
            "client": pa.array(texts).dictionary_encode(),
            "item": pa.array([number % 11 for number in numbers], pa.int32()),
        }
    )


def put(folder, *numbers):
    for number in numbers:
        path = folder / "in" / f"{number}.parquet"
        pq.write_table(table(number * 200), path, row_group_size=100)
        os.utime(path, (1_000_000_000 + number,) * 2)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "job.toml").write_text(JOB)
    put(tmp_path, 0, 1, 2)
    return tmp_path


def ran(folder, engine, *sets, command="run"):
    sink = f"{engine} {len(list(folder.iterdir()))}"
    changes = [part for change in (f"sink.path={sink}", *sets) for part in ("--set", change)]
    called = CliRunner().invoke(group, [command, str(folder / "job.toml"), "--engine", engine, *changes])
    return called, sink


def answers(folder, engine, *sets):
    called, sink = ran(folder, engine, *sets)
    assert called.exit_code == 0, called.stderr
    return called.stderr, read(folder / sink)


def read(sink):
    lines = [line for path in sink.glob("*.json") for line in path.read_text("utf-8").splitlines()]
    return sorted((row["at"][:19], row.get("client") or "", row["count"]) for row in map(json.loads, lines))


def test_both_readers_give_the_rows_of_the_local_engine(session, folder):
    for sets in ((), ("source.where=item > 3 AND client IS NOT NULL",)):
        _, expected = answers(folder, "local", *sets)
        said, direct = answers(folder, "spark", *sets)
        assert "read by  Python, where rows are packed" in said
        said, plain = answers(folder, "spark", *sets, "source.reader=spark")
        assert 'read by  Spark (source.reader = "spark")' in said
        assert direct == plain == expected


def test_sql_that_the_reader_does_not_know_is_left_to_spark(session, folder):
    where = "source.where=upper(btrim(client)) = '1 É'"
    readers = {"auto": "Spark (only Spark knows where or select)", "files": "Python, but where by Spark's SQL"}
    for reader, name in readers.items():
        said, direct = answers(folder, "spark", where, f"source.reader={reader}")
        assert f"read by  {name}" in said
        assert {row[1] for row in direct} == {"1 é"}


def test_folders_are_columns_of_one_type_whoever_reads(session, folder):
    (folder / "in" / "0.parquet").unlink()
    for key in (
        "day=2026-01-01",
        "day=2026-01-02",
        "n=1/m=2.5",
        "n=3000000000/m=x",
        "n=__HIVE_DEFAULT_PARTITION__/m=é%2F",
    ):
        path = folder / key.partition("=")[0] / key / "a.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(table(0, 10), path)
    for top in ("day", "n"):
        ours, sparks = spark.files(str(folder / top)), session.read.parquet(str(folder / top))
        assert ours.dtypes == sparks.dtypes
        keys = [name for name in ours.columns if name in ("day", "n", "m")]
        rows = [frame.select(*keys).distinct().collect() for frame in (ours, sparks)]
        assert sorted(map(str, rows[0])) == sorted(map(str, rows[1]))


def test_arrow_files_are_read_on_spark(session, folder):
    for path in (folder / "in").iterdir():
        pa.feather.write_feather(pq.read_table(path), path.with_suffix(".arrow"))
        path.unlink()
    _, expected = answers(folder, "local", "source.format=arrow")
    assert answers(folder, "spark", "source.format=arrow", "source.reader=auto")[1] == expected


@pytest.mark.parametrize("readers", [("spark", "files", "spark"), ("files", "spark", "files")])
def test_a_checkpoint_of_one_reader_continues_with_the_other(session, folder, readers):
    for place, reader in enumerate(readers):
        if place:
            put(folder, place + 2)
        called, _ = ran(folder, "spark", *STREAM, f"source.reader={reader}", "sink.path=out", "sink.checkpoint=c")
        assert called.exit_code == 0, called.stderr
        assert f"rows in  {900 if place == 0 else 300}" in called.stderr
    _, expected = answers(folder, "local")
    assert read(folder / "out")[: len(expected) - 10] == expected[: len(expected) - 10]


def test_a_file_that_cannot_be_read_is_named(session, folder):
    bad = folder / "in" / "1.parquet"
    bad.write_bytes(bad.read_bytes()[:-20])
    for engine in ("local", "spark"):
        called, _ = ran(folder, engine, "source.schema=ts TIMESTAMP, client STRING, item INT")
        assert called.exit_code == 1
        assert "1.parquet" in called.stderr


def test_a_large_text_file_is_read_by_several_tasks(session, folder, monkeypatch):
    rows = "".join(f'"{START + dt.timedelta(minutes=number)}","a ""\n{number % 3}",{number}\n' for number in range(500))
    (folder / "in" / "a.csv").write_text("ts,client,item\n" + rows)
    changes = (
        "source.format=csv",
        "source.path=in/a.csv",
        "source.options.header=true",
        "source.schema=ts TIMESTAMP, client STRING, item INT",
    )
    _, expected = answers(folder, "local", *changes)
    monkeypatch.setattr(file_parts, "_LEAST", 2_000)
    monkeypatch.setattr(file_parts, "_OPENING", 0)
    made = []
    monkeypatch.setattr(python_file_reader, "text_ranges", lambda *given: made.append(ranges(*given)) or made[-1])
    said, direct = answers(folder, "spark", *changes, "source.reader=files")
    assert "read by  Python" in said
    assert len(made[0]) > 2
    assert direct == expected


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_an_empty_source_is_a_warning(session, folder, engine):
    for path in (folder / "in").iterdir():
        pq.write_table(table(0).slice(0, 0), path)
    for sets in ((), ["source.stream=true"] if engine == "local" else [*STREAM, "sink.checkpoint=c"]):
        called, _ = ran(folder, engine, *sets)
        assert called.exit_code == 0, called.stderr
        assert "warning: the source has no rows, so there are no answers" in called.stderr
    called, _ = ran(folder, engine, "source.where=item > 3")
    assert "the source is empty, or no row meets source.where" in called.stderr


def test_a_row_is_named_by_its_file_row_group_and_place_on_both_engines(session, folder):
    for path in (folder / "in").iterdir():
        times = [2**63 - 1 if path.stem == "1" and number == 250 else 0 for number in range(300)]
        rows = table(0).drop_columns(["ts"]).append_column("ts", pa.array(times))
        pq.write_table(rows, path, row_group_size=100)
    told = []
    for engine in ("local", "spark"):
        called, _ = ran(folder, engine, "query.windows=['1000 rows']", "query.every=1000 rows")
        assert called.exit_code == 1
        told.append(called.stderr.splitlines()[-1])
    assert "1.parquet, row group 2: ts, row 250: " in told[0]
    assert told[0] == told[1]


def test_spark_says_which_files_are_data(session, folder):
    for name in ("_hidden.parquet", ".hidden.parquet"):
        (folder / "in" / name).write_bytes(b"no data")
    (folder / "in" / "below").mkdir()
    pq.write_table(table(0, 7), folder / "in" / "below" / "3.parquet")
    for place, options in {
        "in": [
            {},
            {"pathGlobFilter": "[12].parquet"},
            {"recursiveFileLookup": True},
            {"modifiedBefore": "2001-09-09T01:46:42"},
        ],
        "in/[02].parquet": [{}],
    }.items():
        for chosen in options:
            expected = session.read.options(**chosen).parquet(str(folder / place)).count()
            assert spark.files(str(folder / place), **chosen).count() == expected, (place, chosen)


def test_files_from_a_program(session, folder):
    query = make_query(QUERY)
    whole = pa.concat_tables([table(0), table(200), table(400)])
    expected = local.apply(whole, query, {"sketch": "exact"})
    rows = spark.files(str(folder / "in"))
    made = rows.transform(spark.apply, query, {"sketch": "exact"}).collect()
    assert as_text(made, expected.column_names) == as_text(expected.to_pylist(), expected.column_names)
    assert rows.where("item = 1").count() == whole["item"].to_pylist().count(1)
    assert spark.files(str(folder / "in"), stream=True, maxFilesPerTrigger=1).isStreaming


@pytest.mark.filterwarnings("error")
def test_a_dataframe_derived_from_files_is_warned_of(session, folder):
    rows = spark.files(str(folder / "in"))
    for derived in (rows.select(*rows.columns), rows.where("item = 1"), rows.where("item = 1").select("*")):
        with pytest.warns(UserWarning, match=r"derived from one of spark\.files, so its rows pass through Java: give"):
            spark.apply(derived, QUERY, {"sketch": "exact"})
    spark.apply(rows, QUERY, {"sketch": "exact"})
    spark.apply(session.read.parquet(str(folder / "in")), QUERY, {"sketch": "exact"})


def as_text(rows, names):
    return sorted(tuple(str(row[name]).removesuffix("+00:00") for name in names) for row in rows)
