"""The k-skyband of (time, hash) pairs in one walk from the youngest to the oldest."""

from typing import Any

import numpy as np
from numba import njit
from skyband.kernels.k_smallest import empty_table, holds, insert
from skyband.kernels.mixing import mix
from skyband.kernels.nested import nested_njit

_MOST = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(cache=True)
def hash_all(keys: Any, salt: np.uint64) -> Any:
    """The hashes of keys under a salt: uint64[n]."""
    hashes = np.empty(len(keys), np.uint64)
    for row in range(len(keys)):
        hashes[row] = mix(keys[row] ^ salt)
    return hashes


@njit(cache=True)
def sweep(times: Any, hashes: Any, kept_times: Any, kept_hashes: Any, k: int, since: int) -> tuple[Any, Any, Any]:
    """The k-skyband of new pairs and an earlier k-skyband, without pairs older than `since`.

    times: int64[n] ascending, with hashes: uint64[n]; kept_times: int64[m] descending, with kept_hashes: uint64[m].
    Returns times (descending), hashes (in any order among equal times) and limits. A pair is kept iff fewer than k
    smaller hashes are at least as young; only the youngest pair of a hash counts. limits[i] is the kth smallest hash
    among those with a time >= times[i], or 2^64 - 1 if there are fewer than k. O(n + m) expected.
    """
    most = len(times) + len(kept_times)
    out_times, out_hashes, limits = np.empty(most, np.int64), np.empty(most, np.uint64), np.empty(most, np.uint64)
    heads, chain, smallest, shift = empty_table(k)
    last, free, size = np.int64(0), np.int64(0), 0
    limit = _MOST
    run_time, run, count = since, 0, 0
    row, kept = len(times) - 1, 0
    while row >= 0 or kept < len(kept_times):
        if row >= 0 and (kept == len(kept_times) or times[row] >= kept_times[kept]):
            time, value = times[row], hashes[row]
            row -= 1
        else:
            time, value = kept_times[kept], kept_hashes[kept]
            kept += 1
        if time < since:
            break
        if value >= limit and size >= k:
            continue
        # Pairs with equal times see each other: their limit is known only after the last of them.
        if time != run_time:
            if count - run == 1:
                limits[run] = limit
            else:
                count = _close_run(out_hashes, limits, run, count, limit)
            run_time, run = time, count
        bucket = np.int64(value >> np.uint64(shift))
        if holds(heads, chain, smallest, bucket, value):
            continue
        out_times[count], out_hashes[count] = time, value
        count += 1
        shift, last, free, size, limit = insert(heads, chain, smallest, shift, last, free, size, limit, k, value)
    count = _close_run(out_hashes, limits, run, count, limit)
    return out_times[:count].copy(), out_hashes[:count].copy(), limits[:count].copy()


@nested_njit
def _close_run(hashes: Any, limits: Any, run: int, count: int, limit: np.uint64) -> int:
    """Drop the pairs of one time that others of that time dominate; returns how many pairs remain in all."""
    end = run
    for entry in range(run, count):
        if hashes[entry] <= limit:
            hashes[end] = hashes[entry]
            end += 1
    limits[run:end] = limit
    return end


@njit(cache=True)
def count_since(times: Any, since: int) -> int:
    """The number of descending times that are >= `since`. O(log n)."""
    low, high = 0, len(times)
    while low < high:
        middle = (low + high) // 2
        if times[middle] >= since:
            low = middle + 1
        else:
            high = middle
    return low
