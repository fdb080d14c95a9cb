"""A topic that is a log of answers: what it has of a stream is read from its last messages."""

from collections.abc import Iterator
from typing import Any

from attrs import define, field, frozen

from skyband_lakes.kafka.sink_topic import DELETE, ISOLATION, SinkTopic

HEADERS = ("skyband-stream", "skyband-batch", "skyband-row", "skyband-rows")
"""Of each message: the stream's id, its micro-batch, the row in it, and how many rows that has."""
_FIRST_LOOK, _FURTHER = 1_000, 8
"""Offsets before the end of a partition that are read first, and by how many times more each time after that."""


@frozen
class Sent:
    """What a topic has of a stream."""

    number: int | None = None
    """The last whole micro-batch; None: none."""
    unfinished: int | None = None
    """A micro-batch that is there only in part."""
    rows: dict[int, bytes] = field(factory=dict)
    """The values of its rows that are there, by row."""


@define
class LogTopic(SinkTopic):
    """A topic whose broker deletes old messages at most."""

    policy: str = DELETE

    def sent(self, stream: str) -> Sent:
        """What it has of a stream, whose own transactions have ended; those of others are waited for.

        Each partition is read backwards, until two micro-batches of the stream are found. O(messages since the one
        before the last): all messages, where the stream wrote none to a partition.
        """
        with self._consumer(**{ISOLATION: "read_committed"}) as consumer:
            found = [self._newest_batches(consumer, number, stream) for number in self.partitions(consumer)]
        newest = max((batch for batches in found for batch in batches), default=None)
        if newest is None:
            return Sent()
        messages = [message for batches in found for message in batches.get(newest, ())]
        rows = {row: value for row, _, value in messages}
        return Sent(newest) if len(rows) == messages[0][1] else Sent(newest - 1, newest, rows)

    def _newest_batches(self, consumer: Any, number: int, stream: str) -> dict[int, list[tuple[int, int, bytes]]]:
        """The rows, how many there are, and the values of a stream's last micro-batch in a partition, by its number."""
        low, high = consumer.get_watermark_offsets(self.partition(number), timeout=self.seconds)
        look, end = _FIRST_LOOK, None
        batches = dict[int, list[tuple[int, int, bytes]]]()
        while True:
            begin = max(low, high - look)
            for message in self._between(consumer, number, begin, end, high):
                headers = dict(message.headers() or ())
                if headers.get(HEADERS[0]) == stream.encode():
                    batch, row, rows = (int(headers[name]) for name in HEADERS[1:])
                    batches.setdefault(batch, []).append((row, rows, message.value()))
            if begin == low or len(batches) > 1:
                return batches
            look, end = look * _FURTHER, begin

    def _between(self, consumer: Any, number: int, begin: int, end: int | None, high: int) -> Iterator[Any]:
        """The messages of a partition from an offset up to another; None: to its end, which is `high` or later."""
        consumer.assign([self.partition(number, begin)])
        for event in self._events(consumer, number, _FIRST_LOOK):
            is_end = event.error() is not None
            if (is_end and event.offset() >= high) or (end is not None and event.offset() >= end):
                return
            if not is_end:  # an end before `high` is a transaction that is open
                yield event
