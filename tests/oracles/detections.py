"""Rules over rows by key: core/docs/reference/queries/detections.md."""

import json
import math
from collections.abc import Iterator

import pyarrow as pa

from .as_job import CONDITIONS
from .detection_measures import NUMBERS, completions, number_of, random_steps
from .streams import EachRow, Row, alike, plain

_KEYS = [], ["name"], ["h"], ["n", "name"], ["on"]
_MEASURES = "rows", "rows", "distinct", "unseen", "sequence", *NUMBERS
_VALUES = ["v"], ["name", "v"], ["h"]


class Detections(EachRow):
    kind = "detections"

    def add_keys(self) -> None:
        random = self.random
        self.types |= {"name": pa.string(), "n": pa.int32(), "on": pa.bool_(), "v": pa.float64()}
        self.rules = [self.rule(number) for number in range(random.choice((1, 3, 9)))]
        self.query["detections"] = [self.as_written(rule) for rule in self.rules]

    def rule(self, number: int) -> Row:
        random = self.random
        measure, key = random.choice(_MEASURES), random.choice(_KEYS)
        rule = {"name": f"rule {number}", "measure": measure, "key": key, "window": random.choice((1, 2, 3, 5, 10, 30))}
        rule |= {"where": random.choice((None, *CONDITIONS)), "values": random.choice(_VALUES)}
        rule |= {"at_least": random.choice((1, 2, 2, 3, 5)), "each": measure != "unseen" and random.random() < 0.3}
        rule |= {"silence": random.choice((None, None, 1, 2, 4, 40))}
        rule |= {"after": random.choice((None, -30, 0, 20)) if measure != "unseen" else random.choice((-100, 0, 5))}
        if measure == "rows" and random.random() < 0.3:
            rule |= {"falls": True, "each": False}
        if measure == "sequence":
            rule |= {"steps": random_steps(random), "any_order": random.random() < 0.3}
        if measure in NUMBERS:
            rule |= {"at_least": random.choice((-1, 0.5, 1, 2, 5)), "least": random.choice((1, 1, 3))}
        return rule | {"until": random.choice((None, None, 40))}

    def as_written(self, rule: Row) -> Row:
        table = {"name": rule["name"], "window": f"{rule['window']} seconds", "key": rule["key"]}
        if rule["measure"] == "distinct":
            table["measure"] = f"distinct {', '.join(rule['values'])}"
        else:
            table["measure"] = rule["measure"]
        if "falls" in rule:
            table["below"] = rule["at_least"]
        elif "steps" in rule:
            table |= {"steps": rule["steps"], "tell": "each" if rule["each"] else "crossing"}
            table |= {"any_order": True} if rule["any_order"] else {}
        elif rule["measure"] != "unseen":
            table |= {"at_least": rule["at_least"], "tell": "each" if rule["each"] else "crossing"}
        if "least" in rule and rule["measure"] != "sum v":
            table["least"] = rule["least"]
        if rule["where"] is not None:
            table["where"] = rule["where"]
        if rule["silence"] is not None:
            table["silence"] = f"{rule['silence']} seconds"
        for name in ("after", "until"):
            if rule[name] is not None:
                minutes, seconds = divmod(rule[name], 60)
                table[name] = f"{'1970-01-01T00' if minutes >= 0 else '1969-12-31T23'}:{minutes % 60:02}:{seconds:02}Z"
        return table

    def columns(self, number: int) -> Row:
        random = self.random
        value = random.choice((0.0, -0.0, 1.0, 2.0, math.nan, None))
        name = random.choice(("x", "x", 'y"\n', "", None))
        return {"v": value, "name": name, "n": random.choice((-1, 2, None)), "on": random.choice((True, False, None))}

    def read(self, answers: pa.RecordBatch) -> list[Row]:
        return [{**row, "key": key_text(json.loads(row["key"]))} for row in plain(answers)]

    def answer(self, rows: list[Row], place: int) -> Iterator[Row]:
        raise NotImplementedError("a rule answers for a time, not for each row")

    def end(self, newest: int) -> float:
        return newest + 1  # a key may fall below a bound up to the last row

    def due(self, group: list[Row], before: float, until: float) -> Iterator[Row]:
        for rule in self.rules:
            inside = [row for row in group if rule["where"] is None or CONDITIONS[rule["where"]](row) is True]
            needed = [*rule["key"], *(rule["values"] if rule["measure"] == "distinct" else [])]
            inside = [row for row in inside if all(row[name] is not None for name in needed)]
            if rule["measure"] in NUMBERS:
                inside = [row for row in inside if row["v"] is not None and not math.isnan(row["v"])]
            for key in {tuple(alike(row[name]) for name in rule["key"]) for row in inside}:
                own = [row for row in inside if tuple(alike(row[name]) for name in rule["key"]) == key]
                for time, low, high in self.crossings(rule, own):
                    if before <= time < until:
                        values = dict(zip(rule["key"], key, strict=True))
                        numbers = {"value": low, "low": low, "high": high}
                        yield {"time": time, "rule": rule["name"], "key": key_text(values), **numbers}

    def crossings(self, rule: Row, own: list[Row]) -> Iterator[tuple[int, float, float | None]]:
        """The times at which a rule answers for one key, with the bounds of its measure."""
        silent = -math.inf
        if "falls" in rule:
            yield from self.falls(rule, own)
            return
        for time, low, high in self.reached(rule, own):
            late = rule["until"] is not None and time > rule["until"]
            if late or time < silent or (rule["after"] is not None and time <= rule["after"]):
                continue
            if rule["silence"] is not None:
                silent = time + rule["silence"]
            yield time, low, high

    def reached(self, rule: Row, own: list[Row]) -> Iterator[tuple[int, float, float | None]]:
        """The times at which one key reaches the bound, without silence, after and until."""
        if "steps" in rule:
            yield from ((time, took, took) for time, took in completions(rule, own))
            return
        for time in sorted({row["ts"] for row in own}):
            span, bound = rule["window"], rule["at_least"]
            at_time = [row for row in own if row["ts"] == time]
            earlier = [row for row in own if time - span < row["ts"] < time]
            low: float = 0
            high: float | None = 0
            if rule["measure"] == "unseen":
                answers = not any(time - span <= row["ts"] < time for row in own)
            else:
                low, already = self.measure(rule, [*earlier, *at_time]), self.measure(rule, earlier) >= bound
                high = low
                answers = low >= bound and (rule["each"] or not already)
                if already and rule["measure"] not in NUMBERS:
                    low, high = bound + (len(at_time) if rule["measure"] == "rows" else 0), None
            if answers:
                yield time, low, high

    def falls(self, rule: Row, own: list[Row]) -> Iterator[tuple[int, float, float | None]]:
        """The times at which one key has fewer rows than the bound, and had enough just before."""
        silent, span, bound = -math.inf, rule["window"], rule["at_least"]
        for time in sorted({row["ts"] + span for row in own}):
            before = sum(time - span <= row["ts"] < time for row in own)
            after = sum(time - span < row["ts"] <= time for row in own)
            late = rule["until"] is not None and time > rule["until"]
            if not before >= bound > after or late or time < silent:
                continue
            if rule["after"] is not None and time <= rule["after"]:
                continue
            if rule["silence"] is not None:
                silent = time + rule["silence"]
            yield time, after, after

    def measure(self, rule: Row, rows: list[Row]) -> float:
        if rule["measure"] in NUMBERS:
            return number_of(rule["measure"], rows, rule["least"])
        if rule["measure"] == "rows":
            return len(rows)
        return len({tuple(alike(row[name]) for name in rule["values"]) for row in rows})


def key_text(values: Row) -> str:
    """The key of an answer, whose JSON may write 2.0 as 2."""
    numbers = {name: float(value) for name, value in values.items() if type(value) is int}
    return str({name: "nan" if value == "NaN" else value for name, value in {**values, **numbers}.items()})
