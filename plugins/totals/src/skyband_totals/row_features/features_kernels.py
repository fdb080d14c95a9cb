# mypy: disable-error-code="untyped-decorator"
"""The walk of two pointers along the rows of groups, in compiled code."""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - has numba go on where it can keep nothing
from numba import njit


@njit(cache=True)
def features_of_rows(  # noqa: C901 - a numeric kernel is one loop
    owners: Any, times: Any, sums: Any, codes: Any, windows: Any, before: bool
) -> Any:
    """Of each row the number of rows in its windows, what they add up to, and how many values they have.

    owners, times: int64[n], by group and then time; sums: int64[s, n]; codes: int64[d, n], which value each row has of
    each column, from 0, or -1; windows: int64[w]. Returns int64[w, n], int64[w, s, n] and int64[w, d, n]: over
    (t - window, t], or with `before` [t - window, t). O(n · w · (s + d)).
    """
    rows, columns, things = len(times), len(sums), len(codes)
    counts = np.empty((len(windows), rows), np.int64)
    totals = np.zeros((len(windows), columns, rows), np.int64)
    values = np.zeros((len(windows), things, rows), np.int64)
    most = 0
    for thing in range(things):
        for row in range(rows):
            most = max(most, codes[thing, row] + 1)
    inside = np.zeros((things, most), np.int64)
    total, different = np.zeros(columns, np.int64), np.zeros(things, np.int64)
    for window in range(len(windows)):
        first, stop = 0, 0
        for row in range(rows):
            time = times[row]
            # What is too old goes, and with the first row of a group all that is not of it.
            oldest = time - windows[window] + (0 if before else 1)
            while first < stop and (owners[first] != owners[row] or times[first] < oldest):
                for column in range(columns):
                    total[column] -= sums[column, first]
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
                    total[column] += sums[column, stop]
                for thing in range(things):
                    code = codes[thing, stop]
                    if code >= 0:
                        different[thing] += inside[thing, code] == 0
                        inside[thing, code] += 1
                stop += 1
            counts[window, row] = stop - first
            for column in range(columns):
                totals[window, column, row] = total[column]
            for thing in range(things):
                values[window, thing, row] = different[thing]
        while first < stop:
            for column in range(columns):
                total[column] -= sums[column, first]
            for thing in range(things):
                if codes[thing, first] >= 0:
                    inside[thing, codes[thing, first]] -= 1
            first += 1
        different[:] = 0
    return counts, totals, values
