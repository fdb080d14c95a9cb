"""Parts of a table are all read, each once, whatever they call the place where they are."""

import pyarrow as pa
import pytest
from attrs import frozen
from skyband.job.sources.where_and_select import Shape
from skyband.job.spark.table_parts import TableParts, tasks_of
from skyband.tables import TablePart

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
def test_every_part_is_read_once_though_several_are_of_one_file(places):
    parts = [Numbers(place, 10 * at) for at, place in enumerate(places)]
    table = TableParts(tuple(parts), SCHEMA, Shape(), SCHEMA)
    tasks = tasks_of(parts, cores=2)
    assert [part for task in tasks for part in task] == parts
    for together in (parts, *tasks):
        read = pa.Table.from_batches(table.batches(["number"], together, None))
        assert sorted(read["number"].to_pylist()) == [part.first + more for part in together for more in (0, 1)]
