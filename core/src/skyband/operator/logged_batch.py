"""A micro-batch of an operator as bytes, for a checkpoint's log between two states."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from attrs import frozen

from skyband import snapshot
from skyband.arrays import TIME_MAX, TIME_MIN
from skyband.columns import keyed_frames
from skyband.errors import SnapshotError


@frozen
class LoggedBatch:
    """One micro-batch of an operator: its frames, and the time after it."""

    frames: Sequence[pa.RecordBatch]
    watermark: int | None
    clock: Sequence[int]
    finished: bool = False
    """Whether it was treated as the end of the input, so that some of its answers were withheld."""

    def encode(self, frames: Sequence[bytes]) -> bytes:
        """The bytes for `decode`; the frames are already bytes."""
        arrays = {f"{number:06}": np.frombuffer(frame, np.uint8) for number, frame in enumerate(frames)}
        finished = {"finished": True} if self.finished else {}
        return snapshot.encode({"watermark": self.watermark, "clock": list(self.clock), **finished}, arrays)

    @classmethod
    def decode(cls, blob: bytes) -> "LoggedBatch":
        """Raises SnapshotError if the bytes are damaged."""
        log = snapshot.decode(blob)
        frames = [keyed_frames.from_bytes(log.arrays[name]) for name in sorted(log.arrays)]
        watermark, clock = log.header.get("watermark"), log.header.get("clock")
        if not isinstance(clock, list) or not all(map(is_time, [*clock, 0 if watermark is None else watermark])):
            raise SnapshotError(f"holds no valid micro-batch: its watermark is {watermark!r}, its clock {clock!r:.200}")
        return cls(frames, watermark, clock, log.header.get("finished") is True)


def is_time(value: object) -> bool:
    """Whether it is a valid time."""
    return type(value) is int and TIME_MIN <= value <= TIME_MAX
