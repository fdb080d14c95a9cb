"""Rules of heavy-hitters: windows and k that are added, changed and removed while a stream runs."""

import numpy as np
import pyarrow as pa
import pytest
from rules_frames import TotalsFrame
from rules_oracle import LONGEST, MOST, SECOND, Rule, rules_table, windows_of
from skyband.engines.local import apply
from skyband.errors import ConfigError, InputError
from skyband.groups.small_groups import limits
from skyband.queries import make_query
from skyband_totals.heavy_hitters.rules_processor import RulesProcessor

KEYS, LIMITS = TotalsFrame.keys, TotalsFrame.limits
SUM = {"total": "sum", "weight": "points"}
FRAME = TotalsFrame()
started, batch_of, table_of = FRAME.started, FRAME.batch_of, FRAME.table_of


def checked(seed, by=("place",), weighed=False, **options):
    return FRAME.checked(seed, by, options={"weighed": weighed}, **(SUM if weighed else {}), **options)


@pytest.mark.parametrize("backend", ["exact", "k-skb", "misra-gries"])
@pytest.mark.parametrize("weighed", [False, True], ids=["rows", "sums"])
def test_rules_answer_as_if_they_had_always_existed(backend, weighed):
    """With few objects, so that all rankers are exact."""
    for by in ((), ("place",)):
        assert sum(checked(seed, by, weighed, backend=backend) for seed in range(5)) > 200


def test_a_rule_for_one_group_is_answered_only_there():
    for seed in range(20, 26):
        checked(seed, kill=[seed % 6], size={"filtered": True})


def test_a_table_updated_by_changes_has_the_answers_of_rules_in_force():
    """Rules start, change and end, or are for one group only; runs are killed in between."""
    for seed in range(3):
        FRAME.followed(seed, kill=range(seed % 3, 6, 2), size={"filtered": seed % 2 == 0})
    assert sum(FRAME.followed(seed, ()) for seed in range(20, 22)) > 50


def test_a_killed_run_continues_with_its_rules():
    for seed in range(40, 46):
        checked(seed, kill=range(seed % 3, 6, 2))


def test_a_rule_answers_like_a_query_with_its_window_and_k():
    """With the bounds of a ranker that is not exact: a late rule, compared with a query from the first row on."""
    random = np.random.default_rng(7)
    objects = (random.pareto(1.1, 1_500) * 20).astype(int).tolist()
    rows = [(number // 30, what, 1.0, 0) for number, what in enumerate(objects)]
    backend = {"name": "k-skb", "epsilon": 0.3}
    run = started((), backend)
    keys = {"longest": None, "most": None, "windows": [f"{LONGEST} seconds", "5 seconds"], "every": "2 seconds", "k": 3}
    query = started((), backend, **keys)
    first, second = (batch_of(part) for part in (rows[:700], rows[700:]))
    run.push(first)
    query.push(first)
    run.broadcast(rules_table([Rule("late", 5, 2, 3)]))
    got, both = (pa.Table.from_batches([one.push(second), one.finish()]) for one in (run, query))
    wanted = both.filter(pa.compute.equal(both["window"], "5 seconds"))
    wanted = wanted.filter(pa.compute.less_equal(wanted["at"], pa.compute.max(got["at"])))
    assert len(wanted) > 40
    assert (wanted["low"].to_numpy() < wanted["high"].to_numpy()).any()
    assert got["rule"].unique().to_pylist() == ["late"]
    assert got.drop_columns("rule").to_pylist() == wanted.to_pylist()


def test_windows_and_k_of_the_query_always_exist_and_may_change_at_once():
    rows = FRAME.random_rows(np.random.default_rng(3), 60)
    before, after = {"windows": ["7 seconds"], "k": 2}, {"windows": ["12 seconds", "5 seconds"], "k": 3}
    got = FRAME.changed_at_once(before, after, rows)
    versions = [(f"{window} seconds", Rule("", window, 1, 3), rows[29][0], 10**9) for window in (5, 12)]
    assert got
    assert set(got) == FRAME.answers_of(windows_of(rows, versions, rows[-1][0]))


def test_a_rule_without_slide_and_k_uses_those_of_the_query():
    rows = [(second, second % 3, 0.0, 0) for second in range(20)]
    table = pa.table({"name": ["r"], "window": ["4 seconds"]})
    keys = {**KEYS, **LIMITS, "every": "2 seconds", "offset": "1 second", "k": 1}
    got = FRAME.plain(apply(table_of(rows), keys, rules=table), ())
    assert [(at, rank) for _, at, _, _, rank, *_ in got] == [(at, 1) for at in range(1, 23, 2)]


def test_objects_have_their_names_and_carried_columns():
    table = pa.table(
        {
            "ts": pa.array(np.array([0, 1, 2, 3]) * SECOND, pa.timestamp("us")),
            "what": ["ann", "bob", "ann", "cat"],
            "points": [4.0, 1.0, 2.0, 3.0],
        }
    )
    rules = pa.table({"name": ["r"], "window": ["4 seconds"], "slide": ["4 seconds"], "k": [1]})
    (row,) = apply(table, {**KEYS, **LIMITS, "carry": ["points"]}, rules=rules).to_pylist()
    assert (row["rule"], row["object"], row["total"], row["points"]) == ("r", "ann", 2.0, 2.0)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (Rule("wide", LONGEST + 2, 2, 1), "rules.window, row 0: .*above longest = '12 seconds'"),
        (Rule("many", 2, 2, MOST + 1), "rules.k, row 0: .*from 1 to most = 4"),
        (Rule("odd", 3, 2, 1), "rules.window, row 0: .*must be a multiple of every = '2 seconds'"),
        (Rule("often", 2, 1, 1), "rules.slide, row 0: .*must be a multiple of every = '2 seconds'"),
        (Rule("4 seconds", 2, 2, 1), "rules.name, row 0: '4 seconds' is a fixed window of the query"),
        (Rule("gone", None), "rules.name, row 0: there is no rule 'gone' to end"),
    ],
)
def test_an_invalid_rule_is_a_bad_row(rule, why):
    run = started(every="2 seconds", windows=["4 seconds"], k=2)
    with pytest.raises(InputError, match=why):
        run.broadcast(rules_table([rule]))


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"longest": None, "most": None, "k": 1}, r"windows: must be a list of durations.*or set `longest`"),
        ({"longest": None, "windows": ["1 minute"], "k": 1}, "longest: is required with `most`"),
        ({"windows": ["1 minute"], "k": 1}, r"windows\[0\]: must be at most longest = '12 seconds'"),
        ({"every": "5 seconds"}, "longest: must be a multiple of every = '5 seconds'"),
        ({"k": 5}, "k: must be at most most = 4"),
        ({"windows": ["3 seconds"]}, "k: is required for `windows`"),
        ({"rest": True}, "rest: cannot be combined with `longest`"),
        ({"half_life": "1 hour"}, "half_life: cannot be combined with `longest`"),
        ({"rules": {}}, "rules: is a second source"),
    ],
)
def test_keys_that_contradict_the_limits_are_refused(keys, why):
    with pytest.raises(ConfigError, match=why):
        make_query({**KEYS, **LIMITS, **keys})


def longer(self, moments, place):
    return TOP(self, moments._replace(since=np.maximum(moments.since - SECOND, moments.at - LONGEST * SECOND)), place)


def whatever_k(self, moments, place):
    return TOP(self, moments._replace(k=np.full(len(moments.k), MOST)), place)


TOP = RulesProcessor._top


@pytest.mark.parametrize("wrong", [longer, whatever_k])
def test_the_oracle_finds_mutants(monkeypatch, wrong):
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    monkeypatch.setattr(RulesProcessor, "_top", wrong)
    assert FRAME.seen(range(8))


@pytest.mark.slow
def test_two_thousand_random_streams_are_never_wrong():
    backends = ["exact", "k-skb"]
    seeds = range(1000, 3000)
    assert (
        sum(
            checked(seed, weighed=seed % 3 == 0, kill=[seed % 6], backend=backends[seed % 2], size={"filtered": True})
            for seed in seeds
        )
        > 10**5
    )
