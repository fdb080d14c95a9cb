"""The block matcher's loops: bounds on the probability of a match, and its sum for many tuples at once."""

import numpy as np
from numba import njit
from skyband.arrays import Array, Float64, Int64
from skyband.kernels.nested import nested_njit

from skyband_uncertain.matchers.pair_kernels import Found, first_of, nothing, room, sorted_pair

LOW, HIGH, PEAK, EXISTENCE = range(4)
"""Rows of the marks."""
LANES = 64
"""Tuples summed together: as many as fit in the first-level cache with about ten samples each."""
WORD = 8
"""Tuples checked at once if most are rejected."""
DEEPEST = 256
"""Samples of a tuple beyond which a block would be mostly gaps; then its tuples are summed one by one."""
SLACK = 1e-6
"""The margin of bounds: sums of up to 10^9 products do not round by more."""
FAINT = 1e-290
"""Below this, products may underflow, so nothing is pruned by probability."""


@njit(cache=True, nogil=True)
def mark(cuts: Int64, v: Float64, pv: Float64, epsilon: float, beta: float, marks: Float64, first: int) -> None:
    """marks[:, first + t]: the quantiles at beta/2 from below and above, the peak and the existence of tuple t."""
    tail = 0.5 * beta * (1.0 - SLACK) if beta > FAINT else 0.0
    reach = 2.0 * epsilon * (1.0 + 2e-15)
    for t in range(len(cuts) - 1):
        begin, end = cuts[t], cuts[t + 1]
        low, high, below, above, peak, mass = np.inf, -np.inf, 0.0, 0.0, 0.0, 0.0
        right = begin
        for left in range(begin, end):
            below += pv[left]
            if below >= tail and low == np.inf:
                low = v[left]
            above += pv[end - 1 - (left - begin)]
            if above >= tail and high == -np.inf:
                high = v[end - 1 - (left - begin)]
            while right < end and v[right] - v[left] <= reach:
                mass += pv[right]
                right += 1
            peak = max(peak, mass)
            mass -= pv[left]
        marks[LOW, first + t], marks[HIGH, first + t] = low, high
        marks[PEAK, first + t] = peak + (end - begin) * 1e-15
        marks[EXISTENCE, first + t] = below


@njit(cache=True, nogil=True)
def match(
    probes: Int64, u: Float64, pu: Float64, marked: Float64, starts: Int64, ends: Int64,
    base: int, cuts: Int64, v: Float64, pv: Float64, marks: Float64, epsilon: float, beta: float,
) -> Found:  # fmt: skip
    """The matches of each probe i among the tuples starts[i] to ends[i]; `marked`: the probes' marks."""
    found, count = nothing()
    left, totals = np.empty(len(cuts) + WORD, np.int64), np.empty(LANES)
    passed = np.zeros(len(cuts) + WORD, np.uint8)
    words = passed[: len(passed) // WORD * WORD].view(np.uint64)
    floor = beta * (1.0 - SLACK) if beta > FAINT else 0.0
    values, weights = np.empty(DEEPEST * LANES), np.empty(DEEPEST * LANES)
    for i in range(len(starts)):
        first = starts[i] - base
        if marked[PEAK, i] < floor:
            continue
        some = _survivors(marks[:, first : ends[i] - base], marked[:, i], epsilon, floor, passed, words, left)
        found = room(found, count, some)
        for block in range(0, some, LANES):
            chosen = left[block : min(block + LANES, some)]
            depth = _depth(chosen, first, cuts)
            if depth > DEEPEST:
                for lane in range(len(chosen)):
                    t = first + chosen[lane]
                    begin, end = cuts[t], cuts[t + 1]
                    totals[lane] = sorted_pair(u, pu, probes[i], probes[i + 1], v, pv, begin, end, epsilon)
            else:
                _gather(chosen, first, cuts, v, pv, depth, values, weights)
                _add_up(u, pu, probes[i], probes[i + 1], values, weights, depth, epsilon, totals[: len(chosen)])
            for lane in range(len(chosen)):
                if totals[lane] > 0.0 and totals[lane] >= beta:
                    found[0][count], found[1][count] = i, starts[i] + chosen[lane]
                    found[2][count] = totals[lane]
                    count += 1
    return first_of(found, count)


@nested_njit(nogil=True)
def _depth(tuples: Int64, first: int, cuts: Int64) -> int:
    """The largest number of samples of these tuples."""
    depth = 0
    for t in tuples:
        depth = max(depth, cuts[first + t + 1] - cuts[first + t])
    return depth


@nested_njit(nogil=True)
def _gather(
    tuples: Int64, first: int, cuts: Int64, v: Float64, pv: Float64, depth: int, values: Float64, weights: Float64
) -> None:
    """Lay out the tuples side by side, sample by sample. Gaps have weight 0."""
    for lane in range(len(tuples)):
        begin, end = cuts[first + tuples[lane]], cuts[first + tuples[lane] + 1]
        for b in range(end - begin):
            values[b * LANES + lane], weights[b * LANES + lane] = v[begin + b], pv[begin + b]
        for b in range(end - begin, depth):
            values[b * LANES + lane] = weights[b * LANES + lane] = 0.0


@nested_njit(nogil=True)
def _add_up(
    u: Float64, pu: Float64, begin: int, end: int,
    values: Float64, weights: Float64, depth: int, epsilon: float, totals: Float64,
) -> None:  # fmt: skip
    """The sum of eq. 21 in all lanes at once, each in the defined order: adding 0 changes nothing."""
    totals[:] = 0.0
    lanes = len(totals)
    for a in range(begin, end):
        value, weight = u[a], pu[a]
        for b in range(depth):
            other, share = values[b * LANES : b * LANES + lanes], weights[b * LANES : b * LANES + lanes]
            for lane in range(lanes):
                product = weight * share[lane]
                totals[lane] += product if abs(value - other[lane]) <= epsilon else 0.0


@nested_njit(vectorized=True)
def _survivors(
    marks: Float64, probe: Float64, epsilon: float, floor: float, passed: Array, words: Array, candidates: Int64
) -> int:
    """Write the tuples that may match a probe to `candidates`; returns how many. Branches would be mispredicted.

    words: `passed` as words, to skip eight tuples at once.
    """
    low, high, peak, existence = probe
    lows, highs, peaks, existences = marks[LOW], marks[HIGH], marks[PEAK], marks[EXISTENCE]
    for t in range(len(lows)):
        near = (lows[t] - high <= epsilon) & (low - highs[t] <= epsilon)
        passed[t] = near & (peaks[t] * existence >= floor) & (existences[t] * peak >= floor)
    passed[len(lows) : len(lows) + WORD] = 0
    some = 0
    for word in range(-(-len(lows) // WORD)):
        if words[word]:
            for t in range(word * WORD, word * WORD + WORD):
                candidates[some] = t
                some += passed[t]
    return some
