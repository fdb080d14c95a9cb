"""A table of time stamps, [level][array], that grows with its keys and packs into few bytes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from attrs import define, field
from numba import njit
from skyband.arrays import TIME_MIN, Array, Int64, UInt64, read_only
from skyband.state_validation import StateReader

from skyband_distinct.stamps.few_stamps import FewStamps
from skyband_distinct.stamps.likelihood import LEVELS, filled_since
from skyband_distinct.stamps.stamping import bits_set, raise_to

_0, _1, _8 = np.uint64(0), np.uint64(1), np.uint64(8)


def pack_cells(cells: Any, most: int) -> Any:
    """uint8[most / 8, rounded up]: the filled ones of `most` cells, int64[n], as bits in the order of `np.packbits`."""
    return _pack_cells(read_only(cells), (most + 7) // 8)


def unpack_cells(packed: Any, most: int) -> Any:
    """int64[n]: the cells whose bits are set, ascending."""
    return _unpack_cells(read_only(packed), most)


def pack_ages(times: Any, now: int) -> Any:
    """uint8[width, n]: the ages of times, none after `now`; lowest bytes first."""
    return _pack_ages(read_only(times), np.uint64(now % 2**64))


def unpack_ages(planes: Any) -> Any:
    """uint64[n]: the ages that `pack_ages` packed."""
    return _unpack_ages(read_only(planes))


@njit(cache=True)
def _pack_cells(cells: Any, size: int) -> Any:
    packed = np.zeros(size, np.uint8)
    for cell in cells:
        packed[cell >> 3] |= np.uint8(128 >> (cell & 7))
    return packed


@njit(cache=True)
def _unpack_cells(packed: Any, most: int) -> Any:
    count = _0
    for byte in packed:
        count += bits_set(np.uint64(byte))
    cells, stop = np.empty(np.int64(count), np.int64), np.int64(0)
    for first in range(0, len(packed), 8):
        word = _0
        for place in range(first, first + 8):
            word = (word << _8) | (np.uint64(packed[place]) if place < len(packed) else _0)
        last = np.int64(8 * first + 63)
        entry = stop = stop + np.int64(bits_set(word))
        while word != _0:  # from the lowest bit, the largest cell
            entry -= 1
            cells[entry] = last - np.int64(bits_set((word & (~word + _1)) - _1))
            word &= word - _1
    while stop and cells[stop - 1] >= most:
        stop -= 1
    return cells[:stop]


@njit(cache=True)
def _pack_ages(times: Any, now: np.uint64) -> Any:
    ages, oldest = np.empty(len(times), np.uint64), _0
    for entry in range(len(times)):
        ages[entry] = now - np.uint64(times[entry])
        oldest |= ages[entry]
    width = 0
    while width < 8 and oldest >> np.uint64(8 * width) != _0:
        width += 1
    planes = np.empty((width, len(times)), np.uint8)
    for byte in range(width):
        shift, plane = np.uint64(8 * byte), planes[byte]
        for entry in range(len(times)):
            plane[entry] = np.uint8(ages[entry] >> shift)
    return planes


@njit(cache=True)
def _unpack_ages(planes: Any) -> Any:
    ages = np.zeros(planes.shape[1], np.uint64)
    for byte in range(planes.shape[0]):
        shift, plane = np.uint64(8 * byte), planes[byte]
        for entry in range(len(ages)):
            ages[entry] |= np.uint64(plane[entry]) << shift
    return ages


@define(eq=False)
class StampTable:
    """The youngest time of every cell. Merging is the elementwise maximum.

    With `begin_small` only the filled cells are held until they exceed about arrays / 2. The representation depends
    only on their number, and is not part of the state.
    """

    arrays: int
    begin_small: bool = False
    stamps: Int64 = field(init=False)
    """int64[levels, arrays], TIME_MIN in cells that no key has reached; empty while few cells are filled."""

    few: FewStamps | None = field(default=None, init=False)
    """The filled cells while they are few."""

    _room: Int64 = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._allocate(0)
        if self.begin_small:
            self.few = FewStamps(self._most_few)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.stamps != TIME_MIN)) if self.few is None else self.few.count

    @property
    def nbytes(self) -> int:
        """Bytes of the levels in use, or of the cells while they are few."""
        return self.stamps.nbytes if self.few is None else self.few.slots.nbytes

    @property
    def _most_few(self) -> int:
        """A power of two: the number of keys for which all levels would take about twice the bytes."""
        return 1 << ((2 * self.arrays).bit_length() - 1)

    def stamp_few(self, times: Int64, keys: UInt64, salt: Any, highs: Int64) -> int:
        """Like `stamping.stamp_one`, while the filled cells are few. Returns the number of rows taken, whole blocks."""
        if self.few is None:
            return 0
        is_stamped = self.few.stamp(self.arrays, times, keys, salt, highs)
        if is_stamped < len(keys):
            self._hold_all()
        return is_stamped

    def forget(self, before: int) -> None:
        """Drop stamps older than a moment while they are few; the full table has a fixed size."""
        if self.few is not None:
            self.few.forget(before)

    def filled_since(self, since: int) -> Int64:
        """int64[levels]: the number of cells of each level stamped at `since` or later."""
        if self.few is None:
            counts: Int64 = filled_since(self.stamps, since)
            return counts
        return self.few.filled_since(since, self.arrays)

    def fill(self, kernel: Callable[[Int64, int], int]) -> None:
        """Run one of the kernels of `stamping`, kernel(room, levels in use) -> levels in use."""
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
        """The filled cells as bits, and each stamp's age at `now`, in as many bytes as the oldest needs.

        Exact, and at most half the size of the stamps: six bytes hold nine years of microseconds.
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
        """Load a `state`. Raises SnapshotError if it is invalid."""
        levels, width = state.column("levels", np.int64, 2, at_least=0, at_most=LEVELS).tolist()
        state.require(width <= 8, "levels", f"an age has at most 8 bytes (got {width})")
        most = levels * self.arrays
        cells = unpack_cells(state.column("filled", np.uint8, (most + 7) // 8), most)
        ages = unpack_ages(state.column("ages", np.uint8, width * len(cells)).reshape(width, len(cells)))
        within = int(ages.max(initial=0)) < now - TIME_MIN
        state.require(within, "ages", f"must not reach back beyond the earliest time, from {now}")
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
        """Switch from the filled cells to all cells of the levels in use."""
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
        # Levels take up memory only when they are first written, so that growing copies nothing.
        self._room = np.empty((levels, self.arrays), np.int64)
        self.stamps = self._room[:0]
