"""Rules and states answer as the query does with each of its keys, or refuse the key by its name."""

import re

import attrs
import pyarrow as pa
import pytest
from skyband import states
from skyband.engines import local
from skyband.errors import ConfigError
from skyband.queries import examples_of, load_query, make_query
from skyband.registry import installed
from small_group_queries import at_most

LONGEST = "2 minutes"
KINDS = [entry.info.kind for entry in installed().queries.listing]
CASES = [
    pytest.param(kind, example, id=f"{kind}-{number}")
    for kind in KINDS
    for number, example in enumerate(examples_of(kind))
    if kind != "heavy-hitters" or "distance" not in example.keys
]
"""Distances of heavy hitters have no objects to list, and go with neither rules nor states."""


def takes(kind, key):
    return key in {field.name for field in attrs.fields(load_query(kind))}


def refused(keys):
    """The keys that the problems of a query name, in their fields or in their texts; none where it takes these keys."""
    try:
        make_query(keys)
    except ConfigError as error:
        fields = {problem.field.partition("[")[0] for problem in error.problems}
        return fields.union(*(re.findall(r"`(\w+)`", problem.message) for problem in error.problems))
    return set()


def accepted(keys, more, keep):
    """Those of the keys that a query takes together with more: the others are refused by their names."""
    for _ in range(len(keys)):
        if not (names := refused(keys | more)):
            return keys
        dropped = names & (keys.keys() - keep)
        assert dropped, f"{keys} with {more}: the problems name {names}, and no key to drop"
        keys = {name: value for name, value in keys.items() if name not in dropped}
        needless = refused(keys) & (keys.keys() - keep)  # such as the column to rank by of a comparison that is dropped
        keys = {name: value for name, value in keys.items() if name not in needless}
    raise AssertionError(f"{keys} are all refused with {more}")


def rows_of(answers, *without):
    return sorted(answers.drop_columns([name for name in without if name in answers.column_names]).to_pylist(), key=str)


WITH_LIMITS = [case for case in CASES if takes(case.values[0], "longest")]
GIVEN = {"distinct-count": "item", "heavy-hitters": "object", "quantiles": "value", "top-k-workload": "object"}
KEEP = {"kind", "time", "windows", "every", "queries", "score"}


def limits_of(kind, keys):
    has_k = "queries" in keys or (takes(kind, "most") and "k" in keys)
    return {"longest": LONGEST, **({"most": 20} if has_k else {})}


def plain_keys(kind, example):
    """Of the example, with groups; its windows in time, as those of rules are."""
    keys = {"kind": kind, **example.keys, "by": ["side"]}
    if any("rows" in str(keys.get(name)) for name in ("windows", "every")):
        keys |= {"windows": ["30 seconds"], "every": "15 seconds"}
    return {name: value for name, value in keys.items() if name not in ("longest", "most")}


@pytest.mark.parametrize("most", [0, 512], ids=["processors", "small groups"])
@pytest.mark.parametrize(("kind", "example"), WITH_LIMITS)
def test_windows_kept_as_rules_are_answered_as_without(kind, example, most, monkeypatch):
    at_most(most, monkeypatch)
    keys = plain_keys(kind, example)
    keys = accepted(keys, limits_of(kind, keys), KEEP | {GIVEN[kind]})
    for window in keys.get("windows", [None]):
        one = keys if window is None else keys | {"windows": [window]}
        expected = local.apply(example.rows, one, example.backends)
        got = local.apply(example.rows, one | limits_of(kind, keys), example.backends)
        assert len(expected) and rows_of(got, "rule") == rows_of(expected)


@pytest.mark.parametrize("most", [0, 512], ids=["processors", "small groups"])
@pytest.mark.parametrize(("kind", "example"), WITH_LIMITS)
def test_rules_are_answered_as_the_query_is(kind, example, most, monkeypatch):
    """From a second table: each window a rule with the moments and the k of the query."""
    at_most(most, monkeypatch)
    keys = plain_keys(kind, example)
    keys = accepted(keys, limits_of(kind, keys), KEEP | {GIVEN[kind]})
    if kind == "top-k-workload":
        table, without = pa.Table.from_pylist(keys["queries"]), {**keys, "queries": []}
        expected = local.apply(example.rows, keys, example.backends)
        got = local.apply(example.rows, without | limits_of(kind, keys), example.backends, rules=table)
        assert len(expected) and rows_of(got) == rows_of(expected)
        return
    for window in keys["windows"]:
        rule = {"name": ["r"], "window": [window], "slide": [keys["every"]], "phase": [keys.get("offset", "0 seconds")]}
        rule |= {"k": [keys["k"]]} if "k" in keys else {}
        expected = local.apply(example.rows, keys | {"windows": [window]}, example.backends)
        got = local.apply(
            example.rows, keys | {"windows": []} | limits_of(kind, keys), example.backends, rules=pa.table(rule)
        )
        assert len(expected) and rows_of(got, "rule") == rows_of(expected)


GIVES_STATES = [case for case in CASES if takes(case.values[0], "emit") and case.values[0] != "row-features"]
"""The features of any moment are compared in the tests of row-features: without `emit` it answers each row."""


def asked(kind, keys, state, window):
    """What a state says of a window."""
    if "seen" in keys:
        return states.frequency(state, last=window, seen=keys["seen"]).to_pylist()
    if kind == "distinct-count":
        return [states.estimate(state, last=window)._asdict()]
    if kind == "quantiles":
        return states.quantiles(state, last=window, q=keys.get("at", []), above=keys.get("above", [])).to_pylist()
    limits = {name: keys[name] for name in ("k", "share", "at_least") if name in keys}
    return states.heavy_hitters(state, last=window, **limits).to_pylist()


@pytest.mark.parametrize("emit", ["state", "changed-state"])
@pytest.mark.parametrize(("kind", "example"), GIVES_STATES)
def test_states_say_of_each_window_what_the_query_answers(kind, example, emit):
    keys = plain_keys(kind, example)
    keys = accepted(keys, {"emit": emit}, KEEP | {GIVEN[kind]})
    given = local.apply(example.rows, keys | {"emit": emit}, example.backends).to_pylist()
    sums = (
        {"upper": 100} if "value" in keys and kind == "distinct-count" else {}
    )  # which k-skb needs of what it adds up
    answers = local.apply(example.rows, keys | sums, example.backends).to_pylist()
    moments = {(row["at"], row["side"]) for row in given}
    if emit == "state":
        assert moments >= {(row["at"], row["side"]) for row in answers}
    compared = 0
    for row in given:
        for window in keys["windows"]:
            place = row["at"], row["side"], window
            expected = [answer for answer in answers if (answer["at"], answer["side"], answer["window"]) == place]
            got = asked(kind, keys, row["state"], window)
            if expected:  # a shorter window may be empty
                names = got[0].keys() & expected[0].keys()
                assert names >= SAID[kind]
                assert [[one[name] for name in names] for one in got] == [
                    [one[name] for name in names] for one in expected
                ]
            compared += len(expected)
    assert compared


SAID = {
    "distinct-count": {"count", "low", "high"},
    "heavy-hitters": {"rank", "total", "share", "low", "high"},
    "quantiles": {"value", "low", "high"},
}
"""The columns of answers that states have too."""


OTHERS = [
    *(("longest", {"emit": emit}) for emit in ("state", "changed-state")),
    ("longest", {"empty": "zero"}),
    ("emit", {"empty": "zero"}),
    ("emit", {"against": "previous"}),
]


@pytest.mark.parametrize(("kind", "example"), WITH_LIMITS)
@pytest.mark.parametrize(("key", "other"), OTHERS)
def test_keys_that_no_example_gives_with_rules_or_states_are_refused_by_name(kind, example, key, other):
    ((name, _),) = other.items()
    if not (takes(kind, name) and takes(kind, key)):
        pytest.skip(f"{kind} has no key {name} or {key}")
    keys = plain_keys(kind, example)
    limits = limits_of(kind, keys) if key == "longest" else {"emit": "state"}
    fields = refused(keys | limits | other)
    assert fields & {name, key}, fields
