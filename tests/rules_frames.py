"""The frames of the tests of rules, one for each query that takes them: its rows, and its answers by definition."""

import math
from collections import Counter

from rules_oracle import LONGEST, MOST, RulesFrame, length_text, random_times

KEYS = {
    "top-k-workload": {"object": "what", "score": "points"},
    "heavy-hitters": {"object": "what", "windows": [], "every": "1 second"},
    "quantiles": {"value": "ms", "at": [0.5, 0.9], "above": [2.0], "windows": [], "every": "3 seconds"},
    "distinct-count": {"item": "who", "windows": [], "every": "3 seconds"},
}
KEYS = {kind: {"kind": kind, "time": "ts", **keys} for kind, keys in KEYS.items()}
LIMITS = {"longest": f"{LONGEST} seconds"}
TOP_LIMITS = {**LIMITS, "most": MOST}


class WorkloadFrame(RulesFrame):
    keys, limits, role, backend, most = KEYS["top-k-workload"], TOP_LIMITS, "workload-ranker", "paneband", MOST
    columns = ("ts", "what", "points", "place")
    answer_columns = ("query", "rank", "object", "score")

    def random_rows(self, random, count):
        """Ties of scores, and of times; each object in one group."""
        objects = random.integers(0, 8, count)
        scores = random.integers(0, 5, count).astype(float)
        columns = (objects.tolist(), scores.tolist(), (objects % self.groups).tolist())
        return list(zip(random_times(random, count), *columns, strict=True))

    def answers_of(self, windows):
        found = set()
        for group, at, name, rule, inside in windows:
            best = sorted(inside, key=lambda row: (-row[2], row[1]))[: rule.k]
            found |= {(group, at, name, rank, row[1], row[2]) for rank, row in enumerate(best, 1)}
        return found


class TotalsFrame(RulesFrame):
    keys, limits, role, most = KEYS["heavy-hitters"], TOP_LIMITS, "total-ranker", MOST
    columns = ("ts", "what", "points", "place")
    answer_columns = ("rule", "window", "rank", "object", "total", "share", "low", "high")

    def random_rows(self, random, count):
        columns = (
            random.integers(0, 8, count),
            random.integers(0, 5, count) + 0.0,
            random.integers(0, self.groups, count),
        )
        return list(zip(random_times(random, count), *(column.tolist() for column in columns), strict=True))

    def answers_of(self, windows, weighed=False):
        found = set()
        for group, at, name, rule, inside in windows:
            totals = {}
            for _, what, points, _ in inside:
                totals[what] = totals.get(what, 0.0) + (points if weighed else 1.0)
            grand = sum(totals.values())
            best = sorted((-total, what) for what, total in totals.items() if total)[: rule.k]
            for rank, (total, what) in enumerate(best, 1):
                label = group, at, name, length_text(rule.window), rank, what
                found.add((*label, -total, -total / grand, -total, -total))
        return found


class QuantilesFrame(RulesFrame):
    keys, limits, role = KEYS["quantiles"], LIMITS, "quantile-sketch"
    columns = ("ts", "ms", "place")
    answer_columns = ("rule", "window", "quantile", "above", "value", "rows")

    def random_rows(self, random, count):
        columns = random.integers(0, 5, count) + 0.0, random.integers(0, self.groups, count)
        return list(zip(random_times(random, count), *(column.tolist() for column in columns), strict=True))

    def answers_of(self, windows):
        found = set()
        for group, at, name, rule, inside in windows:
            values, label = sorted(row[1] for row in inside), (group, at, name, length_text(rule.window))
            for share in self.keys["at"]:
                value = values[max(math.ceil(round(share * len(values), 9)), 1) - 1]
                found.add((*label, share, None, value, len(values)))
            for limit in self.keys["above"]:
                part = sum(value > limit for value in values) / len(values)
                found.add((*label, None, limit, part, len(values)))
        return found


class DistinctFrame(RulesFrame):
    keys, limits, role = KEYS["distinct-count"], LIMITS, "sketch"
    columns = ("ts", "who", "ms", "place")
    answer_columns = ("rule", "window", "range", "seen", "count")

    def random_rows(self, random, count):
        columns = (
            random.integers(0, 8, count),
            random.integers(0, 5, count) + 0.0,
            random.integers(0, self.groups, count),
        )
        return list(zip(random_times(random, count), *(column.tolist() for column in columns), strict=True))

    def answers_of(self, windows, ranges=(), seen=()):
        found = set()
        for group, at, name, rule, inside in windows:
            newest = {row[1]: row[2] for row in sorted(inside, key=lambda row: (row[0], row[2]))}
            label = group, at, name, length_text(rule.window)
            if not ranges and not seen:
                found.add((*label, float(len(newest))))
            times = Counter(row[1] for row in inside).values()
            for number in seen[:-1]:
                found.add((*label, str(number), float(sum(count == number for count in times))))
            for number in seen[-1:]:
                found.add((*label, f"{number}+", float(sum(count >= number for count in times))))
            for low, high in ranges:
                count = sum(low <= ms < high for ms in newest.values())
                found.add((*label, f"[{low}, {high})", float(count)))
        return found
