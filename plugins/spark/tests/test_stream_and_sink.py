"""A stream that resumes with its sink: what is accepted writes each micro-batch once, anything else is refused.

A small Spark resumes from every combination of checkpoint and table, one ahead or set back.
"""

import json
from types import SimpleNamespace

import pyarrow as pa
import pytest
from attrs import define, field
from skyband.errors import ConfigError
from skyband_jobs.formats import BatchSink
from skyband_jobs.local import sink as local_sink
from skyband_spark import table_sink_check
from skyband_spark.sink_log_check import check_belong


@define(eq=False)
class Table(BatchSink):
    """A table in memory: (stream, micro-batch, the rows it was made from)."""

    rows: list = field(factory=list)

    def latest(self, stream):
        return max((batch for of, batch, _ in self.rows if of == stream), default=None)

    def write(self, answers, stream, batch):
        self.rows.append((stream, batch, answers))

    def exists(self):
        return bool(self.rows)

    def append(self, answers, replace=False):
        raise NotImplementedError


def give(sink, batch, rows):
    """As Spark gives a micro-batch of the stream `mine`."""
    session = SimpleNamespace(sparkContext=SimpleNamespace(getLocalProperty=lambda _: "mine"))
    sink(SimpleNamespace(sparkSession=session, toArrow=lambda: rows), batch)


def leave(checkpoint, begun, committed):
    for log, last in (("offsets", begun), ("commits", committed)):
        (checkpoint / log).mkdir(parents=True)
        for batch in range(last + 1):
            (checkpoint / log / str(batch)).touch()


def job_of(checkpoint, begun, committed):
    """The job of a stream `mine` whose checkpoint is there."""
    leave(checkpoint, begun, committed)
    (checkpoint / "metadata").write_text(json.dumps({"id": "mine"}))
    sink = SimpleNamespace(
        checkpoint=str(checkpoint), mode=None, path="place", format="acme-log", table=None, options={}
    )
    return SimpleNamespace(sink=sink, source=SimpleNamespace(stream=True))


PLACES = [(committed, begun) for committed in (-1, 0, 1, 9, 10) for begun in (committed, committed + 1)]


@pytest.mark.parametrize(("committed", "begun"), PLACES)
@pytest.mark.parametrize("written", [None, 0, 1, 2, 8, 9, 10, 11, 12])
def test_a_table_has_each_micro_batch_once_or_the_stream_is_refused(tmp_path, committed, begun, written):
    """The table was written up to any micro-batch. One that was started is repeated with the same rows."""
    sink, job = Table(), job_of(tmp_path / "c", begun, committed)
    for batch in range(-1 if written is None else written + 1):
        give(sink, batch, "before")
    first = begun if begun > committed else committed + 1
    after = Table(list(sink.rows))
    for batch in range(first, 15):
        give(after, batch, "before" if batch <= begun else "after")
    whole = [("mine", batch, "before" if batch <= begun else "after") for batch in range(15)]
    if after.rows == whole:
        table_sink_check.check_goes_on(job, sink)
    else:
        with pytest.raises(ConfigError, match=r"restore the (newer checkpoint|table)"):
            table_sink_check.check_goes_on(job, sink)


@pytest.mark.parametrize("written", range(-1, 4))
def test_a_micro_batch_already_written_is_not_written_again(written):
    """Whatever number Spark uses, such as after a checkpoint that was set back while the run was stopped."""
    for given in range(4):
        sink = Table([("mine", number, "before") for number in range(written + 1)] + [("other", 9, "of another")])
        before = [*sink.rows]
        give(sink, given, "after")
        assert sink.rows == before + ([("mine", given, "after")] if given > written else [])


@pytest.mark.parametrize("begun", [-1, 0, 9])
@pytest.mark.parametrize("rows", [0, 3])
def test_a_table_without_numbers_must_be_empty_when_a_stream_starts(tmp_path, begun, rows):
    """What is written by its keys may be written again: of a stream that has begun it may have any rows."""
    sink = Table([("another", number, "before") for number in range(rows)])
    sink.is_numbered = False
    job = job_of(tmp_path / "c", begun, -1)
    if begun >= 0 or not rows:
        table_sink_check.check_goes_on(job, sink)
    else:
        with pytest.raises(ConfigError, match="already exists"):
            table_sink_check.check_goes_on(job, sink)


@pytest.mark.parametrize(("committed", "begun"), PLACES)
@pytest.mark.parametrize("logged", [-1, 0, 1, 2, 8, 9, 10, 11, 12])
def test_a_folder_lists_each_micro_batch_once_or_the_stream_is_refused(tmp_path, committed, begun, logged):
    """Spark's file sink skips what its log already lists, whatever the rows."""
    leave(tmp_path / "c", begun, committed)
    (tmp_path / "s" / "_spark_metadata").mkdir(parents=True)
    for batch in range(logged + 1):
        (tmp_path / "s" / "_spark_metadata" / str(batch)).touch()
    listed = dict.fromkeys(range(logged + 1), "before")
    for batch in range(begun if begun > committed else committed + 1, 15):
        if batch > logged:
            listed[batch] = "before" if batch <= begun else "after"
    whole = {batch: "before" if batch <= begun else "after" for batch in range(15)}
    if listed == whole:
        check_belong(tmp_path / "c", tmp_path / "s")
    else:
        with pytest.raises(ConfigError, match=r"sink\.path: "):
            check_belong(tmp_path / "c", tmp_path / "s")


@pytest.mark.parametrize("steps", [[], [0], [0, 0], [2], [0, 2, 0, 3], [2, 0]])
@pytest.mark.parametrize("replaces", [False, True])
def test_a_batch_is_one_commit_with_its_columns_even_without_answers(steps, replaces):
    """An empty table is created, or replaces the old one: readers find its columns."""
    appended = []
    writer = local_sink._Table(SimpleNamespace(append=lambda *given: appended.append(given)), replaces)
    parts = [pa.table({"count": pa.array(range(rows), pa.int64())}) for rows in steps]
    for part in parts:
        writer.write(part)
    writer.commit()
    assert appended == ([(pa.concat_tables(parts), replaces)] if parts else [])
