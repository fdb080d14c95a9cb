"""distinct-count with `against`: beside each count that of the window just before, as it was answered at its end.

What two windows hold together tells nothing of the one before, as items may be in both: so its answer is kept.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import TIME_MAX, TIME_MIN, Array, Float64, Int64, UInt64
from skyband.columns.rows import Rows
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.answer_columns import ProcessorAnswers
from skyband.groups.processor import GroupProcessor
from skyband.registry import Binding
from skyband.windows.schedule import Schedule

from skyband_distinct.distinct_count.comparable_windows import ADDED
from skyband_distinct.distinct_count.processor import CountingProcessor

if TYPE_CHECKING:
    from skyband_distinct.distinct_count.query import DistinctCount


def earlier_counts(schedule: Schedule, last: int, times: Int64, keys: UInt64) -> list[tuple[Int64, Int64]]:
    """Of each window the moments up to `last` at which one ends that is compared later, and its count, none of them 0.

    times, keys: int64[n], uint64[n] of all rows that these windows hold, or of a key's last of each pane.
    """
    order = np.lexsort((times, keys))
    times, keys = times[order], keys[order]
    later = np.append(np.where(keys[1:] == keys[:-1], times[1:], TIME_MAX), TIME_MAX)
    counts = []
    for place, begin in enumerate(schedule.starts(schedule.after(last))[::2]):
        at = schedule.between(begin - 1, last)
        starts = schedule.starts_at(at)[:, 2 * place] if len(at) else at
        # A key is in the windows that end after an entry and no later than its next one, if they begin before it.
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
"""The arrays of earlier answers in a state, as long as there are any: which window or range each is of, and when."""
_NOTHING = (0.0, 0.0, 0.0)

Count = tuple[float, float, float]
"""A count and its bounds."""


def with_ratio(previous: Array, counts: Array) -> pa.Array:
    """How many times the previous counts others are, float64[n] each; null where those are 0."""
    none = previous == 0
    return pa.array(counts / np.where(none, 1.0, previous), mask=none)


class PreviousProcessor(CountingProcessor):
    """Keeps the answers of as many moments as a window is long, a few numbers each."""

    def __init__(self, query: "DistinctCount", bindings: Mapping[str, Binding], answers: pa.Schema) -> None:
        count = len(query.windows) * max(1, len(query.ranges or ()))
        self._past: list[deque[tuple[int, Count]]] = [deque() for _ in range(count)]
        """Of each window and range its answers since the window that goes on began."""
        super().__init__(query, bindings, answers)

    def begin(self, last: int, times: Int64, keys: UInt64, *values: Float64) -> "PreviousProcessor":  # noqa: ARG002
        """As without `against`, with the keys' last times of each pane, which tell what was answered before."""
        order = np.lexsort((times, keys))
        newest = order[np.append(keys[order][1:] != keys[order][:-1], True)] if len(order) else order
        newest = newest[np.lexsort((keys[newest], times[newest]))]
        super().begin(last, times[newest], keys[newest])
        for past, (at, counts) in zip(self._past, earlier_counts(self._schedule, last, times, keys), strict=True):
            past.extend((moment, (count,) * 3) for moment, count in zip(at.tolist(), map(float, counts), strict=True))
        return self

    def _starts(self, at: int) -> list[int]:
        return super()._starts(at)[::2]

    def catch_up(self, rows: Rows, until: int) -> ProcessorAnswers | None:
        """Its state is of its answers."""
        return self.advance(rows, until)

    def answer(self, at: int) -> None:
        first, starts = len(self._answers), self._starts(at)
        super().answer(at)
        for number, past in enumerate(self._past):
            *place, count, low, high = self._answers[first + number]
            before = self._before(past, starts[int(place[1])])
            past.append((at, (count, low, high)))
            difference = count - before[0], low - before[2], high - before[1]
            self._answers[first + number] = *place, count, low, high, before[0], *difference

    def _before(self, past: deque[tuple[int, Count]], end: int) -> Count:
        """What a window had that ended at a moment; nothing where the group had no row before it."""
        while past and past[0][0] < end:
            past.popleft()
        return past[0][1] if past and past[0][0] == end else _NOTHING

    @staticmethod
    def columns_of(answers: Sequence[Sequence[Any]]) -> list[Array | pa.Array]:
        columns = CountingProcessor.columns_of(answers)
        return [*columns, with_ratio(columns[-len(ADDED)], columns[-len(ADDED) - 3])]

    def clear(self) -> None:
        super().clear()
        for past in self._past:
            past.clear()

    def merge(self, other: GroupProcessor) -> None:
        """The shards' items are apart, so that what they had adds."""
        super().merge(other)
        for mine, theirs in zip(self._past, cast(PreviousProcessor, other)._past, strict=True):
            sums = dict(mine)
            for at, count in theirs:
                sums[at] = cast(Count, tuple(map(sum, zip(sums.get(at, _NOTHING), count, strict=True))))
            mine.clear()
            mine.extend(sorted(sums.items()))

    @property
    def nbytes(self) -> int:
        return super().nbytes + sum(map(len, self._past)) * 160

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
            raise SnapshotError("of a distinct-count holds earlier answers that no group has had")
        for number, at, *count in zip(*(column.tolist() for column in columns), strict=True):
            self._past[number].append((at, cast(Count, tuple(count))))

    def _can_be_past(self, of: Array, at: Array, *counts: Array) -> bool:
        order = np.lexsort((at, of))
        following = self._next if self._next != TIME_MAX else TIME_MIN
        in_order = ((of >= 0) & (of < len(self._past))).all() and (order == np.arange(len(of))).all()
        again = ((of[1:] == of[:-1]) & (at[1:] == at[:-1])).any()
        whole = all(np.isfinite(column).all() and (column >= 0).all() for column in counts)
        return bool(in_order and not again and (at < following).all() and whole)
