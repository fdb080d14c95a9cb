"""Quantiles and shares above a limit: core/docs/reference/queries/quantiles.md."""

import math
from bisect import bisect_right
from collections.abc import Iterator
from fractions import Fraction

import pyarrow as pa
from skyband import states

from .streams import AtMoments, Row, plain

_RISE = ("previous", "difference", "difference_low", "difference_high")


class Quantiles(AtMoments):
    kind = "quantiles"
    key = ("quantile", "above")
    answer_of = ("window",)

    def add_keys(self) -> None:
        random, query = self.random, self.query
        self.draw_windows(3)
        self.types["v"] = random.choice((pa.float64(), pa.int32(), pa.float32()))
        self.at = sorted(random.sample((0, 0.05, 0.07, 0.1, 0.25, 0.5, 0.6, 0.95, 1), random.randint(0, 3)))
        self.above = sorted(random.sample((-2, 0, 1.5, 3, 100), random.randint(0 if self.at else 1, 2)))
        query |= {"value": "v", "windows": [self.length(each) for each in self.windows]}
        query |= {"at": self.at} if self.at else {}
        query |= {"above": self.above} if self.above else {}
        self.key = (*(["quantile"] if self.at else []), *(["above"] if self.above else []))
        self.backends = {"quantile-sketch": random.choice(("exact", "k-skb"))}
        self.lag: str | int | None = None
        self.asked = [random.randint(1, self.longest) for _ in range(2)] if random.random() < 0.2 else []
        if self.asked:
            self.backends, query["emit"] = {"quantile-sketch": "k-skb"}, "state"
            return
        self.lag = random.choice((None, None, "previous", "length"))
        if self.lag is not None:
            self.compare(random.choice((["ks"], [])) if self.at or self.above else ["ks"])
        self.change_log()

    def compare(self, distances: list[str]) -> None:
        """Ask for the windows of some time before, too."""
        random, query = self.random, self.query
        if self.lag == "previous":
            self.windows = sorted({self.every * random.randint(1, 3) for _ in self.windows})
            query["windows"], query["against"] = [self.length(each) for each in self.windows], "previous"
            self.longest = 2 * max(self.windows)
        else:
            self.lag = random.randrange(-(-max(self.windows) // self.every) * self.every, 40, self.every)
            query["against"], self.longest = self.length(self.lag), self.lag + max(self.windows)
        if distances:
            query["distance"] = distances
            self.key = (*self.key, "distance")
            self.backends = {"quantile-sketch": random.choice(("exact", "buckets"))}

    def columns(self, number: int) -> Row:
        values = (-2, 0, 1, 1, 2, 3, 7, None) if pa.types.is_integer(self.types["v"]) else (
            -math.inf, -2.5, -0.0, 0.0, 1.5, 1.5, 3.0, math.inf, math.nan, None
        )  # fmt: skip
        return {"v": self.random.choice(values)}

    def keeps(self, row: Row) -> bool:
        return row["v"] is not None and not math.isnan(row["v"])

    def answer(self, group: list[Row], at: int) -> Iterator[Row]:
        for length in self.asked or self.windows:
            values = sorted(row["v"] + 0.0 for row in self.inside(group, at, length))
            rows = len(values)
            if self.lag is not None:
                yield from self.compared(group, at, length, values)
                continue
            if not values:
                continue
            for q in self.at:
                yield self.row(length, q, None, told(values, q, None), rows)
            for limit in self.above:
                yield self.row(length, None, limit, told(values, None, limit), rows)

    def compared(self, group: list[Row], at: int, length: int, values: list[float]) -> Iterator[Row]:
        """The answers of a window beside an earlier one, if either has rows."""
        if not values and not self.inside(group, self.earlier_end(at, length), length):
            return
        end = self.earlier_end(at, length)
        earlier = sorted(row["v"] + 0.0 for row in self.inside(group, end, length))
        for q, limit in [*((q, None) for q in self.at), *((None, limit) for limit in self.above)]:
            value, previous = (told(of, q, limit) for of in (values, earlier))
            rise = None if value is None or previous is None else value - previous
            rise = None if rise is None or math.isnan(rise) else rise
            row = self.row(length, q, limit, value, len(values))
            row |= {"previous": previous, "difference": rise, "difference_low": rise, "difference_high": rise}
            yield self.both(row, None, earlier)
        for name in self.query.get("distance", ()):
            apart = None
            if values and earlier:
                shares = [
                    [Fraction(bisect_right(of, x), len(of)) for x in values + earlier] for of in (values, earlier)
                ]
                apart = float(max(abs(ours - theirs) for ours, theirs in zip(*shares, strict=True)))
            row = self.row(length, None, None, apart, len(values))
            yield self.both(row | dict.fromkeys(_RISE if self.at or self.above else ()), name, earlier)

    def earlier_end(self, at: int, length: int) -> int:
        return at - (length if self.lag == "previous" else self.lag)

    def both(self, row: Row, name: str | None, earlier: list[float]) -> Row:
        """A row with the columns of a comparison."""
        return row | ({"distance": name} if "distance" in self.query else {}) | {"against_rows": len(earlier)}

    def row(self, length: int, q: float | None, limit: float | None, value: float, rows: int) -> Row:
        """A row of an answer, with the columns that were asked for."""
        row = {"window": self.length(length), "value": value, "low": value, "high": value, "rows": rows}
        return row | ({"quantile": q} if self.at else {}) | ({"above": limit} if self.above else {})

    def read(self, answers: pa.RecordBatch) -> list[Row]:
        if not self.asked:
            return plain(answers)
        rows = []
        for row in plain(answers):
            state = row.pop("state")
            for length in self.asked:
                found = states.quantiles(state, last=f"{length} seconds", q=self.at, above=self.above)
                rows += [{**row, "window": f"{length} seconds", **each} for each in found.to_pylist()]
        return rows


def told(values: list[float], q: float | None, limit: float | None) -> float | None:
    """The quantile of values in order, or their share above a limit; None if there are none."""
    if not values:
        return None
    if q is None:
        return sum(value > limit for value in values) / len(values)
    return values[max(1, math.ceil(Fraction(str(q)) * len(values))) - 1]
