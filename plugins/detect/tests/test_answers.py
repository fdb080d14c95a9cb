"""What a rule answers, row by row, on small streams that are easy to follow."""

import json

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.errors import SnapshotError
from skyband.queries import make_query

SECOND = 1_000_000
RULE = {"name": "many", "key": ["user"], "window": "10 seconds", "at_least": 3}


def table(*rows, **types):
    """Rows as (seconds, user, number)."""
    seconds, users, numbers = zip(*rows, strict=True)
    times = pa.array([int(second * SECOND) for second in seconds], pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "user": pa.array(users, types.get("user")), "n": pa.array(numbers, pa.int64())})


def answers(rows, *rules, **keys):
    query = make_query({"kind": "detections", "time": "ts", "detections": list(rules), **keys})
    return local.apply(rows, query).to_pylist()


def told(rows, *rules, **keys):
    """(seconds, rule, values of the key, value) of each answer."""
    found = answers(rows, *rules, **keys)
    return [(a["time"].timestamp(), a["rule"], *json.loads(a["key"]).values(), a["value"]) for a in found]


def times(rows, rule, **keys):
    return [time for time, *_ in told(rows, rule, **keys)]


def at(*seconds):
    return table(*((second, "ann", place) for place, second in enumerate(seconds)))


def test_a_key_crosses_and_again_only_after_it_fell_below():
    assert times(at(0, 1, 2, 3, 4, 20, 21, 22), RULE) == [2, 22]


def test_a_row_exactly_one_window_old_is_outside():
    assert times(at(0, 1, 10), RULE) == []
    assert times(at(0.1, 1, 10), RULE) == [10]


def test_rows_of_one_time_see_each_other_and_the_value_has_all_of_them():
    assert told(at(0, 5, 5, 5, 5), RULE) == [(5, "many", "ann", 5)]


def test_each_tells_every_time_at_the_bound_with_the_least_that_it_may_be():
    found = answers(at(0, 1, 2, 3, 4, 4, 20), RULE | {"tell": "each"})
    assert [(a["time"].timestamp(), a["value"], a["low"], a["high"]) for a in found] == [
        (2, 3, 3, 3), (3, 4, 4, None), (4, 5, 5, None),
    ]  # fmt: skip


def test_a_key_falls_below_when_its_row_is_one_window_old_and_brings_its_last_row():
    rule = {"name": "few", "key": ["user"], "window": "10 seconds", "below": 2}
    rows = table((0, "ann", 1), (3, "ann", 2), (4, "bob", 3), (30, "cy", 4))
    found = answers(rows, rule, carry=["n"])
    assert [(a["time"].timestamp(), json.loads(a["key"]), a["value"], a["high"], a["n"]) for a in found] == [
        (10, {"user": "ann"}, 1, 1, 2)
    ]
    assert times(at(0, 3, 10, 30), rule) == [13], "the row at 10 takes the place of the first"
    assert times(at(0, 3, 13, 30), rule) == [10], "the row at 13 comes too late"
    assert times(at(0, 1, 2, 3, 40, 41, 60), rule) == [12, 50], "from four rows to one, and again"


def test_what_falls_below_is_known_up_to_the_last_row_and_no_further():
    rule = {"name": "silent", "key": ["user"], "window": "10 seconds", "below": 1}
    assert times(table((0, "ann", 0), (9.9, "bob", 0)), rule) == []
    assert times(table((0, "ann", 0), (10, "bob", 0)), rule) == [10]
    assert times(table((0, "ann", 0), (10, "ann", 0)), rule) == [], "a row at the moment counts"
    run = LocalRun.start({"kind": "detections", "time": "ts", "detections": [rule]}, at(0).schema)
    rows = [(0, "ann", 0), (1, "ann", 0), (11, "bob", 0), (11, "bob", 0), (12, "bob", 0)]
    pushed = [run.push(table(row).to_batches()[0]).num_rows for row in rows]
    assert pushed == [0, 0, 0, 0, 1], "a row at 11 may come until there is a later one"


def test_silence_after_and_until_hold_for_falls():
    rule = {"name": "few", "key": ["user"], "window": "1 second", "below": 1, "silence": "10 seconds"}
    seconds = at(*range(0, 40, 3))
    assert times(seconds, rule) == [1, 13, 25, 37]
    spans = {"after": "1970-01-01T00:00:04Z", "until": "1970-01-01T00:00:16Z"}
    assert times(seconds, rule | spans) == [7]
    assert times(seconds, rule | spans | {"silence": None}) == [7, 10, 13, 16]


NUMBERS = table((0, "ann", 4), (2, "ann", 3), (3, "ann", None), (9, "ann", 5), (10, "ann", -2), (12, "ann", 9))


@pytest.mark.parametrize(
    ("measure", "bound", "more", "expected"),
    [
        ("sum n", 7, {}, [(2, 7), (12, 12)]),
        ("sum n", 6.5, {}, [(2, 7), (12, 12)]),
        ("sum n", 7, {"tell": "each"}, [(2, 7), (9, 12), (12, 12)]),
        ("mean n", 3.5, {}, [(0, 4), (12, 4)]),
        ("mean n", 3.5, {"least": 2}, [(2, 3.5), (12, 4)]),
        ("mean n", 3.5000000001, {"least": 2}, [(9, 4), (12, 4)]),
        ("median of n", 4, {}, [(0, 4), (9, 4), (12, 5)]),
        ("p100 of n", 5, {}, [(9, 5)]),
        ("p1 of n", 3, {}, [(0, 4)]),
    ],
)
def test_sums_means_and_quantiles_of_a_key(measure, bound, more, expected):
    rule = {"name": "numbers", "key": ["user"], "window": "10 seconds", "measure": measure, "at_least": bound, **more}
    found = [(a["time"].timestamp(), a["value"], a["low"], a["high"]) for a in answers(NUMBERS, rule)]
    assert found == [(time, value, value, value) for time, value in expected]


def test_all_rows_of_a_time_are_summed_before_it_is_judged():
    rows = table((0, "ann", 9), (0, "ann", -9), (1, "ann", 5), (1, "ann", 5), (1, "bob", 2))
    rule = {"name": "sums", "key": ["user"], "window": "10 seconds", "measure": "sum n", "at_least": 6}
    assert told(rows, rule) == [(1, "sums", "ann", 10)]


def test_units_make_sums_exact_and_other_numbers_are_left_out_and_counted():
    rows = pa.table({"ts": pa.array(np.arange(12) * SECOND, pa.timestamp("us")), "v": [0.1] * 10 + [-0.3, 0.05]})
    rule = {"name": "tenths", "window": "1 hour", "measure": "sum v", "at_least": 0.7, "tell": "each"}
    found = answers(rows.slice(0, 11), rule, unit=0.1)
    assert [a["value"] for a in found] == [0.7, 0.8, 0.9, 1.0, 0.7]
    query = {"kind": "detections", "time": "ts", "unit": 0.1}
    for where, dropped in ((None, 1), ("v > 0.06", 0), ("v < 0.06", 1)):
        one = rule if where is None else rule | {"where": where}
        run = LocalRun.start({**query, "detections": [one]}, rows.schema)
        run.push(rows.combine_chunks().to_batches()[0])
        run.finish()
        assert sum(run.operator.take_metrics().dropped.values()) == dropped, "rows of no rule do not matter"


def test_silence_is_of_a_key_and_ends_at_its_length():
    rows = table(*((second, user, 0) for second in range(12) for user in ("ann", "bob")))
    found = told(rows, RULE | {"tell": "each", "silence": "4 seconds"})
    assert [(time, user) for time, _, user, _ in found] == [(t, u) for t in (2, 6, 10) for u in ("ann", "bob")]


def test_after_and_until_are_open_and_closed():
    rule = RULE | {"at_least": 1, "tell": "each", "after": "1970-01-01T00:00:02Z", "until": "1970-01-01T00:00:04Z"}
    assert times(at(1, 2, 3, 4, 5), rule) == [3, 4]


def test_an_unseen_key_has_no_row_in_the_window_before_and_its_time_does_not_count():
    rule = {"name": "new", "key": "user", "measure": "unseen", "window": "10 seconds", "after": "1970-01-01T00:00:01Z"}
    assert times(at(0, 5, 15, 15, 26, 36), rule) == [26]
    rows = table((0, "ann", 0), (2, "bob", 0), (3, "bob", 0), (4, "cy", 0))
    assert [user for _, _, user, _ in told(rows, rule)] == ["bob", "cy"]


def test_distinct_values_count_once_at_their_newest_time():
    rows = table(*((second, "ann", n) for second, n in ((0, 1), (1, 2), (8, 1), (9, 1), (12, 3), (17, 4), (18, 5))))
    assert told(rows, RULE | {"measure": "distinct n"}) == [(17, "many", "ann", 3)]


def test_distinct_values_of_several_columns_are_pairs():
    rows = table((0, "ann", 1), (1, "bob", 1), (2, "ann", 1), (3, "ann", 2))
    rule = {"name": "pairs", "measure": "distinct user, n", "window": "10 seconds", "at_least": 3}
    found = answers(rows, rule)
    assert [(a["time"].timestamp(), a["key"], a["value"]) for a in found] == [(3, "{}", 3)]


def test_nulls_are_no_key_and_no_value():
    rows = table((0, None, 1), (1, None, 2), (2, None, 3), (3, "ann", None), (4, "ann", 4), (5, "ann", 5))
    assert times(rows, RULE) == [5]
    assert times(rows, RULE | {"measure": "distinct n", "at_least": 2}) == [5]
    assert times(rows, {**RULE, "key": [], "name": "all"}) == [2]


def test_a_condition_that_is_null_is_not_met():
    rows = table((0, "ann", None), (1, "ann", 5), (2, "ann", 6), (3, "ann", None), (4, "ann", 7))
    assert times(rows, RULE | {"where": "n > 4"}) == [4]


def test_two_keys_with_equal_values_are_two_tables():
    rows = pa.table(
        {"ts": pa.array([0, SECOND], pa.timestamp("us")), "user": ["a", "b"], "host": ["b", "a"], "n": [1, 1]}
    )
    by_user, by_host = RULE | {"at_least": 2}, {**RULE, "at_least": 2, "key": ["host"], "name": "hosts"}
    assert answers(rows, by_user, by_host) == []


def test_answers_are_in_order_of_time_rule_and_key():
    rows = table(*((second, user, 0) for second in (1, 0) for user in ("b", "a")))
    rules = [{**RULE, "name": name, "at_least": 1} for name in ("z", "y")]
    expected = [(0, "z", "a", 1), (0, "z", "b", 1), (0, "y", "a", 1), (0, "y", "b", 1)]
    assert told(rows, *rules) == expected


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array(['a"b', "\n", "é", ""]), ['"a\\"b"', '"\\n"', '"é"', '""']),
        (pa.array([1, -5, 2**63 - 1, 0]), ["1", "-5", str(2**63 - 1), "0"]),
        (pa.array([1.5, -0.0, float("nan"), float("inf")]), ["1.5", "0", '"nan"', '"inf"']),
        (pa.array([0.1, 1e300, 1e-5, 2.0], pa.float32()), None),
        (pa.array([True, False], pa.bool_()), ["true", "false"]),
        (pa.array([b"\x01", b""], pa.binary()), ['"01"', '""']),
        (pa.array([0], pa.timestamp("s", "UTC")), ['"1970-01-01 00:00:00+00:00"']),
        (pa.array([0, 1], pa.date32()), ['"1970-01-01"', '"1970-01-02"']),
        (pa.array(["a", "b"]).dictionary_encode(), ['"a"', '"b"']),
    ],
)  # fmt: skip
def test_a_key_is_json(values, texts):
    rows = pa.table({"ts": pa.array(np.arange(len(values)) * SECOND, pa.timestamp("us")), "of all": values})
    found = answers(rows, {"name": "one", "key": ["of all"], "window": "1 second", "at_least": 1})
    if texts is not None:
        assert [a["key"] for a in found] == [f'{{"of all": {text}}}' for text in texts]
    assert all(json.loads(a["key"]).keys() == {"of all"} for a in found)


def test_the_row_that_crosses_brings_its_columns():
    found = answers(at(0, 1, 2, 3), RULE, carry=["n"])
    assert [a["n"] for a in found] == [2]


def test_seventy_conditions_take_two_words_of_bits():
    rules = [{**RULE, "name": f"n {n}", "where": f"n = {n}", "at_least": 1} for n in range(70)]
    rows = table(*((n, "ann", n) for n in range(70)))
    assert [rule for _, rule, *_ in told(rows, *rules)] == [rule["name"] for rule in rules]


def test_a_changed_rule_does_not_go_on_with_an_old_state():
    rows = at(0, 1, 2)
    run, other = (
        LocalRun.start({"kind": "detections", "time": "ts", "detections": [RULE | {"at_least": n}]}, rows.schema)
        for n in (2, 3)
    )
    run.push(rows.to_batches()[0])
    with pytest.raises(SnapshotError, match="made by another job"):
        other.restore(run.snapshot())


def test_a_backend_of_another_kind_is_named():
    query = make_query({"kind": "detections", "time": "ts", "detections": [RULE]})
    assert query.asked_roles == ("key-counter",)
    assert len(local.apply(at(0, 1, 2), query, {"key-counter": "newest"})) == 1


@pytest.mark.parametrize(
    "rule",
    [
        {"measure": "unseen", "after": "1970-01-01T00:00:01Z"},
        {"measure": "rows", "at_least": 2},
        {"measure": "distinct host", "at_least": 2, "tell": "each"},
        {"measure": "rows", "at_least": 1, "tell": "each", "silence": "7 seconds"},
        {"measure": "rows", "at_least": 1, "tell": "each", "silence": "15 seconds"},
    ],
    ids=["unseen", "rows", "distinct", "silence", "long silence"],
)
@pytest.mark.parametrize("is_restored", [False, True])
def test_rows_that_come_alone_after_a_silence_are_answered_as_all_at_once(rule, is_restored):
    """Of one key, just before, at and just after everything before them may be forgotten."""
    rule = {"name": "one", "key": ["user"], "window": "10 seconds", **rule}
    for gap in [6, 7, 8, 9, 10, 11, 14, 15, 16]:
        seconds = [2, 2 + gap, 2 + 2 * gap, 99]
        rows = pa.record_batch(
            {
                "ts": pa.array([second * SECOND for second in seconds], pa.timestamp("us", "UTC")),
                "user": ["ann"] * 4,
                "host": ["a", "b", "a", "c"],
            }
        )
        query = make_query({"kind": "detections", "time": "ts", "detections": [rule]})
        whole = local.apply(pa.Table.from_batches([rows]), query)
        run, pieces = LocalRun.start(query, rows.schema), []
        for place in range(len(rows)):
            pieces.append(run.push(rows.slice(place, 1)))
            if is_restored:
                state, run = run.snapshot(), LocalRun.start(query, rows.schema)
                run.restore(state)
        assert pa.Table.from_batches([*pieces, run.finish()]) == whole, gap
