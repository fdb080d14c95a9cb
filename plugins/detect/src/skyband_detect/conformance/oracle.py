"""The crossings of a key-counter by definition: every row is kept, and counted again for each answer."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from skyband_detect.role import DISTINCT, NO_LIMIT, UNSEEN

Crossing = tuple[int, int, int, int, int]
"""Row, place of the bound, value, low and high."""
Row = tuple[int, int, int]
"""Time, key and value."""


class KeyCounterOracle:
    """All rows so far."""

    def __init__(self, measure: str) -> None:
        self.measure = measure
        self.rows: list[Row] = []

    def update(self, rows: Sequence[Row], asks: Sequence[tuple[int, int, bool]]) -> list[Crossing]:
        """Add rows and return those that cross a bound; asks: (window, at_least, each)."""
        before: dict[int, list[Row]] = {}
        for row in self.rows:
            before.setdefault(row[1], []).append(row)
        at_time: dict[tuple[int, int], list[tuple[int, Row]]] = {}
        for number, row in enumerate(rows):
            at_time.setdefault(row[:2], []).append((number, row))
        self.rows += rows
        crossings = []
        for (_, key), new in at_time.items():
            own = before.setdefault(key, [])
            for ask, bounds in enumerate(asks):
                crossing = self.crossing(own, new, *bounds)
                if crossing is not None:
                    place, value, high = crossing
                    crossings.append((place, ask, value, value, high))
            own += [row for _, row in new]
        return sorted(crossings)

    def crossing(
        self, own: Sequence[Row], new: Sequence[tuple[int, Row]], window: int, bound: int, each: bool
    ) -> tuple[int, int, int] | None:
        """Row, value and high of the answer for the rows of one key and time, numbered, after earlier rows of it."""
        first, (time, *_) = new[0]
        if self.measure == UNSEEN:
            return None if any(time - window <= row[0] < time for row in own) else (first, 0, 0)
        inside = [row for row in own if time - window < row[0] < time]
        after = self._measure([*inside, *(row for _, row in new)])
        if self._measure(inside) >= bound:
            least = bound + (0 if self.measure == DISTINCT else len(new))
            return (first, least, NO_LIMIT) if each else None
        if after < bound:
            return None
        count = next(
            n for n in range(1, len(new) + 1) if self._measure([*inside, *(row for _, row in new[:n])]) >= bound
        )
        return new[count - 1][0], after, after

    def _measure(self, rows: Sequence[Row]) -> int:
        return len({value for _, _, value in rows}) if self.measure == DISTINCT else len(rows)


Fall = tuple[int, int, int, int]
"""Moment, place of the bound, key, and the rows that remain."""


def falls_by_definition(
    rows: Sequence[Row], asks: Sequence[tuple[int, int]], after: int | None, until: int | None
) -> list[Fall]:
    """The keys that fall below a bound at moments after `after` and up to `until`; asks: (window, below)."""
    times: dict[int, list[int]] = {}
    for time, key, _ in rows:
        times.setdefault(key, []).append(time)
    falls = []
    for key, own in times.items():
        for ask, (window, bound) in enumerate(asks):
            for moment in {time + window for time in own}:
                if until is None or moment > until or (after is not None and moment <= after):
                    continue
                before = bisect_left(own, moment) - bisect_left(own, moment - window)
                remaining = bisect_right(own, moment) - bisect_right(own, moment - window)
                if before >= bound > remaining:
                    falls.append((moment, ask, key, remaining))
    return sorted(falls)
