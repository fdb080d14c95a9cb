"""Shards whose last rows came at different times, merged: what one still needs is not forgotten with another."""

import pyarrow as pa
import pytest
from families import SECOND, family
from in_process_shards import ShardedStream
from skyband.watermark import EventTimeProgress

BY_NAME = {"detections": [
    {"name": "two", "key": ["name"], "window": "30 seconds", "at_least": 2, "tell": "each"},
    {"name": "new", "key": ["name"], "measure": "unseen", "window": "40 seconds", "after": "1970-01-01T00:00:01Z"},
    {"name": "quiet", "key": ["name"], "window": "1 second", "at_least": 1, "silence": "35 seconds"},
]}  # fmt: skip
QUERIES = [
    ("detections", BY_NAME, None),
    ("distinct-count", {"by": []}, {"sketch": "exact"}),
    ("heavy-hitters", {}, {"total-ranker": "exact"}),
]
NAMES = [f"name {number}" for number in range(8)]
EARLY, LATE = 3, 40
"""Seconds of the last rows of one of two shards, and of the other."""


def rows_at(*rows):
    """rows: (second, name)."""
    seconds, names = zip(*rows, strict=True)
    count = len(rows)
    columns = {"ts": pa.array([second * SECOND for second in seconds], pa.timestamp("us", "UTC")), "name": names}
    return pa.table({**columns, "number": range(count), "value": [0.5] * count, "origin": ["air"] * count,
                     "side": ["left"] * count})  # fmt: skip


def shard_of(stream, name):
    rows = rows_at((1, name)).select(stream.plan.query.columns)
    packed = [row for batch in stream.plan.to_shuffle_rows(iter(rows.to_batches())) for row in batch.to_pylist()]
    (shard,) = [row["shard"] for row in packed if row["frame"] is not None]
    return shard


@pytest.mark.parametrize(("kind", "keys", "backends"), QUERIES, ids=[kind for kind, *_ in QUERIES])
@pytest.mark.parametrize("early", [0, 1])
@pytest.mark.parametrize("wait", range(45, 105, 4))
def test_time_passes_over_merged_shards_as_over_one(kind, keys, backends, early, wait):
    """Time alone goes on after the merge, then each name has a row again."""
    query = family(kind, **{**keys, "delay": "0 seconds"})
    two = ShardedStream(query, 2, rows_at((1, "")).schema, backends)
    is_early = {name: shard_of(two, name) == early for name in NAMES}
    assert 0 < sum(is_early.values()) < len(NAMES)
    moments = {True: (1, EARLY), False: (30, LATE)}
    first = rows_at(*sorted((second, name) for name in NAMES for second in moments[is_early[name]]))
    answers = []
    for shards in (1, 2, 4):
        stream = ShardedStream(query, shards, first.schema, backends)
        stream.push(first)
        stream.step(EventTimeProgress([(LATE + 1) * SECOND], (LATE + 1) * SECOND))  # so that no row waits
        if shards > 1:
            stream = ShardedStream(query, 1, first.schema, backends).begin_from(stream)
        rows = rows_at(*((wait + 1, name) for name in NAMES))
        steps = [EventTimeProgress([at * SECOND], at * SECOND) for at in (wait, 300)]
        found = [stream.step(steps[0]), stream.push(rows), stream.step(steps[1])]
        answers.append([sorted(map(str, piece.to_pylist())) for piece in found])
    assert answers[1] == answers[0] and answers[2] == answers[0]
