"""A uniform sample of the rows since any moment: the k-skyband of (time, score), each with its value.

A score is a random number of a row. A row is kept while fewer than k rows of its time or later have smaller scores. So
the k smallest scores since any moment are there, and the rows below the k-th are a sample without replacement.

Source: Zhang et al. 2010, section 4. The sweep is that of `skyband_totals.k_skb.sample_kernels`, with values instead of
objects.
"""

from typing import Any

import numpy as np
from skyband.kernels.k_smallest import NOTHING, drop_largest, empty_table, halve_buckets, largest_of
from skyband.kernels.nested import kernel_njit, nested_njit

_MOST = np.uint64(0xFFFFFFFFFFFFFFFF)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


@nested_njit
def _mixed(word: Any) -> Any:
    """Sixty-four random bits from a word: the finaliser of splitmix64."""
    word = (word ^ (word >> _30)) * _MIX1
    word = (word ^ (word >> _27)) * _MIX2
    return word ^ (word >> _31)


@kernel_njit
def row_scores(times: Any, bits: Any, seen: int, salt: Any) -> Any:
    """uint64[n]: a random number for each row, from its value, time and number in the stream."""
    scores = np.empty(len(times), np.uint64)
    for row in range(len(times)):
        word = _mixed(np.uint64(bits[row]) ^ salt)
        word = _mixed((word + _GOLDEN) ^ np.uint64(times[row]))
        scores[row] = _mixed((word + _GOLDEN) ^ np.uint64(seen + row))
    return scores


@kernel_njit
def sweep(
    times: Any, scores: Any, values: Any, kept_times: Any, kept_scores: Any, kept_values: Any, k: int, since: int
) -> Any:
    """The k-skyband of new rows (ascending) and an earlier one (descending), without what is older than `since`.

    Returns times, scores and values by descending time. O(n) expected.
    """
    most = len(times) + len(kept_times)
    out_times, out_scores, out_values = np.empty(most, np.int64), np.empty(most, np.uint64), np.empty(most)
    heads, chain, smallest, shift = empty_table(k)
    last, free, size = np.int64(0), np.int64(0), 0
    limit, run_time, run, count = _MOST, since, 0, 0
    row, old = len(times) - 1, 0
    while row >= 0 or old < len(kept_times):
        if row >= 0 and (old == len(kept_times) or times[row] >= kept_times[old]):
            time, score, value = times[row], scores[row], values[row]
            row -= 1
        else:
            time, score, value = kept_times[old], kept_scores[old], kept_values[old]
            old += 1
        if time < since:
            break
        if size >= k and score >= limit:
            continue
        if time != run_time:  # rows of equal times count for each other
            count = _close_run(out_times, out_scores, out_values, run, count, limit)
            run_time, run = time, count
        out_times[count], out_scores[count], out_values[count] = time, score, value
        count += 1
        bucket = np.int64(score >> np.uint64(shift))
        entry = free
        free = np.int64(chain[entry])
        smallest[entry], chain[entry], heads[bucket] = score, heads[bucket], entry
        last = max(last, bucket)
        size += 1
        if size > k:
            free = drop_largest(heads, chain, smallest, last, free)
            size = k
        if size == k:
            while heads[last] == NOTHING:
                last -= 1
            limit = largest_of(heads, chain, smallest, last)
            while 2 * last + 1 < len(heads) and shift > 0:
                shift -= 1
                last = np.int64(halve_buckets(heads, chain, smallest, last, shift))
    count = _close_run(out_times, out_scores, out_values, run, count, limit)
    return out_times[:count].copy(), out_scores[:count].copy(), out_values[:count].copy()


@nested_njit
def _close_run(times: Any, scores: Any, values: Any, run: int, count: int, limit: Any) -> Any:
    """Keep the rows of one time with fewer than k lower ones of that time or later; returns the number of all kept."""
    kept = run
    for entry in range(run, count):
        if scores[entry] <= limit:
            times[kept], scores[kept], values[kept] = times[entry], scores[entry], values[entry]
            kept += 1
    return kept
