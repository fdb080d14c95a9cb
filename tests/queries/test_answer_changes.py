"""`answers = "changes"`: the log of what changed, applied to an empty table, gives every answer."""

from collections import defaultdict
from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from attrs import evolve
from families import SECOND
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process_shards import ShardedStream
from interrupted_run import WAYS, InterruptedRun, batch_of
from skyband import ConfigError, InputError, SnapshotError, snapshot
from skyband.columns import keyed_frames
from skyband.columns.hashing import hash_columns
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.operator import answer_changes
from skyband.operator.logged_batch import LoggedBatch
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import encode
from skyband.operator.shard import Shard
from skyband.queries import make_query
from skyband_specs.scaffold.query_plugin.query import MineQuery

RANKED = {"kind": "top-k", "object": "name", "stream": "from", "value": "score", "streams": ["a"], "every": "5 seconds"}
TOTALS = {"kind": "heavy-hitters", "object": "name", "every": "5 seconds", "windows": ["5 seconds", "20 seconds"]}
COUNTS = {"kind": "distinct-count", "item": "name", "every": "5 seconds", "windows": ["5 seconds", "10 seconds"]}
QUICK = {"name": "quick", "window": "8 seconds", "slide": "3 seconds", "k": 2}
SLOW = {"name": "slow", "window": "30 seconds", "slide": "20 seconds", "k": 3, "phase": "7 seconds"}
WORKLOAD = {"kind": "top-k-workload", "object": "name", "score": "score", "queries": [QUICK, SLOW]}
QUERIES = {
    "top-k": RANKED | {"k": 2, "window": "10 seconds"},
    "top-k by": RANKED | {"k": 3, "window": "20 seconds", "by": ["place"], "carry": ["extra"]},
    "top-k of the day": RANKED | {"k": 2, "window": "today", "by": ["place"]},
    "heavy-hitters": TOTALS | {"share": 0.3},
    "heavy-hitters by": TOTALS | {"k": 2, "by": ["place"]},
    "heavy-hitters rest": TOTALS | {"k": 2, "rest": True},
    "heavy-hitters rest by": TOTALS | {"k": 2, "by": ["place"], "rest": True},
    "heavy-hitters against": TOTALS | {"k": 2, "against": "previous", "by": ["place"]},
    "distinct-count": COUNTS,
    "distinct-count against": COUNTS | {"against": "previous", "by": ["place"]},
    "distinct-count by": COUNTS | {"by": ["place"]},
    "quantiles by": {
        "kind": "quantiles",
        "value": "score",
        "at": [0.5, 0.9],
        "above": [1.5],
        "windows": ["10 seconds"],
        "every": "5 seconds",
        "by": ["place"],
    },
    "top-k-workload": WORKLOAD,
    "top-k-workload by": WORKLOAD | {"by": ["place"], "repeats": "best"},
    "top-k-pairs": {
        "kind": "top-k-pairs",
        "id": "number",
        "tokens": "words",
        "k": 3,
        "window": "20 seconds",
        "every": "5 seconds",
    },
}


def query_of(name: str, **keys):
    return make_query(QUERIES[name] | {"time": "ts", "answers": "changes", **keys})


def stream(seconds) -> pa.Table:
    """A row at each of these times, in two groups, with names, scores and words that come again."""
    number = np.arange(len(seconds))
    words = [["x", "y", "z", "u"][value % 3 : value % 3 + 2] for value in number]
    return pa.table(
        {
            "ts": pa.array(np.array(seconds, np.int64) * SECOND, pa.timestamp("us", "UTC")),
            "name": pa.array([f"name {value}" for value in number * 3 % 5], pa.string()),
            "from": pa.array(["a"] * len(number), pa.string()),
            "score": (number * 7 % 11) / 4,
            "place": pa.array([["here", None][value] for value in number % 2], pa.string()),
            "extra": pa.array([None if value % 4 == 0 else value / 2 for value in number], pa.float64()),
            "number": number,
            "words": pa.array(words, pa.list_(pa.string())),
        }
    )


def lines(*answers) -> list[str]:
    return sorted(str(row) for some in answers for row in some.to_pylist())


def instants(answers) -> list[int]:
    return answers.column("at").cast(pa.int64()).to_pylist()


def by_moment(answers) -> dict[int, list[dict]]:
    found = defaultdict(list)
    for at, row in zip(instants(answers), answers.to_pylist(), strict=True):
        found[at].append({name: value for name, value in row.items() if name != "at"})
    return found


def tables_of(log, query, moments) -> dict[int, list[str]]:
    """At each moment the rows of a table to which the log was applied, as a reader of it would."""
    answer = [*query.by, *query.separate_answers]
    key = list(dict.fromkeys([*answer, *query.key_columns]))
    changes, table, found = by_moment(log), {}, {}
    for at in sorted({*changes, *moments}):
        for row in changes.get(at, []):
            change = row.pop("change")
            place = tuple(str(row[name]) for name in key)
            if change == "emptied":
                rest = [other for other in table if other[: len(answer)] == place[: len(answer)]]
                assert len(rest) == ({*key} == {*answer}), "rows leave, then an answer of more than one is emptied"
                assert all(row[name] is None for name in row if name not in answer)
                table = {other: rows for other, rows in table.items() if other not in rest}
            elif change == "left":
                del table[place]
            else:
                assert (place in table) == (change == "updated"), (at, change, place)
                assert table.get(place) != row, "a change that changes nothing"
                table[place] = row
        found[at] = list(table.values())
    return found


times = st.lists(st.integers(0, 150), min_size=1, max_size=25).map(sorted)
names = st.sampled_from(sorted(QUERIES))


def own_moments(whole: pa.Table, table: pa.Table, query) -> dict[int, set]:
    """At each moment at which anything is answered, which parts of a query with moments of their own are asked."""
    schedule, last = query.schedule, max(table.column("ts").cast(pa.int64()).to_pylist())
    ends = schedule.each_after(last).tolist()
    asked = defaultdict(set)
    for part, end in zip(query.queries, ends, strict=True):
        slide, phase = part.lengths.slide, part.lengths.phase
        for at in instants(whole):
            if (at - phase) % slide == 0 and at <= end:
                asked[at].add(part.name)
    return asked


@settings(max_examples=40, deadline=None)
@given(times, names)
def test_the_log_applied_to_an_empty_table_gives_every_answer(seconds, name):
    table, query = stream(seconds), query_of(name)
    whole, log = local.apply(table, evolve(query, answers="all")), local.apply(table, query)
    answers = by_moment(whole)
    asked = own_moments(whole, table, query) if query.kind == "top-k-workload" else None
    # A moment at which no group is answered is one too: what is left then was emptied.
    for at, rows in tables_of(log, query, answers).items():
        if asked is not None:
            rows = [row for row in rows if row["query"] in asked[at]]
        assert sorted(map(str, rows)) == sorted(map(str, answers.get(at, []))), at


@settings(max_examples=40, deadline=None)
@given(times, st.lists(st.integers(0, 25), max_size=6), names, st.sampled_from(["as it is", "restored", "replayed"]))
def test_the_log_is_one_of_moments_however_the_input_is_cut(seconds, cuts, name, how):
    table, query = stream(seconds), query_of(name)
    run, turns, logs = LocalRun.start(query, table.schema), [], []
    places = sorted({0, len(table), *(cut for cut in cuts if cut < len(table))})
    latest = max(table.column("ts").cast(pa.int64()).to_pylist())
    for start, stop in pairwise(places):
        rows = batch_of(table.slice(start, stop - start))
        logs.append(run.push(rows))
        turns.append(LoggedBatch.decode(run.operator.logged_batch([keyed_frames.to_bytes(encode(query, rows).frame)])))
        other = LocalRun.start(query, table.schema)
        if how == "restored":
            other.operator.restore(run.operator.snapshot())
        elif how == "replayed":
            other.operator.replay(turns)
            assert other.operator.snapshot() == run.operator.snapshot()
        run = run if how == "as it is" else other
    logs.append(run.operator.finish(latest))
    assert all(instants(log) == sorted(instants(log)) for log in logs)
    assert lines(*logs) == lines(local.apply(table, query))


@pytest.mark.parametrize("name", QUERIES)
def test_the_last_answers_are_kept_in_one_order_however_the_input_is_cut(name):
    table, query, states = stream([*range(40), 41, 47, 48]), query_of(name), set()
    for rows in (1, 7, len(table)):
        run = LocalRun.start(query, table.schema)
        for start in range(0, len(table), rows):
            run.push(batch_of(table.slice(start, rows)))
        states.add(run.operator.snapshot())
    assert len(states) == 1


@settings(max_examples=30, deadline=None)
@given(times, times, names, st.sampled_from(WAYS))
def test_a_stream_that_was_finished_and_goes_on_has_the_log_of_one_batch(seconds, more, name, how):
    table, query = stream(seconds), query_of(name, delay="0 seconds")
    going = InterruptedRun(query, table.schema, how)
    logs = [going.step(table), going.step(None), going.step(None)]
    assert lines(*logs) == lines(local.apply(table, query))
    begin = -(-going.run.operator.watermark // SECOND)
    later = stream([begin + second for second in more])
    logs += [going.step(later), going.step(None), going.step(None)]
    assert lines(*logs) == lines(local.apply(pa.concat_tables([table, later]), query))


@pytest.mark.parametrize(
    "size", [2**20, 2**21, 2**28, 277 * 10**6, 278 * 10**6, 390 * 10**6, 2**29, 2**30, 2**32, 2**62]
)
def test_changes_are_ordered_by_keys_that_fit_into_one_number_or_not(size):
    random = np.random.default_rng(size % 7)
    for _ in range(20):
        keys = [random.choice([0, 1, size - 1, size], 30) for _ in range(3)] + [random.permutation(30)]
        assert (answer_changes._in_order(*keys) == np.lexsort(keys[::-1])).all()


def test_time_that_goes_on_without_rows_empties_an_answer_once():
    table, query = stream([0, 1, 2]), query_of("distinct-count by")
    run = LocalRun.start(query, table.schema)
    run.push(batch_of(table))
    emptied = run.operator.advance(60 * SECOND)
    assert emptied.filter(pc.equal(emptied.column("change"), "emptied")).num_rows == 4, "two groups, two windows"
    assert len(run.operator.advance(90 * SECOND)) == 0
    assert "last answers rows" not in snapshot.decode(run.operator.snapshot()).arrays, "nothing is kept of them"


def test_only_what_is_asked_for_makes_a_row_worth_telling():
    table = stream(range(60))
    every = local.apply(table, query_of("heavy-hitters by"))
    ranks = local.apply(table, query_of("heavy-hitters by", changed=["rank"]))
    before = {}
    updates = 0
    for row in every.to_pylist():
        place = (row["place"], row["window"], row["object"])
        updates += row["change"] == "updated" and before[place] != row["rank"]
        before[place] = row["rank"]
    changes = ranks.column("change").to_pylist()
    assert 0 < updates == changes.count("updated") < every.column("change").to_pylist().count("updated")
    for change in ("entered", "left", "emptied"):
        assert changes.count(change) == every.column("change").to_pylist().count(change)


def test_null_is_like_null_and_nan_like_nan():
    table = stream([0, 5, 10, 15, 20])
    same = table.set_column(1, "name", pa.array(["one"] * 5)).set_column(3, "score", pa.array([1.0] * 5))
    for extra in (None, float("nan"), 2.5):
        rows = same.set_column(5, "extra", pa.array([extra] * 5, pa.float64()))
        log = local.apply(rows, query_of("top-k by", by=[], window="10 seconds"))
        assert log.column("change").to_pylist() == ["entered"], extra
    rows = same.set_column(5, "extra", pa.array([None, None, 1.0, 1.0, None], pa.float64()))
    log = local.apply(rows, query_of("top-k by", by=[], window="10 seconds"))
    assert log.column("extra").to_pylist() == [None, 1.0, None]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.float16(), [None, 1.5, float("nan"), -2.0]),
        (pa.list_(pa.string()), [None, [], ["a"], ["b"], ["a", "b"], ["a", None], [None]]),
        (pa.large_list(pa.float64()), [None, [], [0.5, float("nan")], [0.5, None], [float("nan"), 0.5]]),
        (pa.list_(pa.float32(), 2), [None, [1.0, float("nan")], [1.0, 2.0], [2.0, 1.0], [None, 1.0]]),
        (pa.list_(pa.float16()), [None, [], [1.5], [float("nan")], [1.5, 1.5]]),
    ],
    ids=str,
)
def test_each_value_of_a_carried_column_is_like_itself_alone(kind, values):
    """An object that is carried with one value, then with another, is told again, and with the same it is not."""
    pairs = [(one, other) for one in range(len(values)) for other in range(len(values))]
    names = [f"name {number}" for number in range(len(pairs))]
    places = np.array([*(one for one, _ in pairs), *(other for _, other in pairs)])
    column = pa.array(values, kind).take(pa.array(places)) if pa.types.is_floating(kind) else None
    column = pa.array([values[place] for place in places], kind) if column is None else column
    table = pa.table(
        {
            "ts": pa.array(np.repeat([0, 5], len(pairs)) * SECOND, pa.timestamp("us", "UTC")),
            "name": names * 2,
            "from": ["a"] * len(places),
            "score": np.ones(len(places)),
            "extra": column,
        }
    )
    log = local.apply(table, query_of("top-k", k=len(pairs), window="5 seconds", carry=["extra"]))
    updated = {row["object"] for row in log.to_pylist() if row["change"] == "updated"}
    assert updated == {name for name, (one, other) in zip(names, pairs, strict=True) if one != other}


def test_a_row_that_left_is_told_as_it_last_stood():
    table = stream([0, 0, 7])
    log = local.apply(table, query_of("top-k", window="5 seconds"))
    left = [row for row in log.to_pylist() if row["change"] == "left"]
    entered = {row["object"]: row for row in log.to_pylist() if row["change"] == "entered"}
    assert left
    assert all(
        (row["rank"], row["score"]) == (entered[row["object"]]["rank"], entered[row["object"]]["score"]) for row in left
    )


def test_shards_take_over_what_was_answered_to_their_groups():
    table, query = stream(range(40)), query_of("heavy-hitters by")
    rows = [batch_of(table.slice(0, 20)), batch_of(table.slice(20))]
    run = LocalRun.start(query, table.schema)
    first = run.push(rows[0])
    parts = []
    for number in range(2):
        part = Operator(query, run.operator.bindings, run.operator.schema, shard=Shard(number, 2))
        part.align_with(run.operator)
        part.absorb(run.operator, lambda keys, number=number: (keys >> np.uint64(63)) == number)
        parts.append(LocalRun(part))
    groups = hash_columns([rows[1].column("place")]) >> np.uint64(63)
    logs = [part.push(rows[1].filter(pa.array(groups == number))) for number, part in enumerate(parts)]
    latest = max(table.column("ts").cast(pa.int64()).to_pylist())
    logs += [part.operator.finish(latest) for part in parts]
    assert {*groups.tolist()} == {0, 1}, "each shard has a group"
    assert lines(first, *logs) == lines(local.apply(table, query))


@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize("after", [[SLOW], [{**QUICK, "name": "swift"}, SLOW], [{**SLOW, "name": "late"}]])
def test_rows_of_a_query_that_left_or_has_another_name_leave(after, by):
    table, query = stream(range(46)), query_of("top-k-workload", by=by)
    run = LocalRun.start(query, table.schema)
    logs, state = [run.push(batch_of(table))], run.operator.snapshot()
    for _ in range(2):  # it may stop before it tells of it
        run = LocalRun.start(query_of("top-k-workload", by=by, queries=after), table.schema)
        run.operator.restore(state)
        state = run.operator.snapshot()
    logs.append(run.push(batch_of(stream([47]))))
    stay = {one["name"] for one in after}
    assert {row["query"] for row in by_moment(logs[1])[45 * SECOND + 1]} == {"quick", "slow"} - stay
    tables = tables_of(pa.Table.from_batches(logs), query, [])
    assert {row["query"] for row in tables[max(tables)]} <= stay


@pytest.mark.parametrize("shards", [2, 3])
@pytest.mark.parametrize("after", [[SLOW], [{**QUICK, "name": "swift"}, SLOW], [{**SLOW, "name": "late"}]])
def test_they_leave_just_after_the_savepoint_whatever_shards_take_their_groups_over(after, shards):
    table, query = stream(range(46)), query_of("top-k-workload", by=["place"])
    one = ShardedStream(query, 1, table.schema)
    log = [one.push(table)]
    several = ShardedStream(query_of("top-k-workload", by=["place"], queries=after), shards, table.schema)
    log.append(several.begin_from(one).push(stream([47])))
    there = {row["query"] for row in by_moment(log[1])[45 * SECOND + 1]}
    assert there == {"quick", "slow"} - {one["name"] for one in after}
    tables = tables_of(pa.concat_tables(log), query, [])
    assert {row["query"] for row in tables[max(tables)]} <= {one["name"] for one in after}


def test_queries_of_a_checkpoint_with_logged_steps_may_join_and_not_leave():
    """What they answered in those steps was told, and cannot be told again to leave."""
    table = stream(range(46))
    run = LocalRun.start(query_of("top-k-workload", queries=[QUICK]), table.schema)
    run.push(batch_of(table))
    state = run.operator.snapshot()
    more = LocalRun.start(query_of("top-k-workload", queries=[SLOW, QUICK]), table.schema).operator
    assert more.restore(state, joined=50 * SECOND)
    for queries in ([SLOW], [SLOW, {**QUICK, "name": "swift"}]):
        other = LocalRun.start(query_of("top-k-workload", queries=queries), table.schema).operator
        with pytest.raises(
            SnapshotError, match='other queries: with answers = "changes" removed answers would not be reported'
        ):
            other.restore(state, joined=50 * SECOND)
        other.restore(state)


def test_what_is_taken_over_stands_beside_what_was_answered_here():
    table, query = stream(range(40)), query_of("heavy-hitters by")
    one, two = (LocalRun.start(query, table.schema) for _ in range(2))
    for run, rows in ((one, table.slice(0, 20)), (two, table.slice(20))):
        run.push(batch_of(rows))
    mine, theirs = one.operator._state.changes, two.operator._state.changes
    rows = [*mine.rows.to_pylist(), *theirs.rows.to_pylist()]
    mine.absorb(theirs, lambda groups: np.ones(len(groups), bool))
    assert mine.rows.to_pylist() == rows and len(theirs) * len(rows) > len(theirs) ** 2 > 0
    anew = answer_changes.AnswerChanges(mine.execution, mine.schema)
    anew.rows = mine.rows
    state, expected = mine.dump_state(), anew.dump_state()
    assert all(np.array_equal(state[name], column) for name, column in expected.items())


def test_a_damaged_state_of_answers_is_refused():
    table, query = stream(range(30)), query_of("heavy-hitters by")
    run = LocalRun.start(query, table.schema)
    run.push(batch_of(table))
    held = snapshot.decode(run.operator.snapshot())
    assert held.arrays["last answers rows"].tolist() != [0]
    arrays = dict(held.arrays) | {"last answers rows": np.array([10**9])}
    with pytest.raises(SnapshotError):
        LocalRun.start(query, table.schema).operator.restore(snapshot.encode(held.header, arrays))
    at = int(pc.max(run.operator._state.changes.rows.column("at").cast(pa.int64())).as_py())
    for watermark, damaged in ((at, False), (at - 1, True)):
        changes = run.operator._state.changes
        other = answer_changes.AnswerChanges(changes.execution, changes.schema)
        with pytest.raises(SnapshotError, match="at") if damaged else nullcontext():
            other.load_state(changes.dump_state(), watermark)


@pytest.mark.parametrize("column", ["object", "at"])
def test_last_answers_with_a_row_twice_or_of_two_moments_are_refused_as_damaged(column):
    """And not, later, as rows of an answer whose `key` does not tell them apart."""
    table, query = stream(range(30)), query_of("heavy-hitters by")
    run = LocalRun.start(query, table.schema)
    run.push(batch_of(table))
    changes = run.operator._state.changes
    rows = changes.rows.to_pylist()
    first, second = next((one, two) for one, two in pairwise(rows) if two["rank"] > one["rank"])
    second[column] = first[column] if column == "object" else first[column].replace(year=1969)
    changes.rows = pa.RecordBatch.from_pylist(rows, changes.rows.schema)
    other = answer_changes.AnswerChanges(changes.execution, changes.schema)
    with pytest.raises(SnapshotError, match="last answers"):
        other.load_state(changes.dump_state(), run.operator.watermark)


@pytest.mark.parametrize(
    ("keys", "field", "words"),
    [
        (QUERIES["heavy-hitters"] | {"answers": "all", "changed": ["rank"]}, "changed", 'answers = "changes"'),
        (QUERIES["heavy-hitters"] | {"answers": "all", "key": ["rank"]}, "key", 'answers = "changes"'),
        (QUERIES["heavy-hitters"] | {"changed": ["ranks"]}, "changed", "did you mean 'rank'"),
        (QUERIES["heavy-hitters"] | {"key": ["objekt"]}, "key", "did you mean 'object'"),
        (
            QUERIES["heavy-hitters"] | {"carry": ["words"], "key": ["words"]},
            "key",
            "'words' must be a plain value.*list",
        ),
        (QUERIES["heavy-hitters"] | {"emit": "state"}, "answers", "emit"),
        (QUERIES["heavy-hitters"] | {"every": "5 rows", "windows": ["5 rows"]}, "answers", "windows in time"),
        (
            {"kind": "near-duplicates", "id": "number", "tokens": "words", "threshold": 0.5, "window": "5 seconds"},
            "answers",
            "already is a log",
        ),
        (QUERIES["heavy-hitters"] | {"by": ["change"]}, "by", "rename it in the source"),
        (QUERIES["heavy-hitters"] | {"carry": ["change"]}, "answers", "rename it in the source"),
    ],
)
def test_what_cannot_be_told_in_changes_is_refused(keys, field, words):
    table = stream([0, 1]).append_column("change", pa.array(["x", "y"]))
    with pytest.raises(ConfigError, match=words) as error:
        local.apply(table, {"time": "ts", "answers": "changes", **keys})
    assert [problem.field for problem in error.value.problems] == [f"query.{field}"]


def test_a_query_without_a_schedule_says_so():
    query = MineQuery("ts", value="number", window="10 seconds", every="5 seconds", answers="changes")
    with pytest.raises(ConfigError, match="answers: a mine has no `schedule`"):
        local.apply(stream([0, 1]), query)


def test_a_key_that_two_rows_of_an_answer_share_is_refused():
    table = stream(range(10))
    with pytest.raises(
        InputError, match=r"two rows of the answer at .* have share = .*: add a column that distinguishes them"
    ):
        local.apply(table, query_of("heavy-hitters", share=None, k=5, key=["share"]))
