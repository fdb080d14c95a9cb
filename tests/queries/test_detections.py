"""Random rules over random rows: an oracle that keeps every row, streams of any cuts and shards agree."""

import json
from bisect import bisect_left, bisect_right
from collections import defaultdict
from math import ceil
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from in_process_shards import on_shards, rows_of
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.queries import make_query

from .sequence_oracle import completed, random_steps

SECOND = 1_000_000
NUMBERS = ("sum bytes", "mean bytes", "median of bytes", "p90 of bytes")
CONDITIONS = {
    None: lambda row: True,
    "action = 'login'": lambda row: row["action"] == "login",
    "action IN ('login', 'copy') AND bytes > 3": lambda row: (
        row["action"] in ("login", "copy") and row["bytes"] is not None and row["bytes"] > 3
    ),
    "NOT ok": lambda row: row["ok"] is False,
    "ok OR bytes IS NULL": lambda row: row["ok"] or row["bytes"] is None,
    "user LIKE 'u1%'": lambda row: row["user"] is not None and row["user"].startswith("u1"),
}


def random_rows(seed: int, count: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    steps = rng.choice([0, 0, 0, 1, 2, 40], count, p=[0.3, 0.2, 0.2, 0.2, 0.08, 0.02])

    def some(values):
        return pa.array([values[place] for place in rng.zipf(1.3, count) % len(values)])

    return pa.table(
        {
            "ts": pa.array(np.cumsum(steps) * SECOND, pa.timestamp("us", "UTC")),
            "user": some([f"u{number}" for number in range(24)] + [None]),
            "host": some([*range(7), None]),
            "action": some(["login", "copy", "exit", None]),
            "ok": some([True, False, False, None]),
            "bytes": some([1, 2, 5, 9, None]),
            "id": np.arange(count),
        }
    )


def random_rules(seed: int, count: int) -> list[dict]:
    random = Random(seed)
    rules = []
    for number in range(count):
        measure = random.choice(
            ("rows", "rows", "rows", "rows", "distinct host", "distinct bytes, user", "unseen", "sequence", *NUMBERS)
        )
        rule = {"name": f"rule {number}", "window": f"{random.choice((1, 2, 5, 10, 60, 300))} seconds"}
        rule |= {"key": random.choice(([], ["user"], ["host"], ["user", "host"])), "measure": measure}
        condition = random.choice(list(CONDITIONS))
        rule |= {} if condition is None else {"where": condition}
        if measure == "sequence":
            rule |= random_steps(random, [where for where in CONDITIONS if where is not None])
        elif measure == "unseen":
            rule["after"] = "1970-01-01T00:01:00Z"
        elif measure in NUMBERS:
            rule |= {"at_least": random.choice((0.5, 3, 5.25, 9, 40)), "tell": random.choice(("crossing", "each"))}
            rule |= {} if measure == "sum bytes" else {"least": random.choice((1, 3))}
        elif measure == "rows" and random.random() < 0.6:
            rule["below"] = random.choice((1, 1, 2, 5))
        else:
            rule |= {"at_least": random.choice((1, 2, 3, 5, 8, 20)), "tell": random.choice(("crossing", "each"))}
        if random.random() < 0.3:
            rule["silence"] = f"{random.choice((1, 3, 30, 400))} seconds"
        if random.random() < 0.2:
            rule["until"] = "1970-01-01T00:20:00Z"
        rules.append(rule)
    return rules


def by_definition(rows: list[dict], rules: list[dict]) -> list[tuple]:
    """(time, rule, key, value, high) of every answer."""
    answers = []
    for rule in rules:
        values = rule["measure"].removeprefix("distinct ").split(", ") if "distinct" in rule["measure"] else []
        values = ["bytes"] if rule["measure"] in NUMBERS else values
        keys, all_rows = defaultdict(list), defaultdict(list)
        for row in rows:
            needed = [row[name] for name in (*rule["key"], *values)]
            if CONDITIONS[rule.get("where")](row) and None not in needed:
                keys[tuple(row[name] for name in rule["key"])].append((row["ts"], tuple(row[name] for name in values)))
                all_rows[tuple(row[name] for name in rule["key"])].append(row)
        for key, own in keys.items():
            text = json.dumps(dict(zip(rule["key"], key, strict=True)))
            if rule["measure"] in NUMBERS:
                found = of_numbers(rule, own)
            elif rule["measure"] == "sequence":
                found = completed(rule, all_rows[key], lambda where, row: CONDITIONS[where](row))
            elif "below" in rule:
                found = falls_of_a_key(rule, own, max(row["ts"] for row in rows))
            else:
                found = of_a_key(rule, own, bool(values))
            answers += [(time, rule["name"], text, *numbers) for time, *numbers in found]
    return sorted(answers)


def of_a_key(rule: dict, own: list, distinct: bool):
    """The answers of one key, whose rows are (time, values) in order of time."""
    times, silent = [time for time, _ in own], -1e18
    window = int(rule["window"].split()[0])
    silence = int(rule["silence"].split()[0]) if "silence" in rule else None

    def measure(start, stop):
        return len({values for _, values in own[start:stop]}) if distinct else stop - start

    for time in sorted(set(times)):
        first, stop = bisect_left(times, time), bisect_right(times, time)
        if rule["measure"] == "unseen":
            low = high = 0
            answers = bisect_left(times, time - window) == first and time > 60
        else:
            start = bisect_right(times, time - window)
            before, low = measure(start, first), measure(start, stop)
            high, bound = low, rule["at_least"]
            answers = low >= bound and (before < bound or rule["tell"] == "each")
            if before >= bound:
                low, high = bound + (0 if distinct else stop - first), None
        if answers and time >= silent and ("until" not in rule or time <= 1200):
            silent = time + silence if silence is not None else silent
            yield time, low, high


def of_numbers(rule: dict, own: list):
    """The answers of one key to a rule about a sum, mean or quantile."""
    silent, window, bound = -1e18, int(rule["window"].split()[0]), rule["at_least"]
    silence = int(rule["silence"].split()[0]) if "silence" in rule else 0

    def measure(numbers):
        if not numbers or len(numbers) < rule.get("least", 1):
            return 0 if rule["measure"] == "sum bytes" else -1
        if rule["measure"] in ("sum bytes", "mean bytes"):
            return sum(numbers) / (1 if rule["measure"] == "sum bytes" else len(numbers))
        rank = ceil(len(numbers) * (0.5 if "median" in rule["measure"] else 0.9))
        return sorted(numbers)[rank - 1]

    for time in sorted({time for time, _ in own}):
        before = measure([number for at, (number,) in own if time - window < at < time])
        after = measure([number for at, (number,) in own if time - window < at <= time])
        answers = after >= bound and (before < bound or rule["tell"] == "each")
        if answers and time >= silent and ("until" not in rule or time <= 1200):
            silent = time + silence
            yield time, after, after


def falls_of_a_key(rule: dict, own: list, last: float):
    """The answers of one key to a rule with `below`, up to the last row of all."""
    times, silent, bound = [time for time, _ in own], -1e18, rule["below"]
    window = int(rule["window"].split()[0])
    silence = int(rule["silence"].split()[0]) if "silence" in rule else 0
    for moment in sorted({time + window for time in times}):
        before = sum(moment - window <= time < moment for time in times)
        after = sum(moment - window < time <= moment for time in times)
        late = moment > last or ("until" in rule and moment > 1200)
        if before >= bound > after and not late and moment >= silent:
            silent = moment + silence
            yield moment, after, after


def plain(answers: pa.Table) -> list[tuple]:
    columns = [answers[name].to_pylist() for name in ("time", "rule", "key", "value", "high")]
    return sorted((time.timestamp(), *others) for time, *others in zip(*columns, strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_batch_stream_and_shards_equal_an_oracle_that_keeps_every_row(seed):
    table, rules = random_rows(seed, 3000), random_rules(seed, 30)
    query = make_query({"kind": "detections", "time": "ts", "detections": rules, "carry": ["id"]})
    rows = [{**row, "ts": row["ts"].timestamp()} for row in table.to_pylist()]
    whole = local.apply(table, query)
    assert plain(whole) == by_definition(rows, rules)
    assert len(whole) > 1000
    ids, by_name, fallen = {row["id"]: row for row in rows}, {rule["name"]: rule for rule in rules}, 0
    for answer in whole.to_pylist():
        row, rule, key = ids[answer["id"]], by_name[answer["rule"]], json.loads(answer["key"])
        assert key.items() <= row.items()
        if "below" in rule:
            meets, fallen = CONDITIONS[rule.get("where")], fallen + 1
            times = [one["ts"] for one in rows if meets(one) and key.items() <= one.items()]
            assert row["ts"] == max(time for time in times if time <= answer["time"].timestamp())
        else:
            assert row["ts"] == answer["time"].timestamp()
    assert fallen > 30
    assert streamed(query, table, Random(seed)) == whole
    for shards in (2, 4):
        found, metrics = on_shards(table, query, shards, 4)
        assert rows_of(found) == rows_of(whole)
        assert sum(one.rows_in for shard in metrics for one in shard) == len(table), "each row is counted once"


def streamed(query, table: pa.Table, random: Random) -> pa.Table:
    """The answers of a stream cut anywhere, saved and restored now and then, with rows of one time in any order."""
    order = list(range(len(table)))
    times = table["ts"].to_pylist()
    order.sort(key=lambda place: (times[place], random.random()))
    batch = table.take(pa.array(order)).combine_chunks().to_batches()[0]
    run, pieces, start = LocalRun.start(query, table.schema), [], 0
    while start < len(batch):
        stop = start + random.choice((1, 7, 90, 400))
        pieces.append(run.push(batch.slice(start, stop - start)))
        start = stop
        if random.random() < 0.3:
            state, run = run.snapshot(), LocalRun.start(query, table.schema)
            run.restore(state)
    return pa.Table.from_batches([*pieces, run.finish()])
