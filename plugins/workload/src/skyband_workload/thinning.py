"""Rows of the delay line that k later ones rank before are dropped, without ranking them all."""

from typing import Any

import numpy as np
from skyband.kernels import kskyband_kernels
from skyband.kernels.nested import shared_njit
from skyband.kernels.selection import select

_NEVER = np.iinfo(np.int64).max


@shared_njit
def thin(band: Any) -> None:
    """Drop rows of the line that k later ones rank before, all that blocks of 2k show. O(rows)."""
    buffer, total, k = band.buffer, band.counts[kskyband_kernels.PENDING], band.counts[kskyband_kernels.K]
    if total <= k:
        return
    scores, ties = np.empty(2 * k, np.float64), np.empty(2 * k, np.int64)
    best, kept = 0, total
    bar, bar_tie = -np.inf, _NEVER
    for i in range(total - 1, -1, -1):
        score, tie = buffer[i].score, buffer[i].tie
        if score < bar or (score == bar and tie > bar_tie):
            continue
        kept -= 1
        if kept != i:
            buffer[kept] = buffer[i]
        scores[best], ties[best] = score, tie
        best += 1
        if best == 2 * k:
            select(scores, ties, k)
            best = k
            bar, bar_tie = scores[k - 1], ties[k - 1]
    band.counts[kskyband_kernels.PENDING] = total - kept
    for i in range(total - kept):
        buffer[i] = buffer[kept + i]
