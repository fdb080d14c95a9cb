"""What the state store holds, changed and with a right checksum: refused with SnapshotError, or an operator that works.

A change that brings a process down brings down the one that pytest runs in, which it reports.
"""

from functools import cache
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest
from families import FAMILIES, events, family
from skyband import SkybandError, SnapshotError, snapshot
from skyband.columns import keyed_frames
from skyband.engines.local import LocalRun
from skyband.operator.logged_batch import LoggedBatch
from skyband.operator.row_encoding import encode
from skyband_specs.state_mutations import mutations

ROWS, HALF = 400, 250
FEW = 60
MANY = 500


@cache
def table():
    return events(3, rows=ROWS, span=120).combine_chunks()


def start(kind, by, **keys):
    return LocalRun.start(family(kind, by=["place"] if by else [], **keys), table().schema)


@cache
def saved(kind, by):
    run = start(kind, by)
    run.push(table().slice(0, HALF).to_batches()[0])
    return run.operator.snapshot()


def try_one(kind, by, blob):
    """Load a state, go on, and be written down again."""
    run = start(kind, by)
    try:
        run.operator.restore(blob)
    except SnapshotError:
        return
    try:
        run.push(table().slice(HALF).to_batches()[0])
        run.finish()
        run.operator.snapshot()
    except SkybandError:
        return


def within_a_group(arrays, seed):
    """The state of one group, which lies among others in an array of bytes, changed and put back with its new size."""
    heap, sizes = arrays["groups.processors.heap"], arrays["groups.processors.size"]
    if not len(sizes):
        return
    header, inside = snapshot.unpack(heap[: sizes[0]].tobytes())
    for how, changed in mutations(inside, seed):
        packed = np.frombuffer(snapshot.pack(header, changed), np.uint8)
        whole = {
            "groups.processors.heap": np.concatenate([packed, heap[sizes[0] :]]),
            "groups.processors.size": sizes.copy(),
        }
        whole["groups.processors.size"][0] = len(packed)
        yield how, {**arrays, **whole}


def try_many(kind, by, count, seed):
    held = snapshot.decode(saved(kind, by))
    try_one(kind, by, saved(kind, by))
    for make in (mutations, within_a_group):
        for _, state in islice(make(held.arrays, seed), count):
            try_one(kind, by, snapshot.encode(held.header, state))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", FAMILIES)
def test_changed_states_are_refused_or_work(kind):
    try_many(kind, by=True, count=FEW, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("by", [True, False])
@pytest.mark.parametrize("kind", FAMILIES)
def test_many_changed_states_are_refused_or_work(kind, by):
    try_many(kind, by, count=MANY, seed=2)


@pytest.mark.parametrize(
    ("kind", "column", "value"),
    [
        ("top-k", "stream", 3),
        ("top-k", "stream", -1),
        ("top-k", "stream", 2**31 - 1),
        ("top-k", "value", np.nan),
        ("top-k", "value", -0.5),
        ("top-k-workload", "score", np.nan),
        ("heavy-hitters", "weight", -1.0),
        ("heavy-hitters", "weight", np.inf),
        ("uncertain-join", "side", 2),
        ("uncertain-join", "side", -128),
        *((kind, "time", value) for kind in FAMILIES for value in (2**62, -(2**63), -1)),
    ],
)
@pytest.mark.parametrize("by", [True, False], ids=["by", "alone"])
def test_rows_of_a_state_that_no_source_gave_are_refused(kind, by, column, value):
    """As rows that wait for the watermark and in a log: before anything is computed of them."""
    run = start(kind, by, **({"repeats": "never"} if column == "value" else {}))
    run.push(table().slice(0, HALF).to_batches()[0])
    before = run.operator.snapshot()
    frame = encode(run.operator.query, table().slice(HALF).to_batches()[0]).frame
    place = frame.schema.get_field_index(column)
    values = frame.column(column).to_numpy().copy()
    values[7] = value
    rows = keyed_frames.to_bytes(frame.set_column(place, column, pa.array(values)))
    held = snapshot.decode(before)
    waiting = snapshot.encode(held.header, {**held.arrays, "waiting": np.frombuffer(rows, np.uint8)})
    other = LocalRun.start(run.operator.query, table().schema).operator
    with pytest.raises(SnapshotError, match="contradicts itself"):
        other.restore(waiting)
    assert other.watermark is None and not len(other.groups), "nothing is taken over of what is refused"
    if value == -1 and column == "time":
        return  # late, and left out as it was then
    other.restore(before)
    with pytest.raises(SnapshotError, match="contradicts itself"):
        other.replay([LoggedBatch.decode(run.operator.logged_batch([rows]))])


@pytest.mark.parametrize("by", [True, False], ids=["by", "alone"])
@pytest.mark.parametrize("kind", FAMILIES)
def test_changed_turns_are_refused_or_work(kind, by):
    run = start(kind, by=by)
    run.push(table().slice(0, HALF).to_batches()[0])
    frame = encode(run.operator.query, table().slice(HALF).to_batches()[0]).frame
    held = snapshot.decode(run.operator.logged_batch([keyed_frames.to_bytes(frame)]))
    header, columns = snapshot.unpack(held.arrays["000000"].tobytes())
    before = run.operator.snapshot()
    for _, changed in islice(mutations(columns, 1), FEW):
        packed = np.frombuffer(snapshot.pack(header, changed), np.uint8)
        other = start(kind, by=by)
        other.operator.restore(before)
        try:
            other.operator.replay([LoggedBatch.decode(snapshot.encode(held.header, {"000000": packed}))])
        except SnapshotError:
            continue


@pytest.mark.parametrize(
    "header",
    [{}, {"watermark": "now", "clock": []}, {"watermark": 2**70, "clock": [1]}, {"watermark": None, "clock": 7}],
)
def test_a_turn_without_a_time_is_refused(header):
    with pytest.raises(SnapshotError, match="holds no valid micro-batch"):
        LoggedBatch.decode(snapshot.encode(header, {}))


def test_rows_of_another_query_are_refused():
    run = start("top-k", by=True)
    blob = saved("top-k", True)
    held = snapshot.decode(blob)
    odd = keyed_frames.to_bytes(pa.RecordBatch.from_pydict({"time": ["noon"], "group": [1]}))
    arrays = {**held.arrays, "waiting": np.frombuffer(odd, np.uint8)}
    with pytest.raises(SnapshotError, match="holds rows with the columns"):
        run.operator.restore(snapshot.encode(held.header, arrays))
