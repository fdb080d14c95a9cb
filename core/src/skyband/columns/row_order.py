"""Sorts rows by group and time, whatever their order of arrival."""

from collections.abc import Sequence

import numpy as np

from skyband.arrays import Array, Int64, UInt64

_FEW_ROWS = 4096
"""Fewer rows than this are sorted faster than compiled code is loaded."""
_SAMPLE = 4096
_MANY = 1 << 18
"""The number of groups from which a table no longer fits the processor's cache."""


def row_order(groups: UInt64, times: Int64, ties: Sequence[Array] = ()) -> Int64:
    """`numpy.lexsort` by group, then time, then each of `ties`, in a tenth of the time. O(n log n), or O(n).

    Rows usually arrive in order of time, with few of a group at one time.
    """
    columns = [groups, times, *ties]
    if len(groups) < _FEW_ROWS:
        return np.lexsort(columns[::-1])
    by_time = None if (times[1:] >= times[:-1]).all() else np.argsort(times, kind="stable")
    order = _by_group(groups, by_time)
    if ties:
        alike = (np.diff(groups[order]) == 0) & (np.diff(times[order]) == 0)
        tied = np.append(alike, False) | np.append(False, alike)
        rows = order[tied]
        order[tied] = rows[np.lexsort([column[rows] for column in reversed(columns)])]
    return order


def _by_group(groups: UInt64, rows: Int64 | None) -> Int64:
    """The order by group; within a group as in `rows`, or in order of arrival."""
    if _are_many(groups):
        order: Int64 = np.argsort(groups if rows is None else groups[rows], kind="stable")
        return order if rows is None else rows[order]
    from skyband.kernels.group_numbers import NO_ROWS, number_groups, place_rows  # imported on use: it loads numba

    numbers, distinct, counts = number_groups(groups)
    ascending, firsts = np.argsort(distinct), np.empty(len(distinct), np.int64)
    firsts[ascending] = np.cumsum(counts[ascending]) - counts[ascending]
    return place_rows(numbers, firsts, NO_ROWS if rows is None else rows)


def _are_many(groups: UInt64) -> bool:
    """Whether there seem to be too many groups for numbering to beat sorting: in a sample hardly any repeats.

    Of s rows among g groups about s² / 2g repeat an earlier group.
    """
    if len(groups) <= _MANY:
        return False
    sample = groups[:: len(groups) // _SAMPLE][:_SAMPLE]
    return 2 * _MANY * (_SAMPLE - len(np.unique(sample))) < _SAMPLE**2
