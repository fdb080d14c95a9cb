"""All parts of a table are read, each once, whatever the notation of their paths."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import frozen
from skyband_jobs.files.where_and_select import Shape
from skyband_jobs.formats import TablePart
from skyband_jobs.tables.model import Source
from skyband_spark.reading import plain_files_of_tables
from skyband_spark.reading.table_parts import TableParts, tasks_of

SCHEMA = pa.schema([("number", pa.int64()), ("unread", pa.string())])


@frozen(eq=False)
class Numbers(TablePart):
    """Rows from `first` on, which say that they are of a file."""

    place: str
    first: int
    size: int = 1 << 21

    def batches(self, columns):
        batch = pa.record_batch({"number": [self.first, self.first + 1], "unread": ["a", "b"]}, schema=SCHEMA)
        yield batch.select(columns)


@pytest.mark.parametrize("places", ["aaaa", "abab", "aabb", "abcd"])
def test_every_part_is_read_once_even_if_several_are_of_one_file(places):
    parts = [Numbers(place, 10 * at) for at, place in enumerate(places)]
    table = TableParts(tuple(parts), SCHEMA, Shape(), SCHEMA)
    tasks = tasks_of(parts, cores=2)
    assert [part for task in tasks for part in task] == parts
    for together in (parts, *tasks):
        read = pa.Table.from_batches(table.batches(["number"], together, None))
        assert sorted(read["number"].to_pylist()) == [part.first + more for part in together for more in (0, 1)]


def test_a_table_with_a_missing_file_is_not_read_without_it(tmp_path):
    """By Python, which would return the rows of the others: Spark reports each as missing."""
    names = [str(tmp_path / f"{name}.parquet") for name in "ab"]
    for name in names:
        pq.write_table(pa.table({"number": [1], "unread": ["a"]}, schema=SCHEMA), name)
    source = Source(format="acme", path=str(tmp_path))
    read = plain_files_of_tables._by_files(source, names, SCHEMA, {}, ["number"])
    assert [str(path) for path in read.files.paths] == names
    for gone, said in (([names[0]], "not on this machine"), (names, "not on this machine"), ([], None)):
        there = [name for name in names if name not in gone]
        for name in gone:
            Path(name).rename(f"{name}.gone")
        choice = plain_files_of_tables._by_files(source, names, SCHEMA, {}, ["number"])
        assert (choice.files is None) == (said is not None) and (said or "") in choice.why, there
        for name in gone:
            Path(f"{name}.gone").rename(name)
    assert plain_files_of_tables._by_files(source, [], SCHEMA, {}, ["number"]).why == "it has no files"
