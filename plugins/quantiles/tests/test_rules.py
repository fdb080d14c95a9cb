"""Rules of quantiles: windows that come, change and go while a stream runs, answered at once."""

import math
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from rules_oracle import Rule, random_rules, rules_table, versions_of, windows_of
from skyband.engines.local import LocalRun, apply
from skyband.errors import ConfigError, InputError, SkybandError
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.queries import make_query
from skyband_quantiles.quantiles.rules_processor import RulesProcessor

SECOND = 1_000_000
LONGEST = 12
AT, ABOVE = [0.5, 0.9], [2.0]
KEYS = {
    "kind": "quantiles", "time": "ts", "value": "ms", "at": AT, "above": ABOVE, "windows": [], "every": "3 seconds",
}  # fmt: skip
LIMITS = {"longest": f"{LONGEST} seconds"}


def table_of(rows):
    times, ms, groups = zip(*rows, strict=True)
    ts = pa.array(np.array(times) * SECOND, pa.timestamp("us"))
    return pa.table({"ts": ts, "ms": ms, "place": groups})


def batch_of(rows):
    return table_of(rows).combine_chunks().to_batches()[0]


def started(by=("place",), backend="exact", **changes):
    query = make_query({**KEYS, **LIMITS, "by": list(by), **changes})
    schema = table_of([(0, 0.0, 0)]).schema
    return LocalRun(Operator(query, bind(query, schema, {"quantile-sketch": backend}), schema))


def resumed(run):
    operator = run.operator
    other = Operator(operator.query, operator.bindings, operator.schema)
    other.restore(operator.snapshot())
    assert other.snapshot() == operator.snapshot()
    again = LocalRun(other)
    again._latest = run._latest
    return again


def scenario(seed, count=40):
    """Rows in micro-batches, and the rules that come before some of them."""
    random = np.random.default_rng(seed)
    steps = random.choice([0, 0, 1, 1, 2, 5, LONGEST + 3], count, p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.04, 0.01])
    columns = (np.cumsum(steps), random.integers(0, 5, count) + 0.0, random.integers(0, 2, count))
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    cuts = [0, *sorted(random.choice(np.arange(1, count), 5, replace=False).tolist()), count]
    answered, live, later, steps = None, set(), set(), []
    for batch in (rows[start:stop] for start, stop in pairwise(cuts)):
        now = 0 if answered is None else answered
        come = random_rules(random, now, live, later, LONGEST, 1) if random.random() < 0.7 else []
        steps.append((answered, come, batch))
        answered = batch[-1][0]
    return rows, steps


def played(steps, by=("place",), kill=(), **changes):
    run, pieces = started(by, **changes), []
    for number, (_, rules, batch) in enumerate(steps):
        if rules:
            run.broadcast(rules_table(rules, k=False))
        run = resumed(run) if number in kill else run
        pieces.append(run.push(batch_of(batch)))
        run = resumed(run) if number in kill else run
    return plain(pa.Table.from_batches([*pieces, run.finish()]), by)


def plain(table, by=("place",)):
    at = (table["at"].cast(pa.int64()).to_numpy() // SECOND).tolist()
    groups = table[by[0]].to_pylist() if by else [0] * len(table)
    names = ("rule", "window", "quantile", "above", "value", "rows")
    return list(zip(groups, at, *(table[name].to_pylist() for name in names), strict=True))


def answered_by(windows):
    """The answers of each (group, at, name, rule, rows)."""
    found = set()
    for group, at, name, rule, inside in windows:
        values, length = sorted(row[1] for row in inside), f"{rule.window} second{'s' if rule.window > 1 else ''}"
        for share in AT:
            value = values[max(math.ceil(round(share * len(values), 9)), 1) - 1]
            found.add((group, at, name, length, share, None, value, len(values)))
        for limit in ABOVE:
            part = sum(value > limit for value in values) / len(values)
            found.add((group, at, name, length, None, limit, part, len(values)))
    return found


def expected(rows, steps, by=("place",)):
    """Up to the first moment of each rule after the last row of any group."""
    versions = versions_of([(answered, rules) for answered, rules, _ in steps if rules])
    latest, found = max(row[0] for row in rows), set()
    rows = [(*row[:2], row[2] if by else 0) for row in rows]
    for version in versions:
        last = latest + version[1].slide - latest % version[1].slide
        found |= answered_by(windows_of(rows, [version], last))
    return found


def checked(seed, by=("place",), **options):
    rows, steps = scenario(seed)
    got = played(steps, by, **options)
    assert len(got) == len(set(got)), f"seed {seed}: an answer was given twice"
    assert set(got) == expected(rows, steps, by), f"seed {seed}"
    return len(got)


@pytest.mark.parametrize("backend", ["exact", "k-skb", "buckets"])
def test_rules_answer_what_they_would_have_answered_for_ever(backend):
    """Of so few rows all sketches are exact."""
    for by in ((), ("place",)):
        assert sum(checked(seed, by, backend=backend) for seed in range(5)) > 200


def test_a_run_that_is_killed_goes_on_with_its_rules():
    for seed in range(40, 46):
        checked(seed, kill=range(seed % 3, 6, 2))


def test_windows_of_the_query_hold_for_ever_and_may_change_at_once():
    rows, _ = scenario(3, 60)
    run = started(windows=["7 seconds"])
    run.push(batch_of(rows[:30]))
    changed = make_query({**KEYS, **LIMITS, "by": ["place"], "windows": ["12 seconds", "5 seconds"]})
    operator = Operator(changed, run.operator.bindings, run.operator.schema)
    operator.restore(run.operator.snapshot())
    got = plain(pa.Table.from_batches([LocalRun(operator).push(batch_of(rows[30:]))]))
    versions = [(f"{window} seconds", Rule("", window, 3), rows[29][0], 10**9) for window in (5, 12)]
    assert got
    assert set(got) == answered_by(windows_of(rows, versions, rows[-1][0]))


def test_a_rule_without_a_slide_has_that_of_the_query():
    rows = [(second, 1.0, 0) for second in range(20)]
    table = pa.table({"name": ["r"], "window": ["4 seconds"]})
    got = apply(table_of(rows), {**KEYS, **LIMITS, "offset": "1 second"}, rules=table)
    at = sorted(set((got["at"].cast(pa.int64()).to_numpy() // SECOND).tolist()))
    assert at == [1, 4, 7, 10, 13, 16, 19, 22]


@pytest.mark.parametrize(
    ("rule", "k", "why"),
    [
        (Rule("wide", LONGEST + 1), False, "rules.window, row 0: .*above longest = '12 seconds'"),
        (Rule("a", 3), True, "rules.k: is no column of a rule"),
        (Rule("gone", None), False, "rules.name, row 0: no rule 'gone' is there to end"),
    ],
)
def test_a_rule_that_cannot_be_taken_is_a_bad_row(rule, k, why):
    with pytest.raises(InputError, match=why):
        started().broadcast(rules_table([rule], k))


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"longest": None}, r"windows: must be a list of durations.*or `longest`"),
        ({"windows": ["1 minute"]}, r"windows\[0\]: must be at most longest = '12 seconds'"),
        ({"answers": "changes"}, "answers: does not go with `longest`"),
        ({"emit": "state"}, "emit: does not go with `longest`"),
        ({"rules": {}}, "rules: is a source beside the rows"),
    ],
)
def test_limits_and_the_other_keys_fit_each_other(keys, why):
    with pytest.raises(ConfigError, match=why):
        make_query({**KEYS, **LIMITS, **keys})


def longer(self, answers, moments, place):
    since = np.maximum(moments.since - SECOND, moments.at - LONGEST * SECOND)
    return ANSWER(self, answers, moments._replace(since=since), place)


ANSWER = RulesProcessor._answer


def test_the_oracle_sees_what_is_wrong(monkeypatch):
    monkeypatch.setattr(RulesProcessor, "_answer", longer)

    def fails(seed):
        try:
            checked(seed)
        except (AssertionError, SkybandError):
            return True
        return False

    assert any(map(fails, range(8)))


@pytest.mark.slow
def test_two_thousand_random_streams_are_never_wrong():
    backends = ["exact", "k-skb"]
    assert sum(checked(seed, kill=[seed % 6], backend=backends[seed % 2]) for seed in range(1000, 3000)) > 10**5
