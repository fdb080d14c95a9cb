"""The most similar pairs of sets: core/docs/reference/queries/top-k-pairs.md."""

from collections.abc import Iterator

import pyarrow as pa

from .sets import NAMES, similar, tokens
from .streams import AtMoments, Row


class TopKPairs(AtMoments):
    kind = "top-k-pairs"
    key = ("left", "right")

    def add_keys(self) -> None:
        random, query = self.random, self.query
        self.draw_windows(1, rows=True)
        self.similarity, self.k = random.choice(NAMES), random.randint(1, 4)
        self.types |= {"id": pa.int64(), "words": pa.list_(pa.string()), "side": pa.string()}
        query |= {"id": "id", "tokens": "words", "similarity": self.similarity, "k": self.k}
        query["window"] = self.length(self.longest)
        self.sides = random.random() < 0.4
        if self.sides:
            query["side"] = "side"
        self.carry = random.random() < 0.3
        if self.carry:
            query["carry"] = ["g"]
        self.backends = {"pair-ranker": random.choice(("swoop", "swoop", "base", "scase"))}
        self.change_log()

    def columns(self, number: int) -> Row:
        random = self.random
        side = random.choice(("left", "right", "left", "right", None))
        return {"id": random.choice((number, -number, 1000 - number)), "words": tokens(random), "side": side}

    def keeps(self, row: Row) -> bool:
        return any(word is not None for word in row["words"] or ()) and not (self.sides and row["side"] is None)

    def rank(self, row: Row) -> int:
        return row["id"]

    def answer(self, group: list[Row], at: int) -> Iterator[Row]:
        rows, pairs = self.inside(group, at, self.longest), []
        sets = [set(row["words"]) - {None} for row in rows]
        for later in range(len(rows)):
            for earlier in range(later):
                left, right = earlier, later
                if self.sides:
                    left, right = sorted((earlier, later), key=lambda place: rows[place]["side"])
                    if rows[left]["side"] == rows[right]["side"]:
                        continue
                if sets[left] & sets[right]:
                    exact, answered = similar(self.similarity, sets[left], sets[right])
                    pairs.append((-exact, left, right, answered))
        for rank, (_, left, right, answered) in enumerate(sorted(pairs)[: self.k], 1):
            answer = {"rank": rank, "left": rows[left]["id"], "right": rows[right]["id"], "similarity": answered}
            carried = {"left_g": rows[left]["g"], "right_g": rows[right]["g"]} if self.carry else {}
            yield answer | carried
