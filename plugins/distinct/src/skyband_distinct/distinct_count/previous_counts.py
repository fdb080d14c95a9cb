"""distinct-count with `against`: each count together with that of an earlier window, as answered at its end.

The earlier answers are kept, because the previous count cannot be derived: items may be in both windows.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import TIME_MAX, TIME_MIN, Array, Float64, Int64, UInt64
from skyband.columns.rows import Rows
from skyband.config.durations import Duration
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.answer_columns import ProcessorAnswers
from skyband.groups.processor import GroupProcessor
from skyband.registry import Binding
from skyband.windows.schedule import Schedule

from skyband_distinct.distinct_count.comparable_windows import ADDED, REMEMBERED, with_ratio
from skyband_distinct.distinct_count.processor import CountingProcessor

if TYPE_CHECKING:
    from skyband_distinct.distinct_count.query import DistinctCount


def earlier_counts(
    schedule: Schedule, last: int, times: Int64, keys: UInt64, lag: int | None = None
) -> list[tuple[Int64, Int64]]:
    """For each window, the moments up to `last` whose counts are compared later, and these counts, without zeros.

    times, keys: int64[n], uint64[n] of all rows in these windows, or of each key's last row in each pane. lag: how much
    earlier than a window the one that it is compared with ends; None: where it begins.
    """
    order = np.lexsort((times, keys))
    times, keys = times[order], keys[order]
    later = np.append(np.where(keys[1:] == keys[:-1], times[1:], TIME_MAX), TIME_MAX)
    counts = []
    following = schedule.after(last)
    for place, begin in enumerate(schedule.starts(following)[::2]):
        begin = begin if lag is None else following - lag
        at = schedule.between(begin - 1, last)
        starts = schedule.starts_at(at)[:, 2 * place] if len(at) else at
        # An entry is a key's newest in windows that end after it, but not after its next one, and begin by its time.
        first = np.searchsorted(at, times, side="right")
        stop = np.minimum(np.searchsorted(at, later, side="right"), np.searchsorted(starts, times, side="right"))
        some = stop > first
        changes = np.zeros(len(at) + 1, np.int64)
        np.add.at(changes, first[some], 1)
        np.add.at(changes, stop[some], -1)
        number = np.cumsum(changes[:-1])
        counts.append((at[number > 0], number[number > 0]))
    return counts


_KINDS = {
    "of": np.dtype(np.int64),
    "at": np.dtype(np.int64),
    **dict.fromkeys(("count", "low", "high"), np.dtype(float)),
}
"""The arrays of earlier answers in a state: the number of the window and range or class, the moment, and the count."""
_NO_COUNT = (0.0, 0.0, 0.0)

Count = tuple[float, float, float]
"""A count and its bounds."""


class PreviousProcessor(CountingProcessor):
    """Keeps the answers of the moments within a window's length, or the lag, a few numbers each."""

    def __init__(self, query: "DistinctCount", bindings: Mapping[str, Binding], answers: pa.Schema) -> None:
        count = len(query.windows) * len(query.ranges or query.seen or [None])
        self._past: list[deque[tuple[int, Count]]] = [deque() for _ in range(count)]
        """The answers of each window and range since the end of the one that is compared next."""
        self._lag = query.against.length if isinstance(query.against, Duration) else None
        """How much earlier the other window ends; None: where this one begins."""
        super().__init__(query, bindings, answers)

    def begin(self, last: int, times: Int64, keys: UInt64, *values: Float64) -> "PreviousProcessor":  # noqa: ARG002
        """As without `against`, with the keys' last times in each pane, from which the earlier answers follow."""
        order = np.lexsort((times, keys))
        newest = order[np.append(keys[order][1:] != keys[order][:-1], True)] if len(order) else order
        newest = newest[np.lexsort((keys[newest], times[newest]))]
        super().begin(last, times[newest], keys[newest])
        earlier = earlier_counts(self._schedule, last, times, keys, self._lag)
        for past, (at, counts) in zip(self._past, earlier, strict=True):
            past.extend((moment, (count,) * 3) for moment, count in zip(at.tolist(), map(float, counts), strict=True))
        return self

    def _starts(self, at: int) -> list[int]:
        return super()._starts(at)[::2]

    def catch_up(self, rows: Rows, until: int) -> ProcessorAnswers | None:
        """Answers while catching up, because the state includes earlier answers."""
        return self.advance(rows, until)

    def answer(self, at: int) -> None:
        first, starts = len(self._answers), self._starts(at)
        super().answer(at)
        for number, past in enumerate(self._past):
            *place, count, low, high = self._answers[first + number]
            before = self._before(past, starts[int(place[1])] if self._lag is None else at - self._lag)
            past.append((at, (count, low, high)))
            difference = count - before[0], low - before[2], high - before[1]
            self._answers[first + number] = *place, count, low, high, before[0], *difference

    def _before(self, past: deque[tuple[int, Count]], end: int) -> Count:
        """The count of the window that ended at a moment; zeros if the group had no row before it."""
        while past and past[0][0] < end:
            past.popleft()
        return past[0][1] if past and past[0][0] == end else _NO_COUNT

    @staticmethod
    def columns_of(answers: Sequence[Sequence[Any]]) -> list[Array | pa.Array]:
        columns = CountingProcessor.columns_of(answers)
        return [*columns, with_ratio(columns[-len(ADDED)], columns[-len(ADDED) - 3])]

    def clear(self) -> None:
        super().clear()
        for past in self._past:
            past.clear()

    def merge(self, other: GroupProcessor) -> None:
        """Shards share no item, so that their earlier counts add up."""
        super().merge(other)
        for past, other_past in zip(self._past, cast(PreviousProcessor, other)._past, strict=True):
            sums = dict(past)
            for at, count in other_past:
                sums[at] = cast(Count, tuple(map(sum, zip(sums.get(at, _NO_COUNT), count, strict=True))))
            past.clear()
            past.extend(sorted(sums.items()))

    @property
    def nbytes(self) -> int:
        return super().nbytes + sum(map(len, self._past)) * REMEMBERED

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        header, arrays = super().dump_state()
        entries = [(number, at, *count) for number, past in enumerate(self._past) for at, count in past]
        columns = zip(*entries, strict=True) if entries else ((),) * len(_KINDS)
        named = zip(_KINDS.items(), columns, strict=True)
        past = {name: np.array(column, kind) for (name, kind), column in named}
        return header, arrays | state_arrays.with_prefix("previous", past)

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        super().load_state(header, arrays)
        past = state_arrays.without_prefix("previous", arrays)
        columns = [past[name] for name in _KINDS]
        kinds = [column.dtype for column in columns] == list(_KINDS.values())
        if not kinds or len({column.shape for column in columns}) > 1 or not self._can_be_past(*columns):
            raise SnapshotError("of a distinct-count holds earlier answers that are impossible")
        for number, at, *count in zip(*(column.tolist() for column in columns), strict=True):
            self._past[number].append((at, cast(Count, tuple(count))))

    def _can_be_past(self, of: Array, at: Array, *counts: Array) -> bool:
        order = np.lexsort((at, of))
        following = self._next if self._next != TIME_MAX else TIME_MIN
        in_order = ((of >= 0) & (of < len(self._past))).all() and (order == np.arange(len(of))).all()
        again = ((of[1:] == of[:-1]) & (at[1:] == at[:-1])).any()
        whole = all(np.isfinite(column).all() and (column >= 0).all() for column in counts)
        return bool(in_order and not again and (at < following).all() and whole)
