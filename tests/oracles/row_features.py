"""Counts and sums over the rows just before each row: core/docs/reference/queries/row-features.md."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

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
        self.features = [self.feature(number) for number in range(random.randint(0, 3))]
        query |= {"sums": self.sums, "distinct": self.distinct, "carry": ["id"], "features": self.features}

    def feature(self, number: int) -> Row:
        """A random aggregate, half of the time of the rows that meet a condition."""
        random = self.random
        of = random.choice(("max", "min", "last", "first", "mean", "std", "quantile", "count", "since-last", "share"))
        feature: Row = {"of": of, "name": f"f{number}"}
        if of not in ("count", "since-last", "share"):
            feature["column"] = random.choice(("v", "w") if of in ("mean", "std") else ("w", "id"))
        feature |= {"q": 0.25} if of == "quantile" else {}
        feature |= {"windows": ["4 seconds"]} if random.random() < 0.3 else {}
        return feature | ({"where": "name = 'x'"} if of == "share" or random.random() < 0.5 else {})

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
        for feature in self.features:
            for span in feature.get("windows", query_windows(self.windows)):
                length = int(span.split()[0])
                low, high = row["ts"] - length, row["ts"]
                window = [
                    each for each in rows if (low <= each["ts"] < high if self.before else low < each["ts"] <= high)
                ]
                answer[f"{feature['name']}_{span.replace(' ', '_')}"] = self.value_of(feature, window, row["ts"])
        yield answer

    def value_of(self, feature: Row, window: list[Row], now: float) -> object:
        """A feature of the rows of a window."""
        of, name = feature["of"], feature.get("column")
        meets = [each for each in window if "where" not in feature or each["name"] == "x"]
        if of == "share":
            return len(meets) / len(window) if window else None
        if of == "since-last":
            earlier = [each["ts"] for each in meets if each["ts"] < now]
            return float(now - max(earlier)) if earlier else None
        if of == "count":
            return len(meets)
        rows = [each for each in meets if each[name] is not None]
        values = [each[name] for each in rows]
        if of in ("mean", "std"):
            return self.number_of(of, values)
        if not values:
            return None
        if of in ("last", "first"):
            order = sorted((each["ts"], each[name]) for each in rows)
            return order[-1 if of == "last" else 0][1]
        ranks = {"min": 0, "max": len(values) - 1, "quantile": max(1, math.ceil(len(values) / 4)) - 1}
        return sorted(values)[ranks[of]]

    def number_of(self, of: str, values: list[float]) -> float | None:
        """A mean or a deviation, whose sums are exact here: of few multiples of a quarter."""
        if not all(self.adds(value) if self.sums else self.is_number(value) for value in values):
            return None
        count = len(values)
        if of == "mean":
            return math.fsum(values) / count if count else None
        if count < 2:
            return None
        exact = [Fraction(value) for value in values]
        return math.sqrt(float(count * sum(value**2 for value in exact) - sum(exact) ** 2) / (count * (count - 1)))

    def is_number(self, value: float) -> bool:
        """Whether a value can be added without a unit."""
        return math.isfinite(value) and (isinstance(value, float) or abs(value) <= 2**53)

    def adds(self, value: float) -> bool:
        """Whether a value can be in a sum."""
        return math.isfinite(value) and abs(value) <= 2**53 * self.unit and not value % self.unit


def query_windows(windows: Sequence[int]) -> list[str]:
    """Lengths as a query has them."""
    return [f"{each} seconds" for each in windows]
