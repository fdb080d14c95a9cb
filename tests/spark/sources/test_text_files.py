"""CSV and JSON on Spark: read in Python as by the local engine, so with the same rows and errors."""

import json
import os

import pyarrow as pa
import pytest
from click.testing import CliRunner
from skyband import spark
from skyband.cli.commands import group

pytestmark = pytest.mark.spark

JOB = """
[source]
format = "csv"
path = "in"
schema = "ts TIMESTAMP, client STRING, n INT"
options = { header = true }

[query]
kind = "distinct-count"
time = "ts"
item = "n"
windows = ["1 hour"]
every = "1 hour"
by = "client"

[backends]
sketch = "exact"

[sink]
format = "json"
path = "out"
"""
STREAM = ["source.stream=true", "source.finish=true", "sink.trigger=available-now", "sink.checkpoint=checkpoint"]
FILES = {
    "a b.csv": """ts,client,n
2026-01-01 00:00:00.123456789Z,"a ""q"" b",1
2026-01-01 00:10:00,"x
y",2
2026-01-01 00:10:00,"",3
""",
    "c.csv": 'client,n,ts\n\\,4,2026-01-01\n"a\\",5,2026-01-01\n,6,2026-01-01\n' + f"{'long' * 300_000},7,2026-01-01\n",
    "empty.csv": "",
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    for number, (name, text) in enumerate(FILES.items()):
        (tmp_path / "in" / name).write_text(text)
        os.utime(tmp_path / "in" / name, (1_000_000_000 + number,) * 2)
    with pa.CompressedOutputStream(str(tmp_path / "in" / "z.csv.lz4"), "lz4") as file:
        file.write(b"ts,n,client\n2026-01-01,8,zipped\n")
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def answers(folder, engine, *sets):
    sink = f"{engine} {len(list(folder.iterdir()))}"
    changes = [part for change in (*sets, f"sink.path={sink}") for part in ("--set", change)]
    ran = CliRunner().invoke(group, ["run", str(folder / "job.toml"), "--engine", engine, *changes])
    if ran.exit_code:
        return ran.stderr
    lines = [line for path in (folder / sink).glob("*.json") for line in path.read_text("utf-8").splitlines()]
    return sorted((row.get("client") or "", row["count"], "client" in row) for row in map(json.loads, lines))


def test_both_engines_read_the_same_from_csv(session, folder):
    expected = answers(folder, "local")
    clients = sorted(row[0] for row in expected)
    assert clients == sorted(["", "", 'a "q" b', "x\ny", "\\", "a\\", "long" * 300_000, "zipped"])
    assert answers(folder, "spark")[2:] == expected[2:]
    assert answers(folder, "spark", *STREAM, "source.options.maxFilesPerTrigger=4")[2:] == expected[2:]


def test_both_engines_refuse_a_file_in_the_same_way(session, folder):
    (folder / "in" / "bad.csv").write_text("ts,n\n2026-01-01,3\n")
    for engine in ("local", "spark"):
        assert "bad.csv: line 1 does not name the column 'client' (it names ts, n)" in answers(folder, engine)
    (folder / "in" / "bad.csv").write_text('ts,n,client\n2026-01-01,3,"x\n')
    for engine in ("local", "spark"):
        assert "bad.csv: the quote in line 2 is not closed" in answers(folder, engine)


def test_sql_that_the_reader_does_not_know_is_left_to_spark(session, folder):
    program = spark.files(str(folder / "in" / "c.csv"), format="csv", header=True)  # warns a program of derived rows
    for where in ("upper(btrim(client)) = 'ZIPPED'", "client = 'zipped'", "N = '8'"):
        assert answers(folder, "spark", f"source.where={where}") == [("zipped", 1.0, True)]
    assert program.count() == 4


def test_sparks_own_reader_is_told_the_dialect(session, folder):
    for path in (folder / "in").iterdir():
        if path.name != "a b.csv":
            path.unlink()
    names = [row[0] for row in answers(folder, "spark", "source.reader=spark")]
    assert names == ["", 'a "q" b', "x\ny"]
    (folder / "in" / "b.csv").write_text("ts,n,client\n2026-01-01,1,b\n")
    assert "CSV header does not conform to the schema" in answers(folder, "spark", "source.reader=spark")


def test_a_line_that_is_no_object_is_refused_on_both(session, folder):
    for path in (folder / "in").iterdir():
        path.unlink()
    (folder / "in" / "a.json").write_text('{"ts": "2026-01-01", "client": "a", "n": 1}\n')
    (folder / "in" / "b.json").write_text('{"ts": "2026-01-01", "client": "a", "n": 1}\nnull\n')
    for engine in ("local", "spark"):
        said = answers(folder, engine, "source.format=json", "source.options={}")
        assert "b.json: line 2 is not a JSON object" in said
