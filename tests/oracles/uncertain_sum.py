"""Sums of tuples that may not exist: core/docs/reference/queries/uncertain-sum.md."""

from collections.abc import Iterator

import pyarrow as pa

from .streams import EachRow, Row
from .worlds import exists, fewer, samples, start_by_distance, start_of


class UncertainSum(EachRow):
    kind = "uncertain-sum"

    def add_keys(self) -> None:
        random, query = self.random, self.query
        self.unique_times = True  # ties are ordered by a hash of the samples
        self.types |= {"v": pa.list_(pa.float64()), "p": pa.list_(pa.float64()), "id": pa.int64()}
        query |= {"values": "v", "probabilities": "p", "statistics": ["count", "average"], "carry": ["id"]}
        self.size, self.window, self.delta, self.alpha = 0, 0, None, random.choice((0.3, 0.7, 0.95, 1.0))
        if random.random() < 0.6:
            self.size = query["size"] = random.randint(1, 4)
            query["alpha"] = self.alpha
            self.backends = {"window": random.choice(("exact", "rf1"))}
        elif random.random() < 0.5:
            self.window = random.choice((1, 3, 10))
            query["window"] = f"{self.window} seconds"
        else:
            self.delta, self.alpha = random.choice((0.0, 1.0, 2.0)), random.choice((0.3, 0.7))
            query |= {"delta": self.delta, "alpha": self.alpha}

    def columns(self, number: int) -> Row:
        drawn = samples(self.random, 1)
        values, chances = [point[0] for point, _ in drawn], [chance for _, chance in drawn]
        if self.random.random() < 0.05:
            return {"v": None, "p": chances, "id": number}
        return {"v": values, "p": chances, "id": number}

    def keeps(self, row: Row) -> bool:
        return row["v"] is not None

    def answer(self, rows: list[Row], place: int) -> Iterator[Row]:
        drawn = [[((v,), p) for v, p in zip(row["v"], row["p"], strict=True)] for row in rows[: place + 1]]
        chances = [exists(each) for each in drawn]
        if self.size:
            start = start_of(chances, self.size, self.alpha)
        elif self.window:
            start = min(n for n in range(place + 1) if rows[n]["ts"] > rows[place]["ts"] - self.window)
        else:
            start = start_by_distance(drawn, self.delta, self.alpha)
        expected = count = total = 0.0
        for n in range(0 if self.size else start, place + 1):
            presence = fewer(chances[n + 1 :], self.size) if self.size else 1.0
            weighted = sum(v * p for (v,), p in drawn[n])
            expected, count = expected + presence * weighted, count + presence * chances[n]
            total += weighted / chances[n] if n >= start and chances[n] else 0
        answer = {"time": rows[place]["ts"], "sum": total, "expected": expected, "kept": place + 1 - start}
        yield answer | {"count": count, "average": expected / count if count else None, "id": rows[place]["id"]}
