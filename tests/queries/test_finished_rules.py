"""A stream with rules that is finished gives what a batch of its rows does, and the rest when it goes on."""

import numpy as np
import pyarrow as pa
import pytest
from in_process_shards import ShardedStream
from rules_frames import DistinctFrame, QuantilesFrame, TotalsFrame, WorkloadFrame
from rules_oracle import MOST, SECOND, Rule, random_rules, rules_table
from skyband.engines.local import LocalRun
from skyband.queries import make_query
from skyband.watermark import EventTimeProgress, Ticking

FRAMES = (WorkloadFrame, TotalsFrame, QuantilesFrame, DistinctFrame)
PAUSE = 1000
"""Seconds until rows come again, longer than any slide or window."""


def events(frame, random, later=0):
    """Rows in order of time, of which the first is at 0 or so many seconds later."""
    rows = sorted(frame().random_rows(random, 40), key=lambda row: row[0])
    columns = {name: [row[place] for row in rows] for place, name in enumerate(frame.columns)}
    times = [(time + later) * SECOND for time in columns["ts"]]
    places = [str(place) for place in columns["place"]]
    return pa.table({**columns, "ts": pa.array(times, pa.int64()).cast(pa.timestamp("us")), "place": places})


def compare(frame, seed):
    """Returns how many answers were withheld."""
    random = np.random.default_rng(seed)
    by = [] if seed % 2 else ["place"]
    first, second = events(frame, random), events(frame, random, PAUSE)
    rules = random_rules(random, 0, set(), set(), MOST, 3 if by else None)
    rules += [Rule("quick", 9, slide=1), Rule("slow", 12, slide=10)]
    query = make_query({**frame.keys, **frame.limits, "by": by})

    def begun():
        run = LocalRun.start(query, first.schema)
        run.broadcast(rules_table(rules, k="most" in frame.limits))
        return run

    batch, stream = begun(), begun()
    given = [batch.push(part) for part in first.to_batches()]
    stream_given = [stream.push(part) for part in first.to_batches()]
    assert answers([*stream_given, stream.flush()]) == answers([*given, batch.finish()])

    blob = stream.operator.snapshot()
    restored = LocalRun.start(query, first.schema)
    restored.operator.restore(blob)
    assert restored.operator.snapshot() == blob

    whole, there = begun(), begun()
    expected = [part for table in (first, second) for part in map(whole.push, table.to_batches())]
    got = [*map(there.push, first.to_batches()), there.flush(), *map(there.push, second.to_batches()), there.flush()]
    assert answers(got) == answers([*expected, whole.finish()])
    return len(stream.operator._state.withheld)


def answers(parts):
    return sorted(map(str, pa.Table.from_batches(parts).to_pylist()))


@pytest.mark.parametrize("frame", FRAMES)
def test_a_finished_stream_has_the_answers_of_a_batch(frame):
    assert sum(compare(frame, seed) for seed in range(3)) > 0


def compare_logs(frame, seed, idle):
    """The changes of a stream that is finished and goes on are those of a batch, first of a part, then of all.

    idle: time went on with the clock before it was finished, past its last row and in the same turn too.
    """
    random = np.random.default_rng(seed)
    by = [] if seed % 2 else ["place"]
    first, second = events(frame, random), events(frame, random, PAUSE)
    rules = random_rules(random, 0, set(), set(), MOST, 3 if by else None)
    rules += [Rule("quick", 9, slide=1), Rule("slow", 12, slide=10)]
    query = make_query({**frame.keys, **frame.limits, "by": by, "answers": "changes"})

    def begun(state=None):
        run = LocalRun.start(query, first.schema)
        if state is None:
            run.broadcast(rules_table(rules, k="most" in frame.limits))
        else:
            run.operator.restore(state)
        return run

    def log_of_batch(*tables):
        run = begun()
        return lines([*(run.push(part) for table in tables for part in table.to_batches()), run.finish()])

    def step(run, seconds, ends):
        progress = EventTimeProgress.nowhere(1)
        progress.tick = seconds * SECOND
        return run.operator.step(progress, Ticking(finish=ends, idle_after=2 * SECOND if idle else None))

    stream = begun()
    log = [*map(stream.push, first.to_batches()), *([step(stream, 0, False), step(stream, 3, False)] if idle else [])]
    log.append(step(stream, 9, True))
    if not idle:  # idle, it may have told more of moments that a batch does not come to
        assert lines(log) == log_of_batch(first)
    again = begun(stream.operator.snapshot())
    assert len(step(again, 9, True)) == 0, "an end is told once"
    log += [*map(again.push, second.to_batches()), step(again, 10, True)]
    assert lines(log) == log_of_batch(first, second)
    return len(log[-1]) + len(stream.operator._state.withheld)


def lines(log):
    return sorted(str(change) for part in log for change in part.to_pylist())


@pytest.mark.parametrize("idle", [False, True])
@pytest.mark.parametrize("frame", FRAMES)
def test_the_changes_of_a_finished_stream_are_those_of_a_batch(frame, idle):
    assert sum(compare_logs(frame, seed, idle) for seed in range(3)) > 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("frame", FRAMES)
def test_at_the_end_what_a_last_moment_does_not_answer_is_emptied(frame, seed):
    """Compared with the answers themselves: the log leaves those of each rule's last moment, and no others."""
    random = np.random.default_rng([7, seed])
    rows = events(frame, random)
    slides = {"quick": 1, "slow": 10}
    rules = rules_table([Rule("quick", 2, slide=1), Rule("slow", 12, slide=10)], k="most" in frame.limits)
    given = {}
    for form in ("all", "changes"):
        query = make_query({**frame.keys, **frame.limits, "by": ["place"], "answers": form})
        run = LocalRun.start(query, rows.schema)
        run.broadcast(rules)
        answers = [*map(run.push, rows.to_batches()), run.finish()]
        given[form] = [row for part in answers for row in part.to_pylist() if row[query.separate_answers[0]] in slides]
    name, latest = query.separate_answers[0], rows.column("ts").cast(pa.int64())[-1].as_py()
    last, left = {}, {}
    for row in sorted(given["all"], key=lambda row: row["at"]):
        last[row["place"], row[name]] = row["at"]
    for row in sorted(given["changes"], key=lambda row: row["at"]):
        held = left.setdefault((row["place"], row[name]), [0])
        held[0] = 0 if row["change"] == "emptied" else held[0] + {"entered": 1, "left": -1, "updated": 0}[row["change"]]
    ends = {rule: pa.scalar((latest // SECOND // slide + 1) * slide * SECOND, rows.schema.field("ts").type).as_py()
            for rule, slide in slides.items()}  # fmt: skip
    assert {key for key, (count,) in left.items() if count} == {key for key, at in last.items() if at == ends[key[1]]}


@pytest.mark.slow
@pytest.mark.parametrize("frame", FRAMES)
def test_thousands_of_finished_streams(frame):
    assert sum(compare(frame, seed) for seed in range(3, 503)) > 100


@pytest.mark.parametrize(("before", "after"), [(2, 1), (3, 1), (4, 2)])
@pytest.mark.parametrize("keys", [{}, {"value": "ms", "lower": 0, "upper": 9}], ids=["counts", "sums"])
def test_shards_that_become_fewer_give_one_answer_of_what_each_withheld(before, after, keys):
    """They came twice, each of a part of the items, where one shard was left to go on from a finished stream's."""
    random = np.random.default_rng(1)
    first, second = events(DistinctFrame, random), events(DistinctFrame, random, PAUSE)
    query = make_query({**DistinctFrame.keys, **DistinctFrame.limits, **keys})
    rules = rules_table([Rule("quick", 9, slide=1), Rule("slow", 12, slide=10)], k=False)
    backend = {"sketch": "exact"}
    stream = ShardedStream(query, before, first.schema, backend)
    run = LocalRun.start(query, first.schema, backend)
    run.broadcast(rules)
    run.push(first.combine_chunks().to_batches()[0])
    run.flush()
    for operator in stream.operators:
        operator.broadcast(rules)
    stream.push(first)
    tick = EventTimeProgress([-(2**63)], tick=1)
    for operator in stream.operators:
        operator.step(tick, Ticking(finish=True))
    assert sum(len(operator._state.withheld) > 0 for operator in stream.operators) > 1
    going = ShardedStream(query, after, first.schema, backend).begin_from(stream)
    given = going.push(second).to_batches()
    assert answers(given) == answers([run.push(second.combine_chunks().to_batches()[0])])
