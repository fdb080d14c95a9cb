"""A stream with rules that is finished gives what a batch of its rows does, and the rest when it goes on."""

import numpy as np
import pyarrow as pa
import pytest
from rules_frames import DistinctFrame, QuantilesFrame, TotalsFrame, WorkloadFrame
from rules_oracle import MOST, SECOND, Rule, random_rules, rules_table
from skyband.engines.local import LocalRun
from skyband.queries import make_query

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


@pytest.mark.slow
@pytest.mark.parametrize("frame", FRAMES)
def test_thousands_of_finished_streams(frame):
    assert sum(compare(frame, seed) for seed in range(3, 503)) > 100
