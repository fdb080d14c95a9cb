"""A format as a stranger would write it: a table is one Arrow file, with the last micro-batch of each stream.

And some that are wrong, each in one way that a check of `skyband_specs.formats` tells.
"""

import json
import os
from collections import deque
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve
from skyband.errors import ConfigError, Problem
from skyband_jobs.formats import BatchSink, Format, TableKeys, TableRows
from skyband_specs.formats import FormatTrial

_BATCHES = b"micro-batches"


def read(path):
    with pa.ipc.open_file(str(path)) as file:
        return file.read_all()


class LogRows(TableRows):
    def __init__(self, path):
        if not path.is_file():
            raise ConfigError(Problem("path", f"there is no log {str(path)!r}: name one that was written"))
        self.table = read(path)

    @property
    def schema(self):
        return self.table.schema.remove_metadata()

    def batches(self, columns):
        yield from self.table.select(columns).replace_schema_metadata().to_batches()


class LogSink(BatchSink):
    def __init__(self, path):
        self.path = path

    def exists(self):
        return self.path.is_file()

    def numbers(self):
        said = (read(self.path).schema.metadata or {}) if self.exists() else {}
        return json.loads(said.get(_BATCHES, b"{}"))

    def latest(self, stream):
        return self.numbers().get(stream)

    def check(self, schema):
        if self.exists() and read(self.path).schema.remove_metadata() != schema:
            said = f"the log has the columns {', '.join(read(self.path).column_names)}, and the rows to write"
            raise ConfigError(Problem("path", f"{said} {', '.join(schema.names)}: choose another path"))

    def append(self, answers, replace=False):
        self.check(answers.schema)
        self.put(answers, self.numbers(), replace)

    def write(self, answers, stream, batch):
        self.check(answers.schema)
        self.put(answers, self.numbers() | {stream: batch})

    def apply(self, changes, number=None, replace=False):
        self.check(changes.rows.schema)
        there = read(self.path).replace_schema_metadata() if self.exists() and not replace else changes.rows.slice(0, 0)
        touched = [*changes.gone.to_pylist(), *changes.rows.select(changes.key).to_pylist()]
        stay = [key not in touched for key in there.select(changes.key).to_pylist()]
        table = pa.concat_tables([there.filter(pa.array(stay, pa.bool_())), changes.rows])
        self.put(table, self.numbers() | dict([number] if number else []), replace=True)

    def put(self, answers, numbers, replace=False):
        """All rows and numbers as one file, in the place of the one before."""
        earlier = [read(self.path).replace_schema_metadata()] if self.exists() and not replace else []
        table = pa.concat_tables([*earlier, answers])
        table = table.replace_schema_metadata({_BATCHES: json.dumps(numbers)})
        new = self.path.with_name(f"{self.path.name}.new")
        with pa.ipc.new_file(str(new), table.schema) as file:
            file.write_table(table)
        new.replace(self.path)


class LogFormat(Format):
    sink = LogSink

    def check(self, keys, on_spark):
        return [] if keys.path else [Problem("path", "is required for a log: the file")]

    def read(self, keys):
        return LogRows(Path(keys.path))

    def write(self, keys):
        return self.sink(Path(keys.path))


class LogTrial(FormatTrial):
    def keys(self, folder):
        return TableKeys(path=str(folder / "answers.log"))


class ForgetfulSink(LogSink):
    def latest(self, stream):
        return None


class TwoFilesSink(LogSink):
    """Leaves both to a library: its rows are in place before its number, and no line of its own lies between."""

    def put(self, answers, numbers, replace=False):
        earlier = [read(self.path)] if self.exists() and not replace else []
        table = pa.concat_tables([part.replace_schema_metadata() for part in [*earlier, answers]])
        rows, said = (self.path.with_name(f"{self.path.name}.{name}") for name in ("rows", "numbers"))
        with pa.ipc.new_file(str(rows), table.schema) as file:
            file.write_table(table)
        said.write_text(json.dumps(numbers))
        deque(map(os.replace, (rows, said), (self.path, self.path.with_suffix(".said"))), maxlen=0)

    def numbers(self):
        said = self.path.with_suffix(".said")
        return json.loads(said.read_text()) if said.exists() else {}


class TwoCommitsSink(LogSink):
    """Its rows are in place one line before its number is."""

    def write(self, answers, stream, batch):
        self.check(answers.schema)
        self.put(answers, {})
        self.path.with_suffix(".said").write_text(json.dumps(self.numbers() | {stream: batch}))

    def apply(self, changes, number=None, replace=False):
        super().apply(changes, replace=replace)
        if number is not None:
            self.path.with_suffix(".said").write_text(json.dumps(self.numbers() | dict([number])))

    def numbers(self):
        said = self.path.with_suffix(".said")
        return json.loads(said.read_text()) if said.exists() else {}


class SlowlyTwoCommitsSink(TwoCommitsSink):
    """The same with hundreds of lines before and after."""

    def write(self, answers, stream, batch):
        _many_lines()
        super().write(answers, stream, batch)
        _many_lines()


def _many_lines():
    for number in range(200):
        number + 1


class RemovesThenWritesSink(LogSink):
    """A table that is replaced is gone for a moment."""

    def put(self, answers, numbers, replace=False):
        if replace and self.exists():
            self.path.unlink()
        super().put(answers, numbers, replace)


class AddsOneByOneSink(LogSink):
    """A batch is there row by row."""

    def append(self, answers, replace=False):
        self.check(answers.schema)
        self.put(answers.slice(0, 0), self.numbers(), replace)
        for row in range(len(answers)):
            self.put(answers.slice(row, 1), self.numbers())


class ChangesValuesSink(LogSink):
    """What it writes of the column of doubles is another array."""

    def put(self, answers, numbers, replace=False):
        place = answers.column_names.index("count")
        changed = self.changed(answers.column("count"))
        super().put(answers.set_column(place, "count", changed), numbers, replace)


class NullForNaNSink(ChangesValuesSink):
    def changed(self, values):
        return pc.if_else(pc.is_nan(values), None, values)


class SinglePrecisionSink(ChangesValuesSink):
    def changed(self, values):
        return values.cast(pa.float32()).cast(pa.float64())


class OneZeroSink(ChangesValuesSink):
    def changed(self, values):
        return pc.add(values, 0.0)


class NoInfinitySink(ChangesValuesSink):
    def changed(self, values):
        return pc.if_else(pc.is_inf(values), 1.7976931348623157e308, values)


class NamesOnlySink(LogSink):
    """Compares the names of columns, and not their types."""

    def check(self, schema):
        if self.exists() and read(self.path).column_names != schema.names:
            super().check(schema)

    def put(self, answers, numbers, replace=False):
        if self.exists() and not replace:
            answers = answers.cast(read(self.path).schema.remove_metadata(), safe=False)
        super().put(answers, numbers, replace)


class OneStreamSink(LogSink):
    def latest(self, stream):
        return max(self.numbers().values(), default=None)


class AnyColumnsSink(LogSink):
    def check(self, schema):
        pass

    def put(self, answers, numbers, replace=False):
        if self.exists():
            answers = answers.rename_columns(read(self.path).column_names)
        super().put(answers, numbers, replace)


class RowsFirstSink(LogSink):
    def write(self, answers, stream, batch):
        self.check(answers.schema)
        self.put(answers, self.numbers())
        self.put(answers.slice(0, 0), self.numbers() | {stream: batch})


class NumberFirstSink(LogSink):
    def write(self, answers, stream, batch):
        self.check(answers.schema)
        self.put(answers.slice(0, 0), self.numbers() | {stream: batch})
        self.put(answers, self.numbers())


class NumberBeforeChangesSink(LogSink):
    def apply(self, changes, number=None, replace=False):
        if number is not None and self.exists():
            self.put(read(self.path).replace_schema_metadata(), self.numbers() | dict([number]), replace=True)
        super().apply(changes, number, replace)


class RemovesNoneSink(LogSink):
    def apply(self, changes, number=None, replace=False):
        super().apply(evolve(changes, gone=changes.gone.slice(0, 0)), number, replace)


class AddsAgainSink(ForgetfulSink):
    def apply(self, changes, number=None, replace=False):
        self.check(changes.rows.schema)
        there = read(self.path).replace_schema_metadata() if self.exists() and not replace else changes.rows.slice(0, 0)
        gone = changes.gone.to_pylist()
        stay = [key not in gone for key in there.select(changes.key).to_pylist()]
        self.put(pa.concat_tables([there.filter(pa.array(stay, pa.bool_())), changes.rows]), {}, replace=True)


class TidySink(LogSink):
    def apply(self, changes, number=None, replace=False):
        super().apply(changes, number, replace=True)


class OnlyAddsSink(LogSink):
    def append(self, answers, replace=False):
        super().append(answers)


class EagerSink(LogSink):
    def __init__(self, path):
        super().__init__(path)
        path.touch()


class RoundingSink(LogSink):
    def append(self, answers, replace=False):
        super().append(answers.set_column(3, "count", pa.array([1.0] * len(answers))), replace)


class Forgetful(LogFormat):
    sink = ForgetfulSink


class TwoFiles(LogFormat):
    sink = TwoFilesSink


class TwoCommits(LogFormat):
    sink = TwoCommitsSink


class SlowlyTwoCommits(LogFormat):
    sink = SlowlyTwoCommitsSink


class RemovesThenWrites(LogFormat):
    sink = RemovesThenWritesSink


class AddsOneByOne(LogFormat):
    sink = AddsOneByOneSink


class NullForNaN(LogFormat):
    sink = NullForNaNSink


class SinglePrecision(LogFormat):
    sink = SinglePrecisionSink


class OneZero(LogFormat):
    sink = OneZeroSink


class NoInfinity(LogFormat):
    sink = NoInfinitySink


class NamesOnly(LogFormat):
    sink = NamesOnlySink


class OneStream(LogFormat):
    sink = OneStreamSink


class AnyColumns(LogFormat):
    sink = AnyColumnsSink


class RowsFirst(LogFormat):
    sink = RowsFirstSink


class NumberFirst(LogFormat):
    sink = NumberFirstSink


class NumberBeforeChanges(LogFormat):
    sink = NumberBeforeChangesSink


class RemovesNone(LogFormat):
    sink = RemovesNoneSink


class AddsAgain(LogFormat):
    sink = AddsAgainSink


class Tidy(LogFormat):
    sink = TidySink


class OnlyAdds(LogFormat):
    sink = OnlyAddsSink


class Eager(LogFormat):
    sink = EagerSink


class Rounding(LogFormat):
    sink = RoundingSink


class TakesAnything(LogFormat):
    def check(self, keys, on_spark):
        return []


class TakesNothing(LogFormat):
    def check(self, keys, on_spark):
        return [Problem("path", "no")]
