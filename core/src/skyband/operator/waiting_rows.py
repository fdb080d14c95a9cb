"""Rows that wait for the watermark: an operator's groups get them once it has passed, in one canonical order."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from attrs import define, field

from skyband.arrays import Array, UInt64
from skyband.columns import keyed_frames
from skyband.columns.dictionaries import compact, is_dictionary_of_text
from skyband.errors import SnapshotError

_MOST_FRAMES = 64
"""Frames that wait: of more, each turn would take longer to look at them."""


@define(eq=False)
class WaitingRows:
    """Frames in the order in which they came, none of them without rows."""

    _frames: list[pa.RecordBatch] = field(factory=list, init=False)

    def __len__(self) -> int:
        return sum(map(len, self._frames))

    @property
    def own(self) -> int:
        """How many of them are this shard's own."""
        return sum(map(keyed_frames.own_count, self._frames))

    def add(self, frame: pa.RecordBatch) -> None:
        """Take in a frame, which may be empty."""
        if len(frame):
            self._frames.append(frame)

    def drop_after(self, limit: int) -> int:
        """Drop rows later than this; returns how many of them are this shard's own."""
        dropped = 0
        for number, frame in enumerate(self._frames):
            beyond = frame.column(keyed_frames.TIME).to_numpy() > limit
            if beyond.any():
                dropped += int(np.count_nonzero(beyond & keyed_frames.own(frame)))
                self._frames[number] = frame.filter(pa.array(~beyond))
        self._frames = [frame for frame in self._frames if len(frame)]
        return dropped

    def release(self, until: int | None) -> list[pa.RecordBatch]:
        """The rows before `until`, all where that is None, as they came: they wait no longer. O(n)."""
        frames, self._frames, ready = self._frames, [], list[pa.RecordBatch]()
        for frame in frames:
            before, later = (frame, None) if until is None else _cut(frame, until)
            ready += [] if before is None else [before]
            self._frames += [] if later is None else [later]
        if len(self._frames) > _MOST_FRAMES:
            self._frames = [keyed_frames.joined(self._frames)]
        return ready

    def absorb(self, other: "WaitingRows", select: Callable[[UInt64], Array]) -> None:
        """Take over another shard's rows of the groups (uint64[n] -> bool[n]) to select."""
        for frame in other._frames:
            self.add(frame.filter(pa.array(select(frame.column(keyed_frames.GROUP).to_numpy()))))

    def merge(self, other: "WaitingRows") -> None:
        """Take over all rows of another shard."""
        self._frames += other._frames

    def dump_state(self) -> Array | None:
        """uint8[n]: the rows as bytes; None where there are none."""
        if not self._frames:
            return None
        return np.frombuffer(keyed_frames.to_bytes(keyed_frames.concatenated(self._frames)), np.uint8)

    def load_state(self, rows: pa.RecordBatch, watermark: int | None) -> None:
        """Take over checked rows of a state. Raises SnapshotError where some should not wait any more."""
        times = rows.column(keyed_frames.TIME).to_numpy()
        if watermark is not None and len(times) and times.min() < watermark:
            raise SnapshotError("contradicts itself: rows before its watermark wait for that")
        self.add(rows)


def _cut(frame: pa.RecordBatch, until: int) -> tuple[pa.RecordBatch | None, pa.RecordBatch | None]:
    """The rows before a time, and the others; None where there are none."""
    early = frame.column(keyed_frames.TIME).to_numpy() < until
    if early.all() or not early.any():
        return (frame, None) if early.all() else (None, frame)
    before, later = keyed_frames.parted(frame, early)
    return before, keyed_frames.with_columns(later, _of_its_own)


def _of_its_own(column: pa.Array) -> pa.Array:
    """A column whose dictionary has no words of rows that have gone: it would grow for ever."""
    return compact(column) if is_dictionary_of_text(column.type) else column
