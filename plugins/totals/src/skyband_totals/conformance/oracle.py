"""The answers of a total-ranker by definition: all rows of a window are added up again for each answer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from attrs import field, frozen

Row = tuple[int, int, int]
"""(time, object, amount): units of weight, or a value if values are counted; 1 for rows."""


@frozen
class Answer:
    """An exact answer."""

    objects: list[int]
    totals: list[float]
    grand: float
    rest: float
    objects_in_all: int


@frozen
class TotalOracle:
    """The definition for a set of parameters. `rows` are all rows so far."""

    parameters: Mapping[str, Any]
    rows: list[Row] = field(factory=list)

    @property
    def total(self) -> str:
        """The kind of total: rows, sum or distinct."""
        return str(self.parameters.get("total", "rows"))

    def worth(self, units: int) -> float:
        """The worth of a total in units: that many times the unit as a decimal, rounded once."""
        if self.total != "sum":
            return float(units)
        top, bottom = _written(float(self.parameters.get("unit", 1.0))).as_integer_ratio()
        return units * top / bottom  # whole numbers, so that Python rounds once

    @property
    def limit(self) -> int:
        """The most objects in an answer."""
        k, share = self.parameters.get("k"), self.parameters.get("share")
        bounds = [*([k] if k is not None else []), *([int(1 / _written(share))] if share is not None else [])]
        return min(bounds, default=2**62)

    def is_large(self, units: int) -> bool:
        """Whether a total of `units` reaches `at_least`."""
        at_least = self.parameters.get("at_least")
        unit = float(self.parameters.get("unit", 1.0)) if self.total == "sum" else 1.0
        return at_least is None or units * _written(unit) >= _written(float(at_least))

    def totals(self, start: int, end: int) -> Counter[int]:
        """Each object's total over rows with start <= time < end, in units, without those of 0."""
        inside = [(key, amount) for time, key, amount in self.rows if start <= time < end]
        if self.total == "distinct":
            return Counter(key for key, _ in set(inside))
        totals: Counter[int] = Counter()
        for key, amount in inside:
            totals[key] += amount
        return +totals

    def answer(self, start: int, end: int) -> Answer:
        """The answer over rows with start <= time < end."""
        totals = self.totals(start, end)
        grand, limit, share = sum(totals.values()), self.limit, self.parameters.get("share")
        large = {key: total for key, total in totals.items() if self.is_large(total)}
        ranked = sorted(large.items(), key=lambda entry: (-entry[1], entry[0]))
        best = ranked[:limit]
        if share is not None:
            least = _written(share) * grand
            best = [entry for entry in best if entry[1] >= least]
        return Answer(
            [key for key, _ in best],
            [self.worth(total) for _, total in best],
            self.worth(grand),
            self.worth(_rest(ranked, len(best), limit, self._small(grand))),
            len(totals),
        )

    def _small(self, grand: int) -> int:
        """The most units below `at_least`, and at most those of all objects."""
        low, high = 0, grand  # bisection for the last that is not large
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (low, middle - 1) if self.is_large(middle) else (middle, high)
        return low if self.parameters.get("at_least") is not None else 0


@cache
def _written(number: float) -> Fraction:
    """A number as its shortest decimal."""
    return Fraction(repr(number))


def _rest(ranked: Sequence[tuple[int, int]], answered: int, limit: int, small: int) -> int:
    """The bound of totals outside of the answer: the next one, or the last of `limit`, or the largest too small."""
    if answered < min(limit, len(ranked)):
        return ranked[answered][1]
    return ranked[answered - 1][1] if answered == limit else small
