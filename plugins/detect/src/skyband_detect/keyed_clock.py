"""The clock of backends by key: times never go back, and all rows of one time come together."""

from typing import Self

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int64, never_back, whole
from skyband.errors import InputError, SnapshotError
from skyband.roles import Backend

FARTHEST = 2**62
"""Times are from -FARTHEST to FARTHEST."""


@define(eq=False)
class KeyedClock(Backend):
    """The time that a backend has reached."""

    _now: int | None = field(default=None, init=False)
    _last: int | None = field(default=None, init=False)

    @property
    def now(self) -> int | None:
        """The time reached; None before the first row."""
        return self._now

    def advance(self, now: int) -> None:
        """Move `now` forward; idempotent. Rows that no window can reach from here on are forgotten."""
        moment = whole("now", now)
        if abs(moment) > FARTHEST:
            raise InputError("now", f"must be from -2**62 to 2**62 (got {moment})")
        if self._now is not None and moment < self._now:
            raise InputError("now", f"{moment} is before {self._now}, the time already reached; times never go back")
        self._now = moment

    def _check_times(self, times: Int64) -> None:
        never_back("times", times, self._now)
        if not len(times):
            return
        if times[0] == self._last:
            raise InputError("times", f"{self._last} was in an earlier call: give all rows of one time together", 0)
        for row in (0, -1):
            if abs(int(times[row])) > FARTHEST:
                raise InputError("times", f"must be from -2**62 to 2**62 (got {int(times[row])})", row % len(times))

    # Take the later times of two that become one.
    def _reach(self, other: Self) -> None:
        assert other._now is not None
        self._now = other._now if self._now is None else max(self._now, other._now)
        self._last = max((last for last in (self._last, other._last) if last is not None), default=None)

    # `now` and the time of the last row, for `_state`.
    def _clock(self) -> dict[str, Array]:
        return {"clock": np.array([moment for moment in (self._now, self._last) if moment is not None], np.int64)}

    # Sets the clock to the result of `_clock`. Raises SnapshotError if it is impossible.
    def _set_clock(self, clock: Array) -> None:
        moments = clock.tolist()
        late = len(moments) == 2 and moments[1] > moments[0]
        if len(moments) > 2 or late or any(abs(moment) > FARTHEST for moment in moments):
            raise SnapshotError(f"of {self.role}/{self.name} holds the clock {moments}, which is impossible")
        self._now, self._last = (*moments, None, None)[:2]
