"""The position of a group in a state: exactly those are accepted at which some stream leaves a group."""

from itertools import combinations

import numpy as np
import pytest
from skyband.arrays import TIME_MAX
from skyband.columns.rows import Rows
from skyband.errors import SnapshotError
from skyband.groups.windowed_processor import RegularProcessor

LAST = 9


class Nothing(RegularProcessor):
    """Holds nothing but its position."""

    def __init__(self, every, horizon, rows=False):
        super().__init__(every, horizon, rows)

    def take(self, times, rows, until):
        self.due(times, until) if len(times) or self._last is not None else None

    def collect(self):
        return None

    def clear(self):
        """There is nothing."""

    retained = nbytes = 0

    def dump_state(self):
        return {"clock": self.clock()}, {}

    def load_state(self, header, arrays):
        self.set_clock(header["clock"])


def rows_at(times):
    return Rows(np.array(times, np.int64), {})


@pytest.mark.parametrize(("every", "horizon"), [(1, 1), (1, 4), (3, 3), (4, 2), (4, 9), (5, 7)])
def test_the_positions_of_groups_with_windows_in_time_are_those_of_streams(every, horizon):
    far = LAST + horizon + 2 * every + 1
    reached = {(TIME_MAX, None)}
    for count in (1, 2, 3):
        for times in combinations(range(LAST + 1), count):
            for cut in range(count):
                for until in range(times[-1], far):
                    group = Nothing(every, horizon)
                    group.advance(rows_at(times[:cut]), times[cut])
                    group.advance(rows_at(times[cut:]), until)
                    clock = group.clock()
                    reached.add((clock["next"], clock["last"]))
    for following in [*range(-1, far), TIME_MAX]:
        for last in range(LAST + 1):
            assert accepted(every, horizon, following, last, 0) == (
                (following, last) in reached or following == TIME_MAX
            ), (following, last)
        assert accepted(every, horizon, following, None, 0) == (following == TIME_MAX)


@pytest.mark.parametrize("every", [1, 3, 5])
def test_the_positions_of_groups_with_windows_in_rows_follow_from_the_number_of_rows(every):
    for count in range(12):
        group = Nothing(every, 7, rows=True)
        group.advance(rows_at(range(count)), 0)
        clock = group.clock()
        for following in range(20):
            for last in (None, *range(12)):
                is_there = (following, last) == (clock["next"], clock["last"])
                assert accepted(every, 7, following, last, count, rows=True) == is_there


def accepted(every, horizon, following, last, count, rows=False):
    group = Nothing(every, horizon, rows)
    try:
        group.load_state({"clock": {"next": following, "last": last, "count": count}}, {})
    except SnapshotError:
        return False
    return True
