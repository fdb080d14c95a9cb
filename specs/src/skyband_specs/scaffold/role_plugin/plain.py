"""mine/plain: keeps every row; replace it by an algorithm that needs less."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import TIME_MIN, Array, Int64
from skyband.state_validation import StateReader

from skyband_specs.scaffold.role_plugin.role import MineRole


@define(eq=False)
class Plain(MineRole):
    """Every row of the last `longest`.

    It adds the rows up for each answer: choose it to compare others with.

    Parameters
    ----------
    longest : int
        how far back it answers, in the unit of the times (at least 1)

    Complexity
    ----------
    Update O(1) a row; an answer O(rows). Memory is O(rows) of the last `longest`.

    References
    ----------
    The definition.

    Examples
    --------
    >>> import skyband
    >>> backend = skyband.create("mine", "plain", longest=10)
    >>> backend.update(times=[1, 2, 3], values=[4, 5, 9])
    >>> backend.mean(since=2)
    7.0
    """

    name: ClassVar[str] = "plain"

    _rows: list[tuple[int, int]] = field(factory=list, init=False)

    def _update(self, times: Int64, values: Int64) -> None:
        self._rows += zip(times.tolist(), values.tolist(), strict=True)
        oldest = int(times[-1]) - self.longest
        self._rows = [row for row in self._rows if row[0] >= oldest]

    def _mean(self, since: int) -> float:
        values = [value for time, value in self._rows if time >= since]
        return sum(values) / len(values) if values else float("nan")

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        return 16 * len(self._rows)

    def _state(self) -> dict[str, Array]:
        times, values = zip(*self._rows, strict=True) if self._rows else ((), ())
        return {
            "now": np.array([] if self._now is None else [self._now], np.int64),
            "times": np.array(times, np.int64),
            "values": np.array(values, np.int64),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._now = reader.optional("now")
        oldest = None if self._now is None else max(self._now - self.longest, TIME_MIN)
        times = reader.ascending("times", 0 if self._now is None else None, at_least=oldest, at_most=self._now)
        values = reader.column("values", np.int64, len(times), at_least=-(2**31), at_most=2**31)
        self._rows = list(zip(times.tolist(), values.tolist(), strict=True))
