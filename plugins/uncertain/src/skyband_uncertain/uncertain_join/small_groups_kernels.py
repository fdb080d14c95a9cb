"""Joins the rows of a micro-batch in small groups of uncertain-join, in compiled code."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from skyband.arrays import Int64
from skyband.groups.small_groups.kernels import longer
from skyband.kernels.nested import nested_njit

from skyband_uncertain.existing_tuples import oldest_needed, presences
from skyband_uncertain.joint_samples_kernels import within
from skyband_uncertain.time_and_change_windows import change

TIED = -2
"""Marks a group whose rows are not taken in, as floats cannot decide whether a tuple is dropped."""


class GroupSpans(NamedTuple):
    """For each group the start and number of its entries, the start of their samples, and its rows."""

    entry: Int64
    size: Int64
    sample: Int64
    start: Int64
    stop: Int64


@nested_njit
def _near(u: Any, pu: Any, first: int, last: int, v: Any, pv: Any, begin: int, end: int, near: Any) -> float:
    """Eq. 21: the sum of pu[a]·pv[b] over the samples at most epsilon apart, in the order of `Matcher`."""
    epsilon, scale, euclidean = near
    total = 0.0
    for a in range(first, last):
        for b in range(begin, end):
            if abs(u[0, a] - v[0, b]) <= epsilon and (len(u) == 1 or within(u, a, v, b, epsilon, scale, euclidean)):
                total += pu[a] * pv[b]
    return total


@njit(cache=True)
def join_rows(  # noqa: C901 - a numeric kernel is one loop
    spans: GroupSpans, rooms: Any, held: Any, held_samples: Any,
    rows: Any, cuts: Any, samples: Any, sides: int, distance: Any, beta: float,
    size: int, limit: float, length: int, shift: Any, most: int, most_samples: int,
) -> Any:  # fmt: skip
    """Join the rows of groups, group by group, with the window of the other side, or of their own if sides is 1.

    held, rows: the columns side, code, chance, time and number of samples of tuples; held_samples, samples: the
    coordinates of their samples, float64[d, n], and their probabilities. rooms: the number of tuples held and new, and
    the most of one group; the same for samples. distance: limit, scale and kind, as in `within`.
    size: existing tuples in a window; 0: it has the tuples of the last `length`, or, if that is -1, similar ones: shift
    is delta, the other arguments of `within`, and alpha.
    Returns for each group its entries and samples, and the first row not taken in because it had more than `most` or
    `most_samples` (-1: none; or TIED); the columns of all entries, and of all samples; and for each match the row, the
    codes of the left and right tuple, and the probability. O(samples of both) per pair of tuples, O(kept · size) per
    row.
    """
    firsts, sizes, sample_firsts, starts, stops = spans
    held_side, held_code, held_chance, held_time, held_count = held
    held_value, held_weight = held_samples
    row_side, row_code, row_chance, row_time, row_count = rows
    row_value, row_weight = samples
    delta, scale, euclidean, alpha = shift
    groups = len(firsts)
    new_size, new_samples = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    grown = np.full(groups, -1, np.int64)
    room, longest, sample_room, longest_samples = rooms
    new_side, new_code, new_count = np.empty(room, np.int8), np.empty(room, np.int64), np.empty(room, np.int32)
    new_chance, new_time = np.empty(room), np.empty(room, np.int64)
    coordinates = len(row_value)
    new_value, new_weight = np.empty((coordinates, sample_room)), np.empty(sample_room)
    # The columns of a side's tuples start at side · longest.
    code, time, chance = np.empty(2 * longest, np.int64), np.empty(2 * longest, np.int64), np.empty(2 * longest)
    begin, end = np.empty(2 * longest, np.int64), np.empty(2 * longest, np.int64)
    near, present = np.empty(2 * longest), np.ones(2 * longest)
    value, weight = np.empty((coordinates, longest_samples)), np.empty(longest_samples)
    counts = np.empty(min(size, longest) + 1)
    start, stop = np.zeros(2, np.int64), np.zeros(2, np.int64)
    capacity = 64 + len(row_code)
    matched, left = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    right, probability = np.empty(capacity, np.int64), np.empty(capacity)
    match_count, written, samples_written = 0, 0, 0
    for group in range(groups):
        # Earlier tuples are ordered by side, with contiguous samples, and rows are appended after them.
        used, before = 0, match_count
        for side in range(2):
            start[side] = side * longest
            stop[side] = side * longest
        place = sample_firsts[group]
        for entry in range(firsts[group], firsts[group] + sizes[group]):
            side = held_side[entry]
            t = stop[side]
            code[t] = held_code[entry]
            if size > 0:
                chance[t] = held_chance[entry]
            else:
                time[t] = held_time[entry]
            begin[t], end[t] = used, used + held_count[entry]
            for _ in range(held_count[entry]):
                for c in range(coordinates):
                    value[c, used] = held_value[c, place]
                weight[used] = held_weight[place]
                used += 1
                place += 1
            stop[side] = t + 1
        for row in range(starts[group], stops[group]):
            side = row_side[row]
            other = sides - 1 - side
            # A window of time is equally long for both sides, so the row moves both before the join.
            if size == 0 and length >= 0:
                for one in range(sides):
                    while start[one] < stop[one] and time[start[one]] < row_time[row] - length:
                        start[one] += 1
            # A match is at most as probable as being near: if no pair is near enough, skip the rest.
            matches = 0
            for t in range(start[other], stop[other]):
                near[t] = _near(
                    row_value, row_weight, cuts[row], cuts[row + 1], value, weight, begin[t], end[t],
                    distance,
                )  # fmt: skip
                matches += near[t] > 0.0 and near[t] >= beta
            if matches > 0:
                if size > 0:
                    presences(chance, start[other], stop[other], size, counts, present)
                if match_count + matches > capacity:
                    capacity = 2 * capacity + matches
                    matched, left = longer(matched, capacity), longer(left, capacity)
                    right, probability = longer(right, capacity), longer(probability, capacity)
                for t in range(start[other], stop[other]):
                    both = present[t] * near[t] if size > 0 else near[t]
                    if both > 0.0 and both >= beta:
                        first = sides == 2 and side == 0
                        matched[match_count], probability[match_count] = row, both
                        left[match_count] = row_code[row] if first else code[t]
                        right[match_count] = code[t] if first else row_code[row]
                        match_count += 1
            # Add the row to its own side only now: it must not match itself, nor push tuples out of its own answer.
            t = stop[side]
            code[t], time[t], chance[t] = row_code[row], row_time[row], row_chance[row]
            begin[t], end[t] = used, used + row_count[row]
            for place in range(cuts[row], cuts[row + 1]):
                for c in range(coordinates):
                    value[c, used] = row_value[c, place]
                weight[used] = row_weight[place]
                used += 1
            stop[side] = t + 1
            if size > 0:
                start[side] = oldest_needed(chance, start[side], t + 1, size, limit, counts)
                # Rounding decides: pass all rows of the group to windows that compute exactly.
                if start[side] < 0:
                    grown[group], match_count = TIED, before
                    break
            elif length < 0:
                while (
                    start[side] < t
                    and change(begin, end, value, weight, start[side], t + 1, delta, scale, euclidean) >= alpha
                ):
                    start[side] += 1
            tuples_now, kept_samples = 0, 0
            for one in range(sides):
                tuples_now += stop[one] - start[one]
                for t in range(start[one], stop[one]):
                    kept_samples += end[t] - begin[t]
            if tuples_now > most or kept_samples > most_samples:
                grown[group] = row + 1
                break
        if grown[group] == TIED:
            continue
        # The remaining tuples of both windows, in the order of the next step.
        for one in range(sides):
            for t in range(start[one], stop[one]):
                new_side[written], new_code[written], new_chance[written] = one, code[t], chance[t]
                new_time[written], new_count[written] = time[t], end[t] - begin[t]
                written += 1
                for place in range(begin[t], end[t]):
                    for c in range(coordinates):
                        new_value[c, samples_written] = value[c, place]
                    new_weight[samples_written] = weight[place]
                    samples_written += 1
                new_samples[group] += end[t] - begin[t]
            new_size[group] += stop[one] - start[one]
    entries = new_side[:written], new_code[:written], new_chance[:written], new_time[:written], new_count[:written]
    kept_as = entries, (new_value[:, :samples_written], new_weight[:samples_written])
    return (
        new_size,
        new_samples,
        grown,
        kept_as,
        (matched[:match_count], left[:match_count], right[:match_count], probability[:match_count]),
    )
