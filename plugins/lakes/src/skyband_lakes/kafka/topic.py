"""The messages of a Kafka topic up to its end as it is now, through the library confluent-kafka."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import define, field, frozen
from skyband.errors import ConfigError, EngineError, Problem

from skyband_lakes.kafka.client_log import LastWords
from skyband_lakes.libraries import KAFKA

_ALIKE = {
    "group.id": "skyband",
    "enable.auto.commit": "false",
    "enable.partition.eof": "true",
    "auto.offset.reset": "error",
    "fetch.wait.max.ms": "100",
}
_AT_ONCE = 10_000
EARLIEST = -2


@frozen
class Messages:
    """Values of messages, and where each stands: its partition and offset."""

    values: list[bytes]
    places: list[tuple[int, int]]


@define
class Topic:
    """A topic read once, from its first messages or given offsets to its end at the start of the reading.

    Partitions are assigned, not subscribed to: no group waits for its members, and nothing is committed. `at_once`
    offsets are read a turn, of each partition its share, so that partitions go on side by side, and in the same order
    each time.

    Raises EngineError where the broker does not answer, ConfigError where there is no such topic or offset.
    """

    name: str
    options: Mapping[str, str]
    starts: Mapping[int, int] = field(factory=dict)
    at_once: int = 100_000
    seconds: float = 60
    """How long to wait for the broker without hearing anything."""
    _log: LastWords = field(factory=LastWords, init=False)

    def messages(self) -> Iterator[Messages]:
        """The messages, a turn at a time; those without a value, which delete a key, are left out."""
        for turn in self.turns():
            some = [message for message in turn if message.value() is not None]
            yield Messages([one.value() for one in some], [(one.partition(), one.offset()) for one in some])

    def turns(self, newest: int | None = None) -> Iterator[list[Any]]:
        """All messages as the library has them, a turn at a time; newest: of each partition the last so many."""
        with self._consumer() as consumer:
            ranges = self._ranges(consumer)
            if newest is not None:
                ranges = {number: (max(begin, end - newest), end) for number, (begin, end) in ranges.items()}
            turns = -(-sum(end - begin for begin, end in ranges.values()) // self.at_once)
            for turn in range(turns):
                messages: list[Any] = []
                for number, (begin, end) in ranges.items():
                    first, last = (begin + (end - begin) * at // turns for at in (turn, turn + 1))
                    messages += self._read(consumer, number, first, last)
                yield messages

    @contextmanager
    def _consumer(self) -> Iterator[Any]:
        consumer = KAFKA.imported().Consumer({**_ALIKE, **self.options}, logger=self._log.logger())
        try:
            yield consumer
        except KAFKA.imported().KafkaException as error:
            consumer.poll(0)  # what it says of its connections comes with its messages
            raise self._failed(error.args[0]) from error
        finally:
            consumer.close()

    def _partition_numbers(self, consumer: Any) -> list[int] | None:
        """None where there is no such topic."""
        about = consumer.list_topics(self.name, timeout=self.seconds).topics.get(self.name)
        return None if about is None or about.error is not None or not about.partitions else sorted(about.partitions)

    def _partitions(self, consumer: Any) -> list[int]:
        numbers = self._partition_numbers(consumer)
        if numbers is None:
            raise ConfigError(Problem("options.subscribe", f"the broker has no topic {self.name!r}: look at its name"))
        unknown = sorted(set(self.starts) - set(numbers))
        if unknown:
            message = f"{self.name!r} has the partitions {', '.join(map(str, numbers))} (got {unknown[0]})"
            raise ConfigError(Problem("options.startingOffsets", message))
        return numbers

    def _ranges(self, consumer: Any) -> dict[int, tuple[int, int]]:
        return {number: self._range(consumer, number) for number in self._partitions(consumer)}

    def _range(self, consumer: Any, number: int) -> tuple[int, int]:
        """The first offset to read of a partition, and the one after its last."""
        low, _ = consumer.get_watermark_offsets(self._partition(number), timeout=self.seconds)
        consumer.assign([self._partition(number, low)])
        first = next(self._events(consumer, number, 1))
        # The end is what came with the messages: a small broker may answer the question for it with too little.
        end = first.offset()
        if first.error() is None:
            _, end = consumer.get_watermark_offsets(self._partition(number), cached=True)
        begin = self.starts.get(number, EARLIEST)
        begin = low if begin == EARLIEST else begin
        if low <= begin <= end:
            return begin, end
        message = f"partition {number} of {self.name!r} has the offsets {low} to {end} (got {begin})"
        raise ConfigError(Problem("options.startingOffsets", f"{message}: begin there, or at {EARLIEST}"))

    def _read(self, consumer: Any, number: int, begin: int, end: int) -> Iterator[Any]:
        """The messages of a partition in a range of offsets, some of which may have none."""
        if begin == end:
            return
        consumer.assign([self._partition(number, begin)])
        for event in self._events(consumer, number, min(_AT_ONCE, end - begin)):
            if event.error() is None and event.offset() < end:
                yield event
            if event.offset() + (event.error() is None) >= end:
                return

    def _events(self, consumer: Any, number: int, at_once: int) -> Iterator[Any]:
        """The messages of a partition as they come, and among them that its end was reached."""
        heard = time.monotonic()
        while True:
            for event in consumer.consume(at_once, 0.2):
                heard = time.monotonic()
                if event.partition() != number:
                    continue
                if event.error() is None or event.error().code() == self._codes._PARTITION_EOF:
                    yield event
                elif not event.error().retriable():
                    raise self._failed(event.error())
            if time.monotonic() - heard > self.seconds:
                raise self._failed(f"no answer within {self.seconds:g} s")

    @property
    def _codes(self) -> Any:
        return KAFKA.imported().KafkaError

    def _partition(self, number: int, *offset: int) -> Any:
        return KAFKA.imported().TopicPartition(self.name, number, *offset)

    def _failed(self, why: Any) -> EngineError:
        servers = self.options.get("bootstrap.servers", "none is named")
        return EngineError(
            f"the topic {self.name!r} cannot be read ({self._log.after(why)}): look at bootstrap.servers ({servers})"
        )
