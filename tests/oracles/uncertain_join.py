"""Which tuples that may not exist are near each other: core/docs/reference/queries/uncertain-join.md."""

import math
from collections.abc import Iterator

import pyarrow as pa

from .streams import EachRow, Row
from .worlds import exists, fewer, near, samples, start_by_distance, start_of


class UncertainJoin(EachRow):
    kind = "uncertain-join"

    def add_keys(self) -> None:
        random, query = self.random, self.query
        self.axes = ("x", "y", "z")[: random.choice((1, 1, 2, 3))]
        self.types |= {name: pa.list_(pa.float64()) for name in (*self.axes, "p")}
        self.types |= {"id": pa.int64(), "side": pa.string()}
        self.epsilon, self.beta = random.choice((0.0, 0.5, 1.0, 2.0)), random.choice((0, 0.1, 0.25, 0.375, 0.5))
        query |= {"id": "id", "values": list(self.axes), "probabilities": "p"}
        query |= {"epsilon": self.epsilon, "beta": self.beta}
        self.largest = len(self.axes) > 1 and random.random() < 0.4
        if self.largest:
            query["distance"] = "maximum"
        self.sides = random.random() < 0.5
        if self.sides:
            query["side"] = "side"
        self.delta: float | None = None
        self.size, self.alpha, self.window = 0, random.choice((0.3, 0.7, 0.95, 1.0)), random.choice((1, 3, 10))
        self.backends = {"matcher": random.choice(("nested-loop", "index-match", "sort-match", "block"))}
        if random.random() < 0.6:
            self.size = random.randint(1, 4)
            query |= {"size": self.size, "alpha": self.alpha}
            self.backends["window"] = random.choice(("exact", "rf1"))
        elif random.random() < 0.5:
            query["window"] = f"{self.window} seconds"
        else:
            self.window, self.delta, self.alpha = math.inf, random.choice((0.0, 1.0, 2.0)), random.choice((0.3, 0.7))
            query |= {"delta": self.delta, "alpha": self.alpha}

    def columns(self, number: int) -> Row:
        random, drawn = self.random, samples(self.random, len(self.axes))
        row: Row = {name: [point[axis] for point, _ in drawn] for axis, name in enumerate(self.axes)}
        row |= {"p": [chance for _, chance in drawn], "id": random.choice((number, -number))}
        if random.random() < 0.05:
            row["p"] = None
        return {**row, "side": random.choice(("left", "right", "left", "right", None))}

    def keeps(self, row: Row) -> bool:
        return row["p"] is not None and not (self.sides and row["side"] is None)

    def rank(self, row: Row) -> tuple[object, ...]:
        return row["side"] if self.sides else "", row["id"]

    def tuple_of(self, row: Row) -> list[tuple[tuple[float, ...], float]]:
        return list(zip(zip(*(row[name] for name in self.axes), strict=True), row["p"], strict=True))

    def answer(self, rows: list[Row], place: int) -> Iterator[Row]:
        row = rows[place]
        others = [each for each in rows[:place] if not self.sides or each["side"] != row["side"]]
        drawn, probe = [self.tuple_of(each) for each in others], self.tuple_of(row)
        chances = [exists(each) for each in drawn]
        start = start_of(chances, self.size, self.alpha) if self.size else 0
        if self.delta is not None:
            start = start_by_distance(drawn, self.delta, self.alpha, self.largest)
        for n in range(start, len(others)):
            if not self.size and others[n]["ts"] <= row["ts"] - self.window:
                continue
            presence = fewer(chances[n + 1 :], self.size) if self.size else 1.0
            probability = near(probe, drawn[n], self.epsilon, self.largest) * presence
            if probability >= self.beta and probability > 0:
                left, right = others[n]["id"], row["id"]
                if self.sides and row["side"] == "left":
                    left, right = right, left
                yield {"time": row["ts"], "left": left, "right": right, "probability": probability}
