"""A sample of pairs or rows that estimates the totals since any moment: the k-skyband of (time, score).

A score is a random number: the hash of an (object, value) pair, or a number drawn for a row, possibly divided by its
weight. An entry is kept if fewer than k smaller scores are at least as young. So the k smallest scores since any moment
are kept, and given the k-th, those below it are a uniform sample without replacement (for weights: a priority sample).
Only the youngest of equal pairs counts.


Sources: Zhang et al. 2010, section 4; bottom-k and priority sampling: Cohen and Kaplan 2007, Duffield, Lund and
Thorup 2007.
"""

from typing import Any

import numpy as np
from numba import njit
from skyband.kernels.k_smallest import empty_table, holds, insert
from skyband.kernels.mixing import GAMMA, mix
from skyband.kernels.nested import nested_njit

from skyband_totals.pairs import hash_pair
from skyband_totals.slots import place as first_slot

_MOST = np.uint64(0xFFFFFFFFFFFFFFFF)


@njit(cache=True)
def pair_scores(objects: Any, values: Any, salt: Any) -> Any:
    """uint64[n]: the hash of each (object, value) pair under a salt."""
    scores = np.empty(len(objects), np.uint64)
    for row in range(len(objects)):
        scores[row] = mix(np.uint64(hash_pair(objects[row], values[row])) ^ salt)
    return scores


@njit(cache=True)
def row_scores(times: Any, objects: Any, units: Any, seen: int, salt: Any) -> Any:
    """uint64[n]: a random number for each row from its object, time and place in the stream, over any units."""
    scores = np.empty(len(objects), np.uint64)
    for row in range(len(objects)):
        word = mix(np.uint64(objects[row]) ^ salt)
        word = mix((word + GAMMA) ^ np.uint64(times[row]))
        score = mix((word + GAMMA) ^ np.uint64(seen + row))
        scores[row] = score // np.uint64(units[row]) if len(units) > 0 else score
    return scores


@njit(cache=True)
def sweep(new: Any, kept: Any, k: int, since: int, pairs: bool) -> Any:
    """The k-skyband of new rows (ascending) and an earlier one (descending), without rows older than `since`.

    new, kept: (times int64, scores uint64, objects int64, units int64) each; `pairs`: equal scores are one pair.
    Returns them by descending time, with limits: the k-th smallest score at least as young as each, or 2^64 − 1 if
    there are fewer. O(n) expected. Like `skyband_distinct.k_skb.sweep_kernel`, with objects and units for each score.
    """
    times, scores, objects, units = new
    kept_times, kept_scores, kept_objects, kept_units = kept
    most = len(times) + len(kept_times)
    out_times, out_scores, limits = np.empty(most, np.int64), np.empty(most, np.uint64), np.empty(most, np.uint64)
    out_objects, out_units = np.empty(most, np.int64), np.empty(most, np.int64)
    heads, chain, smallest, shift = empty_table(k)
    last, free, size = np.int64(0), np.int64(0), 0
    limit = _MOST
    run_time, run, count = since, 0, 0
    row, old = len(times) - 1, 0
    while row >= 0 or old < len(kept_times):
        if row >= 0 and (old == len(kept_times) or times[row] >= kept_times[old]):
            time, value, key, unit = times[row], scores[row], objects[row], units[row]
            row -= 1
        else:
            time, value, key, unit = kept_times[old], kept_scores[old], kept_objects[old], kept_units[old]
            old += 1
        if time < since:
            break
        if value >= limit and size >= k:
            continue
        if time != run_time:  # pairs with equal times see each other
            count = _close_run(out_scores, out_objects, out_units, limits, run, count, limit)
            run_time, run = time, count
        bucket = np.int64(value >> np.uint64(shift))
        if pairs and holds(heads, chain, smallest, bucket, value):
            continue
        out_times[count], out_scores[count], out_objects[count], out_units[count] = time, value, key, unit
        count += 1
        shift, last, free, size, limit = insert(heads, chain, smallest, shift, last, free, size, limit, k, value)
    count = _close_run(out_scores, out_objects, out_units, limits, run, count, limit)
    columns = out_times[:count].copy(), out_scores[:count].copy(), out_objects[:count].copy(), out_units[:count].copy()
    return columns, limits[:count].copy()


@nested_njit
def _close_run(scores: Any, objects: Any, units: Any, limits: Any, run: int, count: int, limit: Any) -> int:
    """Drop the entries of one time that others of that time dominate; returns how many remain in all."""
    end = run
    for entry in range(run, count):
        if scores[entry] <= limit:
            scores[end], objects[end], units[end] = scores[entry], objects[entry], units[entry]
            limits[end] = limit
            end += 1
    return end


@njit(cache=True)
def tally(objects: Any, scores: Any, units: Any, count: int, limit: Any, heavy: float) -> Any:
    """The objects of `count` entries with a score below the limit, their light entries, and the units of the others."""
    slots = 16
    while slots < 2 * count:
        slots *= 2
    table, mask = np.zeros((slots, 4), np.int64), slots - 1
    size = 0
    for entry in range(count):
        if scores[entry] >= limit:
            continue
        slot = first_slot(objects[entry], mask)
        while table[slot, 3] != 0 and table[slot, 0] != objects[entry]:
            slot = (slot + 1) & mask
        if table[slot, 3] == 0:
            table[slot, 0], table[slot, 3] = objects[entry], 1
            size += 1
        if float(units[entry]) < heavy:
            table[slot, 1] += 1
        else:
            table[slot, 2] += units[entry]
    tallies = np.empty((3, size), np.int64)
    size = 0
    for slot in range(slots):
        if table[slot, 3] != 0:
            for column in range(3):
                tallies[column, size] = table[slot, column]
            size += 1
    return tallies[0], tallies[1], tallies[2]
