"""The rows of a topic: JSON values, up to its end."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attrs import frozen
from skyband.errors import InputError
from skyband.tables import TableRows

from skyband_lakes.kafka.topic import Messages, Topic

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
        import pyarrow as pa

        wanted = pa.schema([self.schema.field(name) for name in columns])
        for messages in self.topic.messages():
            if messages.values:
                yield from _parsed(messages, wanted).combine_chunks().to_batches()


def _parsed(messages: Messages, wanted: "pa.Schema") -> Any:
    """The values as one batch. Raises InputError with the place of the first that cannot be read."""
    try:
        return _from_json(messages.values, wanted)
    except (InputError, ValueError):
        for value, (partition, offset) in zip(messages.values, messages.places, strict=True):
            place = f"partition {partition}, offset {offset}"
            try:
                _from_json([value], wanted)
            except InputError as error:
                raise InputError(f"{place}: {error.argument}", error.message) from error
            except ValueError as error:
                said = " ".join(str(error).split())
                raise InputError(place, f"is no JSON object of these columns ({said}): {value[:80]!r}") from error
        raise


def _from_json(values: list[bytes], wanted: "pa.Schema") -> Any:
    from skyband.job.sources.json_files import json_rows_of

    # A line break in JSON is between its parts only: in a text it is written as \n.
    lines = b"\n".join(value.replace(b"\n", b" ") for value in values)
    rows = json_rows_of(lines, wanted)
    if len(rows) != len(values):
        raise ValueError(f"{len(rows)} objects in {len(values)} values")
    return rows
