"""Sequences on small streams that are easy to follow; their oracle is in tests/queries."""

import json

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.errors import InputError, SnapshotError
from skyband_detect.detections.sequences.sequence import SequenceCounter
from skyband_detect.detections.sequences.step_kernels import NEVER
from skyband_detect.detections.sequences.steps import Step, Steps
from skyband_detect.role import Bounds

SECOND = 1_000_000
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "user": pa.string(), "do": pa.string()})
RULE = {"name": "steps", "key": ["user"], "measure": "sequence", "window": "10 seconds"}


def rows(*entries, user="ann"):
    """Rows of (second, what a user does)."""
    return pa.RecordBatch.from_pylist(
        [{"ts": int(second * SECOND), "user": user, "do": what} for second, what in entries], schema=SCHEMA
    )


def steps(*letters):
    return {"steps": [f"do = '{letter}'" for letter in letters]}


def answers(entries, **change):
    """(second, seconds that it took) of each answer."""
    table = pa.Table.from_batches([rows(*entries)])
    query = {"kind": "detections", "time": "ts", "detections": [RULE | change]}
    return [(row["time"].timestamp(), row["value"]) for row in local.apply(table, query).to_pylist()]


def test_each_step_is_later_than_the_one_before_and_all_are_in_the_window():
    assert answers([(0, "a"), (1, "b")], **steps("a", "b")) == [(1, 1)]
    assert answers([(1, "a"), (1, "b")], **steps("a", "b")) == []
    assert answers([(0, "b"), (1, "a")], **steps("a", "b")) == []
    assert answers([(0, "a"), (10, "b")], **steps("a", "b")) == []
    assert answers([(0, "a"), (9.5, "b")], **steps("a", "b")) == [(9.5, 9.5)]


def test_one_row_may_be_one_step_only_and_the_latest_start_counts():
    assert answers([(0, "a"), (1, "a"), (2, "a")], **steps("a", "a")) == [(1, 1)]
    assert answers([(0, "a"), (1, "a"), (2, "a")], **steps("a", "a"), tell="each") == [(1, 1), (2, 1)]
    assert answers([(0, "a"), (6, "a"), (7, "b"), (12, "c")], **steps("a", "b", "c")) == [(12, 6)]
    assert answers([(0, "a"), (5, "b"), (6, "a"), (12, "c")], **steps("a", "b", "c")) == [], "b is before the new a"


def test_a_row_is_one_step_of_three_and_a_sequence_just_as_long_as_the_window_is_outside():
    assert answers([(0, "a"), (1, "a"), (2, "a")], **steps("a", "a", "a")) == [(2, 2)]
    assert answers([(0, "a"), (1, "b"), (9, "a"), (10, "b")], **steps("a", "b")) == [(1, 1), (10, 1)]
    assert answers([(0, "a"), (10, "b")], **steps("a", "b"), any_order=True) == []


def test_a_step_may_count_over_more_than_the_window():
    pair = {"where": "do = 'a'", "at_least": 2, "window": "10 seconds"}
    rule = RULE | {"steps": [pair, "do = 'b'"], "window": "2 seconds"}
    query = {"kind": "detections", "time": "ts", "detections": [rule]}
    run = LocalRun.start(query, SCHEMA)
    batches = [run.push(rows(entry)) for entry in ((0, "a"), (6, "a"), (7, "b"), (20, "c"))]
    assert [row["time"].timestamp() for batch in batches for row in batch.to_pylist()] == [7]


def test_rows_of_one_time_are_put_together_by_key():
    own, times = SequenceCounter(Steps((Step("a"), Step("b")), False), 1000, dict), np.array([1, 1, 1])
    inside = [np.array([0, 1]), np.array([2])]
    assert len(own.update(times, np.array([1, 2, 1], np.uint64), inside, [None] * 2, BOUNDS).rows) == 0


def test_it_crosses_when_no_other_was_complete_in_the_window():
    entries = [(0, "a"), (1, "b"), (2, "a"), (3, "b"), (12, "a"), (13, "b")]
    assert answers(entries, **steps("a", "b")) == [(1, 1), (13, 1)]
    assert answers(entries, **steps("a", "b"), tell="each") == [(1, 1), (3, 1), (13, 1)]
    assert answers(entries, **steps("a", "b"), tell="each", silence="3 seconds") == [(1, 1), (13, 1)]


def test_a_step_may_count_rows():
    ten = {"where": "do = 'a'", "at_least": 3, "window": "5 seconds"}
    failures = [(second, "a") for second in (0, 1, 2, 3, 4)]
    assert answers([*failures, (5, "b")], steps=[ten, "do = 'b'"]) == [(5, 1)]
    assert answers([*failures, (5, "b")], steps=[ten | {"tell": "crossing"}, "do = 'b'"]) == [(5, 3)]
    assert answers([*failures[:2], (5, "b")], steps=[ten, "do = 'b'"]) == []
    later = [(second + 10, what) for second, what in failures]
    assert answers([(9, "b"), *later], steps=["do = 'b'", ten]) == [(12, 3)]


def test_in_any_order_all_have_to_happen_and_one_time_is_enough():
    entries = [(0, "b"), (1, "a"), (2, "b"), (11, "a"), (12, "b"), (30, "a"), (30, "b")]
    assert answers(entries, **steps("a", "b"), any_order=True) == [(1, 1), (11, 9), (12, 1), (30, 0)]
    assert answers(entries, **steps("a", "b"), any_order=True, tell="each") == [
        (1, 1), (2, 1), (11, 9), (12, 1), (30, 0),
    ]  # fmt: skip


def test_the_condition_of_the_rule_is_of_every_step_and_null_is_no_key():
    entries = [(0, "a"), (1, "b")]
    assert answers(entries, **steps("a", "b"), where="user = 'ann'") == [(1, 1)]
    assert answers(entries, **steps("a", "b"), where="do <> 'a'") == []
    query = {"kind": "detections", "time": "ts", "detections": [RULE | steps("a", "b")]}
    assert len(local.apply(pa.Table.from_batches([rows(*entries, user=None)]), query)) == 0


def test_the_row_of_the_last_step_brings_its_columns_and_a_rule_alone_needs_no_backend():
    query = {"kind": "detections", "time": "ts", "detections": [RULE | steps("a", "b")], "carry": ["do"]}
    found = local.apply(pa.Table.from_batches([rows((0, "a"), (1, "c"), (1, "b"))]), query).to_pylist()
    assert [row["do"] for row in found] == ["b"]


def test_a_key_that_falls_when_no_row_comes_leaves_sequences_of_others_alone():
    few = {"name": "few", "key": ["user"], "window": "1 second", "below": 1}
    pairs = {"at_least": 2, "window": "1 minute", "measure": "distinct user"}
    both = [few, RULE | {"steps": ["true", pairs]}]
    query = {"kind": "detections", "time": "ts", "delay": "2 seconds", "detections": both}
    run = LocalRun.start(query, SCHEMA)
    batches = [run.push(rows(entry)) for entry in ((0, "a"), (2.5, "b"), (4, "b"))]
    assert [row["rule"] for batch in batches for row in batch.to_pylist()] == ["few"]


def test_steps_may_be_text_of_json_as_files_of_csv_have_them(tmp_path):
    text = json.dumps(["do = 'a'", {"where": "do = 'b'", "at_least": 2, "window": "1 minute"}]).replace('"', '""')
    (tmp_path / "rules.csv").write_text(
        f'name,key,measure,window,steps,any_order\none,user,sequence,10 seconds,"{text}",\n', encoding="utf-8"
    )
    query = {"kind": "detections", "time": "ts", "detections": str(tmp_path / "rules.csv")}
    table = pa.Table.from_batches([rows((0, "b"), (1, "a"), (2, "b"))])
    assert [row["rule"] for row in local.apply(table, query).to_pylist()] == ["one"]


HOSTS = {"at_least": 2, "window": "1 day", "measure": "distinct host"}


def coming(**more):
    return LocalRun.start({"kind": "detections", "time": "ts", "keys": [["user"]], **more}, SCHEMA)


def told(run, *parts):
    batches = []
    for part in parts:
        if isinstance(part, pa.RecordBatch):
            batches.append(run.push(part))
        else:
            run.broadcast(pa.table({"value": [json.dumps(part)]}))
    return [row["time"].timestamp() for batch in [*batches, run.finish()] for row in batch.to_pylist()]


def test_a_sequence_that_comes_holds_at_once_if_it_is_kept_and_else_when_its_windows_are_full():
    came = RULE | steps("a", "b") | {"tell": "each"}
    parts = rows((0, "a"), (1, "c")), came, rows((2, "b"), (10, "a"), (11, "b"), (12, "a"), (13, "b"), (30, "c"))
    assert told(coming(rule_columns=["do"]), *parts) == [11, 13]
    keep = {"key": ["user"], "measure": "sequence", "longest": "20 seconds", **steps("a", "b")}
    assert told(coming(keep=[keep]), *parts) == [2, 11, 13]
    counts = {**came, "steps": [{"where": "do = 'a'", "at_least": 1, "window": "2 seconds"}, "do = 'b'"]}
    assert told(coming(rule_columns=["do"]), parts[0], counts, parts[2]) == [13], "12 seconds after second 0"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (steps("a", "b") | {"key": ["host"]}, "rules.key, row 0"),
        ({"steps": ["do = 'a'", "host = 'b'"]}, "rules.steps[1], row 0: of rule 'steps' reads column 'host'"),
        ({"steps": ["do = 'a'", "1 / 0 > 1"]}, "rules.steps[1], row 0"),
        (
            {"steps": ["do = 'a'", {"at_least": 2, "window": "1 day", "measure": "distinct host"}]},
            "rules.measure, row 0",
        ),
        ({"steps": ["do = 'a'"]}, "rules.steps, row 0: of rule 'steps' must be 2 to 16"),
    ],
)
def test_a_wrong_sequence_that_comes_is_a_bad_row(change, text):
    with pytest.raises(InputError) as raised:
        coming(rule_columns=["do"]).broadcast(pa.table({"value": [json.dumps(RULE | change)]}))
    assert text in str(raised.value)


def counter(any_order=False, longest=1000):
    return SequenceCounter(Steps((Step("a"), Step("b"), Step("c")), any_order), longest, dict)


BOUNDS = Bounds(np.array([1000]), np.array([1]), np.array([False]))


@pytest.mark.parametrize("any_order", [False, True])
def test_a_damaged_state_is_refused(any_order):
    own = counter(any_order)
    keys, inside = np.array([7, 8, 7, 8], np.uint64), [np.array([0, 1]), np.array([2]), np.array([3])]
    own.update(np.array([10, 20, 30, 40]), keys, inside, [None] * 3, BOUNDS)
    own.advance(1005)
    state = own.dump_state()
    again = counter(any_order)
    again.load_state(state)
    assert all(np.array_equal(array, state[name]) for name, array in again.dump_state().items())
    assert state["times"].tolist().count(NEVER) == (2 if any_order else 3)
    times = state["times"]
    damaged = [{"times": times[:-1]}, {"times": np.full_like(times, NEVER)}, {"keys": state["keys"][::-1]}]
    damaged += [{"now": np.array([now])} for now in (15, 2**62 + 1, 10**9)] + [{"now": np.array([5, 6])}]
    damaged += [] if any_order else [{"times": times[::-1].copy()}]
    again.advance(1015)
    assert again.dump_state()["times"].tolist().count(NEVER) == (3 if any_order else 2), "what is too old is left out"
    for change in damaged:
        with pytest.raises(SnapshotError):
            counter(any_order).load_state({**state, **change})


def test_two_shards_become_one():
    one, two, both = counter(), counter(), counter()
    times, keys = np.array([1, 2, 3, 4]), np.array([1, 2, 1, 2], np.uint64)
    none = np.array([], np.int64)
    of_key = {1: [np.array([0]), np.array([2]), none], 2: [np.array([1, 3]), none, none]}
    for own, key in ((one, 1), (two, 2)):
        own.update(times, keys, of_key[key], [None] * 3, BOUNDS)
        own.advance(4)
    both.update(times, keys, [np.array([0, 1, 3]), np.array([2]), none], [None] * 3, BOUNDS)
    both.advance(4)
    one.merge(two)
    assert all(np.array_equal(array, both.dump_state()[name]) for name, array in one.dump_state().items())


def test_a_key_costs_two_numbers_and_one_a_step_and_old_keys_are_forgotten():
    own = counter()
    largest = 0
    for start in range(0, 400_000, 1000):
        times = np.arange(start, start + 1000)
        inside = [np.arange(0, 1000, 2), np.arange(1, 1000, 2), np.empty(0, np.int64)]
        own.update(times, times.astype(np.uint64), inside, [None] * 3, BOUNDS)
        own.advance(start + 999)
        largest = max(largest, own.nbytes)
    assert len(own) == 500
    assert largest <= 8 * 5 * 4096, "four places for each of a thousand keys"
