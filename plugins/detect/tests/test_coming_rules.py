"""Rules that come while a stream runs: when they hold, what they inherit, and which are refused."""

import json
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.errors import ConfigError, InputError, SnapshotError
from skyband.queries import make_query
from skyband_jobs.running.savepoint import keys_of

SECOND = 1_000_000
KEYS = {"kind": "detections", "time": "ts"}
OPEN = {"keys": [["user"], []], "rule_columns": ["n", "user"]}
KEEP = {"keep": [{"key": ["user"], "most": 5, "longest": "10 seconds"}]}
RULE = {"name": "many", "measure": "rows", "key": ["user"], "window": "10 seconds", "at_least": 3}
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "user": pa.string(), "n": pa.int64()})


def rows(*seconds, user="ann"):
    entries = [{"ts": second * SECOND, "user": user, "n": second} for second in seconds]
    return pa.RecordBatch.from_pylist(entries, schema=SCHEMA)


def lines(*rules):
    return pa.table({"value": pa.array([json.dumps(rule) for rule in rules], pa.string())})


def started(**keys):
    return LocalRun.start({**KEYS, **keys}, SCHEMA)


def told(*batches):
    return [(row["time"].timestamp(), row["rule"]) for batch in batches for row in batch.to_pylist()]


def followed(run, *steps):
    """(seconds, rule) of the answers to steps: batches of rows, and rules as dictionaries or lists of them."""
    batches = []
    for step in steps:
        if isinstance(step, pa.RecordBatch):
            batches.append(run.push(step))
        else:
            run.broadcast(lines(*(step if isinstance(step, list) else [step])))
    return told(*batches, run.finish())


def refusal(run, rule):
    with pytest.raises(InputError) as raised:
        run.broadcast(lines(rule))
    return str(raised.value)


def test_a_rule_on_a_kept_counter_knows_the_rows_before_it_came():
    assert followed(started(**KEEP), rows(0, 1, 2, 3), RULE, rows(4, 20, 21, 22)) == [(22, "many")]
    assert followed(started(**KEEP), rows(0, 1, 2), {**RULE, "at_least": 4}, rows(3, 4)) == [(3, "many")]


def test_a_fixed_rule_keeps_a_counter_too():
    run = started(detections=[{**RULE, "name": "fixed", "at_least": 9}], **OPEN)
    assert followed(run, rows(0, 1, 2), {**RULE, "at_least": 4}, rows(3, 4)) == [(3, "many")]


def test_another_rule_holds_once_its_window_is_full_of_rows_counted_by_then():
    each = {**RULE, "tell": "each"}
    assert followed(started(**OPEN), rows(0, 1, 2), each, rows(3, 4, 5, 11, 12, 13, 14)) == [
        (12, "many"), (13, "many"), (14, "many"),
    ]  # fmt: skip
    assert followed(started(**OPEN), each, rows(0, 1, 2, 3)) == [(2, "many"), (3, "many")]
    unseen = {**RULE, "measure": "unseen", "after": "1970-01-01T00:00:01Z"}
    del unseen["at_least"]
    assert followed(started(**OPEN), rows(0, 1, 2), unseen, rows(3, 12, 23, 33)) == [(23, "many")]


def test_a_rule_shares_the_counter_opened_for_another():
    wide = {**RULE, "at_least": 5, "name": "wide", "window": "10 seconds"}
    steps = rows(0, 1), wide, rows(2, 3, 4), {**RULE, "window": "2 seconds", "at_least": 2}, rows(5, 6, 9, 10, 13)
    assert followed(started(**OPEN), *steps) == [(5, "many"), (6, "many"), (10, "many")]
    alone = [step for step in steps if step is not wide]
    assert followed(started(**OPEN), *alone) == [(6, "many"), (10, "many")]


def test_a_version_holds_until_the_next_does_even_if_that_one_has_to_wait():
    first, second = {**RULE, "tell": "each"}, {**RULE, "tell": "each", "where": "n > 0", "at_least": 2}
    run = started(**KEEP, **OPEN)
    steps = rows(0, 1, 2), first, rows(3, 4), second, rows(5, 12, 13, 14, 15)
    assert followed(run, *steps) == [(second, "many") for second in (3, 4, 5, 12, 13, 14, 15)]


def test_a_row_with_a_name_alone_ends_a_rule():
    each = {**RULE, "tell": "each"}
    assert followed(started(**KEEP), each, rows(0, 1, 2, 3), {"name": "many"}, rows(4)) == [(2, "many"), (3, "many")]
    ends = {"name": "many", "after": "1970-01-01T00:00:03Z"}
    assert followed(started(**KEEP), [each, ends], rows(0, 1, 2, 3, 4, 5)) == [(2, "many"), (3, "many")]


def test_a_name_stays_silent_when_its_rule_changes_but_not_when_it_ended():
    quiet = {**RULE, "tell": "each", "silence": "8 seconds", "at_least": 1}
    shorter = {**quiet, "silence": "1 second", "at_least": 2}
    assert followed(started(**KEEP), quiet, rows(0, 1), shorter, rows(2, 7, 8, 9)) == [
        (0, "many"), (8, "many"), (9, "many"),
    ]  # fmt: skip
    steps = quiet, rows(0, 1), {"name": "many"}, rows(2), shorter, rows(3, 4)
    assert followed(started(**KEEP), *steps)[:2] == [(0, "many"), (3, "many")]
    other_key = {**quiet, "key": []}
    assert followed(started(**OPEN), quiet, other_key, rows(0, 1)) != []


def test_a_silent_rule_that_ended_leaves_nothing_in_a_state():
    run, again = started(**KEEP), started(**KEEP)
    steps = {**RULE, "at_least": 1, "silence": "60 seconds"}, rows(0, 1, 2), {"name": "many"}, rows(3, 4)
    for step in steps:
        if isinstance(step, dict):
            run.broadcast(lines(step))
        else:
            run.push(step)
    again.restore(run.snapshot())
    assert again.snapshot() == run.snapshot()


def test_a_table_with_columns_is_read_as_lines_are():
    table = pa.table(
        {
            "name": ["many", "all"], "measure": ["rows", "distinct user"], "key": [["user"], None],
            "window": ["10 seconds"] * 2, "at_least": [3.0, 1.0], "where": [None, "n < 2"],
            "after": pa.array([None, datetime(1970, 1, 1, 0, 0, 0, 500_000)], pa.timestamp("ns")),
        }
    )  # fmt: skip
    data = pa.Table.from_batches([rows(0, 1, 2)])
    answers = local.apply(data, {**KEYS, **OPEN}, rules=table)
    assert told(*answers.to_batches()) == [(2, "many")]
    early = table.slice(1).drop_columns("after")
    assert told(*local.apply(data, {**KEYS, **OPEN}, rules=early).to_batches()) == [(0, "all")]
    with pytest.raises(InputError, match=r"rules\.bound: is not a column of rules"):
        local.apply(data, {**KEYS, **OPEN}, rules=pa.table({"name": ["a"], "bound": [3]}))
    with pytest.raises(InputError, match=r"rules\.name: is missing"):
        local.apply(data, {**KEYS, **OPEN}, rules=pa.table({"window": ["1 second"]}))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"name": ""}, "rules.name, row 0: must be a name"),
        ({"name": "fixed"}, "'fixed' is a fixed rule of the query"),
        ({"measure": None}, "rules.measure, row 0: of rule 'many' is missing"),
        ({"measure": "rows of"}, "rules.measure, row 0: of rule 'many' must be \"rows\""),
        ({"window": None}, "rules.window, row 0: of rule 'many' is required"),
        ({"at_least": "3"}, "rules.at_least, row 0: of rule 'many' must be a whole number"),
        ({"below": 2, "at_least": None, "key": ["n"]}, "rules.below, row 0: of rule 'many' needs the last row of each"),
        ({"measure": "sum n"}, "rules.measure, row 0: of rule 'many' adds up column 'n', whose numbers are not known"),
        ({"measure": "p90 of user"}, "rules.measure, row 0: of rule 'many' needs numbers, and column 'user' is string"),
        ({"bound": 3}, "rules.bound, row 0: of rule 'many' unknown"),
        ({"key": ["host"]}, "rules.key, row 0: of rule 'many' is not one of `keys` (['user'], [])"),
        ({"key": ["n"], "at_least": 6}, "rules.at_least, row 0: of rule 'many' is above 5, which the counter is kept"),
        ({"key": ["n"], "window": "1 hour"}, "rules.window, row 0: of rule 'many' is above 10,000,000 microseconds"),
        ({"where": "host = 'a'"}, "rules.where, row 0: of rule 'many' reads column 'host', which no row brings to it"),
        ({"measure": "distinct host"}, "rules.measure, row 0: of rule 'many' reads column 'host'"),
        ({"where": "user + 1 > n"}, "rules.where, row 0: of rule 'many'"),
        ({"where": "n / 0 > 1 OR 1 / n > 2"}, "can fail on a row"),
        ({"where": "n >"}, "is not a condition that all engines support"),
        ({"until": "1970-01-01"}, "rules.until, row 0: of rule 'many' is not later than"),
        ({"until": "1970-01-01T00:00:10Z", "where": "n > 1"}, "from when on the rule can answer"),
    ],
)
def test_a_wrong_rule_is_a_bad_row(change, text):
    keep = [*KEEP["keep"], {"key": ["n"], "most": 5, "longest": "10 seconds"}]
    fixed = [{**RULE, "name": "fixed", "key": ["n"], "at_least": 2}]
    run = started(detections=fixed, keep=keep, **OPEN)
    run.push(rows(0, 1))
    rule = {key: value for key, value in {**RULE, **change}.items() if value is not None}
    assert text in refusal(run, rule)


def test_other_wrong_rows_are_bad_rows_too_and_the_others_hold():
    run = started(**KEEP, bad_rows="count")
    run.broadcast(pa.table({"value": ["{", "[]", json.dumps({"name": "gone"}), json.dumps(RULE), "", None]}))
    run.broadcast(lines({**RULE, "name": "two"}, {**RULE, "name": "two", "at_least": 4}))
    assert told(run.push(rows(0, 1, 2, 3))) == [(2, "many")]
    assert run.operator.take_metrics().dropped["bad"] == 5


def test_a_condition_of_a_fixed_rule_may_fail_and_be_shared():
    fixed = {**RULE, "name": "fixed", "where": "10 / n > 1", "at_least": 2}
    run = started(detections=[fixed], **OPEN)
    assert followed(run, {**fixed, "name": "same", "measure": "rows"}, rows(1, 2)) == [(2, "fixed"), (2, "same")]


def test_keys_that_rules_need_are_checked():
    for keys, field in (
        ({}, "detections"),
        ({"keys": "user"}, "keys"),
        ({"keys": [["user", "user"]]}, "keys[0]"),
        ({"keep": [{"most": 3}]}, "keep[0].longest"),
        ({"keep": [{"longest": "1 day"}]}, "keep[0].most"),
        ({"keep": [{"longest": "1 day", "most": 3, "window": "1 hour"}]}, "keep[0].window"),
        ({"keep": [{"longest": "1 day", "most": 3, "measure": "unseen"}]}, "keep[0].most"),
        ({"keep": {"longest": "1 day"}}, "keep"),
        ({"rules": [RULE]}, "rules"),
    ):
        with pytest.raises(ConfigError) as raised:
            make_query({**KEYS, **keys})
        assert field in {problem.field for problem in raised.value.problems}, keys
    for keys, field in (
        ({"keys": [["host"]]}, "keys[0]"),
        ({"keep": [{"key": ["host"], "most": 1, "longest": "1 day"}]}, "keep[0].key"),
        ({"keep": [{"where": "user > 1 AND n", "most": 1, "longest": "1 day"}]}, "keep[0].where"),
        ({**OPEN, "rule_columns": ["host"]}, "rule_columns"),
    ):
        assert field in {problem.field for problem in make_query({**KEYS, **keys}).check(SCHEMA)}, keys


def test_a_query_without_keys_takes_no_rules():
    with pytest.raises((ConfigError, InputError), match="takes no second table"):
        started(detections=[{**RULE, "name": "fixed"}]).broadcast(lines(RULE))


def test_a_thousand_rules_may_come_and_each_is_answered():
    many = [{**RULE, "name": f"rule {n}", "where": f"n = {n}", "at_least": 1} for n in range(1000)]
    assert followed(started(**OPEN), many, rows(*range(1000))) == [(n, f"rule {n}") for n in range(1000)]


def test_a_state_with_other_rules_than_can_be_is_refused():
    from skyband import snapshot

    run = started(**KEEP, **OPEN)
    run.broadcast(lines(RULE, {**RULE, "name": "opens", "where": "n > 1", "silence": "1 second"}))
    run.push(rows(0, 1, 2, 3))
    state = snapshot.decode(run.snapshot())
    names = [name for name in state.arrays if name.startswith("broadcast.")]
    assert names
    damaged = [{name: state.arrays[name][:-1]} for name in names if len(state.arrays[name])]
    bound = b'"at_least": 3'
    for name in names:
        text = state.arrays[name].tobytes()
        others = (b'"at_least": 9', b'"at_least": x', b'"at_leest": 3') if bound in text else ()
        damaged += [{name: np.frombuffer(text.replace(bound, other), np.uint8)} for other in others]
    assert len(damaged) >= 13
    for change in damaged:
        with pytest.raises(SnapshotError):
            started(**KEEP, **OPEN).restore(snapshot.encode(state.header, {**state.arrays, **change}))


def test_a_stream_that_is_finished_for_now_goes_on_with_its_rules():
    run = started(**KEEP)
    run.broadcast(lines({**RULE, "tell": "each"}))
    run.push(rows(0, 1, 2))
    first = run.flush()
    assert told(first, run.push(rows(3, 4)), run.finish()) == [(2, "many"), (3, "many"), (4, "many")]


def test_times_of_rules_may_have_zones():
    after = datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC).isoformat()
    assert followed(started(**KEEP), {**RULE, "tell": "each", "after": after}, rows(1, 2, 3, 4)) == [(4, "many")]


def test_rules_over_last_years_rows_give_the_bytes_that_the_stream_gave():
    rules = [{**RULE, "tell": "each", "silence": "3 seconds"}, {**RULE, "name": "all", "key": [], "at_least": 4}]
    data = pa.Table.from_batches([rows(*range(0, 40, 3), user="ann"), rows(*range(1, 40, 2), user="bob")]).sort_by("ts")
    whole = local.apply(data, {**KEYS, **OPEN, **KEEP, "carry": ["n"]}, rules=lines(*rules))
    run = started(**OPEN, **KEEP, carry=["n"])
    run.broadcast(lines(*rules))
    pieces = [run.push(batch) for batch in data.to_batches(max_chunksize=5)]
    stream = pa.Table.from_batches([*pieces, run.finish()])
    assert len(whole) > 10
    assert as_file(stream) == as_file(whole)


def as_file(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return sink.getvalue().to_pybytes()


COUNTED = {"at_least": 3, "window": "9 seconds", "where": "n = 2", "measure": "distinct n", "tell": "crossing"}
KEPT_COUNTERS = {
    **KEYS,
    "keys": [["user"], []],
    "rule_columns": ["n"],
    "keep": [
        {"key": ["user"], "most": 5, "longest": "1 minute"},
        {"measure": "unseen", "key": ["user"], "longest": "1 day"},
        {"measure": "distinct n", "key": ["user"], "most": 2, "longest": "1 hour", "where": "n > 1"},
        {"measure": "sequence", "steps": ["n = 1", COUNTED], "key": ["user"], "longest": "1 hour", "any_order": True},
    ],
}


def test_a_savepoint_has_the_counters_that_are_kept_as_users_write_them():
    query = make_query(KEPT_COUNTERS)
    assert make_query(json.loads(json.dumps(keys_of(query)))) == query
