"""A topic of Kafka through the library confluent-kafka, without Spark's connector."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import define, field
from skyband.errors import ConfigError, EngineError, Problem
from skyband.tables import BatchSink

from skyband_lakes.kafka.client_log import LastWords
from skyband_lakes.libraries import KAFKA

if TYPE_CHECKING:
    import pyarrow as pa

_ALIKE = {"enable.idempotence": "true", "linger.ms": "5"}
"""Retries of the library's own are written once and in order."""


def kafka_sink(topic: str, options: Mapping[str, str], key: list[str], name: str = "skyband") -> "KafkaSink":
    """A function for `foreachBatch` that sends each answer as a message: at least once, and alike each time.

    `options`: of librdkafka, `bootstrap.servers` among them. `key`: the columns that tell answers apart: those of `by`,
    the moment, and the window, query or rank. With `name` they are the message's key, so that a compacted topic, or a
    reader that keeps the last of each key, has each answer once. The value is the answer in JSON; the headers say the
    `name`, the stream's id and the micro-batch.

    Raises ConfigError where the answers have no such column, and EngineError where the library is missing or a message
    could not be delivered: Spark then gives the micro-batch again.
    """
    return KafkaSink(topic, dict(options), tuple(key), name)


@define(eq=False)
class KafkaSink(BatchSink):
    """Sends answers to a topic, as `kafka_sink` says."""

    topic: str
    options: Mapping[str, str]
    key: tuple[str, ...]
    name: str
    seconds: float = 60
    """How long a micro-batch may wait for the broker."""
    _producer: Any = field(default=None, init=False)
    _log: LastWords = field(factory=LastWords, init=False)

    def latest(self, stream: str) -> None:
        """Nothing tells what a topic has: a micro-batch that Spark gives again is sent again."""

    def write(self, answers: "pa.Table", stream: str, batch: int) -> None:
        from skyband.tables.json_rows import json_rows

        unknown = [name for name in self.key if name not in answers.column_names]
        if unknown or not self.key:
            message = f"must name columns of the answers, {', '.join(answers.column_names)} (got {list(self.key)!r})"
            raise ConfigError(Problem("key", message))
        headers = {"skyband-job": self.name, "skyband-stream": stream, "skyband-batch": str(batch)}
        producer = self._connected()
        failed: list[str] = []
        keys = json_rows(answers.select(list(self.key)))
        for key, value in zip(keys, json_rows(answers), strict=True):
            self._send(producer, f"{self.name} {key}", value, headers, failed)
        left = producer.flush(self.seconds)
        if left or failed:
            why = failed[0] if failed else f"no answer within {self.seconds:g} s"
            servers = self.options.get("bootstrap.servers", "none is named")
            message = f"{left + len(failed)} of {len(answers)} answers were not delivered to the topic {self.topic!r}"
            reason = self._log.after(why)
            raise EngineError(f"{message} ({reason}): look at bootstrap.servers ({servers}) and run again")

    def exists(self) -> bool:
        return True

    def append(self, answers: "pa.Table", replace: bool = False) -> None:
        if replace:
            raise ConfigError(Problem("mode", "a topic cannot be overwritten: use append"))
        self.write(answers, "", 0)

    def _connected(self) -> Any:
        if self._producer is None:
            self._producer = KAFKA.imported().Producer({**_ALIKE, **self.options}, logger=self._log.logger())
        return self._producer

    def _send(self, producer: Any, key: str, value: str, headers: Mapping[str, str], failed: list[str]) -> None:
        def told(error: Any, _: Any) -> None:
            if error is not None:
                failed.append(str(error))

        while True:
            try:
                producer.produce(self.topic, value=value, key=key, headers=dict(headers), on_delivery=told)
                producer.poll(0)
                return
            except BufferError:  # the queue is full: wait for some of it to go
                producer.poll(0.5)
