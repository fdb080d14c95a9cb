"""MurmurHash3_x64_128 in compiled loops, low 64 bits. A separate module, so that `hashing` loads it on first use."""

from typing import Any

import numpy as np
from numba import njit

import skyband.kernels.numba_compiler_patches  # noqa: F401 - makes numba renew its cache

_C1 = np.uint64(0x87C37B91114253D5)
_C2 = np.uint64(0x4CF5AD432745937F)
_M1 = np.uint64(0xFF51AFD7ED558CCD)
_M2 = np.uint64(0xC4CEB9FE1A85EC53)
_5 = np.uint64(5)
_8 = np.uint64(8)
_27 = np.uint64(27)
_31 = np.uint64(31)
_33 = np.uint64(33)
_64 = np.uint64(64)
_N1 = np.uint64(0x52DCE729)
_N2 = np.uint64(0x38495AB5)
_WORD = np.int64(8)  # a literal would make numba compile `_read` twice


def _compiled(**options: Any) -> Any:
    return njit(cache=True, nogil=True, **options)


@_compiled(inline="always")
def _rotl(x, r):  # type: ignore[no-untyped-def]
    return (x << r) | (x >> (_64 - r))


@_compiled(inline="always")
def _fmix(x):  # type: ignore[no-untyped-def]
    x = (x ^ (x >> _33)) * _M1
    x = (x ^ (x >> _33)) * _M2
    return x ^ (x >> _33)


@_compiled()
def _read(data, start, count):  # type: ignore[no-untyped-def]
    word = np.uint64(0)
    for i in range(count - 1, -1, -1):
        word = (word << _8) | np.uint64(data[start + i])
    return word


@_compiled()
def _murmur(data, start, length, seed):  # type: ignore[no-untyped-def]
    h1 = seed
    h2 = seed
    blocks = length // 16
    for b in range(blocks):
        k1 = _read(data, start + 16 * b, _WORD)
        k2 = _read(data, start + 16 * b + 8, _WORD)
        h1 ^= _rotl(k1 * _C1, _31) * _C2
        h1 = (_rotl(h1, _27) + h2) * _5 + _N1
        h2 ^= _rotl(k2 * _C2, _33) * _C1
        h2 = (_rotl(h2, _31) + h1) * _5 + _N2
    tail = start + 16 * blocks
    rest = length - 16 * blocks
    if rest > 8:
        h2 ^= _rotl(_read(data, tail + 8, rest - 8) * _C2, _33) * _C1
    if rest > 0:
        h1 ^= _rotl(_read(data, tail, min(rest, 8)) * _C1, _31) * _C2
    h1 ^= np.uint64(length)
    h2 ^= np.uint64(length)
    h1 += h2
    h2 += h1
    return _fmix(h1) + _fmix(h2)


@_compiled()
def hash_slices(offsets, data, seed):  # type: ignore[no-untyped-def]
    """uint64[n]: hashes of the byte strings data[offsets[i]:offsets[i + 1]], with a seed (uint64)."""
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(hashes)):
        hashes[i] = _murmur(data, offsets[i], offsets[i + 1] - offsets[i], seed)
    return hashes


@_compiled()
def hash_fixed(data, width, seed):  # type: ignore[no-untyped-def]
    """uint64[n]: hashes of consecutive byte strings of one width."""
    hashes = np.empty(len(data) // width, np.uint64)
    for i in range(len(hashes)):
        hashes[i] = _murmur(data, i * width, width, seed)
    return hashes


@_compiled()
def hash_words(words, seed):  # type: ignore[no-untyped-def]
    """uint64[n]: hashes of 8-byte strings as little-endian uint64: `hash_fixed` of width 8 without its byte loop."""
    hashes = np.empty(len(words), np.uint64)
    length = np.uint64(8)
    for i in range(len(words)):
        h1 = seed ^ (_rotl(words[i] * _C1, _31) * _C2) ^ length
        h2 = seed ^ length
        h1 += h2
        h2 += h1
        hashes[i] = _fmix(h1) + _fmix(h2)
    return hashes
