"""sla: the view is right while scores rise and fall, and is refilled when it runs short."""

import numpy as np
import pytest
import skyband
from skyband_incomplete.sla import SortedLists
from skyband_specs.object_ranker.oracle import ObjectOracle
from skyband_specs.object_ranker.streams import bursts, paper


@pytest.mark.parametrize("kmax", [None, 3, 5, 40])
@pytest.mark.parametrize("aggregate", ["sum", "min", "max", (1.0, 0.0, 3.0)])
@pytest.mark.parametrize("repeats", ["never", 2])
def test_every_answer_equals_the_oracle(kmax, aggregate, repeats):
    parameters = {"k": 3, "window": 25, "streams": 3, "aggregate": aggregate, "repeats": repeats}
    sla, oracle = skyband.create("object-ranker", "sla", **parameters, kmax=kmax), ObjectOracle(parameters)
    stream = bursts(6, 3, 1.0)
    for row in range(len(stream)):
        oracle.feed(stream, row, row + 1)
        part = slice(row, row + 1)
        sla.update(stream.times[part], stream.streams[part], stream.objects[part], stream.values[part])
        assert tuple(column.tolist() for column in sla.top()) == oracle.top(oracle.now)


def test_the_view_is_rarely_refilled(monkeypatch):
    fills = []
    fill = SortedLists._fill
    monkeypatch.setattr(SortedLists, "_fill", lambda self: (fills.append(1), fill(self)))
    sla = skyband.create("object-ranker", "sla", k=10, window=500, streams=3, by="rows")
    stream = paper(1, 3000, 3)
    for row in range(3000):
        part = slice(row, row + 1)
        sla.update(stream.times[part], stream.streams[part], stream.objects[part], stream.values[part])
        sla.top()
    assert 1 <= len(fills) < 300


def test_len_counts_valid_reports():
    sla = skyband.create("object-ranker", "sla", k=1, window=10, streams=1)
    sla.update(np.arange(30), np.zeros(30, np.int32), np.arange(30), np.full(30, 0.5))
    assert len(sla) == 11
    sla.advance(35)
    assert len(sla) == 5


@pytest.mark.parametrize("repeats", ["never", "per-window", 5])
@pytest.mark.parametrize("by", ["time", "rows"])
def test_it_agrees_with_eaa_over_a_long_stream(repeats, by):
    """Long enough to move, grow and renumber every array of eaa many times."""
    rng = np.random.default_rng(3)
    rows, parameters = 40_000, {"k": 5, "window": 700, "streams": 4, "aggregate": (1.0, 0.3, 0.7, 2.0)}
    times = np.arange(rows) if by == "rows" else np.cumsum(rng.choice([0, 1, 2, 900], rows, p=[0.4, 0.4, 0.199, 0.001]))
    streams, values = rng.integers(0, 4, rows).astype(np.int32), rng.random(rows)
    objects = np.arange(rows) // 8 + rng.integers(0, 40, rows)
    rankers = [skyband.create("object-ranker", name, **parameters, repeats=repeats, by=by) for name in ("eaa", "sla")]
    cuts = np.sort(rng.integers(0, rows, 150))
    for start, stop in zip([0, *cuts], [*cuts, rows], strict=True):
        found = []
        for ranker in rankers:
            ranker.update(times[start:stop], streams[start:stop], objects[start:stop], values[start:stop])
            found.append((*(column.tolist() for column in ranker.top()), ranker.repeated))
        assert found[0] == found[1]
