"""A table of time stamps, [level][array], that grows with the levels its keys reach and packs into few bytes."""

from collections.abc import Callable

import numpy as np
from attrs import define, field
from skyband.arrays import TIME_MIN, Array, Int64
from skyband.state_reader import StateReader

from skyband_distinct.likelihood import LEVELS
from skyband_distinct.stamping import raise_to


@define(eq=False)
class StampTable:
    """The youngest time of every cell. Merging is the elementwise maximum."""

    arrays: int
    stamps: Int64 = field(init=False)
    """int64[levels, arrays], TIME_MIN in cells that no key has reached."""

    _room: Int64 = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._allocate(0)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.stamps != TIME_MIN))

    def fill(self, kernel: Callable[[Int64, int], int]) -> None:
        """Run kernel(room, levels in use) -> levels in use, one of `stamping`."""
        if not len(self._room):
            self._allocate(LEVELS)
        self.stamps = self._room[: kernel(self._room, len(self.stamps))]

    def merge(self, other: "StampTable") -> None:
        """Become the table of both streams."""
        levels = len(other.stamps)
        if levels > len(self.stamps):
            self._grow(levels)
        raise_to(self.stamps, other.stamps)

    def state(self, now: int) -> dict[str, Array]:
        """The filled cells as bits, and how far back from `now` each stamp is, in as many bytes as the oldest needs.

        Exact, and half the size of the stamps themselves or less: ages fit six bytes for nine years of microseconds.
        """
        filled = self.stamps != TIME_MIN
        levels = int(np.flatnonzero(filled.any(axis=1)).max(initial=-1)) + 1
        ages = _word(now) - self.stamps[filled].view(np.uint64)
        width = (int(ages.max(initial=0)).bit_length() + 7) // 8
        planes = ages.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width]
        return {
            "levels": np.array([levels, width], np.int64),
            "filled": np.packbits(filled[:levels]),
            "ages": np.ascontiguousarray(planes.T).reshape(-1),
        }

    def load(self, state: StateReader, now: int) -> None:
        """Take over a `state`. Raises SnapshotError where it is none."""
        levels, width = state.column("levels", np.int64, 2, at_least=0, at_most=LEVELS).tolist()
        state.require(width <= 8, "levels", f"an age has at most 8 bytes (got {width})")
        cells = levels * self.arrays
        packed = state.column("filled", np.uint8, (cells + 7) // 8)
        filled = np.unpackbits(packed, count=cells).view(bool).reshape(levels, self.arrays)
        planes = np.zeros((int(np.count_nonzero(filled)), 8), np.uint8)
        planes[:, :width] = state.column("ages", np.uint8, width * len(planes)).reshape(width, len(planes)).T
        ages = planes.reshape(-1).view("<u8")
        state.require(int(ages.max(initial=0)) < now - TIME_MIN, "ages", f"must not go back beyond time, from {now}")
        if levels:
            self._grow(levels)
        self.stamps[filled] = (_word(now) - ages).view(np.int64)

    def _grow(self, levels: int) -> None:
        if not len(self._room):
            self._allocate(LEVELS)
        used = len(self.stamps)
        self.stamps = self._room[:levels]
        self.stamps[used:] = TIME_MIN

    def _allocate(self, levels: int) -> None:
        # Levels take up memory only from when they are first written: growing into them copies nothing.
        self._room = np.empty((levels, self.arrays), np.int64)
        self.stamps = self._room[:0]


def _word(time: int) -> np.uint64:
    return np.uint64(time % 2**64)
