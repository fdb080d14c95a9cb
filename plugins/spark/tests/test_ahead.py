"""A row whose time is more than `ahead` later than all others is left out and counted, by one rule on every engine."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process_shards import on_shards
from skyband.arrays import TIME_MIN
from skyband.columns import keyed_frames
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.operator.bind_backends import bind
from skyband.operator.logged_batch import LoggedBatch
from skyband.operator.row_encoding import encode
from skyband.queries import make_query
from skyband.watermark import EventTimeProgress
from skyband_jobs.job.progress import Totals, summary
from skyband_spark.frames import batch
from skyband_spark.frames.results_and_metrics import METRICS
from skyband_spark.frames.sharded_plan import ShardedPlan

HOUR = 3_600_000_000
FAR = 253_402_000_000_000_000
"""In the year 9999."""
QUERY = {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 hour"], "every": "30 minutes"}
AHEAD = make_query({**QUERY, "ahead": "2 hours", "delay": "10 minutes"})
IN_SETS = make_query({**QUERY, "ahead": "2 hours", "by": [["side"], []]})
BY_SOURCE = make_query({**QUERY, "ahead": "2 hours", "source": "side", "sources": ["a", "b"], "by": "side"})


def rows(times):
    who = [f"w{place % 5}" for place in range(len(times))]
    side = pa.array([["a", "b"][place % 2] for place in range(len(times))], pa.string())
    return pa.table({"ts": pa.array(times, pa.timestamp("us")), "who": pa.array(who, pa.string()), "side": side})


def first(table):
    return table.combine_chunks().to_batches()[0]


def counts(answers):
    return sorted(map(str, answers.to_pylist()))


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4), st.integers(0, 1)), max_size=6),
    st.none() | st.integers(0, 20),
    st.integers(0, 5),
)
def test_rows_that_are_cut_leave_no_trace_in_how_far_time_has_come(spans, newest, ahead):
    def progress_of(spans):
        progress = EventTimeProgress.nowhere(2)
        for start, length, source in spans:
            of_source = [start + length if place == source else TIME_MIN for place in range(2)]
            progress.add(EventTimeProgress(of_source, start, spans=[(start, start + length, source)]))
        return progress

    near, limit = [], newest
    for start, length, source in sorted(spans):
        if limit is None or start <= limit + ahead:
            near.append((start, length, source))
            limit = max(start + length, start if limit is None else limit)
    cut, kept = progress_of(spans), progress_of(near)
    assert cut.cut_ahead(newest, ahead) == limit
    assert (cut.latest, cut.earliest, cut.spans) == (kept.latest, kept.earliest, [])


def in_spark_batch(table, query, shards):
    """The work of a batch's tasks on Spark, each with a third of the rows."""
    plan = ShardedPlan(query, bind(query, table.schema), table.schema, shards)
    table = table.select(query.columns)
    parts = [table.slice(start, 1 + len(table) // 3) for start in range(0, len(table), 1 + len(table) // 3)]
    packed = [
        row for part in parts for piece in plan.to_shuffle_rows(iter(part.to_batches())) for row in piece.to_pylist()
    ]
    answers, dropped = [], 0
    for shard in range(shards):
        own = sorted((row for row in packed if row["shard"] == shard), key=lambda row: row["first"])
        shuffled = pa.RecordBatch.from_pylist(own, schema=next(iter(plan.to_shuffle_rows(iter([])))).schema)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batch, "ENOUGH", 8)  # rows that wait before some are answered
            found = pa.Table.from_batches(batch._operate(plan, iter([shuffled])))
        held = found.column(METRICS).to_pylist()
        dropped += sum(metrics["rows_ahead"] for metrics in held if metrics is not None)
        answers.append(found.filter(found.column(METRICS).is_null()).drop_columns([METRICS]))
    return pa.concat_tables(answers), dropped


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=3, max_size=30), st.sampled_from([AHEAD, BY_SOURCE, IN_SETS]))
def test_one_rule_in_process_in_batch_and_in_shards(places, query):
    """In time order, a row further than `ahead` from the one before it is out, and so is all that follows."""
    times = [place * HOUR for place in places]
    ordered = sorted(times)
    limit = next((time for time, later in pairwise(ordered) if later - time > 2 * HOUR), ordered[-1])
    table, kept = rows(times), rows(times).filter(pa.array(np.array(times) <= limit))
    expected = counts(local.apply(kept, query))
    run = LocalRun.start(query, table.schema)
    pushed = [run.push(first(table)), run.finish()]
    assert counts(pa.Table.from_batches(pushed)) == counts(local.apply(table, query)) == expected
    assert run.operator.take_metrics().dropped.get("ahead", 0) == len(table) - len(kept)
    for shards in (1, 2) if query.by else (1,):
        answers, dropped = in_spark_batch(table, query, shards)
        assert (counts(answers), dropped) == (expected, len(table) - len(kept))
        metrics = on_shards(table, query, shards)[1]
        assert sum(one.dropped.get("ahead", 0) for shard in metrics for one in shard) == len(table) - len(kept)


@pytest.mark.parametrize("seed", range(8))
def test_rows_that_a_push_drops_are_not_accepted_when_others_arrive_near_them(seed):
    """Each push brings time on by at most `ahead`, and rows that are further than that before all others then."""
    rng, now = np.random.default_rng(seed), 0
    sane, run = LocalRun.start(AHEAD, rows([]).schema), LocalRun.start(AHEAD, rows([]).schema)
    for _ in range(8):
        now += int(rng.integers(0, 5)) * HOUR // 2
        near = rows([now, now])
        far = rows([now + HOUR * int(lead) for lead in rng.integers(3, 7, 2)])
        expected = sane.push(first(near))
        assert run.push(first(pa.concat_tables([far, near]) if rng.random() < 0.7 else near)) == expected
    assert run.finish() == sane.finish()


@pytest.mark.parametrize("at", [1, 5, 9])
def test_a_row_of_the_year_9999_stills_no_stream(at):
    table = rows([place * HOUR // 2 for place in range(20)])
    wrong = rows([FAR])
    sane, run = LocalRun.start(AHEAD, table.schema), LocalRun.start(AHEAD, table.schema)
    for turn in range(10):
        two = table.slice(2 * turn, 2)
        expected = sane.push(first(two))
        assert run.push(first(pa.concat_tables([wrong, two]) if turn == at else two)) == expected
    assert run.finish() == sane.finish()
    metrics = run.operator.take_metrics()
    assert (metrics.rows_late, dict(metrics.dropped)) == (0, {"ahead": 1})


def test_a_replayed_turn_drops_what_the_turn_dropped():
    table = first(rows([0, HOUR, FAR]))
    run, again = LocalRun.start(AHEAD, table.schema), LocalRun.start(AHEAD, table.schema)
    frame = encode(AHEAD, table).frame

    run.push(table)
    logged = LoggedBatch.decode(run.operator.logged_batch([keyed_frames.to_bytes(frame)]))
    again.operator.replay([logged])
    assert again.operator.snapshot() == run.operator.snapshot()


def test_the_summary_says_how_late_rows_were_and_why():
    plain = make_query(QUERY)
    run = LocalRun.start(plain, rows([]).schema)
    for times in ([0, 2 * HOUR], [HOUR], [FAR], [3 * HOUR, 4 * HOUR, 5 * HOUR]):
        run.push(first(rows(times)))
    metrics = run.operator.take_metrics()
    assert (metrics.rows_late, metrics.late_by) == (4, FAR - 3 * HOUR)
    lines = summary(Totals(rows_in=7, rows_late=4, late_by=90_000_000), "in out")
    assert lines[1] == 'late     4 (dropped; delay = "90 seconds" would have kept them)'
    assert lines[-1].startswith("warning: most rows were older than the watermark: one row may have a time far ahead")
    assert summary(Totals(rows_in=7, rows_late=3, answers=1), "in out")[-1].startswith("took")


def test_a_run_that_left_out_every_row_says_so():
    lines = summary(Totals(rows_in=5, dropped={"null item": 5}), "in out")
    assert lines[-1] == "warning: every row was left out for the reasons above, so there are no answers"
    with pytest.warns(UserWarning, match="all 2 rows were left out: null item 2"):
        local.apply(rows([0, 1]).set_column(1, "who", pa.nulls(2, pa.string())), QUERY)
