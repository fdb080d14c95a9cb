"""Drops rows of the delay line that are beaten by k later ones, without ranking them all."""

from typing import Any

import numpy as np
from skyband.kernels import kskyband_kernels
from skyband.kernels.nested import shared_njit
from skyband.kernels.selection import select

_NEVER = np.iinfo(np.int64).max


@shared_njit
def thin(band: Any) -> None:
    """Drop rows of the line that are beaten by k later ones, as far as blocks of 2k show. O(rows)."""
    buffer, total, k = band.buffer, band.counts[kskyband_kernels.PENDING], band.counts[kskyband_kernels.K]
    if total <= k:
        return
    scores, ties = np.empty(2 * k, np.float64), np.empty(2 * k, np.int64)
    best, first = 0, total
    bar, bar_tie = -np.inf, _NEVER
    for i in range(total - 1, -1, -1):
        score, tie = buffer[i].score, buffer[i].tie
        if score < bar or (score == bar and tie > bar_tie):
            continue
        first -= 1
        if first != i:
            buffer[first] = buffer[i]
        scores[best], ties[best] = score, tie
        best += 1
        if best == 2 * k:
            select(scores, ties, k)
            best = k
            bar, bar_tie = scores[k - 1], ties[k - 1]
    band.counts[kskyband_kernels.PENDING] = total - first
    for i in range(total - first):
        buffer[i] = buffer[first + i]
