"""Progress of event time, source by source, and the watermark that follows: rows before it are late."""

from collections.abc import Sequence

from attrs import define, field, frozen

from skyband.arrays import TIME_MAX, TIME_MIN


@define
class EventTimeProgress:
    """The times of some rows: the latest in each source, the earliest, and the latest tick of a clock."""

    latest: list[int]
    """For each source, TIME_MIN if it has no row."""
    earliest: int = TIME_MAX
    tick: int = TIME_MIN
    """Microseconds since the epoch by the clock of the process that runs the query; TIME_MIN without a tick."""
    spans: list[tuple[int, int, int]] = field(factory=list)
    """For a query with `ahead`: start, end and source of runs of rows without a gap longer than that."""

    @classmethod
    def nowhere(cls, sources: int) -> "EventTimeProgress":
        """The progress of no rows."""
        return cls([TIME_MIN] * sources)

    @classmethod
    def from_list(cls, numbers: Sequence[int], sources: int | None = None) -> "EventTimeProgress":
        """Inverse of `to_list`; `sources` is required if spans may follow."""
        earliest, tick, *rest = map(int, numbers)
        latest, flat = (rest, []) if sources is None else (rest[:sources], rest[sources:])
        return cls(latest, earliest, tick, list(zip(flat[::3], flat[1::3], flat[2::3], strict=True)))

    def to_list(self) -> list[int]:
        """A flat list, to be sent in a column."""
        return [self.earliest, self.tick, *self.latest]

    def to_list_with_spans(self) -> list[int]:
        """A flat list, for a micro-batch's own way to the shards."""
        return [*self.to_list(), *(number for span in self.spans for number in span)]

    def cut_ahead(self, newest: int | None, ahead: int) -> int | None:
        """Drop rows more than `ahead` later than all others; returns the latest remaining time, or None without rows.

        The others are the rows up to `newest`, earlier ones, and of these rows, in order of time, each that is at most
        `ahead` after the one before it.
        """
        limit = min((start for start, _, _ in self.spans), default=None) if newest is None else newest
        if limit is None:
            return None
        near = []
        for start, end, source in sorted(self.spans):
            if start - limit > ahead:
                break
            limit = max(limit, end)
            near.append((start, end, source))
        self.latest = [
            max((end for _, end, of in near if of == place), default=TIME_MIN) for place in range(len(self.latest))
        ]
        self.earliest = min((start for start, _, _ in near), default=TIME_MAX)
        self.spans = []
        return limit

    def add(self, other: "EventTimeProgress") -> None:
        """Add the progress of other rows."""
        self.latest = list(map(max, self.latest, other.latest))
        self.earliest = min(self.earliest, other.earliest)
        self.tick = max(self.tick, other.tick)
        self.spans = self.spans + other.spans

    @property
    def newest(self) -> int | None:
        """The latest time in any source; None if there were no rows."""
        latest = max(self.latest)
        return None if latest == TIME_MIN else latest


@frozen
class Ticking:
    """The meaning of a clock's ticks for a stream.

    idle_after: microseconds without rows after which time follows the clock. finish: a tick without rows means that the
    input is complete. started: when this run began by the clock; earlier idle time does not count.
    """

    idle_after: int | None = None
    finish: bool = False
    started: int = TIME_MIN


@define
class Clock:
    """An operator's sense of time: the progress of all rows and ticks so far."""

    delay: int
    idle: int | None
    """A source this far behind the newest is not waited for; None: all sources are."""
    progress: EventTimeProgress
    last_activity: int = TIME_MIN
    """The tick at which rows last arrived, or the first tick."""

    def add(self, progress: EventTimeProgress) -> None:
        """Add the progress of one micro-batch."""
        self.progress.add(progress)
        if progress.newest is not None or self.last_activity == TIME_MIN:
            self.last_activity = self.progress.tick

    def watermark(self) -> int | None:
        """`delay` before the slowest source among those waited for. None if one of them never had a row.

        A source without rows counts as being at the earliest time seen, so that `idle` can skip it too.
        """
        newest = self.progress.newest
        if newest is None or (self.idle is None and TIME_MIN in self.progress.latest):
            return None
        marks = [self.progress.earliest if latest == TIME_MIN else latest for latest in self.progress.latest]
        furthest = min(mark for mark in marks if self.idle is None or newest - mark <= self.idle)
        return self.allowing_delay(furthest)

    def allowing_delay(self, time: int) -> int:
        """The watermark when time has reached this: `delay` before it."""
        return max(time - self.delay, TIME_MIN)

    def idle_time(self, started: int) -> int:
        """Microseconds by the clock since rows last arrived, since its first tick, or since this run began."""
        start = max(self.last_activity, started)
        return max(self.progress.tick - start, 0) if TIME_MIN not in (self.last_activity, self.progress.tick) else 0

    def to_list(self) -> list[int]:
        """A flat list, stored with the operator."""
        return [self.last_activity, *self.progress.to_list()]

    def load_state(self, numbers: Sequence[int]) -> None:
        """Load the result of `to_list`."""
        self.last_activity = int(numbers[0])
        self.progress = EventTimeProgress.from_list(numbers[1:])
