"""Rules that come, change and go while a stream runs answer at once what they would have answered for ever."""

from itertools import pairwise
from time import process_time

import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from rules_oracle import Rule, answers, random_rules, rules_table, versions_of
from skyband.arrays import TIME_MAX
from skyband.engines.local import LocalRun, apply
from skyband.errors import ConfigError, InputError, SkybandError
from skyband.groups.execution import execution_of
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import encode
from skyband.queries import make_query
from skyband.rules import rules_in_force as rules_module

SECOND = 1_000_000
LONGEST, MOST = 12, 4
KEYS = {"kind": "top-k-workload", "time": "ts", "object": "what", "score": "points"}
LIMITS = {"longest": f"{LONGEST} seconds", "most": MOST}


def table_of(rows):
    times, objects, scores, groups = zip(*rows, strict=True)
    ts = pa.array(np.array(times) * SECOND, pa.timestamp("us"))
    return pa.table({"ts": ts, "what": objects, "points": scores, "place": groups})


def random_rows(random, count, groups=2):
    """Ties of scores and of times, silences longer than the longest window; each object in one group."""
    steps = random.choice([0, 0, 1, 1, 2, 5, LONGEST + 3], count, p=[0.3, 0.2, 0.2, 0.15, 0.1, 0.04, 0.01])
    times, objects = np.cumsum(steps), random.integers(0, 8, count)
    scores = random.integers(0, 5, count).astype(float)
    return list(zip(times.tolist(), objects.tolist(), scores.tolist(), (objects % groups).tolist(), strict=True))


def plain(table, by=("place",)):
    at = table["at"].cast(pa.int64()).to_numpy() // SECOND
    groups = table[by[0]].to_pylist() if by else [0] * len(table)
    columns = [table[name].to_pylist() for name in ("query", "rank", "object", "score")]
    return list(zip(groups, at.tolist(), *columns, strict=True))


def started(by=("place",), backend="paneband", **changes):
    query = make_query({**KEYS, **LIMITS, "by": list(by), **changes})
    schema = table_of([(0, 0, 0.0, 0)]).schema
    return LocalRun(Operator(query, bind(query, schema, {"workload-ranker": backend}), schema))


def resumed(run):
    """The same run, gone on with from a snapshot in a new operator."""
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
    batches = [rows[start:stop] for start, stop in pairwise(cuts)]
    answered, live, later, steps = None, set(), set(), []
    for batch in batches:
        now = 0 if answered is None else answered
        steps.append(
            (answered, random_rules(random, now, live, later, LONGEST, MOST) if random.random() < 0.7 else [], batch)
        )
        answered = batch[-1][0]
    return rows, steps


def played(steps, by=("place",), kill=(), finish=True, **changes):
    run, pieces = started(by, **changes), []
    for number, (_, rules, batch) in enumerate(steps):
        if rules:
            run.broadcast(rules_table(rules))
        if number in kill:
            run = resumed(run)
        pieces.append(run.push(table_of(batch).combine_chunks().to_batches()[0]))
        if number in kill:
            run = resumed(run)
    if finish:
        pieces.append(run.finish())
    return plain(pa.Table.from_batches(pieces), by)


def expected(rows, steps, by=("place",)):
    """Up to the first moment of each rule after the last row of any group."""
    versions = versions_of([(answered, rules) for answered, rules, _ in steps if rules])
    latest, found = max(row[0] for row in rows), set()
    rows = [(*row[:3], row[3] if by else 0) for row in rows]
    for version in versions:
        last = latest + version[1].slide - latest % version[1].slide
        found |= answers(rows, [version], last)
    return found


def checked(seed, by=("place",), **options):
    rows, steps = scenario(seed)
    got = played(steps, by, **options)
    assert len(got) == len(set(got)), f"seed {seed}: an answer was given twice"
    assert set(got) == expected(rows, steps, by), f"seed {seed}"
    return len(got)


@pytest.mark.parametrize("by", [(), ("place",)], ids=["whole", "groups"])
def test_rules_answer_what_they_would_have_answered_for_ever(by):
    assert sum(checked(seed, by) for seed in range(25)) > 1000


def test_an_object_counts_once_with_rules_too():
    for seed in range(6):
        rows, steps = scenario(seed)
        best = {(row[3], row[0], row[1]): row for row in sorted(rows, key=lambda row: row[2])}
        assert best
        once, each = (set(played(steps, repeats=repeats)) for repeats in ("best", "each"))
        objects = [(group, at, rule, what) for group, at, rule, _, what, _ in once]
        assert len(objects) == len(set(objects))
        first = {answer for answer in each if answer[3] == 1}
        assert first == {answer for answer in once if answer[3] == 1}


@pytest.mark.parametrize("by", [(), ("place",)], ids=["whole", "groups"])
def test_a_run_that_is_killed_goes_on_with_its_rules(by):
    for seed in range(40, 52):
        checked(seed, by, kill=range(seed % 3, 6, 2))


def test_micro_batches_cannot_be_seen_in_answers_or_state():
    for seed in range(20):
        rows, steps = scenario(seed)
        rules = [(answered, came) for answered, came, _ in steps if came][:1]
        if not rules:
            continue
        run, twin = started(), started()
        for one, cuts in ((run, [10, 25]), (twin, [25])):
            for place, (start, stop) in enumerate(pairwise([0, *cuts])):
                if not place:
                    one.broadcast(rules_table(rules[0][1]))
                one.push(table_of(rows[start:stop]).combine_chunks().to_batches()[0])
        assert run.operator.snapshot() == twin.operator.snapshot()


def test_shards_give_what_one_gives():
    for seed in range(60, 70):
        rows, steps = scenario(seed)
        query = started(()).operator.query
        schema = table_of(rows).schema
        shards = [Operator(query, bind(query, schema), schema, shared=True) for _ in range(3)]
        pieces = []
        for _, rules, batch in steps:
            progress = None
            frame = encode(query, table_of(batch).combine_chunks().to_batches()[0])
            for number, shard in enumerate(shards):
                if rules:
                    shard.broadcast(rules_table(rules))
                progress = frame.progress
                mine = np.array([row[1] % 3 == number for row in batch])
                shard.add(frame.frame.filter(pa.array(mine)))
            pieces += [shard.step(progress) for shard in shards]
        pieces += [shard.finish(max(row[0] for row in rows) * SECOND) for shard in shards]
        merged = execution_of(query).merge(pa.Table.from_batches(pieces))
        assert set(plain(merged, ())) == expected(rows, steps, ())
        assert merged.schema == query.result_schema(schema)


def test_a_query_of_the_job_holds_for_ever_and_may_change_at_once():
    rows = random_rows(np.random.default_rng(3), 60)
    mine = {"name": "mine", "window": "7 seconds", "slide": "2 seconds", "k": 2}
    other = {"name": "other", "window": "12 seconds", "slide": "3 seconds", "k": 4}
    run = started(queries=[mine])
    run.push(table_of(rows[:30]).combine_chunks().to_batches()[0])
    changed = make_query({**KEYS, **LIMITS, "by": ["place"], "queries": [other]})
    operator = Operator(changed, run.operator.bindings, run.operator.schema)
    assert not operator.restore(run.operator.snapshot())
    again = LocalRun(operator)
    got = plain(pa.Table.from_batches([again.push(table_of(rows[30:]).combine_chunks().to_batches()[0])]))
    answered = rows[29][0]
    versions = [("other", Rule("other", 12, 3, 4), answered, 10**9)]
    assert got
    assert set(got) == answers(rows, versions, rows[-1][0])


BAD = [
    (Rule("wide", LONGEST + 1, 1, 1), "rules.window", f"above longest = '{LONGEST} seconds'"),
    (Rule("many", 3, 1, MOST + 1), "rules.k", f"from 1 to most = {MOST}"),
    (Rule("none", 3, 1, 0), "rules.k", "from 1"),
    (Rule("still", 3, 0, 1), "rules.slide", "above 0"),
    (Rule("", 3, 1, 1), "rules.name", "must be a name"),
    (Rule("gone", None), "rules.name", "no rule 'gone' is there to end"),
    (Rule("over", 3, 1, 1, 9, 9), "rules.until", "it would answer nothing"),
    (Rule("fixed", 3, 1, 1), "rules.name", "is asked by the query itself"),
]


@pytest.mark.parametrize(("rule", "field", "why"), BAD, ids=[rule.name or "nameless" for rule, *_ in BAD])
def test_a_rule_that_cannot_be_taken_is_a_bad_row(rule, field, why):
    fixed = {"name": "fixed", "window": "7 seconds", "slide": "2 seconds", "k": 2}
    run = started(queries=[fixed])
    with pytest.raises(InputError, match=why) as raised:
        run.broadcast(rules_table([Rule("fine", 2, 2, 2), rule]))
    assert raised.value.argument == field
    assert "row 1" in str(raised.value)
    run, aside = started(queries=[fixed], bad_rows="count"), []
    run.on_bad_rows = aside.append
    run.broadcast(rules_table([Rule("fine", 2, 2, 2), rule]))
    given = run.push(table_of([(0, 1, 1.0, 0), (4, 1, 1.0, 0)]).combine_chunks().to_batches()[0])
    assert "fine" in given["query"].to_pylist()
    assert run.operator.take_metrics().dropped["bad"] == 1
    (bad,) = aside
    assert bad.num_rows == 1
    assert why in bad["_reason"][0].as_py()
    assert bad["_field"][0].as_py() == field
    assert f'"name": "{rule.name}"' in bad["_value"][0].as_py()


def test_a_name_twice_with_other_values_for_one_time_is_refused_both_times():
    run = started(bad_rows="count")
    aside = []
    run.on_bad_rows = aside.append
    run.broadcast(rules_table([Rule("a", 2, 2, 2), Rule("b", 3, 3, 1), Rule("a", 4, 2, 2), Rule("b", 3, 3, 1)]))
    given = run.push(table_of([(0, 1, 1.0, 0), (8, 1, 1.0, 0)]).combine_chunks().to_batches()[0])
    assert set(given["query"].to_pylist()) == {"b"}
    assert [len(bad) for bad in aside] == [2]


def test_an_end_of_nothing_is_refused_as_often_as_it_comes():
    run, aside = started(bad_rows="count"), []
    run.on_bad_rows = aside.append
    run.broadcast(rules_table([Rule("gone", None), Rule("fine", 2, 2, 2), Rule("gone", None)]))
    run.push(table_of([(0, 1, 1.0, 0), (4, 1, 1.0, 0)]).combine_chunks().to_batches()[0])
    assert run.operator.take_metrics().dropped["bad"] == 2 == sum(map(len, aside))


def test_many_rules_come_and_end():
    """In time n log n: so many names, each looked for among all, would take minutes."""
    names, begun = [f"rule {number}" for number in range(20_000)], process_time()
    run = started()
    run.broadcast(rules_table([Rule(name, 2, 2, 2) for name in names]))
    run.push(table_of([(0, 1, 1.0, 0)]).combine_chunks().to_batches()[0])
    run.broadcast(rules_table([Rule(name, None) for name in names]))
    assert not len(run.push(table_of([(4, 1, 1.0, 0)]).combine_chunks().to_batches()[0]))
    assert process_time() - begun < 30


def test_rows_of_another_table_are_no_rules():
    run = started()
    for table, why in (
        (pa.table({"name": ["a"]}), "rules.window: is missing"),
        (rules_table([Rule("a", 1)]).append_column("untl", pa.array([1])), "rules.untl: is no column of a rule"),
        (rules_table([Rule("a", 1)]).set_column(3, "k", pa.array(["1"])), "rules.k: must be a whole number"),
        (rules_table([Rule("a", 1)]).set_column(4, "after", pa.array([7])), "rules.after: must be a timestamp"),
    ):
        with pytest.raises(InputError, match=why):
            run.broadcast(table)


def test_a_query_without_limits_takes_no_rules():
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
        ({**LIMITS, "answers": "changes"}, "answers: needs queries that stay"),
        (
            {**LIMITS, "queries": [{"name": "q", "window": "1 hour", "slide": "1 minute", "k": 5}]},
            "window: must be at most longest = '12 seconds'.*\n.*queries\\[0\\].k: must be at most most = 4",
        ),
    ],
)
def test_limits_and_queries_fit_each_other(keys, why):
    with pytest.raises(ConfigError, match=why):
        make_query({**KEYS, **keys})


@pytest.mark.parametrize("name", ["mtoplist", "mtopband", "mintopk"])
def test_a_backend_that_keeps_views_only_says_why_it_takes_no_rules(name):
    with pytest.raises(ConfigError, match=f"{name} lacks any-subquery, which the query needs: it keeps what the views"):
        started(backend=name)


def test_a_table_of_rules_with_times_is_applied_to_a_whole_input():
    rows = random_rows(np.random.default_rng(5), 80)
    rules = [Rule("a", 5, 2, 2, None, 20), Rule("a", 12, 3, 1, 30), Rule("b", 3, 1, 4, 10), Rule("b", None, after=25)]
    got = plain(apply(table_of(rows), {**KEYS, **LIMITS, "by": ["place"]}, rules=rules_table(rules)))
    assert set(got) == expected(rows, [(None, rules, rows)])


def from_its_beginning(self, time):
    return FIRST_AFTER(evolve(self, begin=self.begin - 1), time)


def whole_windows_only(self, begin, end):
    """As queries that join a checkpoint do without limits."""
    due = OF_RULES(self, begin, end)
    keep = due.since >= self._active.begin[due.rule]
    return rules_module.Moments(*(column[keep] for column in due))


def forgetful(self, arrays):
    self._in_force = self._next = self._span = None


def without_ends(versions):
    return [(one, one.until) for one in sorted(versions, key=lambda one: one.key)]


FIRST_AFTER, OF_RULES = rules_module._InForce.first_after, rules_module.Rules._moments
MUTANTS = [
    (rules_module._InForce, "first_after", from_its_beginning),
    (rules_module.Rules, "_moments", whole_windows_only),
    (rules_module.Rules, "load_state", forgetful),
    (rules_module, "_with_ends", without_ends),
    (rules_module.Rules, "at_the_end", lambda self, moments, latest: moments),
    (rules_module.Rules, "next_at", TIME_MAX),
    (rules_module.Rules, "pass_to", lambda self, watermark: None),
]


@pytest.mark.parametrize(("owner", "name", "wrong"), MUTANTS, ids=[f"{one[0].__name__}.{one[1]}" for one in MUTANTS])
def test_the_oracle_sees_what_is_wrong(monkeypatch, owner, name, wrong):
    monkeypatch.setattr(owner, name, wrong)

    def fails(seed):
        try:
            checked(seed, kill=range(0, 6, 2))
        except (AssertionError, SkybandError):
            return True
        return False

    assert any(map(fails, range(12)))


@pytest.mark.parametrize("rules", [[], [Rule("a", 2, 5, 1)]], ids=["no rules", "a rule"])
def test_a_group_is_forgotten_once_nothing_of_it_can_be_asked_any_more(rules):
    run = started()
    run.broadcast(rules_table(rules))
    for time, place, groups in ((0, 0, 0), (5, 1, 1), (LONGEST - 1, 1, 2), (LONGEST, 1, 1)):
        run.push(table_of([(time, 0, 1.0, place)]).combine_chunks().to_batches()[0])
        assert run.operator.take_metrics().groups == groups


@pytest.mark.slow
def test_ten_thousand_random_streams_are_never_wrong():
    assert sum(checked(seed, ("place",), kill=[seed % 6]) for seed in range(1000, 11000)) > 10**5
