"""Rules of distinct-count: windows that come, change and go while a stream runs, answered at once."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from rules_oracle import Rule, random_rules, rules_table, versions_of, windows_of
from skyband.arrays import TIME_MAX
from skyband.engines.local import LocalRun, apply
from skyband.errors import ConfigError, InputError, SkybandError
from skyband.groups.execution import execution_of
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import encode
from skyband.queries import make_query
from skyband.rules import rules_in_force as rules_module
from skyband_distinct.distinct_count.rules_processor import RulesProcessor

SECOND = 1_000_000
LONGEST = 12
KEYS = {"kind": "distinct-count", "time": "ts", "item": "who", "windows": [], "every": "3 seconds"}
LIMITS = {"longest": f"{LONGEST} seconds"}
RANGES = {"value": "ms", "ranges": [[0, 2], [2, 5]]}


def table_of(rows):
    times, who, ms, groups = zip(*rows, strict=True)
    ts = pa.array(np.array(times) * SECOND, pa.timestamp("us"))
    return pa.table({"ts": ts, "who": who, "ms": ms, "place": groups})


def batch_of(rows):
    return table_of(rows).combine_chunks().to_batches()[0]


def random_rows(random, count):
    steps = random.choice([0, 0, 1, 1, 2, 5, LONGEST + 3], count, p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.04, 0.01])
    who, ms, place = random.integers(0, 8, count), random.integers(0, 5, count) + 0.0, random.integers(0, 2, count)
    return list(zip(np.cumsum(steps).tolist(), who.tolist(), ms.tolist(), place.tolist(), strict=True))


def started(by=("place",), backend="exact", **changes):
    query = make_query({**KEYS, **LIMITS, "by": list(by), **changes})
    schema = table_of([(0, 0, 0.0, 0)]).schema
    return LocalRun(Operator(query, bind(query, schema, {"sketch": backend}), schema))


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
    rows = random_rows(random, count)
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
    names = [name for name in ("rule", "window", "range", "count") if name in table.column_names]
    return list(zip(groups, at, *(table[name].to_pylist() for name in names), strict=True))


def expected(rows, steps, by=("place",), ranges=()):
    """Up to the first moment of each rule after the last row of any group."""
    versions = versions_of([(answered, rules) for answered, rules, _ in steps if rules])
    latest, found = max(row[0] for row in rows), set()
    rows = [(*row[:3], row[3] if by else 0) for row in rows]
    for version in versions:
        last = latest + version[1].slide - latest % version[1].slide
        for group, at, name, rule, inside in windows_of(rows, [version], last):
            length = f"{rule.window} second{'s' if rule.window > 1 else ''}"
            newest = {row[1]: row[2] for row in sorted(inside, key=lambda row: (row[0], row[2]))}
            if not ranges:
                found.add((group, at, name, length, float(len(newest))))
            for low, high in ranges:
                count = sum(low <= ms < high for ms in newest.values())
                found.add((group, at, name, length, f"[{low}, {high})", float(count)))
    return found


def checked(seed, by=("place",), bounds=(), **options):
    rows, steps = scenario(seed)
    got = played(steps, by, **options)
    assert len(got) == len(set(got)), f"seed {seed}: an answer was given twice"
    assert set(got) == expected(rows, steps, by, bounds), f"seed {seed}"
    return len(got)


@pytest.mark.parametrize("backend", ["exact", "k-skb"])
@pytest.mark.parametrize("by", [(), ("place",)], ids=["whole", "groups"])
def test_rules_answer_what_they_would_have_answered_for_ever(by, backend):
    """So few items are counted exactly by k-skb too."""
    assert sum(checked(seed, by, backend=backend) for seed in range(12)) > 400


def test_ranges_of_values_are_asked_by_rules_too():
    assert sum(checked(seed, bounds=RANGES["ranges"], **RANGES) for seed in range(6)) > 200


def test_a_run_that_is_killed_goes_on_with_its_rules():
    for seed in range(40, 48):
        checked(seed, kill=range(seed % 3, 6, 2))


def test_shards_give_what_one_gives():
    for seed in range(60, 66):
        rows, steps = scenario(seed)
        query = started(()).operator.query
        schema = table_of(rows).schema
        shards = [Operator(query, bind(query, schema, {"sketch": "exact"}), schema, shared=True) for _ in range(3)]
        pieces = []
        for _, rules, batch in steps:
            frame = encode(query, batch_of(batch))
            for number, shard in enumerate(shards):
                if rules:
                    shard.broadcast(rules_table(rules, k=False))
                shard.add(frame.frame.filter(pa.array(np.array([row[1] % 3 == number for row in batch]))))
            pieces += [shard.step(frame.progress) for shard in shards]
        pieces += [shard.finish(max(row[0] for row in rows) * SECOND) for shard in shards]
        merged = execution_of(query).merge(pa.Table.from_batches(pieces))
        assert set(plain(merged, ())) == expected(rows, steps, ())
        assert merged.schema == query.result_schema(schema)


@pytest.mark.parametrize("backend", ["k-skb", "pcsa-ml", "se-fm", "se-pcsa"])
def test_a_rule_gives_the_estimates_of_a_query_of_its_window(backend):
    """With the bounds, where items are too many to be counted exactly: a rule that comes late, beside a query that was
    there from the first row."""
    random = np.random.default_rng(7)
    rows = [(second // 40, int(who), 0.0, 0) for second, who in enumerate(random.integers(0, 3_000, 2_000))]
    run, query = started((), backend), started((), backend, windows=["5 seconds"], every="2 seconds", longest=None)
    first, second = (batch_of(part) for part in (rows[:1_000], rows[1_000:]))
    run.push(first)
    query.push(first)
    run.broadcast(rules_table([Rule("late", 5, 2)], k=False))
    got, wanted = (pa.Table.from_batches([one.push(second), one.finish()]) for one in (run, query))
    assert len(wanted) > 10
    assert got["rule"].unique().to_pylist() == ["late"]
    assert got.drop_columns("rule") == wanted


def test_windows_of_the_query_hold_for_ever_and_may_change_at_once():
    rows = random_rows(np.random.default_rng(3), 60)
    run = started(windows=["7 seconds"], every="2 seconds")
    run.push(batch_of(rows[:30]))
    changed = make_query({**KEYS, **LIMITS, "by": ["place"], "windows": ["12 seconds", "5 seconds"]})
    operator = Operator(changed, run.operator.bindings, run.operator.schema)
    operator.restore(run.operator.snapshot())
    got = plain(pa.Table.from_batches([LocalRun(operator).push(batch_of(rows[30:]))]))
    versions = [(f"{window} seconds", Rule("", window, 3), rows[29][0], 10**9) for window in (5, 12)]
    asked = windows_of(rows, versions, rows[-1][0])
    assert got
    assert set(got) == {(*one[:3], one[2], float(len({row[1] for row in one[4]}))) for one in asked}


def test_a_rule_without_a_slide_has_that_of_the_query():
    rows = [(second, second % 3, 0.0, 0) for second in range(20)]
    table = pa.table({"name": ["r"], "window": ["4 seconds"]})
    got = plain(apply(table_of(rows), {**KEYS, **LIMITS, "offset": "1 second"}, rules=table), ())
    assert [at for _, at, *_ in got] == [1, 4, 7, 10, 13, 16, 19, 22]


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (rules_table([Rule("wide", LONGEST + 1)], k=False), "rules.window, row 0: .*above longest = '12 seconds'"),
        (rules_table([Rule("a", 3)]), "rules.k: is no column of a rule"),
        (rules_table([Rule("3 seconds", 3)], k=False), "rules.name, row 0: '3 seconds' is asked by the query itself"),
        (rules_table([Rule("gone", None)], k=False), "rules.name, row 0: no rule 'gone' is there to end"),
        (rules_table([Rule("still", 3, 0)], k=False), "rules.slide, row 0: .*above 0"),
    ],
)
def test_a_rule_that_cannot_be_taken_is_a_bad_row(table, why):
    run = started(windows=["3 seconds"])
    with pytest.raises(InputError, match=why):
        run.broadcast(table)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"longest": None}, r"windows: must be a list of durations.*or `longest`"),
        ({"longest": "10 rows"}, "longest: must be a length of time"),
        ({"windows": ["1 minute"]}, r"windows\[0\]: must be at most longest = '12 seconds'"),
        ({"every": "3 rows"}, "every: must be a length of time with `longest`"),
        ({"every": "1 day in Europe/Paris"}, "every: must be a length of time with `longest`"),
        ({"answers": "changes"}, "answers: does not go with `longest`"),
        ({"emit": "state"}, "emit: does not go with `longest`"),
        ({"rules": {}}, "rules: is a source beside the rows"),
    ],
)
def test_limits_and_the_other_keys_fit_each_other(keys, why):
    with pytest.raises(ConfigError, match=why):
        make_query({**KEYS, **LIMITS, **keys})


def test_a_backend_that_keeps_panes_says_why_it_takes_no_rules():
    with pytest.raises(ConfigError, match="hll-panes lacks any-since, which the query needs: a pane is one HLL"):
        started(backend="hll-panes")


def longer(self, moments, place):
    return ANSWERS(self, moments._replace(since=moments.since - SECOND), place)


def also_empty(self, moments, place):
    at, rule, since, _ = moments.at_place(place)
    return [(at, rule, rule, *self._sketch.estimate_with_bounds(since))]


ANSWERS = RulesProcessor._answers_of
MUTANTS = [
    (RulesProcessor, "_answers_of", longer),
    (RulesProcessor, "_answers_of", also_empty),
    (rules_module.Rules, "next_at", TIME_MAX),
    (rules_module.Rules, "at_the_end", lambda self, moments, latest: moments),
]


@pytest.mark.parametrize(("owner", "name", "wrong"), MUTANTS, ids=["longer", "also empty", "no turns", "no end"])
def test_the_oracle_sees_what_is_wrong(monkeypatch, owner, name, wrong):
    monkeypatch.setattr(owner, name, wrong)

    def fails(seed):
        try:
            checked(seed)
        except (AssertionError, SkybandError):
            return True
        return False

    assert any(map(fails, range(8)))


@pytest.mark.slow
def test_two_thousand_random_streams_are_never_wrong():
    assert (
        sum(checked(seed, kill=[seed % 6], backend=["exact", "k-skb"][seed % 2]) for seed in range(1000, 3000)) > 10**5
    )
