"""Sends messages to a topic in order, and waits until the broker has them."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import define, field
from skyband.errors import ConfigError, EngineError, Problem

from skyband_lakes.kafka.client_log import LastWords
from skyband_lakes.libraries import KAFKA

_ALIKE = {"enable.idempotence": "true", "linger.ms": "5"}
"""Makes the library's own retries write once and in order."""
Message = tuple[str | bytes | None, str | None, Mapping[str, str]]
"""The key, the value and the headers of a message. Without a key it goes to any partition."""
TRANSACTIONAL = "transactional.id"
"""The librdkafka option with which all messages of one call are one transaction."""


@define(eq=False)
class Delivery:
    """Sends messages to a topic with its own producer, which connects on first use.

    options: of librdkafka, including `bootstrap.servers`. seconds: how long one call may wait for the broker.
    """

    topic: str
    options: Mapping[str, str]
    seconds: float = 60
    _producer: Any = field(default=None, init=False)
    _log: LastWords = field(factory=LastWords, init=False)

    def connect(self) -> None:
        """Connect now: with `transactional.id` that ends an earlier producer's transaction, which sends no more.

        Raises EngineError where the broker does not answer.
        """
        with self._failing():
            self._connected()

    def send(self, messages: Iterable[Message]) -> None:
        """Send messages in order; return when the broker has them all.

        Raises EngineError otherwise: then some may have arrived, and the others are not sent later.
        """
        with self._failing():
            self._send(messages)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except KAFKA.imported().KafkaException as error:
            raise self._undelivered("the answers", error.args[0].str()) from error
        except BaseException:
            self._forget()
            raise

    def _send(self, messages: Iterable[Message]) -> None:
        producer, count = self._connected(), 0
        failed: list[str] = []
        if TRANSACTIONAL in self.options:
            producer.begin_transaction()
        for message in messages:
            self._put(producer, message, failed)
            count += 1
        undelivered = producer.flush(self.seconds)
        if undelivered or failed:
            why = failed[0] if failed else f"no answer within {self.seconds:g} s"
            raise self._undelivered(f"{undelivered + len(failed)} of {count} answers", why)
        if TRANSACTIONAL in self.options:
            producer.commit_transaction(self.seconds)

    def _too_large(self, key: str | bytes | None, value: str | None) -> ConfigError:
        key = key or ""
        size = len(key) + len(value or "")
        start = (key.decode(errors="replace") if isinstance(key, bytes) else key)[:80]
        message = f"an answer of {size:,} characters is too large for a message (its key begins {start!r})"
        remedy = "raise message.max.bytes in sink.options and max.message.bytes of the topic"
        return ConfigError(Problem("options", f"{message}: {remedy}, or leave such rows out with source.where"))

    def _put(self, producer: Any, message: Message, failed: list[str]) -> None:
        key, value, headers = message

        def note_failure(error: Any, _: Any) -> None:
            if error is not None:
                failed.append(str(error))

        while True:
            try:
                producer.produce(self.topic, value=value, key=key, headers=dict(headers), on_delivery=note_failure)
                producer.poll(0)
                return
            except KAFKA.imported().KafkaException as error:
                if error.args[0].code() == KAFKA.imported().KafkaError.MSG_SIZE_TOO_LARGE:
                    raise self._too_large(key, value) from error
                raise
            except BufferError:  # the queue is full: wait for space
                producer.poll(0.5)

    def _connected(self) -> Any:
        if self._producer is None:
            producer = KAFKA.imported().Producer({**_ALIKE, **self.options}, logger=self._log.logger())
            if TRANSACTIONAL in self.options:
                producer.init_transactions(self.seconds)
            self._producer = producer
        return self._producer

    def _undelivered(self, what: str, why: str) -> EngineError:
        self._forget()
        servers = self.options.get("bootstrap.servers", "not set")
        message = f"{what} were not delivered to the topic {self.topic!r} ({self._log.after(why)})"
        return EngineError(f"{message}: check bootstrap.servers ({servers}) and run again")

    def _forget(self) -> None:
        """Discard waiting messages, so that none arrives after those of a later call."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
