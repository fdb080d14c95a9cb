"""State of an earlier run: refused where its query, columns or backend are others now, taken where they are not."""

import struct
import zlib

import attrs
import pyarrow as pa
import pytest
from families import FAMILIES, events, family
from skyband import snapshot
from skyband.config.parameters import parameters_of
from skyband.engines.local import LocalRun
from skyband.errors import SnapshotError
from skyband.queries.query import FREE, Query

OTHERS = {
    "ranges": [[0, 1]],
    "time": "later",
    "by": ["side"],
    "delay": "1 minute",
    "source": "side",
    "sources": ["left", "right"],
    "idle": "1 hour",
    "ahead": "2 hours",
    "item": "place",
    "windows": ["30 seconds"],
    "every": "5 seconds",
    "object": "place",
    "stream": "place",
    "value": "number",
    "streams": ["soil", "water", "air"],
    "window": "3 minutes",
    "aggregate": "max",
    "repeats": 3,
    "id": "name",
    "tokens": "others",
    "vector": "samples",
    "side": "right",
    "score": "number",
    "values": "chances",
    "probabilities": "more",
    "alpha": 0.5,
    "beta": 0.3,
    "threshold": 0.7,
    "matches": 3,
    "carry": ["name"],
    "carry_match": ["name"],
    "weight": "number",
    "share": 0.5,
    "offset": "5 seconds",
    "statistics": ["count"],
    "at": [0.5],
    "above": [0.7],
    "part": "number > 3",
    "half_life": "10 minutes",
    "sums": ["number"],
    "distinct": ["side"],
    "detections": [{"name": "busy", "key": ["name"], "window": "30 seconds", "at_least": 5}],
    "against": "previous",
    "bins": [0.5],
    "seen": [1, 2],
    "features": [{"of": "max", "column": "number"}],
    "keys": [["side"]],
    "rule_columns": ["side"],
    "rule_numbers": ["number"],
    "longest": "1 day",
    "most": 50,
    "key": ["at"],
    "changed": ["at"],
}
"""For the keys of queries whose own description does not lead to another value, one."""
OTHERS_OF = {
    ("quantiles", "distance"): ["ks"],
    ("heavy-hitters", "distance"): ["total-variation"],
    ("row-features", "asks"): "asked",
    ("detections", "keep"): [{"key": ["side"], "most": 50, "longest": "1 day"}],
}
"""The same for keys that other kinds have with other values."""

SOURCES = {"source": "side", "sources": ["left", "right"]}
NEEDED = {"source": SOURCES, "sources": SOURCES, "idle": SOURCES, "total": {"weight": None, "unit": 1.0}}
NEEDED |= {key: {"answers": "changes"} for key in ("key", "changed")}
OF_MOMENTS = ("answers", "key", "changed")
"""Keys that queries refuse which answer each row."""
NEEDED_BY = {
    ("heavy-hitters", "empty"): {"rest": True},
    **{("heavy-hitters", key): {"share": None} for key in ("against", "half_life")},
    **{("heavy-hitters", key): {"share": None, "k": 3, "against": "previous"} for key in ("rank_by", "direction")},
    ("heavy-hitters", "distance"): {"share": None, "k": None, "carry": [], "against": "previous"},
    ("heavy-hitters", "value"): {"total": "distinct", "weight": None, "unit": 1.0},
    ("top-k-workload", "longest"): {"most": 50},
    ("heavy-hitters", "most"): {"longest": "1 day", "k": 3},
    ("top-k-workload", "most"): {"longest": "1 day"},
    ("top-k-workload", "repeats"): {"repeats": "best"},
    ("quantiles", "distance"): {"against": "previous"},
    ("quantiles", "bins"): {"against": "previous", "distance": ["psi"], "bins": 5},
    **{("detections", key): {"keys": [["side"], ["name"]]} for key in ("rule_columns", "rule_numbers", "keep")},
    ("distinct-count", "value"): {"ranges": [[0, 1]]},
    ("row-features", "emit"): {"every": "5 seconds", "carry": []},
    ("row-features", "every"): {"emit": "state", "carry": []},
    ("distinct-count", "ranges"): {"value": "number"},
    **{("distinct-count", key): {"value": "number"} for key in ("lower", "upper")},
    **{(kind, key): {"size": None} for kind in ("uncertain-sum", "uncertain-join") for key in ("window", "delta")},
}
"""What goes with such a value, whatever the query and for one."""
BACKENDS_OF = {("distinct-count", key): {"sketch": "k-skb"} for key in ("hash", "value", "ranges", "seen")}
BACKENDS_OF |= {("distinct-count", key): {"sketch": "exact"} for key in ("lower", "upper")}
"""The backends that know a key."""


def source() -> pa.Table:
    """Rows for all families, whose columns are there a second time."""
    table = events(1, rows=200)
    names = {"ts": "later", "words": "others", "chances": "more", "side": "right"}
    for name, again in names.items():
        table = table.append_column(again, table[name])
    return table.append_column("asked", pa.array([place % 2 == 0 for place in range(len(table))]))


def ran(asked, table=None, backends=None) -> LocalRun:
    table = source() if table is None else table
    run = LocalRun.start(asked, table.schema, backends)
    run.push(table.combine_chunks().to_batches()[0])
    return run


def another(query: Query, key: str) -> object:
    """Another value of a key: that of the table, or any that is not its own of a flag, a number or a few words."""
    if key in OTHERS or (query.kind, key) in OTHERS_OF:
        return OTHERS_OF.get((query.kind, key), OTHERS.get(key))
    (parameter,) = (one for one in parameters_of(type(query)) if one.name == key)
    value = getattr(query, key)
    if parameter.type == "bool":
        return not value
    if parameter.type in ("int", "float"):
        return (value or 0) + 1
    assert parameter.bounds.startswith("one of "), f"OTHERS lacks another value of {query.kind}'s {key}"
    return next(word for word in parameter.bounds.removeprefix("one of ").split(", ") if word != value)


def keys_of(kind: str) -> list[str]:
    cls, answers = type(family(kind)), family(kind).answer_fields(source().schema)
    others = (*family(kind).evolvable, *FREE, *(OF_MOMENTS if "at" not in [field.name for field in answers] else ()))
    return [field.name for field in attrs.fields(cls) if field.init and field.name not in others]


def as_shown(value):
    """A list of lengths as they were written."""
    is_of_lengths = isinstance(value, tuple) and all(hasattr(each, "text") for each in value)
    return tuple(each.text for each in value) if is_of_lengths else value


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind in FAMILIES for key in keys_of(kind)])
def test_every_changed_key_of_every_query_is_refused_and_named(kind, key):
    needed = NEEDED_BY.get((kind, key), NEEDED.get(key, {}))
    before, after = family(kind), family(kind, **{key: another(family(kind), key), **needed})
    was, now = getattr(before, key), getattr(after, key)
    assert was != now
    backends = BACKENDS_OF.get((kind, key))
    changed = LocalRun.start(after, source().schema, backends)
    fresh = changed.operator.snapshot()
    with pytest.raises(SnapshotError) as caught:
        changed.operator.restore(ran(before, backends=backends).operator.snapshot())
    assert f"query.{key} was {as_shown(was)}, is {as_shown(now)}" in str(caught.value)
    assert str(caught.value).endswith("change it back, or give the changed job a new checkpoint")
    assert changed.operator.snapshot() == fresh, "and nothing of it was taken"


def test_another_kind_of_query_and_another_unit_of_windows_are_refused():
    held = ran(family("top-k")).operator.snapshot()
    with pytest.raises(SnapshotError, match=r"query.kind was top-k, is top-k-pairs"):
        LocalRun.start(family("top-k-pairs"), source().schema).operator.restore(held)
    counted = family("top-k", window="10 rows", every="5 rows")
    with pytest.raises(SnapshotError, match=r"windows was time, is rows"):
        LocalRun.start(counted, source().schema).operator.restore(held)


BACKENDS = [
    ("distinct-count", "sketch", "k-skb", {"name": "k-skb", "epsilon": 0.1}),
    ("top-k", "object-ranker", "eaa", "sla"),
    ("top-k-pairs", "pair-ranker", "swoop", "scase"),
    ("top-k-workload", "workload-ranker", "mintopk", "paneband"),
    ("uncertain-sum", "window", "exact", "rf1"),
    ("uncertain-join", "matcher", "block", "index-match"),
]


@pytest.mark.parametrize(("kind", "role", "before", "after"), BACKENDS)
def test_another_backend_or_parameter_is_refused_and_named(kind, role, before, after):
    held = ran(family(kind), backends={role: before}).operator.snapshot()
    with pytest.raises(
        SnapshotError, match=rf'backends.{role} was {{"name": "{before}"}}, is {{.*}}\): change it back'
    ):
        LocalRun.start(family(kind), source().schema, {role: after}).operator.restore(held)


@pytest.mark.parametrize("kind", FAMILIES)
def test_columns_that_are_read_keep_their_type_and_others_come_and_go(kind):
    table, asked = source(), family(kind, by=["place"])
    run = ran(asked, table)
    held = run.operator.snapshot()
    read = asked.columns
    number = pa.array(range(len(table)), pa.int32())
    other = table.select(read).append_column("unused", number)
    other = other.set_column(other.column_names.index("ts"), "ts", other["ts"].cast(pa.timestamp("ms", "Asia/Tokyo")))
    again = LocalRun.start(asked, other.schema)
    again.restore(held)
    assert again.finish().to_pylist() == run.finish().to_pylist(), "instants are the same in every zone"
    for name in read:
        kinds = pa.timestamp("us") if name == "ts" else pa.list_(pa.string()) if name == "place" else pa.string()
        if kinds == table.schema.field(name).type:
            kinds = pa.large_string()
        fields = [field.with_type(kinds) if field.name == name else field for field in table.schema]
        changed = LocalRun.start(asked, table.schema).operator
        changed._bound.schema = pa.schema(fields)
        with pytest.raises(SnapshotError, match=rf"\(column {name} was .*, is .*\): change it back"):
            changed.restore(held)


def rewritten(blob: bytes, change) -> bytes:
    """A snapshot whose header is changed."""
    held = snapshot.decode(blob)
    change(held.header)
    return snapshot.encode(held.header, held.arrays)


def test_the_state_of_an_older_skyband_goes_on():
    """It knew fewer keys of queries."""
    asked = family("distinct-count")
    run = ran(asked)

    def older(header):
        for key in ("source", "sources", "idle"):
            del header["operator"][f"query.{key}"]

    state = rewritten(run.operator.snapshot(), older)
    again = LocalRun.start(asked, source().schema)
    again.restore(state)
    assert again.operator.watermark == run.operator.watermark
    assert again.finish().equals(run.finish())
    changed = LocalRun.start(family("distinct-count", source="side", sources=["left"]), source().schema)
    with pytest.raises(SnapshotError, match=r"query.source was None, is side; query.sources was None, is \('left',\)"):
        changed.operator.restore(state)


def test_state_of_a_newer_format_is_refused_naming_both():
    blob = ran(family("top-k")).operator.snapshot()
    body = blob[10:]
    newer = struct.pack("<4sHI", b"SKYB", snapshot.FORMAT + 1, zlib.crc32(body)) + body
    said = f"written in format {snapshot.FORMAT + 1}, this Skyband reads up to {snapshot.FORMAT}: upgrade skyband"
    with pytest.raises(SnapshotError, match=said):
        LocalRun.start(family("top-k"), source().schema).operator.restore(newer)
