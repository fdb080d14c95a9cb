"""A topic of Kafka as a source read in this process: JSON values, up to its end, by the keys of Spark's connector."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen
from skyband.errors import ConfigError, InputError, Problem, suggest
from skyband.job.model import Source, option_text
from skyband.job.sources.row_location import PlacedBatches
from skyband.job.sources.spark_ddl import parse_ddl
from skyband.tables.extras import missing

from skyband_lakes.kafka.sink import EXTRA, LIBRARY
from skyband_lakes.kafka.topic import Messages, Topic

if TYPE_CHECKING:
    import pyarrow as pa
    from skyband.job.sources.where_and_select import Shape

KAFKA = "kafka"
_PREFIX = "kafka."
_STARTS = "startingOffsets"
_KNOWN = ("subscribe", _STARTS, "failOnDataLoss")
"""Besides those of librdkafka, which begin with `kafka.`, and those that say how much a micro-batch takes."""


def topic_problems(source: Source) -> list[Problem]:
    """What is wrong with a source in Kafka for the local engine."""
    problems = []
    if missing(LIBRARY, EXTRA) is not None:
        problems.append(Problem("format", f"kafka {missing(LIBRARY, EXTRA)}"))
    if source.schema is None:
        said = "is required: the columns of the values in JSON, which the local engine reads, or use --engine spark"
        problems.append(Problem("schema", said))
    given = {name.lower(): option_text(value) for name, value in source.options.items()}
    for name, example in (("subscribe", "requests"), ("kafka.bootstrap.servers", "broker1:9092")):
        if not given.get(name):
            problems.append(Problem(f"options.{name}", f'is required, such as "{example}"'))
    if "," in given.get("subscribe", ""):
        problems.append(Problem("options.subscribe", f"the local engine reads one topic (got {given['subscribe']!r})"))
    for name in source.options:
        known = name.lower() in [one.lower() for one in _KNOWN]
        if not known and not name.lower().startswith((_PREFIX, "max")):
            said = f"the local engine does not know it; {suggest(name, (*_KNOWN, 'kafka.…'))}"
            problems.append(Problem(f"options.{name}", said))
    try:
        _starts(source)
    except ConfigError as error:
        problems += error.problems
    return problems


@frozen
class TopicRows:
    """The rows of a topic, with the columns that `source.select` makes of those in its values."""

    topic: Topic
    raw: "pa.Schema"
    shape: "Shape"
    schema: "pa.Schema"

    def batches(self, columns: Iterable[str]) -> PlacedBatches:
        """Its rows, only the columns named; iterating raises InputError where a value cannot be read."""
        import pyarrow as pa

        wanted = list(columns)
        read = pa.schema([self.raw.field(name) for name in self.shape.reads(wanted)])
        given = pa.schema([self.schema.field(name) for name in wanted])
        return PlacedBatches(
            (Path(f"topic {self.topic.name}"),),
            lambda _: self._batches(read),
            lambda batch: self.shape.apply(batch, given),
        )

    def _batches(self, wanted: "pa.Schema") -> "Iterator[pa.RecordBatch]":
        for messages in self.topic.messages():
            if messages.values:
                yield from _parsed(messages, wanted).combine_chunks().to_batches()


def open_topic(source: Source) -> TopicRows | None:
    """The rows of a source in Kafka; None where only Spark can look. Nothing is connected to before they are read."""
    from skyband.job.sources.where_and_select import Shape

    if source.schema is None or topic_problems(source):
        return None
    given = {name.lower(): option_text(value) for name, value in source.options.items()}
    options = {
        name[len(_PREFIX) :]: option_text(value)
        for name, value in source.options.items()
        if name.lower().startswith(_PREFIX)
    }
    shape, raw = Shape.of(source.where, source.select), parse_ddl(source.schema)
    return TopicRows(Topic(given["subscribe"], options, _starts(source)), raw, shape, shape.schema(raw))


def _starts(source: Source) -> dict[int, int]:
    """The first offset of partitions, where it is given, as Spark's connector has it: {"requests": {"0": 23}}."""
    given = {name.lower(): option_text(value) for name, value in source.options.items()}
    text = given.get(_STARTS.lower(), "earliest")
    if text == "earliest":
        return {}
    found = _offsets(text, given.get("subscribe", ""))
    if found is None:
        said = f'must be "earliest", or offsets of the topic such as {{"requests": {{"0": 23}}}} (got {text!r})'
        raise ConfigError(Problem(f"options.{_STARTS}", f"{said}: the local engine reads to the topic's end and stops"))
    return found


def _offsets(text: str, wanted: str) -> dict[int, int] | None:
    """The offset of each partition of the topic `wanted`; None where the text is anything else."""
    try:
        ((topic, starts),) = json.loads(text).items()
        found = {int(number): int(offset) for number, offset in starts.items()}
    except (ValueError, TypeError, AttributeError):
        return None
    return found if topic == wanted and all(offset >= -2 and offset != -1 for offset in found.values()) else None


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
