"""Takes the rows of a micro-batch into small groups of uncertain tuples, in compiled code."""

from typing import Any

import numpy as np
from numba import njit

from skyband_uncertain.existing_tuples import oldest_needed
from skyband_uncertain.uncertain_sum.kernels import sum_of, take_in

TIED = -2
"""Marks a group whose rows are not taken in, as floats cannot decide whether a tuple is dropped."""


@njit(cache=True)
def sums_of_existing(  # noqa: C901 - a numeric kernel is one loop
    firsts: Any, sizes: Any, starts: Any, stops: Any,
    held_chance: Any, held_average: Any, held_expected: Any, held_count: Any,
    chances: Any, means: Any, averages: Any, size: int, limit: float, most: int, counted: bool,
) -> Any:  # fmt: skip
    """Take in rows, group by group, over windows of `size` existing tuples.

    An entry is a tuple of the window, with the expected contribution of the tuples with that many younger existing
    ones. Returns for each group the number of entries, and the first row not taken in because it had more than `most`
    (-1: none; or TIED); the columns of all entries; and for each row the sum, the expected sum, the expected count, and
    the tuples kept. O(kept · size) per row.
    """
    groups, rows = len(firsts), len(chances)
    new_size, grown = np.zeros(groups, np.int64), np.full(groups, -1, np.int64)
    room, longest = rows, 1
    for group in range(groups):
        room += sizes[group]
        longest = max(longest, sizes[group] + stops[group] - starts[group])
    new_chance, new_average, new_expected = np.empty(room), np.empty(room), np.empty(room)
    new_count = np.empty(room if counted else 0)
    sums, expected, count, kept = np.zeros(rows), np.zeros(rows), np.zeros(rows), np.zeros(rows, np.int64)
    ranks = min(size, longest)
    chance, average, spare, counts = np.empty(longest), np.empty(longest), np.empty(ranks), np.empty(ranks)
    by_rank, count_by_rank = np.zeros(ranks), np.zeros(ranks)
    written = 0
    for group in range(groups):
        start, stop, first = 0, sizes[group], firsts[group]
        used = min(size, stop)
        for entry in range(stop):
            chance[entry], average[entry] = held_chance[first + entry], held_average[first + entry]
        for rank in range(ranks):
            by_rank[rank] = held_expected[first + rank] if rank < used else 0.0
            if counted:
                count_by_rank[rank] = held_count[first + rank] if rank < used else 0.0
        for row in range(starts[group], stops[group]):
            chance[stop], average[stop] = chances[row], averages[row]
            stop += 1
            # A tuple is dropped once `size` younger ones exist, except with probability `limit`.
            start = oldest_needed(chance, start, stop, size, limit, counts)
            if start < 0:
                grown[group] = TIED
                break
            used = min(used + 1, ranks)
            sums[row] = sum_of(average, start, stop)
            # by_rank[i]: the expected contribution of the tuples with i younger existing ones; the new row shifts all.
            expected[row] = take_in(by_rank, spare, used, chances[row], means[row])
            if counted:
                count[row] = take_in(count_by_rank, spare, used, chances[row], chances[row])
            kept[row] = stop - start
            if stop - start > most:
                grown[group] = row + 1
                break
        # Nothing is written for such a group: a window takes in all its rows, starting from the old entries.
        if grown[group] == TIED:
            continue
        new_size[group] = stop - start
        for entry in range(start, stop):
            rank = entry - start
            new_chance[written], new_average[written] = chance[entry], average[entry]
            new_expected[written] = by_rank[rank] if rank < used else 0.0
            if counted:
                new_count[written] = count_by_rank[rank] if rank < used else 0.0
            written += 1
    counts_of = new_count[:written] if counted else new_count
    entries = new_chance[:written], new_average[:written], new_expected[:written], counts_of
    return new_size, grown, entries, (sums, expected, count, kept)


@njit(cache=True)
def sums_of_span(
    firsts: Any, sizes: Any, starts: Any, stops: Any,
    held_time: Any, held_average: Any, held_expected: Any, held_count: Any,
    times: Any, chances: Any, means: Any, averages: Any, length: int, most: int, counted: bool,
) -> Any:  # fmt: skip
    """`sums_of_existing` over windows of the tuples of the last `length`. O(kept) per row."""
    groups, rows = len(firsts), len(times)
    new_size, grown = np.zeros(groups, np.int64), np.full(groups, -1, np.int64)
    room, longest = rows, 1
    for group in range(groups):
        room += sizes[group]
        longest = max(longest, sizes[group] + stops[group] - starts[group])
    new_time, new_average, new_expected = np.empty(room, np.int64), np.empty(room), np.empty(room)
    new_count = np.empty(room if counted else 0)
    sums, expected, count, kept = np.zeros(rows), np.zeros(rows), np.zeros(rows), np.zeros(rows, np.int64)
    time, average, mean, chance = np.empty(longest, np.int64), np.empty(longest), np.empty(longest), np.empty(longest)
    written = 0
    for group in range(groups):
        start, stop, first = 0, sizes[group], firsts[group]
        for entry in range(stop):
            time[entry], average[entry] = held_time[first + entry], held_average[first + entry]
            mean[entry] = held_expected[first + entry]
            if counted:
                chance[entry] = held_count[first + entry]
        # The window is time[start:stop]: rows are added at the end, and old ones removed at the front.
        for row in range(starts[group], stops[group]):
            time[stop], average[stop], mean[stop], chance[stop] = times[row], averages[row], means[row], chances[row]
            stop += 1
            while time[start] < times[row] - length:
                start += 1
            sums[row], expected[row] = sum_of(average, start, stop), sum_of(mean, start, stop)
            if counted:
                count[row] = sum_of(chance, start, stop)
            kept[row] = stop - start
            if stop - start > most:
                grown[group] = row + 1
                break
        new_size[group] = stop - start
        for entry in range(start, stop):
            new_time[written], new_average[written], new_expected[written] = time[entry], average[entry], mean[entry]
            if counted:
                new_count[written] = chance[entry]
            written += 1
    counts_of = new_count[:written] if counted else new_count
    entries = new_time[:written], new_average[:written], new_expected[:written], counts_of
    return new_size, grown, entries, (sums, expected, count, kept)
