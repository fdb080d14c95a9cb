"""The job format `kafka`: topics to read on the local engine, with the keys of Spark's connector, and topics of all
answers or of the newest ones, on both engines.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve
from skyband.errors import ConfigError, Problem, suggest
from skyband_jobs.formats import BatchSink, Format, TableKeys

from skyband_lakes.kafka.appended import AppendedSink
from skyband_lakes.kafka.compacted import CompactedSink
from skyband_lakes.kafka.followed import FollowedTopic
from skyband_lakes.kafka.rows import TopicRows
from skyband_lakes.kafka.topic import Topic
from skyband_lakes.libraries import KAFKA

_PREFIX = "kafka."
_STARTS = "startingOffsets"
_AT_ONCE = "maxOffsetsPerTrigger"
_OPTIONS = ("subscribe", _STARTS, "failOnDataLoss", _AT_ONCE)
"""Options apart from librdkafka's, which start with `kafka.`, and those that limit a micro-batch."""


class KafkaFormat(Format):
    """The option `subscribe` is a topic to read, which on Spark is left to Kafka's connector; `table` is a topic to
    write to."""

    def check(self, keys: TableKeys, on_spark: bool) -> list[Problem]:
        if keys.writes:
            return _sink_problems(keys)
        if on_spark:
            message = "is for the local engine: on Spark, Kafka has fixed columns, so extract fields with source.select"
            return [] if keys.schema is None else [Problem("schema", message)]
        problems = []
        lacking = KAFKA.missing()
        if lacking is not None:
            problems.append(Problem("format", f"kafka {lacking}"))
        if keys.schema is None:
            message = "is required on the local engine: the columns of the JSON values; or use --engine spark"
            problems.append(Problem("schema", message))
        return problems + _option_problems(keys)

    def read(self, keys: TableKeys) -> TopicRows:
        topic = _topic(keys)
        assert keys.schema is not None
        return TopicRows(topic.name, topic.messages, keys.schema)

    def follow(self, keys: TableKeys) -> FollowedTopic:
        assert keys.schema is not None
        at_once = _options(keys).get(_AT_ONCE.lower())
        return FollowedTopic(_topic(keys), keys.schema, None if at_once is None else int(at_once))

    def write(self, keys: TableKeys) -> BatchSink:
        topic, options = keys.table or "", _of_librdkafka(keys)
        return CompactedSink(topic, options, keys.key) if keys.key else AppendedSink(topic, options)

    def keys(self, place: str, options: Mapping[str, Any]) -> TableKeys:
        keys = TableKeys(table=place, options={name: str(value) for name, value in options.items()}, writes=True)
        problems = self.check(keys, on_spark=False)
        if problems:
            raise ConfigError(*problems)
        return keys

    def in_process(self, keys: TableKeys, setting: Callable[[str], str]) -> bool:  # noqa: ARG002 - whatever Spark has
        return keys.writes or keys.schema is not None


def _topic(keys: TableKeys) -> Topic:
    given = _options(keys)
    topic = Topic(given["subscribe"], _of_librdkafka(keys), _starts(keys))
    at_once = given.get(_AT_ONCE.lower())
    return topic if at_once is None else evolve(topic, at_once=int(at_once))


def _options(keys: TableKeys) -> dict[str, str]:
    return {name.lower(): value for name, value in keys.options.items()}


def _of_librdkafka(keys: TableKeys) -> dict[str, str]:
    return {name[len(_PREFIX) :]: value for name, value in keys.options.items() if name.lower().startswith(_PREFIX)}


def _lacking(keys: TableKeys, **examples: str) -> list[Problem]:
    options = _options(keys)
    names = {name.replace("_", "."): example for name, example in examples.items()}
    return [
        Problem(f"options.{name}", f'is required, such as "{example}"')
        for name, example in names.items()
        if not options.get(name)
    ]


def _sink_problems(keys: TableKeys) -> list[Problem]:
    """Problems with a topic to write to."""
    problems = [] if keys.table else [Problem("table", "is required for kafka: the topic, such as board")]
    for name, value in (("path", keys.path), ("url", keys.url), ("catalog", keys.catalog)):
        if value:
            problems.append(Problem(name, "belongs to other formats: name the topic with table (got format 'kafka')"))
    for name in keys.options:
        if not name.lower().startswith(_PREFIX):
            message = (
                "the topic is `table`: remove it" if name.lower() == "topic" else "is not an option of kafka: remove it"
            )
            problems.append(Problem(f"options.{name}", f"{message}; options of librdkafka start with {_PREFIX!r}"))
    problems += _lacking(keys, kafka_bootstrap_servers="broker1:9092")
    lacking = KAFKA.missing()
    return problems if lacking is None else [*problems, Problem("format", f"kafka {lacking}")]


def _option_problems(keys: TableKeys) -> list[Problem]:
    given = _options(keys)
    problems = _lacking(keys, subscribe="requests", kafka_bootstrap_servers="broker1:9092")
    if "," in given.get("subscribe", ""):
        problems.append(Problem("options.subscribe", f"the local engine reads one topic (got {given['subscribe']!r})"))
    for name in keys.options:
        known = name.lower() in [option.lower() for option in _OPTIONS]
        if not known and not name.lower().startswith((_PREFIX, "max")):
            message = f"is unknown to the local engine; {suggest(name, (*_OPTIONS, 'kafka.…'))}"
            problems.append(Problem(f"options.{name}", message))
    at_once = str(given.get(_AT_ONCE.lower(), 1))
    if not at_once.isdecimal() or int(at_once) < 1:
        problems.append(Problem(f"options.{_AT_ONCE}", f"must be a whole number, at least 1 (got {at_once!r})"))
    try:
        _starts(keys)
    except ConfigError as error:
        problems += error.problems
    return problems


def _starts(keys: TableKeys) -> dict[int, int]:
    """The first offset of partitions, if set, in the format of Spark's connector: {"requests": {"0": 23}}."""
    given = _options(keys)
    text = given.get(_STARTS.lower(), "earliest")
    if text == "earliest":
        return {}
    starts = _offsets(text, given.get("subscribe", ""))
    if starts is None:
        message = f'must be "earliest", or offsets of the topic such as {{"requests": {{"0": 23}}}} (got {text!r})'
        raise ConfigError(
            Problem(f"options.{_STARTS}", f"{message}: the local engine reads to the topic's end and stops")
        )
    return starts


def _offsets(text: str, wanted: str) -> dict[int, int] | None:
    """The offset of each partition of `topic`; None if the text is anything else."""
    try:
        ((topic, starts),) = json.loads(text).items()
        offsets = {int(number): int(offset) for number, offset in starts.items()}
    except (ValueError, TypeError, AttributeError):
        return None
    return offsets if topic == wanted and all(offset >= -2 and offset != -1 for offset in offsets.values()) else None
