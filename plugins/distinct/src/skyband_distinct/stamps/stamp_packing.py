"""Packs stamps for a state: the filled cells as bits, and each age in as few bytes as the oldest needs."""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from numba import njit
from skyband.arrays import read_only

from skyband_distinct.stamps.stamping import bits_set

_0, _1, _8, _63 = np.uint64(0), np.uint64(1), np.uint64(8), np.uint64(63)


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
