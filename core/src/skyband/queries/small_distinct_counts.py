"""The small groups of distinct-count: the keys of groups that have few, each with its last time, counted exactly."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from skyband.arrays import TIME_MAX, TIME_MIN, Array, Int64, UInt64
from skyband.columns.rows import Rows
from skyband.kernels.sorted_arrays import among, distinct
from skyband.queries.encoding import moments
from skyband.queries.processor import GroupProcessor
from skyband.queries.small_distinct_counts_kernels import count_moments, run_groups
from skyband.queries.small_groups import Promoted, SmallGroupAnswers, SmallGroups
from skyband.state_reader import StateReader

_NOBODY = np.empty(0, np.uint64)
_NOTHING = SmallGroupAnswers(None, _NOBODY, _NOBODY, ())
_FEWEST_BUFFERED = 1 << 16

ProcessorFactory = Callable[[int, int, Int64, UInt64], GroupProcessor]
"""A processor from the next moment, the last time, and the keys with their last times, ascending by time."""


class SmallDistinctCounts(SmallGroups):
    """Groups of at most `most` keys in a window: three numbers a group and 16 bytes a key.

    Rows wait in a buffer until a moment is due, or they are as many as the keys held: a turn that answers nothing
    costs nothing but its rows. Then one compiled pass walks all groups: O(keys + rows + answers · keys of a group).
    """

    def __init__(
        self, every: int, windows: Sequence[tuple[int, str]], most: int, answers: pa.Schema, processor: ProcessorFactory
    ) -> None:
        self._every = every
        self._lengths = np.array([length for length, _ in windows], np.int64)
        self._labels = pa.array([label for _, label in windows], pa.string())
        self._most = most
        self._schema = answers
        self._processor = processor
        self._key = _NOBODY
        self._next, self._last, self._count = (np.empty(0, np.int64) for _ in range(3))
        self._keys, self._times = np.empty(0, np.uint64), np.empty(0, np.int64)
        self._buffer: list[tuple[UInt64, Int64, UInt64]] = []
        self._buffered = 0
        self._due = TIME_MAX
        self._until = TIME_MIN

    def add(self, keys: UInt64, rows: Rows) -> None:
        if not len(rows):
            return
        self._buffer.append((keys, rows.times, rows["key"]))
        self._buffered += len(rows)
        self._due = min(self._due, self.end(int(rows.times.min())))

    def advance(self, until: int, settle: bool = False) -> SmallGroupAnswers:
        self._until = max(until, self._until)
        most = 0 if settle else max(len(self._keys), _FEWEST_BUFFERED)
        return self._run() if self._due <= until or self._buffered > most else _NOTHING

    def end(self, latest: int) -> int:
        return latest // self._every * self._every + self._every

    @property
    def keys(self) -> UInt64:
        return distinct(self._key, *(buffered for buffered, _, _ in self._buffer))

    def has(self, keys: UInt64) -> Array:
        return among(keys, self.keys)

    @property
    def retained(self) -> int:
        return len(self._keys) + self._buffered

    def _run(self) -> SmallGroupAnswers:
        """Walk all groups, with the rows of the buffer, to the moment reached."""
        group, start, stop, times, keys = self._rows()
        everyone = distinct(self._key, group)
        held, fed = _places(self._key, everyone), _places(group, everyone)
        nexts = np.append(self._next, TIME_MAX)[held]
        lasts = np.append(self._last, 0)[held]
        first = np.append(np.cumsum(self._count) - self._count, 0)[held]
        spans = np.append(start, 0)[fed], np.append(stop, 0)[fed]
        horizon = int(self._lengths.max())
        room = int(count_moments(nexts, lasts, *spans, times, self._until, self._every, horizon))
        done = run_groups(
            nexts, lasts, first, np.append(self._count, 0)[held], self._keys, self._times,
            *spans, times, keys, self._until, self._every, horizon, self._lengths, self._most, room,
        )  # fmt: skip
        new_next, new_last, count, grown, kept_keys, kept_times, owner, at, counts = done
        answers = self._answers(at, counts) if len(at) else None
        promoted = self._promoted(everyone, done, spans[1], times, keys)
        stay = (new_next != TIME_MAX) & (grown < 0)
        if not stay.all():
            entries = np.repeat(stay, count)
            kept_keys, kept_times = kept_keys[entries], kept_times[entries]
        self._key, self._next, self._last, self._count = (
            column[stay] for column in (everyone, new_next, new_last, count)
        )
        self._keys, self._times = kept_keys, kept_times
        self._due = int(self._next.min(initial=TIME_MAX))
        emptied = everyone[(new_next == TIME_MAX) & (grown < 0)]
        return SmallGroupAnswers(answers, everyone[np.repeat(owner, len(self._lengths))], emptied, promoted)

    def _rows(self) -> tuple[UInt64, Int64, Int64, Int64, UInt64]:
        """The buffer by group, each in time order: the groups, where each starts and stops, times and keys."""
        if not self._buffer:
            nothing = np.empty(0, np.int64)
            return _NOBODY, nothing, nothing, nothing, _NOBODY
        groups, times, keys = (np.concatenate(columns) for columns in zip(*self._buffer, strict=True))
        if len(self._buffer) > 1:
            order = np.lexsort((times, groups))
            groups, times, keys = groups[order], times[order], keys[order]
        self._buffer, self._buffered = [], 0
        starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
        return groups[starts], starts, np.append(starts[1:], len(groups)), times, keys

    def _answers(self, at: Int64, counts: Array) -> pa.RecordBatch:
        windows = len(self._lengths)
        labels = self._labels.take(pa.array(np.tile(np.arange(windows), len(at))))
        numbers = pa.array(counts.reshape(-1).astype(np.float64))
        columns = [moments(np.repeat(at, windows), self._schema.field("at").type), labels, *[numbers] * 3]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _promoted(
        self, everyone: UInt64, done: Sequence[Array], stops: Int64, times: Int64, keys: UInt64
    ) -> list[Promoted]:
        """Those that have one key too many, each with its keys so far and the rows not taken in."""
        nexts, lasts, count, grown, kept_keys, kept_times = done[:6]
        first = np.cumsum(count) - count
        found = []
        for group in np.flatnonzero(grown >= 0).tolist():
            own = slice(first[group], first[group] + count[group])
            order = np.lexsort((kept_keys[own], kept_times[own]))
            processor = self._processor(
                int(nexts[group]), int(lasts[group]), kept_times[own][order], kept_keys[own][order]
            )
            rest = slice(grown[group], stops[group])
            found.append(Promoted(int(everyone[group]), processor, Rows(times[rest], {"key": keys[rest]})))
        return found

    def dump_state(self) -> dict[str, Array]:
        group = np.repeat(np.arange(len(self._key)), self._count)
        order = np.lexsort((self._keys, group))
        columns = {"group": self._key, "next": self._next, "last": self._last, "count": self._count}
        return {**columns, "keys": self._keys[order], "times": self._times[order], "until": np.array([self._until])}

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        state = StateReader(arrays)
        groups = state.ascending("group", dtype=np.uint64, strictly=True)
        lasts = state.column("last", np.int64, len(groups), at_least=-(2**62), at_most=2**62)
        horizon = int(self._lengths.max())
        # Neither before the last row nor so late after it that the windows are empty: that is as far as a walk goes.
        nexts = state.column("next", np.int64, len(groups), at_least=-(2**62), at_most=2**62)
        follows = (nexts > lasts) & (nexts - lasts <= horizon + self._every) & (nexts % self._every == 0)
        state.require(bool(follows.all()), "next", "must be the first moment after the last row, or one soon after")
        times = state.column("times", np.int64)
        keys = state.column("keys", np.uint64, len(times))
        counts = state.sizes("count", len(groups), len(times))
        state.require(int(counts.max(initial=0)) <= self._most, "count", f"must be at most {self._most}")
        owners = np.repeat(np.arange(len(groups)), counts)
        state.require(not (times > lasts[owners]).any(), "times", "must be at most the group's last")
        rising = (keys[1:] > keys[:-1]) | (owners[1:] != owners[:-1])
        state.require(bool(rising.all()), "keys", "a group's keys must be ascending, each once")
        self._key, self._next, self._last, self._count = groups, nexts, lasts, counts
        self._keys, self._times, self._until = keys, times, state.number("until")
        self._due = int(self._next.min(initial=TIME_MAX))


def _places(keys: UInt64, wanted: UInt64) -> Int64:
    """int64[n]: where in `keys` each of these is, len(keys) for those that are not there; both ascending."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64)
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, places, len(keys))
