"""A topic as a log: each micro-batch's answers are in it once, also after a kill while they were sent."""

import uuid
from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING

from attrs import define, field
from skyband.errors import ConfigError, Problem
from skyband_jobs.formats import BatchSink

from skyband_lakes.kafka.delivery import TRANSACTIONAL, Delivery, Message
from skyband_lakes.kafka.log_topic import HEADERS, LogTopic, Sent

if TYPE_CHECKING:
    import pyarrow as pa

_MOMENT = "at"
"""The columns before this one name an answer's group."""


@define(eq=False)
class AppendedSink(BatchSink):
    """Sends each micro-batch in one transaction; each message has its stream, micro-batch and row in its headers.

    topic: created, with one partition, if it does not exist. options: of librdkafka. The transaction is named after the
    topic and the stream, or by `transactional.id`. A message's key is the answer's group in JSON, its value the answer.

    A sink that starts first ends the transaction of the one before. Then it reads the topic's last messages, to see
    which micro-batch is there. Some brokers show one in part: then it sends only the rest.
    """

    topic: str
    options: Mapping[str, str]
    is_numbered: bool = field(default=False, init=False)
    _topic: LogTopic = field(init=False)
    _deliveries: dict[str, Delivery] = field(factory=dict, init=False)
    _sent: dict[str, Sent] = field(factory=dict, init=False)
    """By stream, what the topic has of it, once that was looked up."""
    _checked: "pa.Schema | None" = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self._topic = LogTopic(
            self.topic, {name: value for name, value in self.options.items() if name != TRANSACTIONAL}
        )

    def exists(self) -> bool:
        """Whether anything was sent to it: topics are often created in advance."""
        return self._topic.exists() and not self._topic.is_empty()

    def check(self, schema: "pa.Schema") -> None:
        if self._topic.exists():
            self._topic.check(schema)

    def latest(self, stream: str) -> int | None:
        if stream not in self._sent:
            if not self._topic.exists():
                return None
            self._delivery(stream).connect()
            self._sent[stream] = self._topic.sent(stream)
        return self._sent[stream].number

    def write(self, answers: "pa.Table", stream: str, batch: int) -> None:
        self._prepare(answers.schema)
        self.latest(stream)
        sent = self._sent.pop(stream)  # looked up again if this fails
        self._delivery(stream).send(_missing(answers, stream, batch, sent))
        self._sent[stream] = Sent(batch)

    def append(self, answers: "pa.Table", replace: bool = False) -> None:
        if replace:
            raise ConfigError(Problem("mode", "a topic cannot be overwritten: use append"))
        self._prepare(answers.schema)
        stream = uuid.uuid4().hex
        self._delivery(stream).send(_missing(answers, stream, 0, Sent()))

    def _prepare(self, schema: "pa.Schema") -> None:
        if self._checked != schema:
            if self._topic.exists():
                self._topic.check(schema)
            else:
                self._topic.make()
            self._checked = schema

    def _delivery(self, stream: str) -> Delivery:
        if stream not in self._deliveries:
            named = {TRANSACTIONAL: f"skyband {self.topic} {stream}", "partitioner": "murmur2_random", **self.options}
            self._deliveries[stream] = Delivery(self.topic, named)
        return self._deliveries[stream]


def _missing(answers: "pa.Table", stream: str, batch: int, sent: Sent) -> Iterator[Message]:
    """The messages of a micro-batch that are not there yet."""
    from skyband_jobs.formats.json_rows import json_rows

    names = answers.column_names
    groups = names[: names.index(_MOMENT)] if _MOMENT in names else []
    keys = json_rows(answers.select(groups)) if groups else iter(["{}"] * len(answers))
    there = sent.rows if batch == sent.unfinished else {}
    for row, key, value in zip(count(), keys, json_rows(answers), strict=False):
        if row not in there:
            yield key, value, dict(zip(HEADERS, (stream, str(batch), str(row), str(len(answers))), strict=True))
        elif there[row] != value.encode():
            message = f"has row {row} of micro-batch {batch} with other values: {there[row][:80]!r}"
            remedy = "it is of another job or checkpoint: restore them, or start over with a new topic and checkpoint"
            raise ConfigError(Problem("table", f"{message}; {remedy}"))
