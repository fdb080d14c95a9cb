"""Distinct items, sums and ranges of their latest values, and states: core/docs/reference/queries/distinct-count.md."""

import math
from collections.abc import Iterator

import pyarrow as pa
from skyband import states

from .streams import AtMoments, Row, plain

_RANGES = [[0, 2], [2, 5], [7, math.inf]]


class DistinctCount(AtMoments):
    kind = "distinct-count"
    answer_of = ("window",)

    def add_keys(self) -> None:
        random, query = self.random, self.query
        self.draw_windows(3, rows=True)
        self.unique_times = self.in_rows  # ties are ordered by a hash that no page tells
        self.items = random.choice((["i"], ["i"], ["i", "j"]))
        query["item"] = self.items if len(self.items) > 1 else self.items[0]
        self.types |= {"i": random.choice((pa.int64(), pa.int16(), pa.string())), "j": pa.bool_(), "v": pa.float64()}
        self.mode = random.choice(("", "", "against", "zero", "sum", "ranges", "states"))
        self.backends = {"sketch": random.choice(("exact", "k-skb"))}
        self.always = self.mode == "zero"
        if self.mode == "states" and not self.in_rows:
            self.asked = [random.randint(1, max(self.windows)) for _ in range(3)]
            self.changed = random.random() < 0.5
            query["emit"] = "changed-state" if self.changed else "state"
            self.backends = {"sketch": "k-skb"}
        elif self.mode == "against" and not self.in_rows:
            self.windows = [self.every * random.randint(1, 3)]
            self.lag = self.windows[0] + self.every * random.randint(0, 4)
            self.longest = self.lag + max(self.windows)
            query["against"] = "previous" if self.lag == self.windows[0] else self.length(self.lag)
        elif self.mode in ("sum", "ranges"):
            query["value"] = "v"
            self.backends = {"sketch": "exact"}
            if self.mode == "ranges":
                query["ranges"] = _RANGES
        elif self.always and not self.in_rows:
            query["empty"] = "zero"
        else:
            self.mode, self.always = "", False
        query["windows"] = [self.length(each) for each in self.windows]
        if self.mode in ("", "against", "zero", "ranges", "sum"):
            self.change_log()
        if self.mode == "ranges":
            self.key = ("range",)

    def columns(self, number: int) -> Row:
        random = self.random
        item = random.choice((*range(5), None))
        text = item if item is None or not pa.types.is_string(self.types["i"]) else "äbcde"[item] * item
        value = random.choice((0, 1.5, 2, 4.25, 5, 9, None, math.nan))
        return {"i": text, "j": random.choice((True, False, None)), "v": value}

    def keeps(self, row: Row) -> bool:
        value = row["v"]
        valued = self.mode not in ("sum", "ranges") or not (value is None or math.isnan(value))
        return valued and all(row[name] is not None for name in self.items)

    def answer(self, group: list[Row], at: int) -> Iterator[Row]:
        if self.mode == "states":
            if not self.changed or self.inside(group, at, self.every):
                for length in self.asked:
                    count = self.count(self.inside(group, at, length))
                    yield {"last": length, "count": count, "low": count, "high": count}
            return
        for length in self.windows:
            window, name = self.inside(group, at, length), {"window": self.length(length)}
            if self.mode == "ranges":
                for low, high in _RANGES:
                    count = self.count(window, low, high)
                    yield {**name, "range": f"[{low}, {high})", "count": count, "low": count, "high": count}
                continue
            count = self.count(window)
            counts: Row = {**name, "count": count, "low": count, "high": count}
            if self.mode == "sum":
                total = sum(self.latest(window).values())
                counts |= {"sum": total, "sum_low": total, "sum_high": total}
            if self.mode == "against":
                past = self.count(self.inside(group, at - self.lag, length))
                rise = count - past
                counts |= {"previous": past, "difference": rise, "difference_low": rise, "difference_high": rise}
                counts["ratio"] = count / past if past else None
            yield counts

    def count(self, window: list[Row], low: float = -math.inf, high: float = math.inf) -> int:
        """Items of a window, by the range of their latest value if values count."""
        return sum(low == -math.inf or low <= value < high for value in self.latest(window).values())

    def latest(self, window: list[Row]) -> dict[tuple[object, ...], float]:
        """The latest value of each item, the largest of one time."""
        latest = {}
        by_time = self.mode in ("sum", "ranges") and not self.in_rows
        for row in sorted(window, key=lambda row: (row["ts"], row["v"])) if by_time else window:
            latest[tuple(row[name] for name in self.items)] = row["v"]
        return latest

    def read(self, answers: pa.RecordBatch) -> list[Row]:
        if self.mode != "states":
            return plain(answers)
        rows = []
        for row in plain(answers):
            state = row.pop("state")
            for length in self.asked:
                found = states.estimate(state, last=f"{length} seconds")
                rows.append({**row, "last": length, "count": found.count, "low": found.low, "high": found.high})
        return rows
