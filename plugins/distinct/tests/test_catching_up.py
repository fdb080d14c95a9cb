"""Replaying micro-batches without their answers leaves the same state, byte for byte."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.columns import compact_frames
from skyband.operator.bind_backends import bind
from skyband.operator.logged_batch import LoggedBatch
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import encode
from skyband.queries import make_query
from skyband_distinct.distinct_count.processor import CountingProcessor

SECOND = 1_000_000
KEYS = {"kind": "distinct-count", "time": "t", "item": "item", "every": "5 seconds"}
IN_TIME = {"windows": ["30 seconds", "100 seconds"]}
ASKED = {
    "in time": IN_TIME,
    "in rows": {"windows": ["700 rows"], "every": "90 rows"},
    "in the calendar": {"windows": ["today in Europe/Paris"], "every": "1 minute"},
    "by groups": IN_TIME | {"by": ["group"]},
    "ranges": IN_TIME | {"value": "value", "ranges": [[0, 5], [5, 9]]},
    "sums": IN_TIME | {"value": "value", "upper": 10},
    "with previous": {"windows": ["30 seconds"], "against": "previous"},
    "states": IN_TIME | {"emit": "state"},
    "changed states": IN_TIME | {"emit": "changed-state", "by": ["group"]},
}
VALUED = ("ranges", "sums")


def turns(query, backend):
    """Four micro-batches, with a gap in which every window becomes empty."""
    rng = np.random.default_rng(3)
    times = np.sort(rng.integers(0, 400, 4_000)) * SECOND + np.repeat([0, 0, 3_000_000, 3_000_000], 1_000) * SECOND
    batch = pa.record_batch(
        {
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "item": rng.zipf(1.2, 4_000) % 3_000,
            "value": rng.integers(0, 10, 4_000).astype(float),
            "group": rng.integers(0, 2, 4_000),
        }
    )
    operator = Operator(query, bind(query, batch.schema, {"sketch": backend}), batch.schema)
    return operator, [encode(query, batch.slice(start, 1_000)) for start in range(0, 4_000, 1_000)]


@pytest.mark.parametrize(
    ("asked", "backend"),
    [
        *((asked, "k-skb") for asked in ASKED),
        *((asked, "exact") for asked in ASKED),
        *((asked, "pcsa-ml") for asked in ASKED if asked not in VALUED),
        *(("by groups", backend) for backend in ("se-fm", "se-pcsa")),
    ],
)
def test_a_replayed_turn_leaves_the_same_state(asked, backend, monkeypatch):
    query = make_query(KEYS | ASKED[asked])
    operator, frames = turns(query, backend)
    logged, states, answered = [], [], 0
    for encoded in frames:
        operator.add(encoded.frame)
        answered += len(operator.step(encoded.progress))
        logged.append(LoggedBatch.decode(operator.logged_batch([compact_frames.to_bytes(encoded.frame)])))
        states.append(operator.snapshot())
    assert answered > 10
    if asked != "with previous":
        monkeypatch.setattr(CountingProcessor, "_counts", None)  # a call would fail
        monkeypatch.setattr(CountingProcessor, "columns_of", None)
    other, _ = turns(query, backend)
    other.restore(states[0])
    for batches, last in ((logged[1:2], 1), (logged[2:], 3)):
        other.replay(batches)
        assert other.snapshot() == states[last]
    assert other.step(frames[-1].progress) is not None
