"""The rows of a topic: JSON values, up to its end."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen
from skyband.errors import InputError
from skyband_jobs.formats import Refuse, TableRows

from skyband_lakes.kafka.topic import Topic

if TYPE_CHECKING:
    import pyarrow as pa


@frozen
class TopicRows(TableRows):
    """The rows of a topic, whose values have these columns. Nothing is connected to before they are read."""

    topic: Topic
    schema: "pa.Schema"

    @property
    def place(self) -> str:
        return f"topic {self.topic.name}"

    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        """Iterating raises InputError where a value cannot be read, with its partition and offset."""
        return self.readable(columns, _raise_first)

    def readable(self, columns: list[str], refuse: Refuse) -> "Iterator[pa.RecordBatch]":
        """Each turn of the topic as one batch; values that cannot be read are refused by their partition and offset."""
        import pyarrow as pa

        wanted = pa.schema([self.schema.field(name) for name in columns])
        for messages in self.topic.messages():
            refused: list[tuple[InputError, str]] = []
            tables = list(_parsed(messages.values, messages.places, wanted, refused))
            if refused:
                refuse(refused)
            if tables:
                yield from pa.concat_tables(tables).combine_chunks().to_batches()


def _raise_first(refused: Sequence[tuple[InputError, str]]) -> None:
    error, value = refused[0]
    raise InputError(error.argument, f"{error.message}: {value[:80]!r}")


def _parsed(
    values: list[bytes], places: list[tuple[int, int]], wanted: "pa.Schema", refused: list[tuple[InputError, str]]
) -> "Iterator[pa.Table]":
    """The values as tables, by halves where one cannot be read: of n values m such ones cost O(m log n) calls."""
    if not values:
        return
    try:
        rows = _from_json(values, wanted)
    except (InputError, ValueError) as error:
        if len(values) == 1:
            refused.append((_refusal(error, *places[0]), values[0].decode(errors="backslashreplace")))
            return
        middle = len(values) // 2
        yield from _parsed(values[:middle], places[:middle], wanted, refused)
        yield from _parsed(values[middle:], places[middle:], wanted, refused)
    else:
        yield rows


def _refusal(error: Exception, partition: int, offset: int) -> InputError:
    """What is wrong with the value there, with its place."""
    place = f"partition {partition}, offset {offset}"
    if isinstance(error, InputError):
        return InputError(f"{place}: {error.argument}", error.message)
    said = " ".join(str(error).split())
    return InputError(place, f"is no JSON object of these columns ({said})")


def _from_json(values: list[bytes], wanted: "pa.Schema") -> Any:
    from skyband_jobs.files.json_files import json_rows_of

    # A line break in JSON is between its parts only: in a text it is written as \n.
    lines = b"\n".join(value.replace(b"\n", b" ") for value in values)
    rows = json_rows_of(lines, wanted)
    if len(rows) != len(values):
        raise ValueError(f"{len(rows)} objects in {len(values)} values")
    return rows
