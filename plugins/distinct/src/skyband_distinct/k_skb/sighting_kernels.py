"""The k-skyband of (time, hash) pairs together with the earlier sightings of their keys.

A sighting matters to windows that begin by its time. In these its key is in the sample only if fewer than k − 1 smaller
hashes are as young. So a sighting is kept iff its hash is below the kth smallest of those that are at least as young as
it, and it is among the youngest of its key. What is dropped is never needed again, because last times only grow.
"""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from numba import njit
from skyband.arrays import TIME_MIN
from skyband.kernels.k_smallest import NOTHING, empty_table, insert
from skyband.kernels.nested import nested_njit

_MOST = np.uint64(0xFFFFFFFFFFFFFFFF)
_1 = np.uint64(1)


@njit(cache=True)
def sweep_sightings(
    times: Any, hashes: Any, kept_times: Any, kept_hashes: Any, earlier_times: Any, earlier_hashes: Any, k: int,
    since: int, most: int,
) -> tuple[Any, Any, Any, Any, Any]:  # fmt: skip
    """As `sweep_kernel.sweep`, and then the earlier sightings, by time descending: at most `most` − 1 of each key.

    earlier_times: int64[e] descending, with earlier_hashes: uint64[e], those of the earlier k-skyband. O(n + m + e)
    expected.
    """
    pairs, all_rows = len(times) + len(kept_times), len(times) + len(kept_times) + len(earlier_times)
    out_times, out_hashes, limits = np.empty(pairs, np.int64), np.empty(pairs, np.uint64), np.empty(pairs, np.uint64)
    again_times, again_hashes = np.empty(all_rows, np.int64), np.empty(all_rows, np.uint64)
    heads, chain, smallest, shift = empty_table(k)
    repeats = np.zeros(k + 2, np.int64)
    last, free, size = np.int64(0), np.int64(0), 0
    limit = _MOST
    run_time, run, count, again_run, again = since, 0, 0, 0, 0
    row, pair, earlier = len(times) - 1, 0, 0
    while True:
        new_time = times[row] if row >= 0 else TIME_MIN
        kept_time = kept_times[pair] if pair < len(kept_times) else TIME_MIN
        earlier_time = earlier_times[earlier] if earlier < len(earlier_times) else TIME_MIN
        time = max(new_time, kept_time, earlier_time)
        if time == TIME_MIN or time < since:
            break
        if time == new_time:
            value = hashes[row]
            row -= 1
        elif time == kept_time:
            value = kept_hashes[pair]
            pair += 1
        else:
            value = earlier_hashes[earlier]
            earlier += 1
        if value >= limit and size >= k:
            continue
        # Pairs with equal times see each other: their limit is known only after the last of them.
        if time != run_time:
            if count - run == 1:
                limits[run] = limit
            else:
                count = _close_run(out_times, out_hashes, run, count, limit, False)
                limits[run:count] = limit
            again = _close_run(again_times, again_hashes, again_run, again, limit, size >= k)
            run_time, run, again_run = time, count, again
        entry = np.int64(heads[np.int64(value >> np.uint64(shift))])
        while entry != NOTHING and smallest[entry] != value:
            entry = np.int64(chain[entry])
        if entry != NOTHING:
            if repeats[entry] < most:
                repeats[entry] += 1
                again_times[again], again_hashes[again] = time, value
                again += 1
            continue
        out_times[count], out_hashes[count] = time, value
        count += 1
        repeats[free] = 1
        shift, last, free, size, limit = insert(heads, chain, smallest, shift, last, free, size, limit, k, value)
    count = _close_run(out_times, out_hashes, run, count, limit, False)
    limits[run:count] = limit
    again = _close_run(again_times, again_hashes, again_run, again, limit, size >= k)
    return (
        out_times[:count].copy(), out_hashes[:count].copy(), limits[:count].copy(),
        again_times[:again].copy(), again_hashes[:again].copy(),
    )  # fmt: skip


@nested_njit
def _close_run(times: Any, hashes: Any, run: int, count: int, limit: np.uint64, below: bool) -> int:
    """Drop the rows of one time with larger hashes than `limit`, or equal ones if `below`; returns how many remain."""
    end = run
    for entry in range(run, count):
        if hashes[entry] < limit or (hashes[entry] == limit and not below):
            times[end], hashes[end] = times[entry], hashes[entry]
            end += 1
    return end


@njit(cache=True)
def numbers_of(hashes: Any, earlier_hashes: Any, limit: np.uint64, whole: bool, most: int) -> Any:
    """int64[most]: how many keys were seen once, twice and so on, and in the last place `most` times or more.

    hashes: uint64[n], distinct, those of the keys' last sightings; earlier_hashes: uint64[m], of the earlier ones.
    Only hashes below `limit` are counted, or all if `whole`. O(n + m) expected.
    """
    slots = 16
    while slots < 2 * len(hashes):
        slots *= 2
    mask = np.uint64(slots - 1)
    keys, repeats = np.zeros(slots, np.uint64), np.zeros(slots, np.int64)
    for row in range(len(hashes)):
        if whole or hashes[row] < limit:
            slot = hashes[row] & mask
            while repeats[slot]:
                slot = (slot + _1) & mask
            keys[slot], repeats[slot] = hashes[row], 1
    for row in range(len(earlier_hashes)):
        if whole or earlier_hashes[row] < limit:
            slot = earlier_hashes[row] & mask
            while repeats[slot] and keys[slot] != earlier_hashes[row]:
                slot = (slot + _1) & mask
            repeats[slot] += 1
    numbers = np.zeros(most, np.int64)
    for slot in range(slots):
        if repeats[slot]:
            numbers[min(repeats[slot], most) - 1] += 1
    return numbers
