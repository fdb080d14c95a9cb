"""Reads the messages of a Kafka topic up to its current end with the library confluent-kafka."""

import time
from collections.abc import Iterable, Iterator, Mapping
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
    """Values of messages, with their partitions and offsets."""

    values: list[bytes]
    partitions: list[int]
    offsets: list[int]

    @property
    def places(self) -> list[tuple[int, int]]:
        """The partition and offset of each."""
        return [*zip(self.partitions, self.offsets, strict=True)]

    @classmethod
    def of(cls, messages: Iterable[Any]) -> "Messages":
        """Messages of the library, without those that delete a key."""
        some = [message for message in messages if message.value() is not None]
        return cls([one.value() for one in some], [one.partition() for one in some], [one.offset() for one in some])


@define
class Topic:
    """A topic that is read once, from its first messages or given offsets to its end when reading starts.

    Partitions are assigned, not subscribed to: there is no consumer group to wait for, and nothing is committed. A turn
    reads `at_once` offsets, an equal share of each partition, so that partitions advance together and in the same order
    each time.

    Raises EngineError if the broker does not answer, ConfigError if there is no such topic or offset.
    """

    name: str
    options: Mapping[str, str]
    starts: Mapping[int, int] = field(factory=dict)
    at_once: int = 100_000
    seconds: float = 60
    """Seconds to wait for an answer of the broker."""
    _log: LastWords = field(factory=LastWords, init=False)

    def messages(self) -> Iterator[Messages]:
        """The messages, a turn at a time, except those without a value, which delete a key."""
        for turn in self.turns():
            yield Messages.of(turn)

    def turns(self, newest: int | None = None) -> Iterator[list[Any]]:
        """All messages as library objects, a turn at a time; newest: only this many of the last of each partition."""
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

    def again(self, ranges: Mapping[int, tuple[int, int]]) -> Iterator[Messages]:
        """The messages of partitions from an offset up to another, read once more.

        Raises EngineError where they are gone.
        """
        with self._consumer() as consumer:
            for number, (begin, end) in sorted(ranges.items()):
                low, _ = consumer.get_watermark_offsets(self.partition(number), timeout=self.seconds)
                if begin < low:
                    raise self.gone(number, begin, f"its first offset is {low}")
                yield Messages.of(self._read(consumer, number, begin, end, must_be_there=True))

    def gone(self, number: int, offset: int | None, why: object) -> EngineError:
        """The error of messages that a stream has to read, but that are not there."""
        at = "its first offset" if offset is None else f"offset {offset}"
        return EngineError(
            f"partition {number} of {self.name!r} cannot be read at {at} ({why}): messages are gone, or the topic was "
            "created again; keep messages longer, and start with a new checkpoint and a new sink"
        )

    def consumer(self, **options: str) -> Any:
        """A consumer with further options of librdkafka, which the caller closes."""
        return KAFKA.imported().Consumer({**_ALIKE, **options, **self.options}, logger=self._log.logger())

    @contextmanager
    def _consumer(self, **options: str) -> Iterator[Any]:
        consumer = self.consumer(**options)
        try:
            yield consumer
        except KAFKA.imported().KafkaException as error:
            consumer.poll(0)  # its log lines arrive with its messages
            raise self._failed(error.args[0]) from error
        finally:
            consumer.close()

    def _partition_numbers(self, consumer: Any) -> list[int] | None:
        """None where there is no such topic."""
        about = consumer.list_topics(self.name, timeout=self.seconds).topics.get(self.name)
        return None if about is None or about.error is not None or not about.partitions else sorted(about.partitions)

    def partitions(self, consumer: Any) -> list[int]:
        numbers = self._partition_numbers(consumer)
        if numbers is None:
            raise ConfigError(Problem("options.subscribe", f"the broker has no topic {self.name!r}: check its name"))
        unknown = sorted(set(self.starts) - set(numbers))
        if unknown:
            message = f"{self.name!r} has the partitions {', '.join(map(str, numbers))} (got {unknown[0]})"
            raise ConfigError(Problem("options.startingOffsets", message))
        return numbers

    def _ranges(self, consumer: Any) -> dict[int, tuple[int, int]]:
        return {number: self._range(consumer, number) for number in self.partitions(consumer)}

    def _range(self, consumer: Any, number: int) -> tuple[int, int]:
        """The first offset to read of a partition, and the one after its last."""
        low, _ = consumer.get_watermark_offsets(self.partition(number), timeout=self.seconds)
        consumer.assign([self.partition(number, low)])
        first = next(self._events(consumer, number, 1))
        # The end is taken from the messages: a small broker may answer a query for it with too small a number.
        end = first.offset()
        if first.error() is None:
            _, end = consumer.get_watermark_offsets(self.partition(number), cached=True)
        begin = self.starts.get(number, EARLIEST)
        begin = low if begin == EARLIEST else begin
        if low <= begin <= end:
            return begin, end
        message = f"partition {number} of {self.name!r} has the offsets {low} to {end} (got {begin})"
        raise ConfigError(Problem("options.startingOffsets", f"{message}: start there, or at {EARLIEST}"))

    def _read(self, consumer: Any, number: int, begin: int, end: int, must_be_there: bool = False) -> Iterator[Any]:
        """The messages of a partition in a range of offsets, some of which may be missing.

        must_be_there: raise EngineError where the partition ends before the range does, instead of waiting.
        """
        if begin == end:
            return
        consumer.assign([self.partition(number, begin)])
        for event in self._events(consumer, number, min(_AT_ONCE, end - begin)):
            if event.error() is None and event.offset() < end:
                yield event
            if event.offset() + (event.error() is None) >= end:
                return
            if event.error() is not None and must_be_there:
                raise self.gone(number, event.offset(), f"it ends there, and {end} was read before")

    def _events(self, consumer: Any, number: int, at_once: int) -> Iterator[Any]:
        """The messages of a partition as they arrive, with an event when its end is reached."""
        heard = time.monotonic()
        while True:
            for event in consumer.consume(at_once, 0.2):
                heard = time.monotonic()
                if event.partition() != number:
                    continue
                if event.error() is None or self.is_end(event.error()):
                    yield event
                elif not event.error().retriable():
                    raise self._failed(event.error())
            if time.monotonic() - heard > self.seconds:
                raise self._failed(f"no answer within {self.seconds:g} s")

    def is_end(self, error: Any) -> bool:
        """Whether this only says that the end of a partition was reached."""
        return bool(error.code() == KAFKA.imported().KafkaError._PARTITION_EOF)

    def partition(self, number: int, *offset: int) -> Any:
        return KAFKA.imported().TopicPartition(self.name, number, *offset)

    def _failed(self, why: Any) -> EngineError:
        servers = self.options.get("bootstrap.servers", "not set")
        return EngineError(
            f"the topic {self.name!r} cannot be read ({self._log.after(why)}): check bootstrap.servers ({servers})"
        )
