"""A file that cannot be read among others is named, and none is skipped, whoever lists the files."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband.errors import InputError
from skyband_jobs.files.source_files import open_files
from skyband_jobs.tables.model import Source
from skyband_spark.reading.python_file_reader import PartReader

SCHEMA = "n BIGINT, text STRING"


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def foreign(path: Path) -> None:
    path.write_bytes(b"\x89PNG\r\n\x1a\n" * 40)


def gone(path: Path) -> None:
    path.unlink()


def folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


def other_type(path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"n": ["x"], "text": ["a"]}), path)
    else:
        path.write_text('{"n": "x", "text": "a"}\n' if path.suffix == ".json" else "x,a\n")


DAMAGES = [truncated, foreign, gone, folder_instead, other_type]
BAD = [
    *(("parquet", damage) for damage in (*DAMAGES, empty)),
    *((kind, damage) for kind in ("csv", "json") for damage in (foreign, gone, folder_instead, other_type)),
]


def by_names(source, files):
    """Reads the files with these names as a Spark worker does."""
    names = pa.RecordBatch.from_pydict({"path": [path.as_uri() for path in files.paths]})
    return PartReader(files)(iter([names]), ["n", "text"])


@pytest.mark.parametrize("reader", [lambda _, files: files.batches(["n", "text"]), by_names], ids=["local", "spark"])
@pytest.mark.parametrize(("format", "damage"), BAD)
def test_the_file_is_named_and_those_before_it_are_read(tmp_path, format, damage, reader):
    for number in range(5):
        path = tmp_path / f"{number}.{format}"
        if format == "parquet":
            pq.write_table(pa.table({"n": [number], "text": ["a"]}), path)
        else:
            path.write_text(f"{number},a\n" if format == "csv" else f'{{"n": {number}, "text": "a"}}\n')
    source = Source(format=format, path=str(tmp_path), schema=SCHEMA)
    files = open_files(source)
    damage(files.paths[3])
    rows = []
    with pytest.raises(InputError) as raised:
        for batch in reader(source, files):
            rows += batch["n"].to_pylist()
    assert str(raised.value).startswith(str(files.paths[3]))
    assert rows == [int(path.stem) for path in files.paths[:3]]


def test_a_file_without_bytes_is_no_rows_of_text(tmp_path):
    for kind in ("csv", "json"):
        (tmp_path / f"a.{kind}").write_text("")
        source = Source(format=kind, path=str(tmp_path / f"a.{kind}"), schema=SCHEMA)
        assert sum(map(len, open_files(source).batches(["n"]))) == 0


def test_a_column_that_a_file_lacks_is_null_and_a_narrow_one_is_widened(tmp_path):
    pq.write_table(pa.table({"n": pa.array([1], pa.int32()), "text": ["a"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"more": [0.5], "n": [2]}), tmp_path / "b.parquet")
    files = open_files(Source(format="parquet", path=str(tmp_path)))
    for read in (files.batches(["n", "text"]), by_names(None, files)):
        rows = [row for batch in read for row in batch.to_pylist()]
        assert sorted(rows, key=str) == [{"n": 1, "text": "a"}, {"n": 2, "text": None}]
    pq.write_table(pa.table({"n": ["x"]}), tmp_path / "c.parquet")
    with pytest.raises(Exception, match=r"c.parquet: n: is string, but int64 in earlier files"):
        open_files(Source(format="parquet", path=str(tmp_path)))
