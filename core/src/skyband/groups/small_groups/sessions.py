"""Plans one pass over small groups: the sessions into which rows of many groups fall, and their moments."""

from typing import NamedTuple

import numpy as np

from skyband.arrays import Array, Int64, UInt64
from skyband.kernels.sorted_arrays import among, distinct, search_sorted
from skyband.windows.schedule import Moments, Schedule


class GroupColumns(NamedTuple):
    """The groups: key uint64[g], ascending, time of the last row int64[g], number of entries int64[g]."""

    key: UInt64
    last: Int64
    size: Int64


class Sessions(NamedTuple):
    """Sessions by group and time, one entry per session in every column."""

    key: UInt64
    """The group of each."""
    final: Array
    """bool: whether it is the last session of its group."""
    first: Int64
    size: Int64
    """The entries held at its beginning: first..first + size of all."""
    start: Int64
    stop: Int64
    """Its rows."""
    last: Int64
    """The time of its last row."""
    begin: Int64
    end: Int64
    """Its moments are later than `begin` and at most `end`."""
    ended: Array
    """bool: whether nothing depends on it after these are answered."""

    def spans(self, moments: Moments) -> tuple[Int64, Int64]:
        """The first moment of each session, and the first after it."""
        begins, ends = (np.searchsorted(moments.at, time, side="right") for time in (self.begin, self.end))
        return begins, np.maximum(begins, ends)


def sessions_of(
    schedule: Schedule, stored: GroupColumns, reached: int, until: int, keys: UInt64, times: Int64
) -> Sessions:
    """The sessions of the groups held, answered up to `reached`, and of rows (by group and time), up to `until`."""
    # All groups, those held and those with rows, with the rows of each and its last time before them.
    fresh = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    starts = np.flatnonzero(fresh)
    stops = np.append(starts[1:], len(keys))[: len(starts)]
    keys_of_rows = keys[starts]
    is_stored = among(keys_of_rows, stored.key)
    all_keys = stored.key if is_stored.all() else distinct(stored.key, keys_of_rows)
    stored_places, row_places = search_sorted(all_keys, stored.key), search_sorted(all_keys, keys_of_rows)
    last = np.zeros(len(all_keys), np.int64)
    start, stop = last.copy(), last.copy()
    last[row_places] = times[starts]
    last[stored_places] = stored.last
    start[row_places], stop[row_places] = starts, stops
    # A row begins a session if nothing depends on the row before it any more.
    previous = np.append(0, times[:-1])[: len(times)]
    previous[starts] = last[row_places]
    begins = schedule.has_ended(previous, times)
    begins[starts[~is_stored]] = True
    others = np.flatnonzero(begins)
    if not len(others):  # all rows continue sessions that are held
        group, begin = np.arange(len(all_keys)), np.full(len(all_keys), reached)
        first, size = np.cumsum(stored.size) - stored.size, stored.size
    else:
        # A group's sessions are consecutive: first the one that is held, then one from each row that begins one. Only
        # the first has entries at its beginning, and each has the rows up to the next one's.
        group = np.concatenate([stored_places, search_sorted(all_keys, keys[others])])
        order = np.argsort(group, kind="stable")
        group = group[order]
        nothing = np.zeros(len(others), np.int64)
        first = np.concatenate([np.cumsum(stored.size) - stored.size, nothing])[order]
        size = np.concatenate([stored.size, nothing])[order]
        begin = np.concatenate([np.full(len(stored_places), reached), times[others]])[order]
        start = np.concatenate([start[stored_places], others])[order]
        goes_on = np.append(group[1:] == group[:-1], False)[: len(group)]
        stop = np.where(goes_on, np.append(start[1:], 0)[: len(start)], stop[group])
    with_rows = stop > start
    last = last[group]
    last[with_rows] = times[stop[with_rows] - 1]
    final = np.append(group[1:] != group[:-1], True)[: len(group)]
    # No moment after `reach` has a row of the session in any window.
    end, ended = np.minimum(until, schedule.reach(last)), schedule.has_ended(last, until)
    return Sessions(all_keys[group], final, first, size, start, stop, last, begin, end, ended)
