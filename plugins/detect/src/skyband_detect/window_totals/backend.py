"""key-total/window: all values of the window with their times, and running totals; exact."""

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import TIME_MIN, Array, Int64, UInt64
from skyband.state_validation import StateReader

from skyband_detect.role import LONGEST
from skyband_detect.total_role import FULL, QUANTILE, KeyTotal, Reached, TotalBounds
from skyband_detect.window_totals.events import Events, WindowValues, in_order


@define(eq=False)
class Window(KeyTotal):
    """Keeps every value of the longest window, with its time and the total of its key before it. Exact.

    The sum over a window is the difference of two totals, whichever the window is. A quantile is at least `limit` iff
    few enough values are below it, so the total of quantiles counts those: a bound costs no sorting, and only an answer
    looks at all values of the key.

    Parameters
    ----------
    longest : int
        the longest window, in units of time (at least 1 and at most 2305843009213693952)
    measure : str, default "sum"
        what is computed from the values of each key (one of sum, mean, quantile)
    limit : float, default 0.0
        for quantiles: the value that a quantile must reach

    Complexity
    ----------
    A row costs O(1), and O(log n) for each bound, for n values of its key in the window; an answer about a quantile
    O(n). A state is 16 bytes for each key and 16 for each value of the longest window, whatever the bounds; in memory,
    in rings of a power of two, up to four times that, and half as much again for quantiles.

    References
    ----------
    By definition; sums by differences of running totals.

    Examples
    --------
    >>> import skyband
    >>> bytes_out = skyband.create("key-total", "window", longest=100)
    >>> reached = bytes_out.update([0, 10, 20], keys=[7, 7, 8], values=[5, 6, 7], windows=[100], at_least=[11])
    >>> reached.rows.tolist(), reached.value.tolist()
    ([1], [11])
    """

    name: ClassVar[str] = "window"

    _values: WindowValues = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._values = WindowValues(self.longest, self.measure, self.limit)

    def _update(self, times: Int64, keys: UInt64, values: Array, bounds: TotalBounds) -> Reached:
        return self._values.update(times, keys, values, bounds)

    def _magnitude(self) -> int:
        return self._values.magnitude(self._since)

    @property
    def _since(self) -> int:
        """The first time that a later window may reach."""
        return TIME_MIN + 1 if self._now is None else self._now - self.longest + 1

    def __len__(self) -> int:
        return self._values.count(self._since)

    @property
    def nbytes(self) -> int:
        return self._values.nbytes

    def _state(self) -> dict[str, Array]:
        return {**self._clock(), **self._values.events(self._since)._asdict()}

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._set_clock(reader.column("clock", np.int64, at_least=-2 * LONGEST, at_most=2 * LONGEST))
        keys = reader.ascending("keys", dtype=np.uint64, strictly=True)
        last = -2 * LONGEST - 1 if self._last is None else self._last
        times = reader.column("times", np.int64, at_least=self._since, at_most=last)
        sizes = reader.sizes("sizes", len(keys), len(times))
        reader.require(bool((sizes >= 1).all()), "sizes", "must be at least 1")
        of = np.repeat(np.arange(len(keys)), sizes)
        rises = (times[1:] > times[:-1]) & (of[1:] == of[:-1])
        reader.require(not rises.any(), "times", "must be descending for each key")
        kind = np.float64 if self.measure == QUANTILE else np.int64
        limits = {"at_least": -np.inf, "at_most": np.inf} if self.measure == QUANTILE else {}
        values = reader.column("values", kind, len(times), **limits)
        falls = (values[1:] < values[:-1]) & (times[1:] == times[:-1]) & (of[1:] == of[:-1])
        reader.require(not falls.any(), "values", "must be ascending for each key and time")
        if self.measure != QUANTILE:
            units = np.abs(values.astype(np.float64)).sum()
            reader.require(bool(units <= 1.01 * FULL), "values", "must add up to at most 2**62 units")
        self._values.load(Events(keys, sizes, times, values))

    def _merge(self, other: Self) -> None:
        both = [one._values.events(self._since) for one in (self, other)]
        keys = np.concatenate([np.repeat(events.keys, events.sizes) for events in both])
        times, values = (np.concatenate([getattr(events, name) for events in both]) for name in ("times", "values"))
        self._values.load(in_order(keys, times, values))
