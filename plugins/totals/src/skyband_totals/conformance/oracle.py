"""What a total-ranker answers, by definition: all rows of a window, added up anew for each answer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from attrs import field, frozen

Row = tuple[int, int, int]
"""(time, object, amount): units of weight, or a value where those are counted; 1 by rows."""


@frozen
class Answer:
    """One answer, exact."""

    objects: list[int]
    totals: list[float]
    grand: float
    rest: float


@frozen
class TotalOracle:
    """The definition, for one set of a ranker's parameters. `rows` are all rows so far."""

    parameters: Mapping[str, Any]
    rows: list[Row] = field(factory=list)

    @property
    def total(self) -> str:
        """What is counted: rows, sum or distinct."""
        return str(self.parameters.get("total", "rows"))

    def worth(self, units: int) -> float:
        """What a total in units is worth: as often the decimal that the unit is written as, then rounded once."""
        if self.total != "sum":
            return float(units)
        top, bottom = _written(float(self.parameters.get("unit", 1.0))).as_integer_ratio()
        return units * top / bottom  # whole numbers, so that Python rounds once

    @property
    def limit(self) -> int:
        """Objects in an answer, at most."""
        k, share = self.parameters.get("k"), self.parameters.get("share")
        return min([*([k] if k is not None else []), *([int(1 / _written(share))] if share is not None else [])])

    def totals(self, start: int, end: int) -> Counter[int]:
        """Each object's total over rows with start <= time < end, in units; those of 0 left out."""
        inside = [(key, amount) for time, key, amount in self.rows if start <= time < end]
        if self.total == "distinct":
            return Counter(key for key, _ in set(inside))
        found: Counter[int] = Counter()
        for key, amount in inside:
            found[key] += amount
        return +found

    def answer(self, start: int, end: int) -> Answer:
        """The answer over rows with start <= time < end."""
        totals = self.totals(start, end)
        grand, limit, share = sum(totals.values()), self.limit, self.parameters.get("share")
        ranked = sorted(totals.items(), key=lambda entry: (-entry[1], entry[0]))
        best = ranked[:limit]
        if share is not None:
            least = _written(share) * grand
            best = [entry for entry in best if entry[1] >= least]
        return Answer(
            [key for key, _ in best],
            [self.worth(total) for _, total in best],
            self.worth(grand),
            self.worth(_rest(ranked, len(best), limit)),
        )


@cache
def _written(number: float) -> Fraction:
    """The decimal that a number is written as."""
    return Fraction(repr(number))


def _rest(ranked: Sequence[tuple[int, int]], answered: int, limit: int) -> int:
    """The largest total that is in no answer as far as the best `limit` tell: the last of them, where all are."""
    if answered < min(limit, len(ranked)):
        return ranked[answered][1]
    return ranked[answered - 1][1] if answered == limit else 0
