"""Earlier sets like a row's: core/docs/reference/queries/near-duplicates.md."""

from collections.abc import Iterator
from fractions import Fraction

import pyarrow as pa

from .sets import NAMES, similar, tokens
from .streams import EachRow, Row

_THRESHOLDS = {"overlap": (1, 2, 3), "hamming": (-3, -1, 0)}


class NearDuplicates(EachRow):
    kind = "near-duplicates"

    def add_keys(self) -> None:
        random, query = self.random, self.query
        self.similarity = random.choice(NAMES)
        self.threshold = random.choice(_THRESHOLDS.get(self.similarity, (0.3, 0.5, 0.6, 0.75, 0.8, 1.0)))
        self.rows = random.random() < 0.3
        self.window, self.matches = random.choice((1, 2, 4, 10, 30)), random.choice(("all", 1, 2))
        self.first, self.output = random.random() < 0.3, random.choice(("pairs", "rows", "kept"))
        self.types |= {"id": pa.int64(), "words": pa.list_(pa.string()), "side": pa.bool_()}
        query |= {"id": "id", "tokens": "words", "similarity": self.similarity, "threshold": self.threshold}
        query |= {"window": f"{self.window} {'rows' if self.rows else 'seconds'}", "output": self.output}
        query |= {"matches": self.matches} if self.output != "kept" else {}
        query |= {"keep": "first"} if self.first else {}
        query |= {"carry_match": ["g"]} if self.output != "kept" else {}
        self.sides = not self.first and random.random() < 0.3
        if self.sides:
            query["side"] = "side"
        self.backends = {"set-matcher": random.choice(("prefix", "inverted", "scan-count"))}

    def columns(self, number: int) -> Row:
        random = self.random
        side = random.choice((True, False, None))
        return {"id": random.choice((number, -number)), "words": tokens(random), "side": side}

    def keeps(self, row: Row) -> bool:
        return not (self.sides and row["side"] is None)

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
        limit = Fraction(str(self.threshold))
        own, found = set(rows[place]["words"] or ()) - {None}, []
        for other in range(place):
            words = set(rows[other]["words"] or ()) - {None}
            if not own & words or not self.near(rows, place, other):
                continue
            if self.sides and rows[other]["side"] == rows[place]["side"]:
                continue
            exact, answered = similar(self.similarity, own, words)
            if exact >= (limit**2 if self.similarity == "cosine" else limit):
                if self.first and other not in dropped:
                    dropped[other] = bool(self.matches_of(rows, other, dropped))
                if dropped.get(other):
                    continue
                found.append((-exact, other, answered))
        return [(answered, other) for _, other, answered in sorted(found)]
