"""Turns that are done again after a kill: a sink has the rows of each once, wherever the last savepoint was."""

from types import SimpleNamespace

import pyarrow as pa
import pytest
from skyband.errors import SnapshotError
from skyband_jobs.formats import BatchSink
from skyband_jobs.tables.model import Sink
from skyband_serve.service import Service
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


@pytest.mark.parametrize("last", range(4))
@pytest.mark.parametrize("answers", [None, *range(5)])
@pytest.mark.parametrize("aside", [None, *range(5)])
def test_a_sink_with_a_later_turn_than_the_checkpoint_is_refused(last, answers, aside):
    """By one turn or by more, whichever of the sinks it is."""
    latest = SimpleNamespace(latest=lambda: answers), [SimpleNamespace(latest=lambda: aside)]
    resumed = SimpleNamespace(_sink=latest[0], _asides=latest[1], checkpoint=SimpleNamespace(folder="here"))
    newest = max(answers or 0, aside or 0)
    if newest <= last:
        Service._check_sinks(resumed, last)
        return
    with pytest.raises(SnapshotError, match=rf"has turn {newest}, but the checkpoint 'here' ends with {last}"):
        Service._check_sinks(resumed, last)
