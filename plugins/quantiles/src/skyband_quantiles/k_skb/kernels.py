"""A uniform sample of the rows since any moment: the k-skyband of (time, score), each with its value.

A score is a random number of a row. A row is kept while fewer than k rows of its time or later have smaller scores. So
the k smallest scores since any moment are there, and the rows below the k-th are a sample without replacement.

Source: Zhang et al. 2010, section 4. The sweep is that of `skyband_totals.k_skb.sample_kernels`, with values instead of
objects.
"""

from typing import Any

import numpy as np
from skyband.kernels.k_smallest import empty_table, insert
from skyband.kernels.mixing import GAMMA, mix
from skyband.kernels.nested import kernel_njit, nested_njit

_MOST = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel_njit
def row_scores(times: Any, bits: Any, seen: int, salt: Any) -> Any:
    """uint64[n]: a random number for each row, from its value, time and number in the stream."""
    scores = np.empty(len(times), np.uint64)
    for row in range(len(times)):
        word = mix(np.uint64(bits[row]) ^ salt)
        word = mix((word + GAMMA) ^ np.uint64(times[row]))
        scores[row] = mix((word + GAMMA) ^ np.uint64(seen + row))
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
        shift, last, free, size, limit = insert(heads, chain, smallest, shift, last, free, size, limit, k, score)
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
