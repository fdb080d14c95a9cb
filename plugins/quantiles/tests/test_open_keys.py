"""Quantiles, limits and shorter windows may change at a savepoint: answers are the same as with a constant query."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.errors import SnapshotError
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.operator.resharding import take_over
from skyband.operator.row_encoding import encode
from skyband.queries import make_query

SECOND = 1_000_000
KEYS = {"kind": "quantiles", "time": "t", "value": "millis", "every": "5 seconds"}
BEFORE = make_query({**KEYS, "windows": ["1 minute", "30 seconds"], "at": [0.5], "above": [40, 400]})
AFTER = make_query({**KEYS, "windows": ["10 seconds", "1 minute"], "at": [0.9, 0.07], "above": [400, 7]})


def rows(count):
    rng = np.random.default_rng(3)
    times = np.sort(rng.integers(0, 300, count)) * SECOND
    return pa.record_batch(
        {"t": pa.array(times, pa.timestamp("us")), "millis": np.exp(rng.normal(4, 1, count)).round()}
    )


def operator(query, backend, batch):
    return Operator(query, bind(query, batch.schema, {"quantile-sketch": backend}), batch.schema)


@pytest.mark.parametrize("backend", ["buckets", "exact", "k-skb"])
@pytest.mark.parametrize("count", [600, 9000])
def test_quantiles_limits_and_shorter_windows_may_change(backend, count):
    batch = rows(count)
    half = count // 2
    first, second = (encode(BEFORE, part).frame for part in (batch.slice(0, half), batch.slice(half)))
    began, always = operator(BEFORE, backend, batch), operator(AFTER, backend, batch)
    began.add(first)
    always.add(first)
    reached = int(first.column("time").to_numpy().max())
    for one in (began, always):
        one.advance(reached)
    (goes_on,) = take_over([began.snapshot()], BEFORE, lambda shared: operator(AFTER, backend, batch), 1)
    for one in (goes_on, always):
        one.add(second)
    last = int(second.column("time").to_numpy().max())
    found, wanted = (pa.Table.from_batches([one.finish(last)]) for one in (goes_on, always))
    if backend == "exact" or count == 600:
        assert found.equals(wanted)
        return
    asked = ["at", "window", "quantile", "above"]
    assert found.select(asked).equals(wanted.select(asked))
    truth = operator(AFTER, "exact", batch)
    truth.add(first)
    truth.advance(reached)
    truth.add(second)
    exact = pa.Table.from_batches([truth.finish(last)])["value"].to_numpy()
    misses = (found["low"].to_numpy() > exact) | (exact > found["high"].to_numpy())
    assert misses.sum() <= (0 if backend == "buckets" else 0.1 * len(exact))


def test_a_longer_window_is_refused():
    batch = rows(300)
    longer = make_query({**KEYS, "windows": ["2 minutes"], "at": [0.5]})
    began = operator(BEFORE, "buckets", batch)
    began.add(encode(BEFORE, batch).frame)
    with pytest.raises(SnapshotError, match="rows before the longest window are forgotten"):
        take_over([began.snapshot()], BEFORE, lambda shared: operator(longer, "buckets", batch), 1)
