"""A compacted topic of the newest answers: the last message of a key is its row, or has no value."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from attrs import define, field
from skyband.errors import ConfigError, Problem
from skyband_jobs.formats import BatchSink, NetChanges

from skyband_lakes.kafka.delivery import TRANSACTIONAL, Delivery
from skyband_lakes.kafka.sink_topic import SinkTopic

if TYPE_CHECKING:
    import pyarrow as pa

_LIKE_JAVAS = {"partitioner": "murmur2_random"}
"""The partitioner of Kafka Streams and other Java clients."""


@define(eq=False)
class CompactedSink(BatchSink):
    """Sends changes as messages: first rows that are gone, without a value, then current rows.

    topic: created, compacted, if it does not exist. options: of librdkafka. key: the columns that identify a row. They
    are the message's key in JSON, and the whole row is its value.

    The topic stores no micro-batch number: a repeated micro-batch is sent again, which leaves each key unchanged. With
    the option `transactional.id` each micro-batch is one transaction.
    """

    topic: str
    options: Mapping[str, str]
    key: tuple[str, ...]
    is_numbered: bool = field(default=False, init=False)
    _topic: SinkTopic = field(init=False)
    _delivery: Delivery = field(init=False)
    _checked: "pa.Schema | None" = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        readers = {name: value for name, value in self.options.items() if name != TRANSACTIONAL}
        self._topic = SinkTopic(self.topic, readers)
        self._delivery = Delivery(self.topic, {**_LIKE_JAVAS, **self.options})

    def latest(self, stream: str) -> None:
        """None: a topic stores no micro-batch number."""

    def write(self, answers: "pa.Table", stream: str, batch: int) -> None:  # noqa: ARG002
        raise self._adds_none()

    def append(self, answers: "pa.Table", replace: bool = False) -> None:  # noqa: ARG002
        raise self._adds_none()

    def exists(self) -> bool:
        """Whether anything was sent to it: topics are often created in advance."""
        return self._topic.exists() and not self._topic.is_empty()

    def check(self, schema: "pa.Schema") -> None:
        if self._topic.exists():
            self._topic.check(schema)

    def apply(self, changes: NetChanges, number: tuple[str, int] | None = None, replace: bool = False) -> None:
        if self._checked != changes.rows.schema:
            if self._topic.exists():
                self.check(changes.rows.schema)
            else:
                self._topic.make()
            self._checked = changes.rows.schema
        headers = {} if number is None else {"skyband-stream": number[0], "skyband-batch": str(number[1])}
        self._delivery.send((*message, headers) for message in self._messages(changes, replace))

    def _messages(self, changes: NetChanges, replace: bool) -> Iterator[tuple[str | bytes, str | None]]:
        from skyband_jobs.formats.json_rows import json_rows

        stand = list(json_rows(changes.rows.select(list(self.key))))
        gone: set[str | bytes] = {*json_rows(changes.gone)}
        if replace:
            gone = self._topic.keys() - {key.encode() for key in stand}
        for key in gone:
            yield key, None
        yield from zip(stand, json_rows(changes.rows), strict=True)

    def _adds_none(self) -> ConfigError:
        return ConfigError(Problem("answers", "a topic of the newest answers needs a log of changes"))
