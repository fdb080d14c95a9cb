"""Rules of detections that come, change and leave while rows arrive: an oracle that keeps every row agrees."""

import json
import math
from collections import defaultdict
from datetime import UTC, datetime
from operator import ge
from random import Random
from typing import NamedTuple

import pyarrow as pa
import pytest
from in_process_shards import ShardedStream
from skyband.engines.local import LocalRun
from skyband.queries import make_query

from .test_detections import NUMBERS, by_definition, plain, random_rows, random_rules

KEYS = [["user"], ["host"], [], ["user", "host"]]
COLUMNS = ["action", "bytes", "ok"]
STEPS = [{"at_least": 2, "window": "10 seconds", "where": "NOT ok", "measure": "rows"}, "action = 'login'"]
KEEP = [
    {"key": ["user"], "most": 20, "longest": "60 seconds"},
    {"where": "NOT ok", "key": ["host"], "measure": "distinct host", "most": 4, "longest": "5 minutes"},
    {"key": ["user", "host"], "measure": "unseen", "longest": "60 seconds"},
    {"key": ["user"], "measure": "sequence", "steps": STEPS, "longest": "60 seconds"},
    {"key": ["host"], "most": 3, "longest": "60 seconds", "below": True},
    {"key": ["user"], "measure": "sum bytes", "longest": "60 seconds"},
    {"key": [], "measure": "p95 of bytes", "at_least": 5.25, "longest": "5 minutes"},
]


def query_of(fixed=(), **keys):
    open_to = {"keys": KEYS, "rule_columns": COLUMNS, "rule_numbers": ["bytes"], "keep": KEEP, "carry": ["id"]}
    return make_query({"kind": "detections", "time": "ts", "detections": list(fixed), **open_to, **keys})


class Version(NamedTuple):
    start: float
    """It was asked for from here on, and answers later than `holds`."""
    holds: float
    rule: dict | None
    life: float
    """The start of the first version since the last end of its name: all of one life share their silence."""
    opened: tuple | None


def seconds(text: str) -> int:
    number, unit = text.split()
    return int(number) * {"seconds": 1, "minutes": 60}[unit]


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


class Timeline:
    """Which version of a name holds when, by the words of the page: a counter that is kept, or one that is opened."""

    def __init__(self, fixed):
        self.kept, self.opened, self.names = {}, {}, defaultdict(list)
        for rule in fixed:
            self.keep(self.counted(rule), self.limits(rule))
        for one in KEEP:
            of = {"window": one["longest"], "below" if "below" in one else "at_least": one.get("most", 1)}
            limits = self.limits({**{key: value for key, value in one.items() if key != "below"}, **of})
            self.keep(self.counted(one), limits)

    def keep(self, counted, limits):
        self.kept[counted] = tuple(map(max, limits, self.kept.get(counted, limits)))

    @staticmethod
    def counted(rule):
        measure = rule.get("measure", "rows")
        if " of " in measure:  # quantiles of one column share a counter if they have the same bound
            measure = rule["at_least"]
        steps = json.dumps(rule.get("steps")), rule.get("any_order")
        return rule.get("where"), tuple(rule.get("key", ())), measure, *steps

    @classmethod
    def limits(cls, rule):
        """The longest window, the largest bound, and the longest window with `below`."""
        below = rule.get("below", 0)
        bound = 1 if rule.get("measure") in (*NUMBERS, "p95 of bytes") else below or rule.get("at_least", 1)
        return cls.spans(rule)[0], bound, seconds(rule["window"]) if below else 0

    @staticmethod
    def spans(rule):
        """The longest window that is counted, and how far back an answer reaches."""
        steps = [seconds(step["window"]) for step in rule.get("steps", []) if isinstance(step, dict)]
        return max(seconds(rule["window"]), *steps, 0), seconds(rule["window"]) + max(steps, default=0)

    def end(self, versions, place):
        until = versions[place].rule and versions[place].rule.get("until")
        return min([math.inf if until is None else moment(until), *(one.holds for one in versions[place + 1 :])])

    def stays(self, versions, place, mark):
        """Whether it may answer, or end one that may: rows at the watermark are still to come."""
        return (versions[place].holds if versions[place].rule is None else self.end(versions, place)) >= mark

    def arrive(self, rows, mark):
        """Rows that arrive together with the watermark at `mark`, -inf before the first row."""
        in_use = {
            one.opened for own in self.names.values()
            for place, one in enumerate(own) if self.stays(own, place, mark)
        }  # fmt: skip
        self.opened = {key: limits for key, limits in self.opened.items() if key in in_use}
        for rule in rows:
            self.take(rule, mark)

    def take(self, rule, mark):
        start, own = max(moment(rule["after"]) if "after" in rule else mark, mark), self.names[rule["name"]]
        earlier = [one for place, one in enumerate(own) if one.start <= start and self.stays(own, place, mark)]
        goes_on = earlier and earlier[-1].rule is not None
        life = earlier[-1].life if goes_on else start
        opened, holds = None, start
        if "measure" in rule:
            opened, holds = self.place(rule, start, mark)
            limits = self.limits(rule)
            self.opened[opened] = tuple(map(max, limits, self.opened.get(opened, limits)))
        version = Version(start, holds, rule if "measure" in rule else None, life, opened)
        self.names[rule["name"]] = sorted([*(one for one in own if one.start != start), version], key=lambda v: v.start)

    def place(self, rule, start, mark):
        counted, limits, (_, reach) = self.counted(rule), self.limits(rule), self.spans(rule)
        if all(map(ge, self.kept.get(counted, (0, 0, -1)), limits)):
            return None, start
        covering = [key for key, own in self.opened.items() if key and key[0] == counted and all(map(ge, own, limits))]
        key = min(covering, key=lambda key: key[1], default=(counted, mark))
        return key, max(start, key[1] + reach - 1e-6)

    def answers(self, rows):
        """(time, rule, key, value, high) of every answer of the names."""
        answers = []
        for name, versions in self.names.items():
            silent = defaultdict(lambda: -math.inf)
            for place, version in enumerate(versions):
                if version.rule is None:
                    continue
                rule = {key: value for key, value in version.rule.items() if key not in ("silence", "until", "after")}
                end, crossings = self.end(versions, place), by_definition(rows, [rule])
                silence = version.rule.get("silence")
                for time, _, key, *numbers in crossings:
                    quiet = (version.life, tuple(rule.get("key", ())), key)
                    if version.holds < time <= end and not (silence and time < silent[quiet]):
                        silent[quiet] = time + seconds(silence) if silence else silent[quiet]
                        answers.append((time, name, key, *numbers))
        return answers


def a_rule(random: Random, name: str, mark: float) -> dict:
    """A row of the second table: a new rule, another version of one, or the end of its name."""
    after = max(0, 0 if mark == -math.inf else int(mark))
    if random.random() < 0.15:
        return {"name": name}
    rule = random_rules(random.randrange(1 << 30), 1)[0] | {"name": name}
    rule.pop("until", None)
    if random.random() < 0.3:
        rule |= {"key": ["user"], "measure": "rows", "at_least": random.choice((1, 4, 20)), "window": "60 seconds"}
        rule.setdefault("tell", "crossing")
        for key in ("where", "steps", "any_order", "below", "least"):
            rule.pop(key, None)
        if random.random() < 0.3:
            rule |= {"key": ["host"], "below": min(rule.pop("at_least"), 3), "tell": "crossing"}
        elif random.random() < 0.3:
            rule |= {"measure": "sum bytes", "at_least": random.choice((3, 40))}
        elif random.random() < 0.2:
            rule |= {"key": [], "measure": "p90 of bytes", "at_least": 5.25}
        elif random.random() < 0.2:
            rule |= {"measure": "sequence", "steps": STEPS}
            rule.pop("at_least")
    if rule["measure"] == "unseen":
        rule.pop("at_least", None)
        rule.pop("tell", None)
        rule["after"] = clock(60)
    elif random.random() < 0.3:
        at = after + random.randrange(-60, 200)
        rule["after"] = clock(max(at, 0))
    if random.random() < 0.2:
        at = after + random.randrange(1, 2000)
        rule["until"] = clock(at)
    return rule


def clock(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat()


def rows_to_come(random: Random, names: int, mark: float, line: Timeline) -> list[dict]:
    """Rows that arrive together, each of another name: none is refused."""
    rows = []
    for name in random.sample(range(names), random.choice((1, 1, 2, 5))):
        row = a_rule(random, f"rule {name}", mark)
        own = line.names[row["name"]]
        alive = [one for place, one in enumerate(own) if line.stays(own, place, mark) and one.start <= mark]
        if "measure" not in row and not (alive and alive[-1].rule is not None):
            continue
        start = max(moment(row["after"]) if "after" in row else mark, mark)
        if "until" in row and moment(row["until"]) <= line.place(row, start, mark)[1]:
            del row["until"]
        rows.append(row)
    return rows


def as_table(rows: list[dict]) -> pa.Table:
    return pa.table({"value": pa.array([json.dumps(row) for row in rows], pa.string())})


def fixed_rules(seed: int) -> list[dict]:
    return [rule | {"name": f"fixed {place}"} for place, rule in enumerate(random_rules(seed, 6))]


@pytest.mark.parametrize("seed", range(3))
def test_rules_that_come_and_leave_equal_an_oracle_on_any_shards(seed):
    check(seed, rows=1500, names=20, arrivals=40)


def check(seed: int, rows: int, names: int, arrivals: int, restore: float = 0.3) -> int:
    """A stream in this process and on 2 and 4 shards, restored and moved to fewer shards, against the oracle."""
    random, table, fixed = Random(seed), random_rows(seed, rows), fixed_rules(seed)
    query, line = query_of(fixed), Timeline(fixed)
    run, shards = LocalRun.start(query, table.schema), {n: ShardedStream(query, n, table.schema) for n in (2, 4)}
    cuts = [random.choice((0, 1)), *sorted(random.sample(range(2, rows), arrivals)), rows]
    pieces, of_shards, start = [], {n: [] for n in shards}, 0
    for cut in cuts:
        part = table.slice(start, cut - start).combine_chunks()
        start = cut
        if len(part):
            pieces.append(run.push(part.to_batches()[0]))
            for number, stream in shards.items():
                of_shards[number].append(stream.push(part))
        if random.random() < restore:
            state, run = run.snapshot(), LocalRun.start(query, table.schema)
            run.restore(state)
            assert run.snapshot() == state
            shards[2] = ShardedStream(query, 2, table.schema).begin_from(shards[2])
        if random.random() < restore / 3 and len(shards[4].operators) > 1:
            fewer = len(shards[4].operators) // 2
            shards[4] = ShardedStream(query, fewer, table.schema).begin_from(shards[4])
        if cut < rows:
            mark = -math.inf if run.watermark is None else run.watermark / 1e6
            come = rows_to_come(random, names, mark, line)
            run.broadcast(as_table(come))
            for stream in shards.values():
                for operator in stream.operators:
                    assert not operator.broadcast(as_table(come))
            line.arrive(come, mark)
    pieces.append(run.finish())
    for number, stream in shards.items():
        of_shards[number].append(stream.finish())
    whole = pa.Table.from_batches(pieces)
    dictionaries = [{**row, "ts": row["ts"].timestamp()} for row in table.to_pylist()]
    expected = sorted([*by_definition(dictionaries, fixed), *line.answers(dictionaries)])
    assert plain(whole) == expected
    for given in of_shards.values():
        assert pa.concat_tables(given).cast(whole.schema) == whole
    assert len(line.opened) < sum(map(len, line.names.values())), "some rules share their counters"
    return len(expected)
