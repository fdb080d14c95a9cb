"""Turns that are done again after a kill: a sink has the rows of each once, wherever the last savepoint was."""

import pyarrow as pa
import pytest
from skyband_jobs.formats import BatchSink
from skyband_jobs.tables.model import Sink
from skyband_serve.sinks import FolderSink, TableSink

SCHEMA = pa.schema([("turn", pa.int64())])


class Table(BatchSink):
    """A table in memory, with the number of each stream's last micro-batch."""

    def __init__(self):
        self.rows, self.numbers = [], {}

    def latest(self, stream):
        return self.numbers.get(stream)

    def write(self, answers, stream, batch):
        self.rows += answers.column("turn").to_pylist()
        self.numbers[stream] = batch

    def exists(self):
        return True

    def append(self, answers, replace=False):
        raise NotImplementedError


def rows_of(number):
    return pa.table({"turn": [number] * (number % 3)}, SCHEMA)


@pytest.mark.parametrize("kind", ["table", "folder"])
@pytest.mark.parametrize("killed", range(1, 6))
def test_each_turn_is_there_once_from_whatever_savepoint_it_is_done_again(kind, killed, tmp_path):
    for saved in range(killed + 1):
        table, folder = Table(), tmp_path / str(saved)
        for first, last in ((1, killed), (saved + 1, 6)):
            sink = TableSink(table, "a") if kind == "table" else FolderSink.of(Sink("json", str(folder)), "a", SCHEMA)
            for number in range(first, last + 1):
                if len(rows_of(number)):
                    sink.write(rows_of(number), number)
        texts = [] if kind == "table" else [path.read_text() for path in sorted(folder.glob("part-*"))]
        rows = table.rows if kind == "table" else [int(line[8:-1]) for text in texts for line in text.splitlines()]
        assert rows == [1, 2, 2, 4, 5, 5]
        assert sink.latest() == 5
