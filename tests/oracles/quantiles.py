"""Quantiles and shares above a limit: core/docs/reference/queries/quantiles.md."""

import math
from collections.abc import Iterator
from fractions import Fraction

import pyarrow as pa
from skyband import states

from .streams import AtMoments, Row, plain


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
        self.asked = [random.randint(1, self.longest) for _ in range(2)] if random.random() < 0.2 else []
        if self.asked:
            self.backends, query["emit"] = {"quantile-sketch": "k-skb"}, "state"
        else:
            self.change_log()

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
            if not values:
                continue
            for q in self.at:
                value = values[max(1, math.ceil(Fraction(str(q)) * rows)) - 1]
                yield self.row(length, q, None, value, rows)
            for limit in self.above:
                yield self.row(length, None, limit, sum(value > limit for value in values) / rows, rows)

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
