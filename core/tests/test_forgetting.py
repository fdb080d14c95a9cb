"""An operator forgets: after 200 windows of new groups and names it is as large as after 100."""

import gc
from types import FunctionType, ModuleType

import numpy as np
import pyarrow as pa
import pytest
from skyband.columns import rows_behind_answers, values_by_id
from skyband.engines.local import LocalRun
from skyband.groups.small_groups import entries
from skyband.operator import processor_cache

SECOND = 1_000_000
ONE = {"time": "ts", "window": "10 seconds", "every": "10 seconds"}
SEVERAL = {"time": "ts", "windows": ["10 seconds"], "every": "10 seconds"}
QUERIES = {
    "distinct": {"kind": "distinct-count", "item": "name"} | SEVERAL,
    "distinct but for what is far ahead": {"kind": "distinct-count", "item": "name", "ahead": "5 seconds"} | SEVERAL,
    "top-k": {"kind": "top-k", "object": "name", "stream": "side", "value": "value", "streams": ["a", "b"], "k": 3}
    | ONE,
    "workload": {"kind": "top-k-workload", "time": "ts", "object": "name", "score": "value"}
    | {"queries": [{"name": "q", "window": "10 seconds", "slide": "10 seconds", "k": 2}]},
    "heavy": {"kind": "heavy-hitters", "object": "name", "k": 3} | SEVERAL,
    "quantiles": {"kind": "quantiles", "value": "value", "at": [0.5]} | SEVERAL,
    "features": {"kind": "row-features", "time": "ts", "windows": ["10 seconds"]}
    | {"distinct": "name", "carry": ["side"]},
    "features of values that do not add": {"kind": "row-features", "time": "ts", "windows": ["10 seconds"]}
    | {"sums": "value", "unit": 1, "before": True},
    "detections": {"kind": "detections", "time": "ts", "carry": ["side"]}
    | {
        "detections": [
            {"name": "many", "key": ["name"], "window": "10 seconds", "at_least": 3, "silence": "20 seconds"},
            {"name": "few", "key": ["name"], "window": "10 seconds", "below": 2},
            {"name": "names", "key": ["place"], "measure": "distinct name", "window": "10 seconds", "at_least": 3},
            {"name": "new", "key": ["name"], "measure": "unseen", "window": "20 seconds", "after": "1970-01-02"},
        ]
    },
    "heavy with what its rows say": {"kind": "heavy-hitters", "object": "name", "k": 3, "carry": ["side"]} | SEVERAL,
}
ROOM = {"detections": 1.15}
"""How much larger the second half may be than the first, by chance: hash tables double, when depends on the hashes."""
LAST = {"time": "ts", "window": "40 rows", "every": "20 rows"}
OF_ROWS = {
    "top-k of rows": QUERIES["top-k"] | LAST,
    "heavy of rows": QUERIES["heavy"] | {"windows": ["40 rows"], "every": "20 rows"},
    "heavy of rows with what they say": QUERIES["heavy"]
    | {"windows": ["40 rows"], "every": "20 rows", "carry": ["place"]},
}
"""Their groups never leave: of each the last rows count."""


def window(number, rows=60):
    """The rows of one window, with its own groups and names; one group has most rows."""
    rng = np.random.default_rng(number)
    place = np.where(np.arange(rows) < 40, 0, rng.integers(0, 40, rows))
    return pa.RecordBatch.from_pydict(
        {
            "ts": pa.array((10 * number + np.arange(rows) * 10 // rows) * SECOND, pa.timestamp("us", "UTC")),
            "place": [f"place {number:06} {one:02}" for one in place],
            "name": [f"name {number:06} {one:03}" for one in rng.integers(0, 30, rows)],
            "side": ["a", "b"] * (rows // 2),
            "value": rng.random(rows),
        }
    )


def size(root):
    """Bytes of arrays and buffers, and entries of containers, that an object reaches."""
    seen, todo, total = set(), [root], 0
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, type | ModuleType | FunctionType):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            base = one
            while isinstance(base.base, np.ndarray):
                base = base.base
            todo += [base] if base is not one else []
            total += base.nbytes if base is one else 0
        elif isinstance(one, pa.Array | pa.RecordBatch | pa.Table):
            total += one.get_total_buffer_size()
        elif isinstance(one, bytes | bytearray | str):
            total += len(one)
        elif isinstance(one, dict | list | set | tuple):
            total += 8 * len(one)
        todo += gc.get_referents(one)
    return total


@pytest.mark.parametrize(
    ("kind", "by"),
    [(kind, by) for kind in QUERIES for by in ([], ["place"]) if not by or "ahead" not in kind]
    + [(kind, by) for kind in OF_ROWS for by in ([], ["side"])],
)
def test_memory_follows_the_window_and_not_the_stream(kind, by, monkeypatch):
    monkeypatch.setattr(processor_cache, "MOST_ACTIVE", 1)
    monkeypatch.setattr(processor_cache, "FEW_ACTIVE", 1)
    # Up to a thousand names, entries and rows wait to be swept out, as forty windows have: a leak would not show there.
    for sweeping in (values_by_id, rows_behind_answers, entries):
        monkeypatch.setattr(sweeping, "_LEAST", 8)
    run = LocalRun.start({**(QUERIES | OF_ROWS)[kind], "by": by}, window(0).schema)
    taken, written, known = [], [], []
    for number in range(200):
        run.push(window(number))
        run.operator.take_metrics()
        if number % 4 == 3:
            taken.append(size(run))
            known.append(len(run.operator.groups))
        if number % 20 == 19:
            written.append(len(run.operator.snapshot()))
    for sizes, room in (
        (taken, ROOM.get(kind, 1.03)),
        (written, 1.2),
        (known, 1.2),
    ):  # samples and groups are drawn anew
        fifth = len(sizes) // 5
        before, after = sizes[fifth : 3 * fifth], sizes[3 * fifth :]
        assert max(after) <= room * max(before), f"from {before} to {after}"
        assert np.mean(after) <= 1.02 * room * np.mean(before), f"from {before} to {after}"
    swept = taken[10:]
    assert max(swept) <= 1.6 * min(swept), "between two snapshots as well, which sweep too"
