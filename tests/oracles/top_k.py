"""The best objects by values that arrive in several streams: core/docs/reference/queries/top-k.md."""

from collections.abc import Iterator
from statistics import fmean

import mmh3
import pyarrow as pa

from .streams import AtMoments, Row

_STREAMS = ["air", "soil", "sea"]


def order_of(name: int | str) -> int:
    """Where an object ranks among equal ones: integers ascending, text by its hash."""
    return name if isinstance(name, int) else mmh3.hash64(name.encode(), 0, x64arch=True, signed=True)[0]


class TopK(AtMoments):
    kind = "top-k"
    key = ("object",)

    def add_keys(self) -> None:
        random, query = self.random, self.query
        self.draw_windows(1, rows=True)
        self.repeats = random.choice(("latest", "latest", "largest", "smallest", "mean"))
        self.aggregate = random.choice(("sum", "mean", "min", "max", [2.0, 0.5, 1.0]))
        self.streams = _STREAMS[: random.randint(1, 3)]
        if isinstance(self.aggregate, list):
            self.aggregate = self.aggregate[: len(self.streams)]
        self.smallest, self.k = random.random() < 0.3, random.randint(1, 4)
        self.types |= {"object": random.choice((pa.int64(), pa.string())), "stream": pa.string(), "v": pa.float64()}
        query |= {"object": "object", "stream": "stream", "value": "v", "streams": self.streams, "k": self.k}
        query |= {"window": self.length(self.longest), "aggregate": self.aggregate, "repeats": self.repeats}
        query |= {"order": "smallest" if self.smallest else "largest", "bad_rows": "count"}
        self.half_life = 0 if self.in_rows or random.random() < 0.8 else 4
        if self.half_life:
            query["half_life"] = "4 seconds"
        else:
            self.backends = {"object-ranker": random.choice(("eaa", "sla"))}
        self.change_log()

    def columns(self, number: int) -> Row:
        random = self.random
        name = random.choice((1, 1, 2, 3, 4, None))
        if pa.types.is_string(self.types["object"]) and name is not None:
            name = "aböc"[name - 1] * name
        value = random.choice((0.0, 1.0, 1.0, 2.5, 4.0, -1.5, None))
        return {"object": name, "stream": random.choice((*_STREAMS, None, "no such stream")), "v": value}

    def keeps(self, row: Row) -> bool:
        return row["object"] is not None and row["v"] is not None and row["stream"] in self.streams

    def rank(self, row: Row) -> tuple[object, ...]:
        return order_of(row["object"]), self.streams.index(row["stream"]), row["v"]

    def answer(self, group: list[Row], at: int) -> Iterator[Row]:
        reports: dict[int | str, dict[str, list[float]]] = {}
        for row in self.inside(group, at, self.longest):
            worth = row["v"] * 0.5 ** ((at - row["ts"]) / self.half_life) if self.half_life else row["v"]
            reports.setdefault(row["object"], {}).setdefault(row["stream"], []).append(worth)
        scores = {name: self.score(streams) for name, streams in reports.items()}
        sign = 1 if self.smallest else -1
        names = sorted(scores, key=lambda name: (sign * scores[name], order_of(name)))
        for rank, name in enumerate(names[: self.k], 1):
            yield {"rank": rank, "object": name, "score": scores[name]}

    def score(self, reports: dict[str, list[float]]) -> float:
        """The aggregate of one value a stream, 0 where there is none."""
        chosen = {"latest": lambda values: values[-1], "largest": max, "smallest": min, "mean": fmean}[self.repeats]
        values = [chosen(reports[name]) if name in reports else 0.0 for name in self.streams]
        if isinstance(self.aggregate, list):
            return sum(weight * value for weight, value in zip(self.aggregate, values, strict=True))
        return {"sum": sum, "mean": fmean, "min": min, "max": max}[self.aggregate](values)
