"""How far time has come, source by source, and the watermark that follows: rows before it are no longer waited for."""

from collections.abc import Sequence

import numpy as np
from attrs import define, frozen

FIRST, LAST = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)


@define
class Reach:
    """What some rows tell of time: their latest time in each source, their earliest, and the latest tick of a clock."""

    latest: list[int]
    """For each source, FIRST where it has no row."""
    earliest: int = LAST
    tick: int = FIRST
    """Microseconds since the epoch by the clock of whoever runs the query; FIRST where no tick came."""

    @classmethod
    def nowhere(cls, sources: int) -> "Reach":
        """That of no rows."""
        return cls([FIRST] * sources)

    @classmethod
    def unpacked(cls, numbers: Sequence[int]) -> "Reach":
        """Back from what `packed` gave."""
        earliest, tick, *latest = map(int, numbers)
        return cls(latest, earliest, tick)

    def packed(self) -> list[int]:
        """Flat, to travel in a column."""
        return [self.earliest, self.tick, *self.latest]

    def add(self, other: "Reach") -> None:
        """Become that of both."""
        self.latest = list(map(max, self.latest, other.latest))
        self.earliest = min(self.earliest, other.earliest)
        self.tick = max(self.tick, other.tick)

    @property
    def newest(self) -> int | None:
        """The latest time in any source; None where there were no rows."""
        found = max(self.latest)
        return None if found == FIRST else found


@frozen
class Ticking:
    """What a clock's ticks mean to a stream.

    idle_after: microseconds without rows after which time goes on with the clock. finish: a tick says that the input
    is complete. started: when this run began by the clock; silence before it is nobody's fault and does not count.
    """

    idle_after: int | None = None
    finish: bool = False
    started: int = FIRST


@define
class Clock:
    """An operator's sense of time: how far all rows and ticks so far have come."""

    delay: int
    idle: int | None
    """A source this far behind the newest is not waited for; None: each is."""
    reach: Reach
    heard: int = FIRST
    """The tick at which rows last came, or the first one there was."""

    def add(self, reach: Reach) -> None:
        """Take in what one turn brought."""
        self.reach.add(reach)
        if reach.newest is not None or self.heard == FIRST:
            self.heard = self.reach.tick

    def watermark(self) -> int | None:
        """`delay` before the source that is furthest behind, of those waited for. None where one never had a row.

        A source without rows counts as being where time began, so that `idle` can leave it behind too.
        """
        newest = self.reach.newest
        if newest is None or (self.idle is None and FIRST in self.reach.latest):
            return None
        marks = [self.reach.earliest if latest == FIRST else latest for latest in self.reach.latest]
        furthest = min(mark for mark in marks if self.idle is None or newest - mark <= self.idle)
        return max(furthest - self.delay, FIRST)

    def silence(self, started: int) -> int:
        """Microseconds by the clock since rows last came, since its first tick, or since this run began."""
        since = max(self.heard, started)
        return max(self.reach.tick - since, 0) if FIRST not in (self.heard, self.reach.tick) else 0

    def packed(self) -> list[int]:
        """Flat, to be kept with the operator."""
        return [self.heard, *self.reach.packed()]

    def load(self, numbers: Sequence[int]) -> None:
        """Take over what `packed` gave."""
        self.heard = int(numbers[0])
        self.reach = Reach.unpacked(numbers[1:])
