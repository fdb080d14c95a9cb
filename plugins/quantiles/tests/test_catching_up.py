"""Turns that were already answered are repeated without answers, with the same bytes."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.columns import compact_frames
from skyband.operator.bind_backends import bind
from skyband.operator.logged_batch import LoggedBatch
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import encode
from skyband.queries import make_query
from skyband_quantiles.quantiles import processor

SECOND = 1_000_000
KEYS = {"kind": "quantiles", "time": "t", "value": "millis", "at": [0.5, 0.99], "above": [40]}
IN_TIME = {"windows": ["30 seconds", "100 seconds"], "every": "5 seconds"}
WINDOWS = {
    "in time": IN_TIME,
    "in rows": {"windows": ["700 rows"], "every": "90 rows"},
    "of the calendar": {"windows": ["today in Europe/Paris"], "every": "1 hour"},
}


def turns(query, backend):
    """Frames of four micro-batches, with a gap in which every window becomes empty."""
    rng = np.random.default_rng(3)
    times = np.sort(rng.integers(0, 400, 4_000)) * SECOND + np.repeat([0, 0, 3_000_000, 3_000_000], 1_000) * SECOND
    batch = pa.record_batch(
        {"t": pa.array(times, pa.timestamp("us", "UTC")), "millis": np.exp(rng.normal(4, 1, 4_000)).round()}
    )
    made = Operator(query, bind(query, batch.schema, {"quantile-sketch": backend}), batch.schema)
    return made, [encode(query, batch.slice(start, 1_000)) for start in range(0, 4_000, 1_000)]


@pytest.mark.parametrize("backend", ["buckets", "exact", "k-skb"])
@pytest.mark.parametrize("windows", WINDOWS)
def test_a_replayed_turn_computes_no_answers_and_leaves_the_same_state(windows, backend, monkeypatch):
    query = make_query({**KEYS, **WINDOWS[windows]})
    operator, frames = turns(query, backend)
    logged, states, answered = [], [], 0
    for encoded in frames:
        operator.add(encoded.frame)
        answered += len(operator.step(encoded.progress))
        logged.append(LoggedBatch.decode(operator.logged_batch([compact_frames.to_bytes(encoded.frame)])))
        states.append(operator.snapshot())
    assert answered > 10
    monkeypatch.setattr(processor, "answer_columns", None)  # called, it would fail
    other, _ = turns(query, backend)
    other.restore(states[0])
    for some, reached in ((logged[1:2], 1), (logged[2:], 3)):
        other.replay(some)
        assert other.snapshot() == states[reached]
