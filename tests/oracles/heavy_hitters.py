"""The objects with the largest totals, by exact rankers: core/docs/reference/queries/heavy-hitters.md."""

import math
from collections.abc import Iterator

import pyarrow as pa
from skyband import states

from .streams import AtMoments, Row, plain


class HeavyHitters(AtMoments):
    kind = "heavy-hitters"
    key = ("object",)
    answer_of = ("window",)

    def add_keys(self) -> None:
        random, query = self.random, self.query
        self.total = random.choice(("rows", "sum", "distinct"))
        self.draw_windows(2, rows=True)
        # Values of one time and object are ordered by a hash that no page defines.
        self.unique_times = self.in_rows and self.total == "distinct"
        self.mode = "" if self.in_rows else random.choice(("", "", "", "against", "part", "fading", "states"))
        self.lag = 0
        if self.mode == "fading" and self.total == "distinct":
            self.total = "sum"
        self.types |= {"object": pa.int64(), "w": pa.float64(), "v": pa.string()}
        query |= {"object": "object", "total": self.total}
        query |= {"sum": {"weight": "w", "unit": 0.25}, "distinct": {"value": "v"}}.get(self.total, {})
        self.limits: Row = {}
        if random.random() < 0.6:
            self.limits["k"] = random.randint(1, 4)
        if random.random() < 0.3 and self.mode not in ("fading", "against"):
            self.limits["share"] = random.choice((0.2, 0.25, 0.5, 1.0))
        if random.random() < 0.3 or not self.limits:
            # No total of weights that fade is just this, so that their rounding decides nothing.
            self.limits["at_least"] = 0.29 if self.mode == "fading" else random.choice((1, 2, 3))
        query |= self.limits
        if self.mode == "against":
            self.add_comparison()
        elif self.mode == "part":
            query["part"] = "v > 'x'"
        elif self.mode == "fading":
            query["half_life"] = "4 seconds"
        elif self.mode == "states":
            self.asked = [random.randint(1, self.longest) for _ in range(2)]
            query["emit"], self.backends = "state", {"total-ranker": "k-skb"}
        self.rest = self.mode == "" and random.random() < 0.3
        if self.rest:
            query["rest"] = True
            self.always = not self.in_rows and random.random() < 0.4
            if self.always:
                query["empty"] = "zero"
        query["windows"] = [self.length(each) for each in self.windows]
        if self.mode in ("", "against", "part"):
            self.change_log()

    def add_comparison(self) -> None:
        random = self.random
        self.windows = [self.every * random.randint(1, 2)]
        if self.total == "distinct" or random.random() < 0.5:
            self.lag = self.windows[0] + self.every * random.randint(0, 3)
        self.longest = (self.lag or self.windows[0]) + self.windows[0]
        self.by_ratio, self.direction = random.random() < 0.4, random.choice(("both", "up", "down"))
        against = self.length(self.lag) if self.lag else "previous"
        self.query |= {"against": against, "rank_by": "ratio" if self.by_ratio else "difference"}
        self.query["direction"] = self.direction

    def columns(self, number: int) -> Row:
        random = self.random
        weight = random.choice((0, 0.25, 1, 1, 2.5, 7, None, -1, 0.3, math.nan))
        value = random.choice(("x", "y", "z", "", None))
        return {"object": random.choice((-1, 0, 1, 2, 3, None)), "w": weight, "v": value}

    def keeps(self, row: Row) -> bool:
        weight = row["w"]
        if self.total == "sum" and (weight is None or not weight >= 0 or weight % 0.25):
            return False
        return row["object"] is not None and (self.total != "distinct" or row["v"] is not None)

    def rank(self, row: Row) -> tuple[object, ...]:
        return row["object"], row["w"] if self.total == "sum" else 0

    def totals(self, window: list[Row], at: int) -> dict[int, float]:
        """The total of each object, without those of 0."""
        totals: dict[int, float] = {}
        for row in {(row["object"], row["v"]): row for row in window}.values() if self.total == "distinct" else window:
            weight = row["w"] if self.total == "sum" else 1
            fading = 0.5 ** ((at - row["ts"]) / 4) if self.mode == "fading" else 1
            totals[row["object"]] = totals.get(row["object"], 0) + weight * fading
        return {name: total for name, total in totals.items() if total}

    def answer(self, group: list[Row], at: int) -> Iterator[Row]:
        for length in self.asked if self.mode == "states" else self.windows:
            window, name = self.inside(group, at, length), {"window": self.length(length)}
            totals = self.totals(window, at)
            if self.mode == "against":
                before = self.totals(self.inside(group, at - (self.lag or length), length), at)
                yield from self.changes(totals, before, name)
                continue
            meeting = [row for row in window if self.mode == "part" and row["v"] is not None and row["v"] > "x"]
            yield from self.largest(totals, self.totals(meeting, at), name)

    def largest(self, totals: dict[int, float], matching: dict[int, float], name: Row) -> Iterator[Row]:
        """The ranked objects within the limits, and the row of all others."""
        grand, k = sum(totals.values()), self.limits.get("k", math.inf)
        least = max(self.limits.get("at_least", 0), self.limits.get("share", 0) * grand)
        measure = {each: matching.get(each, 0) / totals[each] for each in totals} if self.mode == "part" else totals
        names = sorted((each for each in totals if totals[each] >= least), key=lambda each: (-measure[each], each))
        names = names[: int(min(k, len(names)))]
        for rank, each in enumerate(names, 1):
            row = {**name, "rank": rank, "object": each, "total": totals[each]}
            row |= {"low": measure[each], "high": measure[each]}
            if self.mode != "fading":
                row["share"] = totals[each] / grand
            if self.mode == "part":
                row |= {"part": measure[each], "matching": matching.get(each, 0)}
            yield {**row, "objects": 1} if self.rest else row
        if self.rest:
            others = [total for each, total in totals.items() if each not in names]
            total = sum(others)
            row = {**name, "rank": None, "object": None, "total": total, "low": total, "high": total}
            yield {**row, "share": total / grand if grand else None, "objects": len(others)}

    def changes(self, now: dict[int, float], past: dict[int, float], name: Row) -> Iterator[Row]:
        """The objects of two windows, by how much their totals differ."""
        rows = []
        for each in now.keys() | past.keys():
            total, previous = now.get(each, 0), past.get(each, 0)
            rise, ratio = total - previous, total / previous if previous else None
            way = "up" if rise > 0 else "down" if rise < 0 else "same"
            if max(total, previous) < self.limits.get("at_least", 0) or self.direction not in ("both", way):
                continue
            factor = max(total, previous) / min(total, previous) if total and previous else math.inf
            status = "new" if not previous else "gone" if not total else way
            bound = ratio if self.by_ratio else rise
            row = {**name, "object": each, "total": total, "previous": previous, "difference": rise, "ratio": ratio}
            row |= {"low": bound, "high": bound, "status": status}
            rows.append(((-factor if self.by_ratio else 0, -abs(rise)), each, row))
        for rank, (_, _, row) in enumerate(sorted(rows, key=lambda each: each[:2])[: self.limits.get("k")], 1):
            yield {**row, "rank": rank}

    def read(self, answers: pa.RecordBatch) -> list[Row]:
        if self.mode != "states":
            return plain(answers)
        rows = []
        for row in plain(answers):
            state = row.pop("state")
            for length in self.asked:
                found = states.heavy_hitters(state, last=f"{length} seconds", **self.limits)
                rows += [{**row, "window": f"{length} seconds", **each} for each in found.to_pylist()]
        return rows
