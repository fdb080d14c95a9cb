"""Rules that arrive, change and end during a run: each answers at once as if it had always been in force."""

from collections import Counter
from itertools import pairwise
from time import process_time

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from rules_frames import WorkloadFrame
from rules_oracle import LONGEST, MOST, SECOND, Rule, rules_table, windows_of
from skyband import snapshot
from skyband.arrays import TIME_MAX, TIME_MIN
from skyband.engines.local import apply
from skyband.errors import ConfigError, InputError
from skyband.groups.execution import execution_of
from skyband.groups.small_groups import limits
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import encode
from skyband.queries import make_query
from skyband.rules import rules_in_force

KEYS, LIMITS = WorkloadFrame.keys, WorkloadFrame.limits
FRAME = WorkloadFrame()
checked, started, batch_of, table_of = FRAME.checked, FRAME.started, FRAME.batch_of, FRAME.table_of


@pytest.mark.parametrize("by", [(), ("place",)], ids=["whole", "groups"])
def test_rules_answer_as_if_they_had_always_been_in_force(by):
    assert sum(checked(seed, by) for seed in range(25)) > 1000


def test_a_rule_for_a_group_is_answered_only_there():
    assert sum(checked(seed, size={"filtered": True}) for seed in range(25)) > 700
    for seed in range(40, 52):
        checked(seed, kill=range(seed % 3, 6, 2), size={"filtered": True})


def test_a_table_kept_from_changes_has_the_answers_of_rules_in_force():
    """Rules that arrive, change, end, and are for a single group, with kills in between."""
    for seed in range(8):
        FRAME.followed(seed, kill=range(seed % 3, 6, 2), size={"filtered": seed % 2 == 0})
    assert sum(FRAME.followed(seed, ()) for seed in range(20, 22)) > 50


def test_groups_are_identified_by_the_values_of_all_columns_of_by():
    """As strings in a table of rules, whatever the type of the columns; null is a value, as for groups."""
    rows = table_of([(second, second % 3, 1.0, second % 2) for second in range(12)])
    day = pa.array([0, None] * 6, pa.int32()).cast(pa.date32())
    rows = rows.append_column("day", day).append_column("half", pa.array([0.0, -0.0, 0.5, 0.5] * 3))
    rules = rules_table([Rule(name, 4, 4, 1) for name in "abc"])
    groups = [["0", "1970-01-01", "0"], ["1", None, "0.5"], ["1", None, "-0.0"]]
    rules = rules.append_column("group", pa.array(groups, pa.list_(pa.string())))
    keys = {**KEYS, **LIMITS, "by": ["place", "day", "half"]}
    got = apply(rows, keys, rules=rules).to_pylist()
    assert {(row["query"], row["place"], row["day"] is None, row["half"]) for row in got} == {
        ("a", 0, False, 0.0),
        ("b", 1, True, 0.5),
        ("c", 1, True, 0.0),
    }
    plain = rules_table([Rule("a", 4, 4, 1)]).append_column("group", pa.array([1]))
    got = apply(rows, {**keys, "by": ["place"]}, rules=plain)
    assert set(got["place"].to_pylist()) == {1}


def test_a_thousand_groups_with_a_rule_each_have_separate_turns(monkeypatch):
    """A trigger at which the rule of one group is due costs as much as with a single rule."""
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    groups = 300
    run = started()
    run.broadcast(rules_table([Rule(f"r{group}", 4, 1 + group, 1, group=group) for group in range(groups)]))
    run.push(batch_of([*((0, group, 1.0, group) for group in range(groups)), (1, 0, 1.0, 0)]))
    turns = []
    for processor in run.operator.groups._processors._active.values():
        processor.advance = lambda *args, of=processor: turns.append(of._group) or type(of).advance(of, *args)
    got = [run.push(batch_of([(second, 0, 1.0, 0)])) for second in (2, 3, 4)]
    assert [len(one) for one in got] == [2, 2, 3]
    assert sorted(Counter(turns).values()) == [1, 1, 2, 3], "the group with rows, and those that were due"


def test_an_object_counts_once_with_rules_too():
    for seed in range(6):
        rows, steps = FRAME.scenario(seed)
        best = {(row[3], row[0], row[1]): row for row in sorted(rows, key=lambda row: row[2])}
        assert best
        once, each = (set(FRAME.played(steps, repeats=repeats)) for repeats in ("best", "each"))
        objects = [(group, at, rule, what) for group, at, rule, _, what, _ in once]
        assert len(objects) == len(set(objects))
        first = {answer for answer in each if answer[3] == 1}
        assert first == {answer for answer in once if answer[3] == 1}


@pytest.mark.parametrize("by", [(), ("place",)], ids=["whole", "groups"])
def test_a_killed_run_continues_with_its_rules(by):
    for seed in range(40, 52):
        checked(seed, by, kill=range(seed % 3, 6, 2))


def test_answers_and_state_do_not_depend_on_micro_batches():
    for seed in range(20):
        rows, steps = FRAME.scenario(seed)
        rules = [(answered, came) for answered, came, _ in steps if came][:1]
        if not rules:
            continue
        run, twin = started(), started()
        for one, cuts in ((run, [10, 25]), (twin, [25])):
            for place, (start, stop) in enumerate(pairwise([0, *cuts])):
                if not place:
                    one.broadcast(rules_table(rules[0][1]))
                one.push(batch_of(rows[start:stop]))
        assert run.operator.snapshot() == twin.operator.snapshot()


def test_shards_give_the_answers_of_a_single_one():
    for seed in range(60, 70):
        rows, steps = FRAME.scenario(seed)
        query = started(()).operator.query
        schema = table_of(rows).schema
        shards = [Operator(query, bind(query, schema), schema, shared=True) for _ in range(3)]
        pieces = []
        for _, rules, batch in steps:
            progress = None
            frame = encode(query, batch_of(batch))
            for number, shard in enumerate(shards):
                if rules:
                    shard.broadcast(rules_table(rules))
                progress = frame.progress
                mine = np.array([row[1] % 3 == number for row in batch])
                shard.add(frame.frame.filter(pa.array(mine)))
            pieces += [shard.step(progress) for shard in shards]
        pieces += [shard.finish(max(row[0] for row in rows) * SECOND) for shard in shards]
        merged = execution_of(query).merge(pa.Table.from_batches(pieces))
        assert set(FRAME.plain(merged, ())) == FRAME.expected(rows, steps, ())
        assert merged.schema == query.result_schema(schema)


def test_rules_that_reach_shards_in_different_orders_are_the_same():
    """As from several partitions of a stream: two with one name, and an end before the rule that it ends."""
    random = np.random.default_rng(8)
    rows = FRAME.random_rows(random, 60)
    rules = [Rule(f"r{number}", 1 + number, 1 + number % 3, 1 + number % MOST) for number in range(8)]
    rules += [Rule("r0", 5, 2, 1), Rule("r1", None, after=20), Rule("later", None, after=30), Rule("later", 3, 1, 2)]
    rules += [Rule("gone", None), Rule("r2", 9, 2, 2, after=15), Rule("r2", 9, 2, 2, after=15)]
    query = started((), bad_rows="count").operator.query
    schema = table_of(rows).schema
    shards = [Operator(query, bind(query, schema), schema, shared=True) for _ in range(3)]
    frame, states, refused = encode(query, batch_of(rows)), [], []
    for number, shard in enumerate(shards):
        table = rules_table(rules).take(random.permutation(len(rules)) if number else np.arange(len(rules)))
        refused.append(sorted(row for _, row in shard.broadcast(table)))
        shard.add(frame.frame.filter(pa.array(np.array([row[1] % 3 == number for row in rows]))))
        states.append(shard._state.broadcast.dump_state())
    pieces = [shard.finish(rows[-1][0] * SECOND) for shard in shards]
    merged = execution_of(query).merge(pa.Table.from_batches(pieces))
    assert all(snapshot.encode({}, state) == snapshot.encode({}, states[0]) for state in states)
    assert refused == [refused[0]] * 3
    assert len(refused[0]) == 3
    good = [rule for rule in rules if rule not in (rules[0], rules[8], Rule("gone", None))]
    assert set(FRAME.plain(merged, ())) == FRAME.expected(rows, [(None, good, rows)], ())


def test_a_query_of_the_job_is_always_in_force_and_may_change_at_once():
    rows = FRAME.random_rows(np.random.default_rng(3), 60)
    mine = {"name": "mine", "window": "7 seconds", "slide": "2 seconds", "k": 2}
    other = {"name": "other", "window": "12 seconds", "slide": "3 seconds", "k": 4}
    got = FRAME.changed_at_once({"queries": [mine]}, {"queries": [other]}, rows)
    versions = [("other", Rule("other", 12, 3, 4), rows[29][0], 10**9)]
    assert got
    assert set(got) == FRAME.answers_of(windows_of(rows, versions, rows[-1][0]))


BAD = [
    (Rule("wide", LONGEST + 1, 1, 1), "rules.window", f"above longest = '{LONGEST} seconds'"),
    (Rule("many", 3, 1, MOST + 1), "rules.k", f"from 1 to most = {MOST}"),
    (Rule("none", 3, 1, 0), "rules.k", "from 1"),
    (Rule("still", 3, 0, 1), "rules.slide", "above 0"),
    (Rule("", 3, 1, 1), "rules.name", "must be a name"),
    (Rule("gone", None), "rules.name", "there is no rule 'gone' to end"),
    (Rule("over", 3, 1, 1, 9, 9), "rules.until", "would never answer"),
    (Rule("fixed", 3, 1, 1), "rules.name", "is a fixed window of the query"),
    (Rule("there", 3, 1, 1, group="x"), "rules.group", "must have a value of column 'place', which is int64"),
]


@pytest.mark.parametrize(("rule", "field", "why"), BAD, ids=[rule.name or "nameless" for rule, *_ in BAD])
def test_a_rule_that_cannot_be_applied_is_a_bad_row(rule, field, why):
    fixed = {"name": "fixed", "window": "7 seconds", "slide": "2 seconds", "k": 2}
    run = started(queries=[fixed])
    with pytest.raises(InputError, match=why) as raised:
        run.broadcast(rules_table([Rule("fine", 2, 2, 2), rule]))
    assert raised.value.argument == field
    assert "row 1" in str(raised.value)
    run, aside = started(queries=[fixed], bad_rows="count"), []
    run.on_bad_rows = aside.append
    run.broadcast(rules_table([Rule("fine", 2, 2, 2), rule]))
    given = run.push(batch_of([(0, 1, 1.0, 0), (4, 1, 1.0, 0)]))
    assert "fine" in given["query"].to_pylist()
    assert run.operator.take_metrics().dropped["bad"] == 1
    (bad,) = aside
    assert bad.num_rows == 1
    assert why in bad["_reason"][0].as_py()
    assert bad["_field"][0].as_py() == field
    assert f'"name": "{rule.name}"' in bad["_value"][0].as_py()


def test_a_name_twice_with_different_values_for_one_time_is_refused_both_times():
    run = started(bad_rows="count")
    aside = []
    run.on_bad_rows = aside.append
    run.broadcast(rules_table([Rule("a", 2, 2, 2), Rule("b", 3, 3, 1), Rule("a", 4, 2, 2), Rule("b", 3, 3, 1)]))
    given = run.push(batch_of([(0, 1, 1.0, 0), (8, 1, 1.0, 0)]))
    assert set(given["query"].to_pylist()) == {"b"}
    assert [len(bad) for bad in aside] == [2]


def test_an_end_without_a_rule_is_refused_each_time():
    run, aside = started(bad_rows="count"), []
    run.on_bad_rows = aside.append
    run.broadcast(rules_table([Rule("gone", None), Rule("fine", 2, 2, 2), Rule("gone", None)]))
    run.push(batch_of([(0, 1, 1.0, 0), (4, 1, 1.0, 0)]))
    assert run.operator.take_metrics().dropped["bad"] == 2 == sum(map(len, aside))


def test_many_rules_arrive_and_end():
    """In O(n log n): if each of so many names were searched among all, it would take minutes."""
    names, begun = [f"rule {number}" for number in range(20_000)], process_time()
    run = started()
    run.broadcast(rules_table([Rule(name, 2, 2, 2) for name in names]))
    run.push(batch_of([(0, 1, 1.0, 0)]))
    run.broadcast(rules_table([Rule(name, None) for name in names]))
    assert not len(run.push(batch_of([(4, 1, 1.0, 0)])))
    assert process_time() - begun < 30


def test_rows_of_other_tables_are_not_rules():
    run = started()
    for table, why in (
        (pa.table({"name": ["a"]}), "rules.window: is missing"),
        (rules_table([Rule("a", 1)]).append_column("untl", pa.array([1])), "rules.untl: is not a column of rules"),
        (rules_table([Rule("a", 1)]).set_column(3, "k", pa.array(["1"])), "rules.k: must be a whole number"),
        (rules_table([Rule("a", 1)]).set_column(4, "after", pa.array([7])), "rules.after: must be a timestamp"),
    ):
        with pytest.raises(InputError, match=why):
            run.broadcast(table)


def test_a_query_without_limits_accepts_no_rules():
    mine = {"name": "mine", "window": "7 seconds", "slide": "2 seconds", "k": 2}
    with pytest.raises(InputError, match="takes no second table"):
        apply(table_of([(0, 1, 1.0, 0)]), {**KEYS, "queries": [mine]}, rules=rules_table([Rule("a", 1)]))


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"longest": "1 hour"}, "most: is required"),
        ({"most": 3}, "longest: is required"),
        ({}, "queries: must be a list of tables"),
        ({"longest": "10 rows", "most": 3}, "longest: must be a length of time"),
        (
            {**LIMITS, "queries": [{"name": "q", "window": "1 hour", "slide": "1 minute", "k": 5}]},
            "window: must be at most longest = '12 seconds'.*\n.*queries\\[0\\].k: must be at most most = 4",
        ),
    ],
)
def test_limits_and_queries_must_fit_each_other(keys, why):
    with pytest.raises(ConfigError, match=why):
        make_query({**KEYS, **keys})


@pytest.mark.parametrize("name", ["mtoplist", "mtopband", "mintopk"])
def test_a_backend_that_keeps_only_views_says_why_it_accepts_no_rules(name):
    with pytest.raises(ConfigError, match=f"{name} lacks any-subquery, which the query needs: it only keeps what"):
        started(backend=name)


def test_a_table_of_rules_with_times_is_applied_to_a_whole_input():
    rows = FRAME.random_rows(np.random.default_rng(5), 80)
    rules = [Rule("a", 5, 2, 2, None, 20), Rule("a", 12, 3, 1, 30), Rule("b", 3, 1, 4, 10), Rule("b", None, after=25)]
    got = FRAME.plain(apply(table_of(rows), {**KEYS, **LIMITS, "by": ["place"]}, rules=rules_table(rules)))
    assert set(got) == FRAME.expected(rows, [(None, rules, rows)])


def from_its_beginning(self, time):
    return FIRST_AFTER(evolve(self, begin=self.begin - 1), time)


def whole_windows_only(self, begin, end):
    """Like queries that join a checkpoint without limits."""
    due = MOMENTS(self, begin, end)
    begins = dict(zip(self.rule.tolist(), self.begin.tolist(), strict=True))
    keep = due.since >= np.array([begins[rule] for rule in due.rule.tolist()], np.int64)
    return rules_in_force.Moments(*(column[keep] for column in due))


def forgetful(self, arrays):
    self._in_force = self._next = self._span = None


def without_ends(versions):
    return [(one, one.until) for one in sorted(versions, key=lambda one: one.key)]


def without_groups(self):
    return {name: array for name, array in DUMP(self).items() if not name.startswith("groups")}


IN_FORCE, RULES = rules_in_force.InForce, rules_in_force.Rules
FIRST_AFTER, MOMENTS, DUMP, PASS = IN_FORCE.first_after, IN_FORCE.moments, RULES.dump_state, RULES.pass_to
MUTANTS = [
    (IN_FORCE, "first_after", from_its_beginning),
    (IN_FORCE, "moments", whole_windows_only),
    (RULES, "load_state", forgetful),
    (RULES, "dump_state", without_groups),
    (rules_in_force, "_with_ends", without_ends),
    (RULES, "at_the_end", lambda self, moments, latest: moments),
    (RULES, "next_at", TIME_MAX),
    (RULES, "due", lambda self, groups, until: groups[:0]),
    (RULES, "pass_to", lambda self, watermark: PASS(self, max(watermark - SECOND, TIME_MIN))),
    (rules_in_force._Table, "of_group", lambda self, group: self.every),
    (rules_in_force._Table, "of_group", lambda self, group: self.common),
]


@pytest.mark.parametrize(
    ("owner", "name", "wrong"), MUTANTS, ids=[f"{number}-{one[1]}" for number, one in enumerate(MUTANTS)]
)
def test_the_oracle_detects_faults(monkeypatch, owner, name, wrong):
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    monkeypatch.setattr(owner, name, wrong)
    assert FRAME.seen(range(12), kill=range(0, 6, 2), size={"filtered": True})


@pytest.mark.parametrize("rules", [[], [Rule("a", 2, 5, 1)]], ids=["no rules", "a rule"])
def test_a_group_is_forgotten_once_no_rule_can_ask_for_it(rules):
    run = started()
    run.broadcast(rules_table(rules))
    for time, place, groups in ((0, 0, 0), (5, 1, 1), (LONGEST - 1, 1, 2), (LONGEST, 1, 1)):
        run.push(batch_of([(time, 0, 1.0, place)]))
        assert run.operator.take_metrics().groups == groups


@pytest.mark.slow
def test_ten_thousand_random_streams_are_never_wrong():
    seeds = range(1000, 11000)
    assert sum(checked(seed, kill=[seed % 6], size={"filtered": seed % 2 == 0}) for seed in seeds) > 10**5
