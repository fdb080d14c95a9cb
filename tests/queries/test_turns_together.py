"""Large groups that have their turns by one call answer as those that are called each, and leave the same state."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.groups import plain_turns
from skyband.groups.small_groups import limits
from skyband.operator.groups import _MicroBatch
from skyband.operator.operator import Operator
from skyband.queries import make_query
from skyband_distinct.distinct_count import execution as distinct_count

SECOND = 1_000_000
GROUPS, TURNS = 24, 40
WINDOWS = {"windows": ["6 seconds", "15 seconds"], "every": "3 seconds"}
QUERIES = {
    "distinct-count": {"kind": "distinct-count", "item": "object"} | WINDOWS,
    "heavy-hitters": {"kind": "heavy-hitters", "object": "object", "k": 3} | WINDOWS,
    "heavy-hitters by weight": {"kind": "heavy-hitters", "object": "object", "share": 0.1, "total": "sum"}
    | {"weight": "value", "unit": 0.1}
    | WINDOWS,
    "heavy-hitters of values": {"kind": "heavy-hitters", "object": "object", "k": 2, "total": "distinct"}
    | {"value": "number", "offset": "1 second"}
    | WINDOWS,
    "top-k": {"kind": "top-k", "object": "object", "stream": "side", "value": "value", "streams": ["left", "right"]}
    | {"k": 70, "window": "15 seconds", "every": "3 seconds"},
    "top-k smallest": {"kind": "top-k", "object": "object", "stream": "side", "value": "value", "order": "smallest"}
    | {"streams": ["left", "right"], "k": 2, "window": "15 seconds", "every": "3 seconds"},
    "top-k promised": {"kind": "top-k", "object": "object", "stream": "side", "value": "value", "repeats": "per-window"}
    | {"streams": ["left", "right"], "k": 2, "window": "15 seconds", "every": "3 seconds"},
    "top-k by half-life": {"kind": "top-k", "object": "object", "stream": "side", "value": "value", "k": 2}
    | {"streams": ["left", "right"], "window": "15 seconds", "every": "3 seconds", "half_life": "5 seconds"},
    "top-k-workload": {"kind": "top-k-workload", "object": "object", "score": "value"}
    | {"queries": [{"name": "one", "window": "15 seconds", "slide": "3 seconds", "k": 4}]},
    "top-k-workload of several": {"kind": "top-k-workload", "object": "object", "score": "value", "order": "smallest"}
    | {
        "queries": [
            {"name": "one", "window": "15 seconds", "slide": "3 seconds", "k": 4},
            {"name": "two", "window": "7 seconds", "slide": "2 seconds", "phase": "1 second", "k": 1},
            {"name": "three", "window": "4 seconds", "slide": "10 seconds", "k": 70},
        ]
    },
    "near-duplicates": {"kind": "near-duplicates", "id": "object", "tokens": "words", "window": "15 seconds"}
    | {"threshold": 0.6},
    "quantiles": {"kind": "quantiles", "value": "value", "at": [0.5, 0.9]} | WINDOWS,
}
OF_OTHER_BACKENDS = {
    "distinct-count of values": {"kind": "distinct-count", "item": "object", "value": "number", "upper": 9} | WINDOWS
}
OBJECTS = {
    "integers": pa.int64(),
    "unsigned": pa.uint64(),
    "text": pa.string(),
    "large text": pa.large_string(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
    "floats": pa.float64(),
}
"""Types of objects: those that ids tell, and those that they do not."""


def turns(kind):
    """A micro-batch each few seconds: of each group some rows or one, in some turns none; some fall silent for long."""
    rng = np.random.default_rng(5)
    for turn in range(TURNS):
        groups = np.repeat(np.arange(GROUPS), rng.choice([0, 1, 1, 2, 70], GROUPS))
        groups = groups[(groups % 5 > 0) | (turn % 16 < 4)] if turn % 7 != 6 else groups[:0]
        rows = len(groups)
        numbers = rng.integers(0, 40 + 10 * turn, rows)
        texts = pa.array([f"object {number}" for number in numbers], pa.string())
        textual = pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
        columns = {
            "ts": pa.array(
                (turn * 2 * SECOND) + np.sort(rng.integers(0, 20, rows)) * SECOND // 10, pa.timestamp("us", "UTC")
            ),
            "group": [f"group {group}" for group in groups],
            "object": texts.cast(kind) if textual else pa.array(numbers).cast(kind),
            "number": rng.integers(0, 9, rows),
            "side": rng.choice(["left", "right"], rows).tolist(),
            "value": np.round(rng.integers(0, 11, rows) / 10, 1),
            "words": pa.array(rng.integers(0, 12, (rows, 4)).tolist(), pa.list_(pa.int64())),
        }
        schema = [("group", pa.string()), ("side", pa.string())]
        columns |= {name: pa.array(columns[name], type_) for name, type_ in schema}
        yield pa.RecordBatch.from_pydict(columns)


def run(name, kind, monkeypatch, few, backends=None):
    """Answers turn by turn, and bytes of state, some of them restored from."""
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    monkeypatch.setattr(distinct_count, "_MOST_KEYS", 0)
    monkeypatch.setattr(plain_turns, "_FEW", few)
    batches = list(turns(kind))
    query = make_query({"time": "ts", "by": ["group"], "delay": "1 second", **(QUERIES | OF_OTHER_BACKENDS)[name]})
    started = local.LocalRun.start(query, batches[0].schema, backends)
    answers, states = [], []
    for number, batch in enumerate(batches):
        given = started.push(batch).to_pylist()
        if number % 7 > 4:  # time goes on by itself, and moments are due in a turn without a row
            given += started.operator.advance(2 * (number + 1) * SECOND - 1).to_pylist()
        rows = sorted(map(str, given))
        metrics = started.operator.take_metrics()
        answers.append([*rows, metrics.retained, metrics.groups, dict(metrics.dropped)])
        if number % 6 == 5:
            states.append(started.operator.snapshot())
        if number == 17:
            started.operator = Operator(started.operator.query, started.operator.bindings, batch.schema)
            started.operator.restore(states[-1])
    return [*answers, sorted(map(str, started.finish().to_pylist()))], states


@pytest.mark.parametrize(
    ("name", "objects"),
    [
        *((name, "text") for name in QUERIES),
        *(("heavy-hitters", objects) for objects in OBJECTS),
        *(("top-k", objects) for objects in OBJECTS),
        *(("top-k-workload", objects) for objects in OBJECTS),
    ],
)
def test_groups_together_answer_as_each(name, objects, monkeypatch):
    together = []
    advance = _MicroBatch.advance_plain

    def counted(micro_batch, keys, processors, rows, spans, plain):
        together.append(sum(turn is not None for turn in plain))
        advance(micro_batch, keys, processors, rows, spans, plain)

    monkeypatch.setattr(_MicroBatch, "advance_plain", counted)
    answers, states = run(name, OBJECTS[objects], monkeypatch, 2)
    if name != "distinct-count" and (name, objects) != ("top-k-workload", "unsigned"):
        assert len([count for count in together if count > GROUPS // 2]) > TURNS // 3, "so that something is tried"
    expected, expected_states = run(name, OBJECTS[objects], monkeypatch, 2**63)
    for turn, (own, each) in enumerate(zip(answers, expected, strict=True)):
        assert own == each, f"turn {turn}"
    assert sum(map(len, answers)) > TURNS
    assert states == expected_states


@pytest.mark.parametrize(
    ("name", "role", "backend"),
    [
        *(("quantiles", "quantile-sketch", backend) for backend in ("exact", "k-skb")),
        *(("distinct-count", "sketch", backend) for backend in ("exact", "k-skb")),
        *(("distinct-count of values", "sketch", backend) for backend in ("exact", "k-skb")),
    ],
)
def test_other_backends_do_so_too(name, role, backend, monkeypatch):
    found = [run(name, pa.int64(), monkeypatch, few, {role: backend}) for few in (2, 2**63)]
    assert found[0] == found[1]
