"""More formats that are wrong, each in one way that shows only with odd ids, odd keys or many rows."""

from pathlib import Path

import pyarrow as pa
from third_party.tiny_format import LogFormat, LogRows, LogSink, read


class CutsIdsSink(LogSink):
    """A stream is known by the first letters of its id."""

    def latest(self, stream):
        return super().latest(stream[:16])

    def write(self, answers, stream, batch):
        super().write(answers, stream[:16], batch)


class NullIsEmptySink(LogSink):
    """In a key, null is the empty text."""

    def apply(self, changes, number=None, replace=False):
        self.check(changes.rows.schema)
        there = read(self.path).replace_schema_metadata() if self.exists() and not replace else changes.rows.slice(0, 0)
        touched = [*map(_without_null, changes.gone.to_pylist())]
        touched += map(_without_null, changes.rows.select(changes.key).to_pylist())
        stay = [_without_null(key) not in touched for key in there.select(changes.key).to_pylist()]
        table = pa.concat_tables([there.filter(pa.array(stay, pa.bool_())), changes.rows])
        self.put(table, self.numbers() | dict([number] if number else []), replace=True)


def _without_null(key):
    return {name: "" if value is None else value for name, value in key.items()}


class AThousandRowsSink(LogSink):
    """Of a batch the first thousand rows are written."""

    def put(self, answers, numbers, replace=False):
        super().put(answers.slice(0, 1000), numbers, replace)


class ASetOfRowsSink(LogSink):
    """Of equal rows of a batch one is written."""

    def append(self, answers, replace=False):
        rows = [*map(repr, answers.to_pylist())]
        super().append(answers.take(pa.array([place for place, row in enumerate(rows) if rows.index(row) == place])))


class ForgetsOthersSink(LogSink):
    """A table of the newest has the number of the stream that changed it last."""

    def apply(self, changes, number=None, replace=False):
        super().apply(changes, number, replace)
        if number is not None:
            self.put(read(self.path).replace_schema_metadata(), dict([number]), replace=True)


class NullTextsAreEmptySink(LogSink):
    """A column with nothing but null has empty texts."""

    def put(self, answers, numbers, replace=False):
        for place, column in enumerate(answers.schema):
            if pa.types.is_string(column.type) and 0 < len(answers) == answers.column(place).null_count:
                answers = answers.set_column(place, column, pa.array([""] * len(answers)))
        super().put(answers, numbers, replace)


class OnceRows(LogRows):
    def batches(self, columns):
        yield from super().batches(columns)
        self.table = self.table.slice(0, 0)


class CutsIds(LogFormat):
    sink = CutsIdsSink


class NullIsEmpty(LogFormat):
    sink = NullIsEmptySink


class AThousandRows(LogFormat):
    sink = AThousandRowsSink


class ASetOfRows(LogFormat):
    sink = ASetOfRowsSink


class ForgetsOthers(LogFormat):
    sink = ForgetsOthersSink


class NullTextsAreEmpty(LogFormat):
    sink = NullTextsAreEmptySink


class IsReadOnce(LogFormat):
    def read(self, keys):
        return OnceRows(Path(keys.path))
