"""Ranks many items: a radix sort by the leading bits of their scores, and then a sort of items that share them."""

from typing import Any

import numpy as np
from skyband.arrays import Array, Int64
from skyband.kernels import kskyband_kernels
from skyband.kernels.nested import nested_njit, shared_njit

DIGIT = 11
"""The bits of each pass: counts fit the first-level cache, and three passes sort 33 bits."""
FEW = 256
"""With fewer items, the passes cost more than they save."""


@shared_njit
def ranking(items: Any, n: int) -> Int64:
    """Indices that put the first `n` items in order B, as kskyband_kernels.ranking does.

    O(n), and O(n log n) if scores share their leading bits.
    """
    if n < FEW:
        return kskyband_kernels.ranking(items, n)
    scores = np.empty(n, np.float64)
    for i in range(n):
        scores[i] = -items[i].score + 0.0  # best first, with a single zero
    keys, order = scores.view(np.int64), np.empty(n, np.int64)
    for i in range(n):
        keys[i] = (keys[i] ^ ((keys[i] >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))) >> 31
        order[i] = i
    for shift in (0, DIGIT, 2 * DIGIT):
        keys, order = _pass(keys, order, shift)
    start = 0
    for i in range(1, n + 1):
        if i < n and keys[i] == keys[start]:
            continue
        if i - start > 1:
            _rank_alike(items, order, start, i)
        start = i
    return order


@nested_njit
def _pass(keys: Int64, order: Int64, shift: int) -> tuple[Int64, Int64]:
    """Stable sort by the DIGIT bits of the keys from `shift` on."""
    n, mask, bias = len(keys), (1 << DIGIT) - 1, 1 << (3 * DIGIT - 1)
    begins = np.zeros((1 << DIGIT) + 1, np.int64)
    for i in range(n):
        begins[(((keys[i] + bias) >> shift) & mask) + 1] += 1
    for digit in range(mask + 1):
        begins[digit + 1] += begins[digit]
    if begins[((keys[0] + bias) >> shift) & mask] == 0 and begins[(((keys[0] + bias) >> shift) & mask) + 1] == n:
        return keys, order
    sorted_keys, sorted_order = np.empty_like(keys), np.empty_like(order)
    for i in range(n):
        digit = ((keys[i] + bias) >> shift) & mask
        place = begins[digit]
        begins[digit] = place + 1
        sorted_keys[place], sorted_order[place] = keys[i], order[i]
    return sorted_keys, sorted_order


@nested_njit
def _rank_alike(items: Any, order: Array, start: int, stop: int) -> None:
    """Rank items whose scores share the leading bits."""
    run = kskyband_kernels.ranked(items, order[start:stop].copy())
    for i in range(stop - start):
        order[start + i] = run[i]
