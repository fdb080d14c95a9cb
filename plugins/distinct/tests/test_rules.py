"""Rules of distinct-count: windows that are added, changed and removed while a stream runs."""

import numpy as np
import pyarrow as pa
import pytest
from rules_frames import DistinctFrame
from rules_oracle import LONGEST, SECOND, Rule, rules_table, windows_of
from skyband.arrays import TIME_MAX
from skyband.engines.local import apply
from skyband.errors import ConfigError, InputError
from skyband.groups.execution import execution_of
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import encode
from skyband.queries import make_query
from skyband.rules import rules_in_force
from skyband_distinct.distinct_count import execution
from skyband_distinct.distinct_count.rules_processor import RulesProcessor

KEYS, LIMITS = DistinctFrame.keys, DistinctFrame.limits
RANGES = {"value": "ms", "ranges": [[0, 2], [2, 5]]}
FRAME = DistinctFrame()
checked, started, batch_of, table_of = FRAME.checked, FRAME.started, FRAME.batch_of, FRAME.table_of


@pytest.mark.parametrize("backend", ["exact", "k-skb"])
@pytest.mark.parametrize("by", [(), ("place",)], ids=["whole", "groups"])
def test_rules_answer_as_if_they_had_always_existed(by, backend):
    """Items are few, so that k-skb is exact too."""
    assert sum(checked(seed, by, backend=backend) for seed in range(12)) > 400


def test_rules_answer_ranges_of_values():
    assert sum(checked(seed, options={"ranges": RANGES["ranges"]}, **RANGES) for seed in range(6)) > 200


@pytest.mark.parametrize("backend", ["exact", "k-skb"])
def test_rules_answer_by_how_often_items_were_seen(backend):
    """For all, for one group only, and killed in between."""
    for seed in range(3):
        assert checked(seed, backend=backend, options={"seen": [1, 2, 4]}, seen=[1, 2, 4]) > 100
        alone = {"options": {"seen": [3]}, "size": {"filtered": True}}
        checked(seed, kill=range(seed, 6, 2), **alone, backend=backend, seen=[3])


def test_a_rule_for_one_group_is_answered_only_there():
    for seed in range(20, 26):
        checked(seed, kill=[seed % 6], size={"filtered": True})


def test_a_table_updated_by_changes_has_the_answers_of_rules_in_force():
    """Rules start, change and end, or are for one group only; runs are killed in between."""
    for seed in range(4):
        FRAME.followed(seed, kill=range(seed % 3, 6, 2), size={"filtered": seed % 2 == 0})
    assert sum(FRAME.followed(seed, ()) for seed in range(20, 22)) > 50


def test_a_killed_run_continues_with_its_rules():
    for seed in range(40, 48):
        checked(seed, kill=range(seed % 3, 6, 2))


def test_several_shards_answer_like_one():
    for seed in range(60, 66):
        rows, steps = FRAME.scenario(seed)
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
        assert set(FRAME.plain(merged, ())) == FRAME.expected(rows, steps, ())
        assert merged.schema == query.result_schema(schema)


@pytest.mark.parametrize("backend", ["k-skb", "pcsa-ml", "se-fm", "se-pcsa"])
def test_a_rule_has_the_estimates_of_a_query_with_its_window(backend):
    """With bounds, and too many items to count exactly: a late rule, compared with a query from the first row on."""
    random = np.random.default_rng(7)
    rows = [(second // 40, int(who), 0.0, 0) for second, who in enumerate(random.integers(0, 3_000, 2_000))]
    run, query = started((), backend), started((), backend, windows=["5 seconds"], every="2 seconds", longest=None)
    first, second = (batch_of(part) for part in (rows[:1_000], rows[1_000:]))
    run.push(first)
    query.push(first)
    run.broadcast(rules_table([Rule("late", 5, 2)], k=False))
    got, wanted = (pa.Table.from_batches([each.push(second), each.finish()]) for each in (run, query))
    assert len(wanted) > 10
    assert got["rule"].unique().to_pylist() == ["late"]
    assert got.drop_columns("rule") == wanted


def test_windows_of_the_query_always_exist_and_may_change_at_once():
    rows = FRAME.random_rows(np.random.default_rng(3), 60)
    before, after = {"windows": ["7 seconds"], "every": "2 seconds"}, {"windows": ["12 seconds", "5 seconds"]}
    got = FRAME.changed_at_once(before, after, rows)
    versions = [(f"{window} seconds", Rule("", window, 3), rows[29][0], 10**9) for window in (5, 12)]
    assert got
    assert set(got) == FRAME.answers_of(windows_of(rows, versions, rows[-1][0]))


def test_a_rule_without_a_slide_uses_that_of_the_query():
    rows = [(second, second % 3, 0.0, 0) for second in range(20)]
    table = pa.table({"name": ["r"], "window": ["4 seconds"]})
    got = FRAME.plain(apply(table_of(rows), {**KEYS, **LIMITS, "offset": "1 second"}, rules=table), ())
    assert [at for _, at, *_ in got] == [1, 4, 7, 10, 13, 16, 19, 22]


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (rules_table([Rule("wide", LONGEST + 1)], k=False), "rules.window, row 0: .*above longest = '12 seconds'"),
        (rules_table([Rule("a", 3)]), "rules.k: is not a column of rules"),
        (rules_table([Rule("3 seconds", 3)], k=False), "rules.name, row 0: '3 seconds' is a fixed window of the query"),
        (rules_table([Rule("gone", None)], k=False), "rules.name, row 0: there is no rule 'gone' to end"),
        (rules_table([Rule("still", 3, 0)], k=False), "rules.slide, row 0: .*above 0"),
    ],
)
def test_an_invalid_rule_is_a_bad_row(table, why):
    run = started(windows=["3 seconds"])
    with pytest.raises(InputError, match=why):
        run.broadcast(table)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"longest": None}, r"windows: must be a list of durations.*or set `longest`"),
        ({"longest": "10 rows"}, "longest: must be a length of time"),
        ({"windows": ["1 minute"]}, r"windows\[0\]: must be at most longest = '12 seconds'"),
        ({"every": "3 rows"}, "every: must be a length of time with `longest`"),
        ({"every": "1 day in Europe/Paris"}, "every: must be a length of time with `longest`"),
        ({"emit": "state"}, "emit: cannot be combined with `longest`"),
        ({"rules": {}}, "rules: is a second source"),
    ],
)
def test_keys_that_contradict_the_limits_are_refused(keys, why):
    with pytest.raises(ConfigError, match=why):
        make_query({**KEYS, **LIMITS, **keys})


def longer(self, moments, place):
    return ANSWERS(self, moments._replace(since=moments.since - SECOND), place)


def also_empty(self, moments, place):
    at, rule, since, _ = moments.row(place)
    return [(at, rule, rule, *self._backend.estimate_with_bounds(since))]


ANSWERS = RulesProcessor._answers_of
MUTANTS = [
    (RulesProcessor, "_answers_of", longer),
    (RulesProcessor, "_answers_of", also_empty),
    (rules_in_force.Rules, "next_at", TIME_MAX),
    (rules_in_force.Rules, "at_the_end", lambda self, moments, latest: moments),
]


@pytest.mark.parametrize(("owner", "name", "wrong"), MUTANTS, ids=["longer", "also empty", "no turns", "no end"])
def test_the_oracle_finds_mutants(monkeypatch, owner, name, wrong):
    monkeypatch.setattr(execution, "_MOST_KEYS", 0)
    monkeypatch.setattr(owner, name, wrong)
    assert FRAME.seen(range(8))


@pytest.mark.slow
def test_two_thousand_random_streams_are_never_wrong():
    seeds, backends = range(1000, 3000), ["exact", "k-skb"]
    size = {"filtered": True}
    assert sum(checked(seed, kill=[seed % 6], backend=backends[seed % 2], size=size) for seed in seeds) > 80_000
