"""A stream that is finished gives the rows of a batch, and one that goes on those of one that was never finished."""

from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from families import SECOND
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupted_run import WAYS, InterruptedRun, batch_of
from skyband import SnapshotError, snapshot
from skyband.columns.hashing import hash_columns
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.operator.resharding import take_over
from skyband.operator.shard import Shard
from skyband.queries import make_query
from skyband.watermark import EventTimeProgress, Ticking

QUICK = {"name": "quick", "window": "8 seconds", "slide": "3 seconds", "k": 2}
SLOW = {"name": "slow", "window": "30 seconds", "slide": "20 seconds", "k": 3, "phase": "7 seconds"}
MIDDLE = {"name": "middle", "window": "9 seconds", "slide": "11 seconds", "k": 1}
BY_ROWS = [
    {key: value.replace("seconds", "rows") if isinstance(value, str) else value for key, value in query.items()}
    for query in (QUICK, SLOW, MIDDLE)
]


def workload(queries=(QUICK, SLOW, MIDDLE), **keys):
    asked = {"kind": "top-k-workload", "time": "ts", "object": "name", "score": "score", "delay": "0 seconds"}
    return make_query(asked | {"queries": list(queries), **keys})


def stream(seconds) -> pa.Table:
    """A row at each of these times, in two groups, with scores and names that come again."""
    number = np.arange(len(seconds))
    return pa.table(
        {
            "ts": pa.array(np.array(seconds, np.int64) * SECOND, pa.timestamp("us")),
            "name": pa.array([f"name {value}" for value in number % 5], pa.string()),
            "score": (number * 7 % 11) / 4,
            "place": pa.array([["here", None][value] for value in number % 2], pa.string()),
        }
    )


def lines(*answers) -> list[str]:
    """Answers in an order of their own."""
    return sorted(str(row) for some in answers for row in some.to_pylist())


def run_of(query, table: pa.Table) -> LocalRun:
    return LocalRun.start(query, table.schema)


times = st.lists(st.integers(0, 120), min_size=1, max_size=25).map(sorted)
keys_of_queries = st.sampled_from(
    [
        {},
        {"by": ["place"], "delay": "5 seconds"},
        {"repeats": "best", "order": "smallest"},
        {"queries": [MIDDLE, QUICK], "by": ["place"]},
        {"queries": BY_ROWS, "delay": "0 seconds"},
        {"queries": BY_ROWS, "by": ["place"]},
    ]
)


@settings(max_examples=40, deadline=None)
@given(times, keys_of_queries)
def test_a_finished_stream_gives_the_rows_of_a_batch(seconds, keys):
    table, query = stream(seconds), workload(**keys)
    run = LocalRun.start(query, table.schema)
    assert lines(run.push(batch_of(table)), run.flush()) == lines(local.apply(table, query))
    assert lines(run.flush(), run.finish()) == [], "no answer is given twice, and none that a batch has not"


@settings(max_examples=40, deadline=None)
@given(times, times, keys_of_queries, st.sampled_from(WAYS))
def test_one_that_goes_on_gives_what_one_never_finished_gives(seconds, more, keys, how):
    query, table = workload(**keys), stream(seconds)
    going = InterruptedRun(query, table.schema, how)
    answers = [going.step(table), going.step(None), going.step(None)]
    begin = -(-going.run.operator.watermark // SECOND)
    later = stream([begin + second for second in more])
    both = local.apply(pa.concat_tables([table, later]), query)
    answers.append(going.step(later))
    if not query.rows:
        assert lines(*answers) == lines(reached(both, going.run.operator.watermark))
    answers += [going.step(None), going.step(None)]
    assert lines(*answers) == lines(both)


def reached(answers: pa.Table, watermark: int) -> pa.Table:
    return answers.filter(pc.less_equal(answers.column("at").cast(pa.int64()), watermark))


def finished(**keys) -> tuple[LocalRun, pa.Table]:
    """A stream at its end for now: it withholds answers of `quick`, at 42 to 60 s."""
    table = stream([30, 39, 39, 40])
    run = LocalRun.start(workload([QUICK, {**SLOW, "phase": "0 seconds"}], **keys), table.schema)
    run.push(batch_of(table))
    run.flush()
    assert run.operator.watermark == 60 * SECOND
    return run, table


def moments(answers) -> list[tuple[str, int]]:
    at = answers.column("at").cast(pa.int64()).to_pylist()
    return sorted({(name, each // SECOND) for name, each in zip(answers.column("query").to_pylist(), at, strict=True)})


def test_a_late_row_does_not_tell_that_a_finished_stream_goes_on_and_the_clock_does():
    run, _ = finished()
    assert moments(run.push(batch_of(stream([41, 59])))) == []
    assert run.operator.take_metrics().rows_late == 2
    tick = EventTimeProgress.nowhere(1)
    tick.tick = 1
    run.operator.step(tick, Ticking(idle_after=1))
    tick.tick = 100 * SECOND
    assert moments(run.operator.step(tick, Ticking(idle_after=1)))[:2] == [("quick", 45), ("quick", 48)]


def test_what_is_withheld_goes_with_its_group_and_its_query():
    run, table = finished(by=["place"])
    assert moments(run.operator.finish(60 * SECOND)) == [("quick", 45), ("quick", 48)]
    run, table = finished(by=["place"])
    blob = run.operator.snapshot()
    for name, kept in (({**QUICK, "name": "swift"}, [("swift", 45), ("swift", 48)]), (MIDDLE, [])):
        other = LocalRun.start(workload([SLOW, name], by=["place"]), table.schema)
        other.operator.restore(blob)
        assert moments(other.push(batch_of(stream([60])))) == kept
    query = run.operator.query
    shards = take_over([blob], query, lambda _: LocalRun.start(query, table.schema).operator, 4)
    given = [operator.finish(60 * SECOND) for operator in shards]
    assert sum(len(each) > 0 for each in given) == 2, "each group is in a shard of its own"
    assert lines(*given) == lines(run.operator.finish(60 * SECOND))


@pytest.mark.parametrize("by", [["place"], ["place", "name"], ["name", "place"]])
def test_what_is_withheld_of_a_group_goes_to_the_shard_of_the_group(by):
    run, table = finished(by=by)
    query = run.operator.query
    shards = take_over([run.operator.snapshot()], query, lambda _: LocalRun.start(query, table.schema).operator, 4)
    for number, operator in enumerate(shards):
        given = operator.finish(60 * SECOND)
        keys = hash_columns([given.column(name) for name in by]) if len(given) else np.empty(0, np.uint64)
        Shard(number, 4).check_groups(keys)


def test_damaged_answers_that_are_withheld_are_refused():
    run, table = finished(by=["place"])
    state = snapshot.decode(run.operator.snapshot())
    parts = state.arrays["withheld.part"]
    damaged = {
        "parts that are none": (state.header, {"withheld.part": parts + 2}),
        "too few parts": (state.header, {"withheld.part": parts[:1]}),
        "no names": ({**state.header, "withheld": None}, {}),
        "a time to come": ({**state.header, "watermark": 43 * SECOND}, {}),
        "rows of another length": (state.header, {"withheld rows": np.array([1])}),
    }
    for what, (header, arrays) in damaged.items():
        other = LocalRun.start(run.operator.query, table.schema)
        with pytest.raises(SnapshotError):
            other.operator.restore(snapshot.encode(header, {**state.arrays, **arrays}))
            pytest.fail(f"took {what}")


@pytest.mark.parametrize("by", [[], ["place"]])
def test_windows_in_rows_end_with_rows_whatever_their_times(by):
    """A batch took the time of the last row for a number of rows, and gave nothing of rows before 1970."""
    query = workload(BY_ROWS, by=by)
    late, early = stream([1_000_000] * 40), stream([-1_000_000] * 40)
    answers = local.apply(early, query)
    assert len(answers) > 20
    assert lines(answers) == lines(local.apply(late, query))


CHANGES = {"answers": "changes"}
ASKED = [{}, CHANGES, {"by": ["place"], "delay": "5 seconds"}, {"by": ["place"], **CHANGES}]


def walked(seed):
    """Runs that are interrupted in every way, with the time and what comes next: rows, the clock alone, or the end."""
    random = Random(seed)
    query, table, now = workload(**ASKED[seed % 4]), stream([0, 1, 4]), 0
    runs = {how: InterruptedRun(query, table.schema, how) for how in WAYS}
    walk = [(random.randint(0, 9), random.choice(["rows", "clock", "end"])) for _ in range(6)]
    for seconds, what in [(0, "rows"), *walk]:
        now += seconds
        mark = runs["as it is"].run.operator.watermark
        begin = max(0 if mark is None else -(-mark // SECOND), now)
        rows = stream([begin, begin + 1, begin + 4]) if what == "rows" else None
        yield runs, now, rows, what


@pytest.mark.parametrize("seed", range(4))
def test_a_step_that_brings_nothing_changes_nothing(seed):
    """Neither a row nor a tick, as where a second table alone has news: in the middle, idle, finished or going on."""
    for runs, now, rows, what in walked(seed):
        for run in runs.values():
            run.go(now, rows, what == "end")
            before = run.run.operator.snapshot()
            assert len(run.nothing()) == len(run.go(now, None, False)) == 0
            assert run.run.operator.snapshot() == before


@pytest.mark.parametrize("seed", [2, 3, 5, 13, 21, 35])
def test_one_that_is_idle_ends_and_goes_on_is_the_same_wherever_it_goes_on(seed):
    """Time goes on with rows, with the clock while there are none, and to the end for now, in any order."""
    for runs, now, rows, what in walked(seed):
        given = {how: lines(run.go(now, rows, what == "end")) for how, run in runs.items()}
        assert given["restored"] == given["replayed"] == given["as it is"]


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_come_with_a_tick_tell_that_the_input_goes_on(seed):
    """A tick that comes with rows finishes nothing: what is answered is what rows alone let pass, and none is late."""
    chance = Random(seed)
    seconds = sorted(chance.randrange(90) for _ in range(40))
    table, query = stream(seconds), workload(delay="9 seconds")
    plain, ticked = LocalRun.start(query, table.schema), LocalRun.start(query, table.schema)
    for place in range(0, 40, 8):
        (batch,) = table.slice(place, 8).combine_chunks().to_batches()
        progress = ticked.add(batch)
        progress.tick = 1000 + place
        answers = ticked.operator.step(progress, Ticking(finish=True))
        assert answers.equals(plain.push(batch)) and ticked.operator.watermark == plain.operator.watermark
        nothing = EventTimeProgress.nowhere(1)
        nothing.tick = 1001 + place
    assert ticked.operator.take_metrics().rows_late == 0
    assert len(ticked.operator.step(nothing, Ticking(finish=True))) > 0, "one without rows does"
