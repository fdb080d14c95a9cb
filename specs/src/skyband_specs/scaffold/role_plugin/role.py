"""The role mine: the methods that users call check their arguments; those with an underscore are a backend's."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import define, field
from skyband.arrays import Int64, column, moment, never_back, within
from skyband.config.parameters import integer
from skyband.errors import InputError
from skyband.roles import Backend


@define(eq=False)
class MineRole(Backend):
    """The mean of the whole numbers since any moment, as far back as `longest`."""

    role: ClassVar[str] = "mine"

    longest: int = integer(at_least=1, help="how far back it answers, in the unit of the times")

    _now: int | None = field(default=None, init=False)

    @property
    def now(self) -> int | None:
        """The time of the last row, None before the first."""
        return self._now

    def update(self, times: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Take in values (int64[n], up to 2^31 in size) at times (int64[n], ascending).

        Raises InputError, the backend unchanged, where they are not that, or times go back.
        """
        times = column("times", times, np.int64)
        values = column("values", values, np.int64, len(times))
        never_back("times", times, self._now)
        within("values", values, -(2**31), 2**31)
        if len(times):
            self._now = int(times[-1])
            self._update(times, values)

    def mean(self, since: int) -> float:
        """The mean of the values with time >= `since`, NaN where there are none.

        Raises InputError where that is more than `longest` before `now`.
        """
        since = moment("since", since)
        if self._now is not None and since < self._now - self.longest:
            raise InputError("since", f"must be at least {self._now - self.longest} (got {since})")
        return self._mean(since)

    @abstractmethod
    def _update(self, times: Int64, values: Int64) -> None:
        """Take in rows that were checked."""

    @abstractmethod
    def _mean(self, since: int) -> float:
        """The mean since a moment that was checked."""
