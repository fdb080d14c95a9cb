"""Sends answers to a Kafka topic with the library confluent-kafka, without Spark's connector."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import define, field
from skyband.errors import ConfigError, Problem
from skyband_jobs.formats import BatchSink

from skyband_lakes.kafka.delivery import Delivery

if TYPE_CHECKING:
    import pyarrow as pa


def kafka_sink(topic: str, options: Mapping[str, str], key: list[str], name: str = "skyband") -> "KafkaSink":
    """A function for `foreachBatch` that sends each answer as a message: at least once, and equal each time.

    `options`: of librdkafka, including `bootstrap.servers`. `key`: the columns that identify an answer: those of `by`,
    the moment, and the window, query or rank. With `name` they are the message's key. So a compacted topic, or a reader
    that keeps the last message of each key, has each answer once. The value is the answer in JSON; the headers are
    `name`, the stream's id and the micro-batch.

    Raises ConfigError if the answers lack such a column, and EngineError if the library is missing or a message could
    not be delivered: Spark then repeats the micro-batch.
    """
    return KafkaSink(topic, dict(options), tuple(key), name)


@define(eq=False)
class KafkaSink(BatchSink):
    """Sends answers to a topic: see `kafka_sink`."""

    topic: str
    options: Mapping[str, str]
    key: tuple[str, ...]
    name: str
    seconds: float = 60
    """Seconds that a micro-batch may wait for the broker."""
    _delivery: Delivery = field(init=False)

    @_delivery.default
    def _unconnected(self) -> Delivery:
        return Delivery(self.topic, self.options)

    def latest(self, stream: str) -> None:
        """None: a topic stores no micro-batch number, so a repeated micro-batch is sent again."""

    def write(self, answers: "pa.Table", stream: str, batch: int) -> None:
        from skyband_jobs.formats.json_rows import json_rows

        unknown = [name for name in self.key if name not in answers.column_names]
        if unknown or not self.key:
            message = f"must name columns of the rows, {', '.join(answers.column_names)} (got {list(self.key)!r})"
            raise ConfigError(Problem("key", message))
        headers = {"skyband-job": self.name, "skyband-stream": stream, "skyband-batch": str(batch)}
        keys = (f"{self.name} {key}" for key in json_rows(answers.select(list(self.key))))
        self._delivery.seconds = self.seconds
        self._delivery.send((key, row, headers) for key, row in zip(keys, json_rows(answers), strict=True))

    def exists(self) -> bool:
        return True

    def append(self, answers: "pa.Table", replace: bool = False) -> None:
        if replace:
            raise ConfigError(Problem("mode", "a topic cannot be overwritten: use append"))
        self.write(answers, "", 0)
