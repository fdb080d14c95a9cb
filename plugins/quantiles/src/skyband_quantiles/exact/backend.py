"""quantile-sketch/exact: all rows of the longest window, in queues by value."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Float64, Int64, read_only
from skyband.state_validation import StateReader

from skyband_quantiles.buckets.reading import Reading, of_rows
from skyband_quantiles.exact import kernels
from skyband_quantiles.exact.queues import CHUNK, FREED, NOTHING, QUEUES, ROWS, Queues, empty
from skyband_quantiles.role import QuantileSketch
from skyband_quantiles.rows_in_states import rows_from_state, rows_to_state
from skyband_quantiles.sketch_answers import Answers

_CHUNKS, _QUEUES = 16, 4
_NO_TIMES, _NO_VALUES = np.empty(0, np.int64), np.empty(0)
_NO_WINDOWS: tuple[int, ...] = ()


@define(eq=False)
class Exact(QuantileSketch):
    """Keeps every row of the longest window, in queues by value; every answer is exact.

    A queue holds the rows of a range of values, oldest first, so that expired rows are a prefix of each and are deleted
    without a search. An answer counts the rows of each queue in the window, and selects within one queue.

    No exact method keeps fewer rows: two histories that differ in one row give different answers in some future.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    longest : int
        the longest window that it answers, in units of time or in rows (at least 1 and at most 2305843009213693952)
    every : int, default 1
        most windows start at multiples of this (at least 1 and at most 2305843009213693952)
    offset : int, default 0
        how much later than multiples of `every` they start (at least 0 and at most 2305843009213693952)
    cuts : list of float, default ()
        numbers, known in advance, to get the share of rows above each (at most 60, ascending)

    Complexity
    ----------
    A row costs O(log n) for n rows in the longest window, an answer O(sqrt(n)), or O(n / 32) since a moment at which no
    window starts. Memory is about 17 bytes a row.

    References
    ----------
    By definition: SQL's percentile_disc, the inverse of the empirical distribution function.

    Examples
    --------
    >>> import skyband
    >>> sketch = skyband.create("quantile-sketch", "exact", longest=100)
    >>> sketch.update(times=[0, 1, 2, 3], values=[40.0, 20.0, 30.0, 10.0])
    >>> sketch.quantiles(since=1, at=[0.5, 1.0])[:, 0].tolist()
    [20.0, 30.0]
    >>> sketch.shares(since=0, above=[25.0])[:, 0].tolist()
    [0.5]
    """

    name: ClassVar[str] = "exact"
    gives_states: ClassVar[bool] = True
    bounds_ranks: ClassVar[bool] = True
    keeps_rows: ClassVar[bool] = True

    _queues: Queues = field(init=False)
    _windows: tuple[int, ...] = field(default=_NO_WINDOWS, init=False)
    """The windows of the pointers."""

    def __attrs_post_init__(self) -> None:
        self._queues = empty(_CHUNKS, _QUEUES, 0)

    def _update(self, times: Int64, values: Float64) -> None:
        self._run(times, values, _NO_TIMES, _NO_TIMES, _NO_TIMES, _NO_VALUES, Answers.room(0, 0, 0, 0))

    def _answers(
        self, times: Int64, values: Float64, moments: Int64, windows: Int64, parts: Int64, limits: Float64
    ) -> Answers:
        asked = tuple(windows.tolist())
        if asked != self._windows:
            self._point_at(asked)
        answers = Answers.room(len(moments), len(windows), len(parts), len(limits))
        self._run(times, values, moments, windows, parts, limits, answers)
        return answers

    def _run(
        self,
        times: Int64,
        values: Float64,
        moments: Int64,
        windows: Int64,
        parts: Int64,
        limits: Float64,
        found: Answers,
    ) -> None:
        ascending = np.argsort(parts, kind="stable")
        row = moment = 0
        while True:
            row, moment = kernels.run(
                self._queues, read_only(times), read_only(values), row, read_only(moments), moment, read_only(windows),
                self.longest, parts, ascending, limits, *found,
            )  # fmt: skip
            if row == len(times) and moment == len(moments):
                return
            self._grow()

    def _grow(self) -> None:
        """Make room for more chunks or queues, whichever are full."""
        queues = self._queues
        if queues.numbers[FREED] < kernels.SPARE_CHUNKS:
            chunks = len(queues.following)
            more = chunks + max(_CHUNKS, chunks // 16)
            # The system may then only have to map more pages, while a copy would take a third of the time.
            for column in (queues.values, queues.times):
                column.resize(CHUNK * more, refcheck=False)
            queues.following.resize(more, refcheck=False)
            queues.following[chunks:] = np.arange(chunks + 1, more + 1)
            queues.following[-1] = queues.numbers[1]
            queues.numbers[1] = chunks
            queues.numbers[FREED] += more - chunks
        if queues.numbers[QUEUES] + kernels.SPARE_QUEUES > len(queues.order):
            self._queues = _with_queues(queues, 2 * len(queues.order))

    def _point_at(self, windows: tuple[int, ...]) -> None:
        """Set pointers for these windows."""
        room = len(self._queues.order)
        shape = len(windows) + 1, room
        self._queues = self._queues._replace(
            reached=np.full(len(windows) + 1, -(2**63)),
            passed=np.zeros(shape, np.int64),
            place=np.zeros(shape, np.int64),
        )
        self._windows = windows

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        kernels.ask(self._queues, since, parts, np.argsort(parts, kind="stable"), limits, values, shares)

    def _count(self, since: int) -> tuple[float, float, float]:
        none = Answers.room(1, 1, 0, 0)
        rows = float(
            kernels.ask(self._queues, since, _NO_TIMES, _NO_TIMES, _NO_VALUES, none.values[0, 0], none.shares[0, 0])
        )
        return rows, rows, rows

    def readings(self, since: Sequence[int]) -> list[Reading]:
        times, values = kernels.rows_of(self._queues)
        return [of_rows(values[times >= moment]) for moment in since]

    def _merge(self, other: Self, now: int) -> None:
        rows = [_by_time(*kernels.rows_of(sketch._queues)) for sketch in (self, other)]
        times, values = (np.concatenate(column) for column in zip(*rows, strict=True))
        self._begin_with(*_by_time(times, values))
        self._expire(now)

    def _begin_with(self, times: Int64, values: Float64) -> None:
        self._queues = empty(_CHUNKS, _QUEUES, 0)
        self._windows = _NO_WINDOWS
        self._update(times, values)

    def _expire(self, now: int | None) -> None:
        if now is not None and self._queues.numbers[ROWS]:
            kernels.forget(self._queues, min(max(now - self.longest, -(2**63)), 2**63 - 1))

    def __len__(self) -> int:
        self._expire(self._now)
        return int(self._queues.numbers[ROWS])

    @property
    def nbytes(self) -> int:
        """The bytes of the queues, including spare room."""
        return sum(column.nbytes for column in self._queues)

    def _state(self) -> dict[str, Array]:
        self._expire(self._now)
        return {**self._clock(), **rows_to_state(*_by_time(*kernels.rows_of(self._queues)))}

    def _load(self, state: Mapping[str, Array]) -> None:
        read = StateReader(state)
        self._set_clock(read.column("clock", np.int64))
        times, values = rows_from_state(read, self._last)
        self._begin_with(times, values)


def _with_queues(queues: Queues, room: int) -> Queues:
    """The queues with room for `room` of them."""
    old = len(queues.order)

    def longer(column: Array, fill: Any) -> Array:
        made = np.full((*column.shape[:-1], room), fill, column.dtype)
        made[..., :old] = column
        return made

    order = longer(queues.order, 0)
    order[old:] = np.arange(old, room)
    fills = {"up": np.inf, "head": NOTHING, "tail": NOTHING, "start": 0, "stop": 0, "size": 0, "one": 0, "only": 0.0}
    fills |= {"passed": 0, "place": 0}
    return queues._replace(order=order, **{name: longer(getattr(queues, name), fill) for name, fill in fills.items()})


def _by_time(times: Int64, values: Float64) -> tuple[Int64, Float64]:
    order = np.lexsort((values, times))
    return times[order], values[order]
