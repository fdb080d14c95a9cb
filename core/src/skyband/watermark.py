"""How far time has come, source by source, and the watermark that follows: rows before it are no longer waited for."""

from collections.abc import Sequence

from attrs import define, field, frozen

from skyband.arrays import TIME_MAX, TIME_MIN


@define
class EventTimeProgress:
    """What some rows tell of time: their latest time in each source, their earliest, and the latest tick of a clock."""

    latest: list[int]
    """For each source, TIME_MIN where it has no row."""
    earliest: int = TIME_MAX
    tick: int = TIME_MIN
    """Microseconds since the epoch by the clock of whoever runs the query; TIME_MIN where no tick came."""
    spans: list[tuple[int, int, int]] = field(factory=list)
    """Where a query has `ahead`: from when to when rows came without a gap longer than that, and of which source."""

    @classmethod
    def nowhere(cls, sources: int) -> "EventTimeProgress":
        """That of no rows."""
        return cls([TIME_MIN] * sources)

    @classmethod
    def from_list(cls, numbers: Sequence[int], sources: int | None = None) -> "EventTimeProgress":
        """Back from what `to_list` gave, of so many sources where spans may follow."""
        earliest, tick, *rest = map(int, numbers)
        latest, flat = (rest, []) if sources is None else (rest[:sources], rest[sources:])
        return cls(latest, earliest, tick, list(zip(flat[::3], flat[1::3], flat[2::3], strict=True)))

    def to_list(self) -> list[int]:
        """Flat, to travel in a column."""
        return [self.earliest, self.tick, *self.latest]

    def to_list_with_spans(self) -> list[int]:
        """Flat, for a micro-batch's own way to the shards."""
        return [*self.to_list(), *(number for span in self.spans for number in span)]

    def cut_ahead(self, newest: int | None, ahead: int) -> int | None:
        """Leave out rows further than `ahead` before all others; returns the latest time that is not, None of no rows.

        The others are the rows up to `newest`, those of before, and of these rows, in the order of their times, each
        that is not further than that from the one before it.
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
        """Become that of both."""
        self.latest = list(map(max, self.latest, other.latest))
        self.earliest = min(self.earliest, other.earliest)
        self.tick = max(self.tick, other.tick)
        self.spans = self.spans + other.spans

    @property
    def newest(self) -> int | None:
        """The latest time in any source; None where there were no rows."""
        latest = max(self.latest)
        return None if latest == TIME_MIN else latest


@frozen
class Ticking:
    """What a clock's ticks mean to a stream.

    idle_after: microseconds without rows after which time goes on with the clock. finish: a tick says that the input
    is complete, if no rows come with it. started: when this run began by the clock; being idle before it is nobody's
    fault and does not count.
    """

    idle_after: int | None = None
    finish: bool = False
    started: int = TIME_MIN


@define
class Clock:
    """An operator's sense of time: how far all rows and ticks so far have come."""

    delay: int
    idle: int | None
    """A source this far behind the newest is not waited for; None: each is."""
    progress: EventTimeProgress
    last_activity: int = TIME_MIN
    """The tick at which rows last came, or the first one there was."""

    def add(self, progress: EventTimeProgress) -> None:
        """Take in what one turn brought."""
        self.progress.add(progress)
        if progress.newest is not None or self.last_activity == TIME_MIN:
            self.last_activity = self.progress.tick

    def watermark(self) -> int | None:
        """`delay` before the source that is furthest behind, of those waited for. None where one never had a row.

        A source without rows counts as being where time began, so that `idle` can leave it behind too.
        """
        newest = self.progress.newest
        if newest is None or (self.idle is None and TIME_MIN in self.progress.latest):
            return None
        marks = [self.progress.earliest if latest == TIME_MIN else latest for latest in self.progress.latest]
        furthest = min(mark for mark in marks if self.idle is None or newest - mark <= self.idle)
        return self.allowing_delay(furthest)

    def allowing_delay(self, time: int) -> int:
        """The watermark when time has come so far: `delay` before it."""
        return max(time - self.delay, TIME_MIN)

    def idle_time(self, started: int) -> int:
        """Microseconds by the clock since rows last came, since its first tick, or since this run began."""
        start = max(self.last_activity, started)
        return max(self.progress.tick - start, 0) if TIME_MIN not in (self.last_activity, self.progress.tick) else 0

    def to_list(self) -> list[int]:
        """Flat, to be kept with the operator."""
        return [self.last_activity, *self.progress.to_list()]

    def load_state(self, numbers: Sequence[int]) -> None:
        """Take over what `to_list` gave."""
        self.last_activity = int(numbers[0])
        self.progress = EventTimeProgress.from_list(numbers[1:])
