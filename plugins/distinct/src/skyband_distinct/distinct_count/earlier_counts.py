"""What windows held that ended before, from the keys of a group and their times."""

import numpy as np
from skyband.arrays import TIME_MAX, Int64, UInt64
from skyband.windows.schedule import Schedule


def earlier_counts(schedule: Schedule, last: int, times: Int64, keys: UInt64) -> list[tuple[Int64, Int64]]:
    """Of each window the moments up to `last` at which one ends that is compared later, and its count, none of them 0.

    times, keys: int64[n], uint64[n] of all rows that these windows hold, or of a key's last of each pane.
    """
    order = np.lexsort((times, keys))
    times, keys = times[order], keys[order]
    later = np.append(np.where(keys[1:] == keys[:-1], times[1:], TIME_MAX), TIME_MAX)
    counts = []
    for place, begin in enumerate(schedule.starts(schedule.after(last))[::2]):
        at = schedule.between(begin - 1, last)
        starts = schedule.starts_at(at)[:, 2 * place] if len(at) else at
        # A key is in the windows that end after an entry and no later than its next one, if they begin before it.
        first = np.searchsorted(at, times, side="right")
        stop = np.minimum(np.searchsorted(at, later, side="right"), np.searchsorted(starts, times, side="right"))
        some = stop > first
        changes = np.zeros(len(at) + 1, np.int64)
        np.add.at(changes, first[some], 1)
        np.add.at(changes, stop[some], -1)
        number = np.cumsum(changes[:-1])
        counts.append((at[number > 0], number[number > 0]))
    return counts
