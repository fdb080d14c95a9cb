"""Rules of quantiles: windows that arrive, change and end during a run are answered at once."""

import numpy as np
import pyarrow as pa
import pytest
from rules_frames import QuantilesFrame
from rules_oracle import LONGEST, SECOND, Rule, rules_table, windows_of
from skyband.engines.local import apply
from skyband.errors import ConfigError, InputError
from skyband.groups.small_groups import limits
from skyband.queries import make_query
from skyband_quantiles.quantiles.rules_processor import RulesProcessor

KEYS, LIMITS = QuantilesFrame.keys, QuantilesFrame.limits
FRAME = QuantilesFrame()
checked, started, table_of = FRAME.checked, FRAME.started, FRAME.table_of


@pytest.mark.parametrize("backend", ["exact", "k-skb", "buckets"])
def test_rules_answer_as_if_they_had_always_been_in_force(backend):
    """All sketches are exact for so few rows."""
    for by in ((), ("place",)):
        assert sum(checked(seed, by, backend=backend) for seed in range(5)) > 200


def test_a_rule_for_a_group_is_answered_only_there():
    for seed in range(20, 26):
        checked(seed, kill=[seed % 6], size={"filtered": True})


def test_a_table_kept_from_changes_has_the_answers_of_rules_in_force():
    """Rules that arrive, change, end, and are for a single group, with kills in between."""
    for seed in range(3):
        FRAME.followed(seed, kill=range(seed % 3, 6, 2), size={"filtered": seed % 2 == 0})
    assert sum(FRAME.followed(seed, ()) for seed in range(20, 22)) > 50


def test_a_killed_run_continues_with_its_rules():
    for seed in range(40, 46):
        checked(seed, kill=range(seed % 3, 6, 2))


def test_windows_of_the_query_are_always_in_force_and_may_change_at_once():
    rows = FRAME.random_rows(np.random.default_rng(3), 60)
    got = FRAME.changed_at_once({"windows": ["7 seconds"]}, {"windows": ["12 seconds", "5 seconds"]}, rows)
    versions = [(f"{window} seconds", Rule("", window, 3), rows[29][0], 10**9) for window in (5, 12)]
    assert got
    assert set(got) == FRAME.answers_of(windows_of(rows, versions, rows[-1][0]))


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
        (Rule("a", 3), True, "rules.k: is not a column of rules"),
        (Rule("gone", None), False, "rules.name, row 0: there is no rule 'gone' to end"),
    ],
)
def test_a_rule_that_cannot_be_applied_is_a_bad_row(rule, k, why):
    with pytest.raises(InputError, match=why):
        started().broadcast(rules_table([rule], k))


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"longest": None}, r"windows: must be a list of durations.*or set `longest`"),
        ({"windows": ["1 minute"]}, r"windows\[0\]: must be at most longest = '12 seconds'"),
        ({"emit": "state"}, "emit: cannot be combined with `longest`"),
        ({"rules": {}}, "rules: is a second source"),
    ],
)
def test_limits_and_the_other_keys_must_fit_each_other(keys, why):
    with pytest.raises(ConfigError, match=why):
        make_query({**KEYS, **LIMITS, **keys})


def longer(self, answers, moments, place):
    since = np.maximum(moments.since - SECOND, moments.at - LONGEST * SECOND)
    return ANSWER(self, answers, moments._replace(since=since), place)


ANSWER = RulesProcessor._answer


def test_the_oracle_detects_a_fault(monkeypatch):
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    monkeypatch.setattr(RulesProcessor, "_answer", longer)
    assert FRAME.seen(range(8))


@pytest.mark.slow
def test_two_thousand_random_streams_are_never_wrong():
    backends = ["exact", "k-skb"]
    seeds, size = range(1000, 3000), {"filtered": True}
    assert sum(checked(seed, kill=[seed % 6], backend=backends[seed % 2], size=size) for seed in seeds) > 10**5
