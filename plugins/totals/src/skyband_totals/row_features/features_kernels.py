"""Compiled code that walks two pointers along the rows of groups."""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from numba import njit

from skyband_totals.fixed_point import MOST


@njit(cache=True)
def features_of_rows(  # noqa: C901 - a numeric kernel is one loop
    owners: Any, times: Any, sums: Any, codes: Any, windows: Any, before: bool
) -> Any:
    """The number of rows in the windows of each row, their sums, and their numbers of distinct values.

    owners, times: int64[n], by group, then time; sums: int64[s, n], where more than `MOST` units mean a value that
    cannot be added; codes: int64[d, n], the number of each row's value in each column, from 0, or -1; windows:
    int64[w]. Returns int64[w, n], float64[w, s, n] in units, NaN if a value in the window cannot be added, and
    int64[w, d, n]: over (t - window, t], or with `before` [t - window, t). O(n · w · (s + d)).
    """
    rows, columns, distincts = len(times), len(sums), len(codes)
    counts = np.empty((len(windows), rows), np.int64)
    totals = np.zeros((len(windows), columns, rows))
    values = np.zeros((len(windows), distincts, rows), np.int64)
    most = 0
    for number in range(distincts):
        for row in range(rows):
            most = max(most, codes[number, row] + 1)
    inside = np.zeros((distincts, most), np.int64)
    # A sum of many rows may exceed 64 bits, so the bits from 2^32 on are added up separately.
    high, low = np.zeros(columns, np.int64), np.zeros(columns, np.int64)
    unknown, different = np.zeros(columns, np.int64), np.zeros(distincts, np.int64)
    for window in range(len(windows)):
        first, stop = 0, 0
        for row in range(rows):
            time = times[row]
            # Remove rows that are too old, and at the first row of a group all rows of other groups.
            oldest = time - windows[window] + (0 if before else 1)
            while first < stop and (owners[first] != owners[row] or times[first] < oldest):
                for column in range(columns):
                    _count_in(sums[column, first], column, -1, high, low, unknown)
                for number in range(distincts):
                    code = codes[number, first]
                    if code >= 0:
                        inside[number, code] -= 1
                        different[number] -= inside[number, code] == 0
                first += 1
            if first == stop and owners[first] != owners[row]:
                first = stop = row
            while stop < rows and owners[stop] == owners[row] and times[stop] < time + (0 if before else 1):
                if times[stop] < oldest:  # the window is still empty
                    stop += 1
                    first = stop
                    continue
                for column in range(columns):
                    _count_in(sums[column, stop], column, 1, high, low, unknown)
                for number in range(distincts):
                    code = codes[number, stop]
                    if code >= 0:
                        different[number] += inside[number, code] == 0
                        inside[number, code] += 1
                stop += 1
            counts[window, row] = stop - first
            for column in range(columns):
                totals[window, column, row] = np.nan if unknown[column] else _sum_of(high[column], low[column])
            for number in range(distincts):
                values[window, number, row] = different[number]
        while first < stop:
            for number in range(distincts):
                if codes[number, first] >= 0:
                    inside[number, codes[number, first]] -= 1
            first += 1
        high[:], low[:], unknown[:], different[:] = 0, 0, 0, 0
    return counts, totals, values


@njit(cache=True)
def _count_in(units: int, column: int, sign: int, high: Any, low: Any, unknown: Any) -> None:
    """Add a row to a window, or remove it."""
    if abs(units) > MOST:
        unknown[column] += sign
        return
    high[column] += sign * (units >> 32)
    low[column] += sign * (units & 0xFFFFFFFF)


@njit(cache=True)
def _sum_of(high: int, low: int) -> float:
    """high * 2^32 + low: the nearest float64 if the sum fits 64 bits, else rounded twice."""
    high += low >> 32
    low &= 0xFFFFFFFF
    if -(2**31) <= high < 2**31:
        return np.float64((high << 32) + low)
    return np.float64(high) * 2.0**32 + np.float64(low)
