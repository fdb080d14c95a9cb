"""Follows a topic: one consumer for the life of a stream, its partitions assigned, its offsets kept by the stream."""

import json
import time
from bisect import bisect_left
from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any

from attrs import define, field
from skyband.errors import SnapshotError
from skyband_jobs.formats import Followed, TableRows

from skyband_lakes.kafka.rows import TopicRows
from skyband_lakes.kafka.topic import EARLIEST, Messages, Topic

if TYPE_CHECKING:
    import pyarrow as pa

_NEW_PARTITIONS = 60.0
"""Seconds between two looks for new partitions."""
_QUEUED = {"queued.max.messages.kbytes": "16384"}
"""Kilobytes that wait in the consumer, so that its memory does not follow the lag."""
_WAIT = 0.01
_MOST_AT_ONCE = 1_000_000
"""Messages that the library gives in one call."""


@define(eq=False)
class _Waiting:
    """Messages of a partition that are in no part yet."""

    offsets: list[int] = field(factory=list)
    values: list[bytes | None] = field(factory=list)

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, message: Any) -> None:
        """Take a message of the library."""
        self.offsets.append(message.offset())
        self.values.append(message.value())

    def keep(self, count: int) -> None:
        """Drop all but the first messages."""
        del self.offsets[count:], self.values[count:]

    def hand_over(self, count: int, number: int, messages: Messages) -> None:
        """Give the first messages away, without those that delete a key."""
        for offset, value in zip(self.offsets[:count], self.values[:count], strict=True):
            if value is not None:
                messages.offsets.append(offset)
                messages.values.append(value)
        messages.partitions.extend([number] * (len(messages.values) - len(messages.partitions)))
        del self.offsets[:count], self.values[:count]


@define(eq=False)
class FollowedTopic(Followed):
    """A part is, for each partition, the first offset and the one after the last: {"0": [23, 40]}."""

    topic: Topic
    schema: "pa.Schema"
    most: int | None = None
    """Messages in a part, from the option `maxOffsetsPerTrigger`."""
    _next: dict[int, int] = field(factory=dict, init=False)
    """The next offset of each partition that was read."""
    _consumer: Any = field(default=None, init=False)
    _waiting: dict[int, _Waiting] = field(factory=dict, init=False)
    """By assigned partition, the messages that are in no part yet."""
    _ends: dict[int, int] = field(factory=dict, init=False)
    """By partition, the last end that was reached."""
    _bounds: dict[int, int] | None = field(default=None, init=False)
    """By partition, where to stop: its end when its first messages came. None: it reads on and on."""
    _paused: set[int] = field(factory=set, init=False)
    """Partitions with enough messages waiting here."""
    _looked: float = field(default=0.0, init=False)
    _current: tuple[Any, Messages] | None = field(default=None, init=False)
    """The part that `next_part` named last, with its messages."""

    def resume(self, offset: str) -> None:
        try:
            starts = json.loads(offset)[self.topic.name]
            self._next = {int(number): int(next_one) for number, next_one in starts.items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            message = f"the savepoint's position is not one of the topic {self.topic.name!r}: {offset!r:.80}"
            raise SnapshotError(f"{message}; it belongs to another source") from error

    def stop_at_end(self) -> None:
        self._bounds = {}

    def next_part(self, most: int) -> dict[str, list[int]] | None:
        """Partitions advance together: each by the same share of what it is behind, so that none makes others late."""
        if self._current is not None:
            return self._current[0]
        most = most if self.most is None else self.most
        self._look_for_partitions()
        self._consume(most)
        behind = {number: self._behind(number) for number, waiting in self._waiting.items()}
        shares = [len(self._waiting[number]) / lag for number, lag in behind.items() if lag]
        share = min(*shares, most / max(sum(behind.values()), 1), 1.0) if len(shares) > 1 else 1.0
        furthest = max(behind, key=lambda number: behind[number])
        part, messages = dict[str, list[int]](), Messages([], [], [])
        for number, lag in behind.items():
            waiting = self._waiting[number]
            count = int(lag * share)
            if number == furthest and share > 0:
                count = max(count, 1)  # so that it advances where all shares are less than a message
            count = min(count, len(waiting), most)
            if count:
                part[str(number)] = [self._next.get(number, waiting.offsets[0]), waiting.offsets[count - 1] + 1]
                waiting.hand_over(count, number, messages)
        if not part:
            return None
        self._current = part, messages
        return part

    def _consume(self, most: int) -> None:
        """Take what has arrived; a partition with enough waiting here is paused, so that the others come."""
        # The library waits until it has as many as asked, so it must not wait for those that are not announced.
        for event in self._consumer.consume(min(most, _MOST_AT_ONCE), 0 if self.caught_up else _WAIT):
            number, error = event.partition(), event.error()
            if error is None:
                self._waiting[number].add(event)
            elif self.topic.is_end(error):
                self._ends[number] = event.offset()
            elif not error.retriable():
                raise self.topic.gone(number, self._next.get(number), error)
        if self._bounds is not None:
            self._keep_to(self._bounds)
        # The library drops what it has fetched of a partition that it pauses, so it is not paused for a little.
        full = {number for number, waiting in self._waiting.items() if len(waiting) >= 2 * most}
        for numbers, change in ((full - self._paused, "pause"), (self._paused - full, "resume")):
            if numbers:
                getattr(self._consumer, change)([self.topic.partition(number) for number in sorted(numbers)])
        self._paused = full

    def _keep_to(self, bounds: dict[int, int]) -> None:
        """Drop the messages that came later than the end that a partition had at first."""
        for number, waiting in self._waiting.items():
            _, high = self._consumer.get_watermark_offsets(self.topic.partition(number), cached=True)
            bound = bounds.setdefault(number, high) if high >= 0 else inf
            if waiting.offsets and waiting.offsets[-1] >= bound:
                waiting.keep(bisect_left(waiting.offsets, bound))
                self._ends[number] = max(self._ends.get(number, -1), high)

    def _behind(self, number: int) -> int:
        """The offsets between what was taken of a partition and its end; 1 at the least where that is not known.

        Where its end was reached, only the messages that wait count: the last offsets may be marks of transactions.
        """
        waiting, reached = self._waiting[number], self._ends.get(number, -1)
        _, high = self._consumer.get_watermark_offsets(self.topic.partition(number), cached=True)
        high = min(high, (self._bounds or {}).get(number, high))
        if reached >= max(high, 0):
            return len(waiting)
        begin = self._next.get(number, waiting.offsets[0] if waiting.offsets else None)
        return max(len(waiting), 1 if high < 0 or begin is None else high - begin)

    @property
    def caught_up(self) -> bool:
        return not any(map(self._behind, self._waiting))

    @property
    def lag(self) -> Mapping[str, int]:
        return {str(number): self._behind(number) for number in sorted(self._waiting)}

    def _look_for_partitions(self) -> None:
        """Assign all partitions, new ones from their first message."""
        if self._consumer is not None and time.monotonic() - self._looked < _NEW_PARTITIONS:
            return
        if self._consumer is None:
            self._consumer = self.topic.consumer(**_QUEUED)
        self._looked = time.monotonic()
        new = [number for number in self.topic.partitions(self._consumer) if number not in self._waiting]
        if new:
            self._consumer.incremental_assign([self.topic.partition(number, self._start(number)) for number in new])
            self._waiting |= {number: _Waiting() for number in new}

    def _start(self, number: int) -> int:
        return self._next.get(number, self.topic.starts.get(number, EARLIEST))

    def rows(self, part: Any) -> TableRows:
        if self._current is not None and self._current[0] == part:
            messages = self._current[1]
            return TopicRows(self.topic.name, lambda: [messages], self.schema)
        ranges = {int(number): (begin, end) for number, (begin, end) in part.items()}
        return TopicRows(self.topic.name, lambda: self.topic.again(ranges), self.schema)

    def took(self, part: Any) -> None:
        self._next |= {int(number): end for number, (_, end) in part.items()}
        self._current = None

    @property
    def offset(self) -> str:
        offsets = {number: start for number, start in self.topic.starts.items() if start != EARLIEST} | self._next
        return json.dumps({self.topic.name: {str(number): offset for number, offset in sorted(offsets.items())}})

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
