"""Earlier vectors near a row's: core/docs/reference/queries/near-vectors.md."""

import math
from collections.abc import Iterator

import pyarrow as pa

from .streams import EachRow, Row

_THRESHOLDS = {"cosine": (-0.5, 0.5, 0.8, 1.0), "dot": (-1, 0, 2), "euclidean": (-2, -1, 0)}
_TYPES = pa.list_(pa.float32()), pa.list_(pa.float64()), pa.large_list(pa.int8())


class NearVectors(EachRow):
    kind = "near-vectors"

    def add_keys(self) -> None:
        random, query = self.random, self.query
        self.similarity = random.choice(tuple(_THRESHOLDS))
        self.dimensions = random.choice((1, 2, 9))
        self.rows = random.random() < 0.3
        self.window, self.matches = random.choice((1, 2, 4, 10, 30)), random.choice(("all", 1, 2))
        self.first, self.output = random.random() < 0.3, random.choice(("pairs", "rows", "kept"))
        near = random.random() < 0.2 and self.matches != "all" and not self.first and self.output != "kept"
        self.threshold = None if near else random.choice(_THRESHOLDS[self.similarity])
        self.types |= {"id": pa.int64(), "vector": random.choice(_TYPES), "side": pa.bool_()}
        query |= {"id": "id", "vector": "vector", "dimensions": self.dimensions, "similarity": self.similarity}
        query |= {} if near else {"threshold": self.threshold}
        query |= {"window": f"{self.window} {'rows' if self.rows else 'seconds'}", "output": self.output}
        query |= {"matches": self.matches} if self.output != "kept" else {}
        query |= {"keep": "first"} if self.first else {}
        query |= {"carry_match": ["g"]} if self.output != "kept" else {}
        self.sides = not self.first and random.random() < 0.3
        if self.sides:
            query["side"] = "side"
        self.backends = {"vector-matcher": random.choice(("exact", "flat"))}

    def columns(self, number: int) -> Row:
        random = self.random
        vector = [random.choice((-1, 0, 0, 1, 2)) for _ in range(self.dimensions)]
        odd = random.random()
        if odd < 0.08:
            vector = random.choice((None, [*vector, 1], vector[1:], [None, *vector[1:]]))
        return {"id": random.choice((number, -number)), "vector": vector, "side": random.choice((True, False, None))}

    def keeps(self, row: Row) -> bool:
        vector = row["vector"]
        if vector is None or len(vector) != self.dimensions or None in vector or (self.sides and row["side"] is None):
            return False
        return self.similarity != "cosine" or any(vector)

    def rank(self, row: Row) -> int:
        return row["id"]

    def near(self, rows: list[Row], place: int, other: int) -> bool:
        """Whether two rows are less than the window apart."""
        return (place - other if self.rows else rows[place]["ts"] - rows[other]["ts"]) < self.window

    def answer(self, rows: list[Row], place: int) -> Iterator[Row]:
        row = rows[place]
        matches = self.matches_of(rows, place, {})
        answer = {"time": row["ts"], "id": row["id"]}
        if self.output == "kept":
            if not matches:
                yield answer
            return
        for answered, other in matches if self.matches == "all" else matches[: self.matches]:
            match = rows[other]
            columns = {"match": match["id"], "match_time": match["ts"], "match_g": match["g"]}
            yield {**answer, **columns, "similarity": answered}
        if not matches and self.output == "rows":
            yield {**answer, "match": None, "match_time": None, "similarity": None, "match_g": None}

    def matches_of(self, rows: list[Row], place: int, dropped: dict[int, bool]) -> list[tuple[float, int]]:
        """(similarity, place) of the matches of a row, the most similar first; dropped: which rows are, once known."""
        found = []
        for other in range(place):
            if not self.near(rows, place, other) or (self.sides and rows[other]["side"] == rows[place]["side"]):
                continue
            value = self.similar(rows[place]["vector"], rows[other]["vector"])
            if self.threshold is None or value >= self.threshold:
                if self.first and other not in dropped:
                    dropped[other] = bool(self.matches_of(rows, other, dropped))
                if dropped.get(other):
                    continue
                found.append((-value, other))
        return [(-value, other) for value, other in sorted(found)]

    def similar(self, one: list[int], two: list[int]) -> float:
        """The similarity of two vectors of small whole numbers, whose sums are exact in any order."""
        product = sum(a * b for a, b in zip(one, two, strict=True))
        squares = sum(a * a for a in one), sum(b * b for b in two)
        if self.similarity == "dot":
            return float(product)
        if self.similarity == "cosine":
            return min(1.0, product / math.sqrt(squares[0] * squares[1]))
        return 0.0 - math.sqrt(max(0, sum(squares) - 2 * product))
