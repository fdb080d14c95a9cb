"""Reads the rows of a topic, which are JSON values, up to its end."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen
from skyband.errors import InputError
from skyband_jobs.formats import Refuse, TableRows

from skyband_lakes.kafka.topic import Messages

if TYPE_CHECKING:
    import pyarrow as pa


@frozen
class TopicRows(TableRows):
    """The rows of a topic, whose values have these columns. It connects only when they are read."""

    name: str
    messages: Callable[[], Iterable[Messages]]
    schema: "pa.Schema"

    @property
    def place(self) -> str:
        return f"topic {self.name}"

    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        """Iterating raises InputError, with partition and offset, if a value cannot be read."""
        return self.readable(columns, _raise_first)

    def readable(self, columns: list[str], refuse: Refuse) -> "Iterator[pa.RecordBatch]":
        """One batch per turn of the topic; unreadable values are refused by partition and offset."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in columns])
        for messages in self.messages():
            refused: list[tuple[InputError, str]] = []
            tables = list(_parsed(messages, 0, len(messages.values), schema, refused))
            if refused:
                refuse(refused)
            if tables:
                yield from pa.concat_tables(tables).combine_chunks().to_batches()


def _raise_first(refused: Sequence[tuple[InputError, str]]) -> None:
    error, value = refused[0]
    raise InputError(error.argument, f"{error.message}: {value[:80]!r}")


def _parsed(
    messages: Messages, begin: int, end: int, schema: "pa.Schema", refused: list[tuple[InputError, str]]
) -> "Iterator[pa.Table]":
    """Parse values as tables, bisecting on errors: m unreadable ones of n cost O(m log n) calls."""
    if begin == end:
        return
    values = messages.values[begin:end]
    try:
        rows = _from_json(values, schema)
    except (InputError, ValueError) as error:
        if len(values) == 1:
            refusal = _refusal(error, messages.partitions[begin], messages.offsets[begin])
            refused.append((refusal, values[0].decode(errors="backslashreplace")))
            return
        middle = (begin + end) // 2
        yield from _parsed(messages, begin, middle, schema, refused)
        yield from _parsed(messages, middle, end, schema, refused)
    else:
        yield rows


def _refusal(error: Exception, partition: int, offset: int) -> InputError:
    """The error of the value at this place."""
    place = f"partition {partition}, offset {offset}"
    if isinstance(error, InputError):
        return InputError(f"{place}: {error.argument}", error.message)
    reason = " ".join(str(error).split())
    return InputError(place, f"is not a JSON object with these columns ({reason})")


def _from_json(values: list[bytes], schema: "pa.Schema") -> Any:
    from skyband_jobs.files.json_files import json_rows_of

    lines = b"\n".join(values)
    if lines.count(b"\n") >= len(values):  # JSON has line breaks only between its parts: in text they are escaped
        lines = b"\n".join(value.replace(b"\n", b" ") for value in values)
    rows = json_rows_of(lines, schema)
    if len(rows) != len(values):
        raise ValueError(f"{len(rows)} objects in {len(values)} values")
    return rows
