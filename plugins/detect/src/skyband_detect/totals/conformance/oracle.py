"""The answers of a key-total by definition: every row is kept, and added up again for each answer."""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import Any

from skyband_detect.total_role import BILLION, MEAN, SUM

Row = tuple[int, int, Any]
"""Time, key and value."""
Ask = tuple[int, int, int, int, bool]
"""Window, at_least, billionths, least, each."""
Answer = tuple[int, int, int, Any]
"""Row, place of the ask, number of values, and sum or quantile."""


class KeyTotalOracle:
    """All rows so far."""

    def __init__(self, measure: str, limit: float) -> None:
        self.measure, self.limit = measure, limit
        self.rows: list[Row] = []

    def update(self, rows: Sequence[Row], asks: Sequence[Ask]) -> list[Answer]:
        """Add rows and return the times at which a bound is reached."""
        before: dict[int, list[Row]] = {}
        for row in self.rows:
            before.setdefault(row[1], []).append(row)
        at_time: dict[tuple[int, int], list[tuple[int, Row]]] = {}
        for number, row in enumerate(rows):
            at_time.setdefault(row[:2], []).append((number, row))
        self.rows += rows
        answers: list[Answer] = []
        for (time, key), new in at_time.items():
            own = before.setdefault(key, [])
            for place, ask in enumerate(asks):
                earlier = [value for at, _, value in own if self.inside(at, time, ask[0])]
                all_values = earlier + [value for _, (_, _, value) in new]
                if self.reaches(all_values, ask) and (ask[4] or not self.reaches(earlier, ask)):
                    value = self.value(all_values, ask)
                    answers.append((self.stands(new), place, len(all_values), value))
            own += [row for _, row in new]
        return sorted(answers)

    def inside(self, at: int, time: int, window: int) -> bool:
        """Whether a row at a time is in the window that ends at another."""
        return time - window < at <= time

    def stands(self, new: Sequence[tuple[int, Row]]) -> int:
        """The row that stands for a time, of those of a key at it."""
        return new[-1][0]

    def reaches(self, values: list[Any], ask: Ask) -> bool:
        """Whether values reach a bound."""
        _, at_least, billionths, least, _ = ask
        if self.measure == SUM:
            return sum(values) >= at_least
        if len(values) < max(least, 1):
            return False
        if self.measure == MEAN:
            return Fraction(sum(values), len(values)) >= at_least + Fraction(billionths, BILLION)
        return bool(self.value(values, ask) >= self.limit)

    def value(self, values: list[Any], ask: Ask) -> Any:
        """Their sum, or a quantile of them."""
        if self.measure in (SUM, MEAN):
            return sum(values)
        return sorted(values)[max(1, ceil(Fraction(ask[2], BILLION) * len(values))) - 1]
