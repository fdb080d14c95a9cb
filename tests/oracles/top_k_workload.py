"""Many top-k queries over the rows of a stream: core/docs/reference/queries/top-k-workload.md."""

import math
from collections.abc import Iterator

import pyarrow as pa

from .streams import AtMoments, Row
from .top_k import order_of


class TopKWorkload(AtMoments):
    kind = "top-k-workload"
    key = ("rank",)
    answer_of = ("query",)

    def add_keys(self) -> None:
        random, query = self.random, self.query
        self.draw_windows(1, rows=True)
        del query["every"]
        query.pop("offset", None)
        self.best, self.smallest = random.random() < 0.4, random.random() < 0.3
        self.queries = []
        self.ends: dict[str, int] = {}
        for number in range(random.randint(1, 4)):
            slide = random.choice((2, 3, 5, 8))
            phase = 0 if self.in_rows else random.choice((0, 0, 1, slide - 1))
            self.queries.append((f"q{number}", random.choice((2, 4, 9, 20)), slide, random.randint(1, 3), phase))
        names = "name", "window", "slide", "k", "phase"
        query["queries"] = [
            dict(zip(names, (name, self.length(window), self.length(slide), k, self.length(phase)), strict=True))
            for name, window, slide, k, phase in self.queries
        ]
        if self.in_rows:
            for each in query["queries"]:
                del each["phase"]
        self.longest, self.every, self.offset = max(window for _, window, *_ in self.queries), 1, 0
        self.types |= {"object": random.choice((pa.int64(), pa.string())), "score": pa.float64(), "from": pa.int64()}
        query |= {"object": "object", "score": "score", "repeats": "best" if self.best else "each"}
        query |= {"order": "smallest" if self.smallest else "largest", "carry": ["from"] if self.best else []}
        rankers = ("paneband",) if self.best else ("paneband", "mtopband", "mtoplist", "mintopk")
        self.backends = {"workload-ranker": random.choice(rankers)}

    def columns(self, number: int) -> Row:
        random = self.random
        name = random.choice((1, 2, 3, 4, None))
        if pa.types.is_string(self.types["object"]) and name is not None:
            name = "aböc"[name - 1] * name
        return {"object": name, "score": random.choice((-2.0, 0.0, -0.0, 1.0, 1.0, 3.5, math.inf, None, math.nan))}

    def stream(self) -> list[Row]:
        return [{**row, "from": row["ts"]} for row in super().stream()]

    def keeps(self, row: Row) -> bool:
        return row["object"] is not None and row["score"] is not None and not math.isnan(row["score"])

    def rank(self, row: Row) -> tuple[object, ...]:
        return order_of(row["object"]), row["score"]

    def end(self, newest: int) -> float:
        if self.in_rows:
            return math.inf
        self.ends = {each[0]: (newest - each[4]) // each[2] * each[2] + each[2] + each[4] for each in self.queries}
        return max(self.ends.values())

    def answer(self, group: list[Row], at: int) -> Iterator[Row]:
        for name, window, slide, k, phase in self.queries:
            if (at - phase) % slide or at > self.ends.get(name, at):
                continue
            rows = self.inside(group, at, window)
            sign = 1 if self.smallest else -1
            if self.best:
                best: dict[int | str, Row] = {}
                for row in rows:
                    known = best.get(row["object"])
                    if known is None or sign * row["score"] <= sign * known["score"]:
                        best[row["object"]] = row
                rows = list(best.values())
            rows.sort(key=lambda row: (sign * row["score"], order_of(row["object"])))
            for rank, row in enumerate(rows[:k], 1):
                answer = {"query": name, "rank": rank, "object": row["object"], "score": row["score"] + 0.0}
                yield {**answer, "from": row["from"]} if self.best else answer
