"""Rows that wait for the watermark: an operator's groups get them after it passes, in one canonical order."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from attrs import define, field

from skyband.arrays import Array, UInt64
from skyband.columns import keyed_frames
from skyband.columns.dictionaries import compact, is_dictionary_of_text
from skyband.errors import SnapshotError
from skyband.roles.sharding import BOTH

_MOST_FRAMES = 64
"""The most waiting frames: with more, each micro-batch would take longer to scan them."""


@define(eq=False)
class WaitingRows:
    """Frames in order of arrival, none of them empty."""

    _frames: list[pa.RecordBatch] = field(factory=list, init=False)

    def __len__(self) -> int:
        return sum(map(len, self._frames))

    @property
    def own(self) -> int:
        """The number of rows that belong to this shard."""
        return sum(map(keyed_frames.own_count, self._frames))

    def add(self, frame: pa.RecordBatch) -> None:
        """Add a frame, which may be empty."""
        if self._frames and {keyed_frames.PART} & {*self._frames[0].schema.names} - {*frame.schema.names}:  # merged
            frame = frame.append_column(keyed_frames.PART, pa.array(np.full(len(frame), BOTH, np.int8)))
        if len(frame):
            self._frames.append(frame)

    def drop_after(self, limit: int) -> int:
        """Drop rows later than this; returns how many of them belong to this shard."""
        dropped = 0
        for number, frame in enumerate(self._frames):
            beyond = frame.column(keyed_frames.TIME).to_numpy() > limit
            if beyond.any():
                dropped += int(np.count_nonzero(beyond & keyed_frames.own(frame)))
                self._frames[number] = frame.filter(pa.array(~beyond))
        self._frames = [frame for frame in self._frames if len(frame)]
        return dropped

    def release(self, until: int | None) -> list[pa.RecordBatch]:
        """Remove and return the rows before `until`, or all if it is None, in order of arrival. O(n)."""
        frames, self._frames, ready = self._frames, [], list[pa.RecordBatch]()
        for frame in frames:
            before, later = (frame, None) if until is None else _cut(frame, until)
            ready += [] if before is None else [before]
            self._frames += [] if later is None else [later]
        if len(self._frames) > _MOST_FRAMES:
            self._frames = [keyed_frames.joined(self._frames)]
        return ready

    def absorb(self, other: "WaitingRows", select: Callable[[UInt64], Array]) -> None:
        """Take over another shard's rows of the selected groups (uint64[n] -> bool[n])."""
        for frame in other._frames:
            self.add(frame.filter(pa.array(select(frame.column(keyed_frames.GROUP).to_numpy()))))

    def merge(self, other: "WaitingRows") -> None:
        """Take over all rows of another shard."""
        self._frames += other._frames

    def dump_state(self) -> Array | None:
        """uint8[n]: the rows as bytes; None if there are none."""
        if not self._frames:
            return None
        return np.frombuffer(keyed_frames.to_bytes(keyed_frames.concatenated(self._frames)), np.uint8)

    def load_state(self, rows: pa.RecordBatch, watermark: int | None) -> None:
        """Load checked rows of a state. Raises SnapshotError if some should not be waiting."""
        times = rows.column(keyed_frames.TIME).to_numpy()
        if watermark is not None and len(times) and times.min() < watermark:
            raise SnapshotError("contradicts itself: rows before its watermark are still waiting")
        self.add(rows)


def _cut(frame: pa.RecordBatch, until: int) -> tuple[pa.RecordBatch | None, pa.RecordBatch | None]:
    """The rows before a time, and the others; None for none."""
    early = frame.column(keyed_frames.TIME).to_numpy() < until
    if early.all() or not early.any():
        return (frame, None) if early.all() else (None, frame)
    before, later = keyed_frames.parted(frame, early)
    return before, keyed_frames.with_columns(later, _compacted)


def _compacted(column: pa.Array) -> pa.Array:
    """A column whose dictionary has only used words: it would otherwise grow forever."""
    return compact(column) if is_dictionary_of_text(column.type) else column
