"""Small groups are answered as a sketch of their own answers them, also when they grow, in any order of questions."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.groups import small_groups

SECOND = 1_000_000
KEYS = {"kind": "quantiles", "time": "ts", "value": "value", "by": ["group"], "at": [0.95, 0.07, 0.5, 1, 0]}
LENGTHS = {"time": {"windows": ["20 seconds", "8 seconds"], "every": "4 seconds"}}
LENGTHS["rows"] = {"windows": ["40 rows", "13 rows"], "every": "5 rows"}


@pytest.mark.parametrize("backend", ["exact", "buckets", "k-skb"])
@pytest.mark.parametrize("unit", LENGTHS)
def test_always_small_grown_at_once_and_never_small_are_one(unit, backend, monkeypatch):
    rng = np.random.default_rng(13)
    rows = 400
    seconds = np.sort(rng.integers(0, 90, rows)) + 300 * (np.arange(rows) > 300)
    stream = pa.table(
        {
            "ts": pa.array(seconds * SECOND, pa.timestamp("us", "UTC")),
            "group": rng.integers(0, 3, rows),
            "value": np.choose(rng.integers(0, 2, rows), [rng.normal(size=rows).round(1), rng.zipf(2, rows)]) * 1.0,
        }
    )
    found = []
    for most in (512, 3, 0):
        monkeypatch.setattr(small_groups, "MOST_ENTRIES", most)
        answers = local.apply(stream, KEYS | LENGTHS[unit] | {"above": [1.5, -0.5, 0]}, {"quantile-sketch": backend})
        order = [(name, "ascending") for name in ("group", "at", "window", "quantile", "above")]
        found.append(answers.sort_by(order))
    assert len(found[0]) > 300
    assert found[0].equals(found[2])
    assert found[1].equals(found[2])
