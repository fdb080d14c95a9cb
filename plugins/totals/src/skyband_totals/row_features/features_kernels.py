"""The walk of two pointers along the rows of groups, in compiled code."""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - has numba go on where it can keep nothing
from numba import njit

from skyband_totals.fixed_point import MOST


@njit(cache=True)
def features_of_rows(  # noqa: C901 - a numeric kernel is one loop
    owners: Any, times: Any, sums: Any, codes: Any, windows: Any, before: bool
) -> Any:
    """Of each row the number of rows in its windows, what they add up to, and how many values they have.

    owners, times: int64[n], by group and then time; sums: int64[s, n], of which those above `MOST` units stand for what
    cannot be added; codes: int64[d, n], which value each row has of each column, from 0, or -1; windows: int64[w].
    Returns int64[w, n], float64[w, s, n] in units, NaN where something in the window cannot be
    added, and int64[w, d, n]: over (t - window, t], or with `before` [t - window, t). O(n · w · (s + d)).
    """
    rows, columns, things = len(times), len(sums), len(codes)
    counts = np.empty((len(windows), rows), np.int64)
    totals = np.zeros((len(windows), columns, rows))
    values = np.zeros((len(windows), things, rows), np.int64)
    most = 0
    for thing in range(things):
        for row in range(rows):
            most = max(most, codes[thing, row] + 1)
    inside = np.zeros((things, most), np.int64)
    # A sum of many rows may leave 64 bits: what lies above 2^32 is added up on its own.
    high, low = np.zeros(columns, np.int64), np.zeros(columns, np.int64)
    unknown, different = np.zeros(columns, np.int64), np.zeros(things, np.int64)
    for window in range(len(windows)):
        first, stop = 0, 0
        for row in range(rows):
            time = times[row]
            # What is too old goes, and with the first row of a group all that is not of it.
            oldest = time - windows[window] + (0 if before else 1)
            while first < stop and (owners[first] != owners[row] or times[first] < oldest):
                for column in range(columns):
                    _count_in(sums[column, first], column, -1, high, low, unknown)
                for thing in range(things):
                    code = codes[thing, first]
                    if code >= 0:
                        inside[thing, code] -= 1
                        different[thing] -= inside[thing, code] == 0
                first += 1
            if first == stop and owners[first] != owners[row]:
                first = stop = row
            while stop < rows and owners[stop] == owners[row] and times[stop] < time + (0 if before else 1):
                if times[stop] < oldest:  # nothing is inside yet
                    stop += 1
                    first = stop
                    continue
                for column in range(columns):
                    _count_in(sums[column, stop], column, 1, high, low, unknown)
                for thing in range(things):
                    code = codes[thing, stop]
                    if code >= 0:
                        different[thing] += inside[thing, code] == 0
                        inside[thing, code] += 1
                stop += 1
            counts[window, row] = stop - first
            for column in range(columns):
                totals[window, column, row] = np.nan if unknown[column] else _together(high[column], low[column])
            for thing in range(things):
                values[window, thing, row] = different[thing]
        while first < stop:
            for thing in range(things):
                if codes[thing, first] >= 0:
                    inside[thing, codes[thing, first]] -= 1
            first += 1
        high[:], low[:], unknown[:], different[:] = 0, 0, 0, 0
    return counts, totals, values


@njit(cache=True)
def _count_in(units: int, column: int, sign: int, high: Any, low: Any, unknown: Any) -> None:
    """A row comes into a window or leaves it."""
    if abs(units) > MOST:
        unknown[column] += sign
        return
    high[column] += sign * (units >> 32)
    low[column] += sign * (units & 0xFFFFFFFF)


@njit(cache=True)
def _together(high: int, low: int) -> float:
    """high * 2^32 + low: the nearest float64 of a sum within 64 bits, else rounded twice."""
    high += low >> 32
    low &= 0xFFFFFFFF
    if -(2**31) <= high < 2**31:
        return np.float64((high << 32) + low)
    return np.float64(high) * 2.0**32 + np.float64(low)
