"""Counts and sums over the rows just before each row: core/docs/reference/queries/row-features.md."""

import math
from collections.abc import Iterator

import pyarrow as pa

from .streams import EachRow, Row


class RowFeatures(EachRow):
    kind = "row-features"
    reports_answered_rows = True

    def add_keys(self) -> None:
        random, query = self.random, self.query
        self.windows = random.sample((2, 3, 7, 20), random.randint(1, 2))
        self.before = random.random() < 0.4
        self.unit = random.choice((1.0, 0.25))
        self.sums = random.sample(("v", "w"), random.randint(0, 2))
        self.distinct = random.sample(("v", "name"), random.randint(0, 2))
        self.types |= {"v": pa.float64(), "w": pa.int64(), "name": pa.string(), "id": pa.int64()}
        query |= {"windows": [f"{each} seconds" for each in self.windows], "before": self.before}
        query |= {"unit": self.unit} if self.sums else {}
        query |= {"sums": self.sums, "distinct": self.distinct, "carry": ["id"]}

    def columns(self, number: int) -> Row:
        random = self.random
        value = random.choice((0.0, -0.0, 1.25, -3.0, 2.0, None, 0.3, math.nan, math.inf, 1e17))
        weight, name = random.choice((-2, 0, 5, None, 2**60)), random.choice(("x", "y", "", None))
        return {"v": value, "w": weight, "name": name, "id": number}

    def answer(self, rows: list[Row], place: int) -> Iterator[Row]:
        row = rows[place]
        answer = {"time": row["ts"], "id": row["id"]}
        for length in self.windows:
            span = f"{length}_seconds"
            low, high = row["ts"] - length, row["ts"]
            window = [each for each in rows if (low <= each["ts"] < high if self.before else low < each["ts"] <= high)]
            answer[f"count_{span}"] = len(window)
            for name in self.sums:
                values = [each[name] for each in window if each[name] is not None]
                answer[f"{name}_sum_{span}"] = sum(values) if all(map(self.adds, values)) else None
            for name in self.distinct:
                values = [each[name] for each in window if each[name] is not None]
                answer[f"{name}_distinct_{span}"] = len({"NaN" if value != value else value for value in values})
        yield answer

    def adds(self, value: float) -> bool:
        """Whether a value can be in a sum."""
        return math.isfinite(value) and abs(value) <= 2**53 * self.unit and not value % self.unit
