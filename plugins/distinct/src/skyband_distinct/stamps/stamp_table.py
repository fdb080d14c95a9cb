"""A table of time stamps, [level][array], that grows with the keys that reach it and packs into few bytes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import define, field
from skyband.arrays import TIME_MIN, Array, Int64, UInt64
from skyband.state_validation import StateReader

from skyband_distinct.stamps.few_stamps import FewStamps
from skyband_distinct.stamps.likelihood import LEVELS, filled_since
from skyband_distinct.stamps.stamp_packing import pack_ages, pack_cells, unpack_ages, unpack_cells
from skyband_distinct.stamps.stamping import raise_to


@define(eq=False)
class StampTable:
    """The youngest time of every cell. Merging is the elementwise maximum.

    With `begin_small` the filled cells alone are held until they are more than arrays / 2 or so. How they are held
    follows from how many they are, and is no part of the state.
    """

    arrays: int
    begin_small: bool = False
    stamps: Int64 = field(init=False)
    """int64[levels, arrays], TIME_MIN in cells that no key has reached; of no levels while few are filled."""

    few: FewStamps | None = field(default=None, init=False)
    """What is held while few are filled."""

    _room: Int64 = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._allocate(0)
        if self.begin_small:
            self.few = FewStamps(self._most_few)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.stamps != TIME_MIN)) if self.few is None else self.few.count

    @property
    def nbytes(self) -> int:
        """Bytes of the levels in use, or of the cells where these are few."""
        return self.stamps.nbytes if self.few is None else self.few.slots.nbytes

    @property
    def _most_few(self) -> int:
        """A power of two, so many that all levels of so many keys would take about twice the bytes."""
        return 1 << ((2 * self.arrays).bit_length() - 1)

    def stamp_few(self, times: Int64, keys: UInt64, salt: Any, highs: Int64) -> int:
        """As `stamping.stamp_one`, while the filled cells are few. Returns how many rows were taken, whole blocks."""
        if self.few is None:
            return 0
        is_stamped = self.few.stamp(self.arrays, times, keys, salt, highs)
        if is_stamped < len(keys):
            self._hold_all()
        return is_stamped

    def forget(self, before: int) -> None:
        """Let go of stamps older than a moment while they are few; all cells together have a fixed size."""
        if self.few is not None:
            self.few.forget(before)

    def filled_since(self, since: int) -> Int64:
        """int64[levels]: cells of each level stamped at `since` or later."""
        if self.few is None:
            counts: Int64 = filled_since(self.stamps, since)
            return counts
        return self.few.filled_since(since, self.arrays)

    def fill(self, kernel: Callable[[Int64, int], int]) -> None:
        """Run kernel(room, levels in use) -> levels in use, one of `stamping`."""
        if not len(self._room):
            self._allocate(LEVELS)
        self.stamps = self._room[: kernel(self._room, len(self.stamps))]

    def merge(self, other: "StampTable") -> None:
        """Become the table of both streams."""
        if other.few is not None:
            self._enter(*other.few.filled())
            return
        if self.few is not None:
            self._hold_all()
        levels = len(other.stamps)
        if levels > len(self.stamps):
            self._grow(levels)
        raise_to(self.stamps, other.stamps)

    def state(self, now: int) -> dict[str, Array]:
        """The filled cells as bits, and how far back from `now` each stamp is, in as many bytes as the oldest needs.

        Exact, and half the size of the stamps themselves or less: ages fit six bytes for nine years of microseconds.
        """
        cells, times = self._filled()
        levels = int(cells[-1]) // self.arrays + 1 if len(cells) else 0
        planes = pack_ages(times, now)
        return {
            "levels": np.array([levels, len(planes)], np.int64),
            "filled": pack_cells(cells, levels * self.arrays),
            "ages": planes.reshape(-1),
        }

    def load(self, state: StateReader, now: int) -> None:
        """Take over a `state`. Raises SnapshotError where it is none."""
        levels, width = state.column("levels", np.int64, 2, at_least=0, at_most=LEVELS).tolist()
        state.require(width <= 8, "levels", f"an age has at most 8 bytes (got {width})")
        most = levels * self.arrays
        cells = unpack_cells(state.column("filled", np.uint8, (most + 7) // 8), most)
        ages = unpack_ages(state.column("ages", np.uint8, width * len(cells)).reshape(width, len(cells)))
        state.require(int(ages.max(initial=0)) < now - TIME_MIN, "ages", f"must not go back beyond time, from {now}")
        self._enter(cells, (np.uint64(now % 2**64) - ages).view(np.int64))

    def _filled(self) -> tuple[Int64, Int64]:
        """The filled cells, ascending, and their times."""
        if self.few is not None:
            return self.few.filled()
        flat = self.stamps.reshape(-1)
        cells = np.flatnonzero(flat != TIME_MIN)
        return cells, flat[cells]

    def _enter(self, cells: Int64, times: Int64) -> None:
        """Stamp cells, ascending, with their times."""
        if self.few is not None and not self.few.enter(cells, times):
            self._hold_all()
        if self.few is None and len(cells):
            self._grow(max(len(self.stamps), int(cells[-1]) // self.arrays + 1))
            flat = self.stamps.reshape(-1)
            flat[cells] = np.maximum(flat[cells], times)

    def _hold_all(self) -> None:
        """Hold all cells of the levels in use, and no longer the filled ones alone."""
        few, self.few = self.few, None
        if few is not None:
            self._enter(*few.filled())

    def _grow(self, levels: int) -> None:
        if not levels:
            return
        if not len(self._room):
            self._allocate(LEVELS)
        used = len(self.stamps)
        self.stamps = self._room[:levels]
        self.stamps[used:] = TIME_MIN

    def _allocate(self, levels: int) -> None:
        # Levels take up memory only from when they are first written: growing into them copies nothing.
        self._room = np.empty((levels, self.arrays), np.int64)
        self.stamps = self._room[:0]
