"""Answers from a stock without flushing it, in compiled code: a flush moves the whole stock, which may be large.

If all pairs are tied it holds k of each set of the window, and an answer needs only k.
"""

import numpy as np
from skyband.kernels import kskyband_kernels
from skyband.kernels.kskyband_kernels import PENDING, SIZE, K
from skyband.kernels.nested import nested_njit, shared_njit


@nested_njit
def most_of(band):
    """The most pairs that an answer can have now."""
    return min(band.counts[K], band.counts[SIZE] + band.counts[PENDING])


@shared_njit
def best_of(band, horizon, best, used):
    """Write the best K pairs that end at `horizon` or later, waiting ones included, to best[used:].

    `best` must have room for `most_of` more. Returns the new end. O(K + pairs skipped + waiting pairs).
    """
    k, most = band.counts[K], used + most_of(band)
    end = used
    for i in range(band.counts[SIZE]):
        if end == most:
            break
        if band.items[i].expiry >= horizon:
            best[end] = band.items[i]
            end += 1
    waiting = _better(band.buffer, band.counts[PENDING], horizon, best, end, end - used == k)
    return _merged(best, used, end, most, band.buffer, waiting)


@nested_njit
def _better(buffer, pending, horizon, best, end, full):
    """Indices, in order B, of the waiting pairs that are alive and, if the answer is full, before its last."""
    places = np.empty(pending, np.int64)
    count = 0
    for i in range(pending):
        if buffer[i].expiry >= horizon and not (full and kskyband_kernels.ranks_before(best[end - 1], buffer[i])):
            places[count] = i
            count += 1
    return kskyband_kernels.ranked(buffer, places[:count])


@nested_njit
def _merged(best, begin, end, most, buffer, waiting):
    """Merge pairs in order B into best[begin:end], cut at `most`; returns the new end."""
    stop = min(end + len(waiting), most)
    i, j = end - 1, len(waiting) - 1
    while i - begin + j + 2 > stop - begin:  # drop the last of both until few enough are left
        if j < 0 or (i >= begin and kskyband_kernels.ranks_before(buffer[waiting[j]], best[i])):
            i -= 1
        else:
            j -= 1
    for out in range(stop - 1, begin - 1, -1):
        if j < 0:
            break
        if i >= begin and kskyband_kernels.ranks_before(buffer[waiting[j]], best[i]):
            best[out] = best[i]
            i -= 1
        else:
            best[out] = buffer[waiting[j]]
            j -= 1
    return stop
