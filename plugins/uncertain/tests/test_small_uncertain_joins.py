"""Small groups of uncertain-join, answered by one call: bit for bit like processors, for any batches."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.errors import SnapshotError
from skyband.groups.small_groups import limits
from skyband.operator.operator import Operator
from skyband.queries import make_query
from skyband.snapshot import decode, encode

SECOND = 1_000_000
PLANE = ["values", "others"]
SPECS = {
    "size": {"size": 3, "alpha": 0.9, "beta": 0.05, "id": "number"},
    "two sides": {"size": 3, "alpha": 0.9, "beta": 0.1, "side": "side", "id": "name"},
    "with ties": {"size": 2, "alpha": 0.75, "beta": 0.0, "side": "side", "id": "big"},
    "with ties of one side": {"size": 2, "alpha": 0.9, "beta": 0.25, "id": "name"},
    "certain": {"size": 2, "alpha": 1.0, "beta": 0.0, "side": "side", "id": "number"},
    "of one": {"size": 1, "alpha": 0.999, "beta": 0.2, "id": "fraction"},
    "wide": {"size": 40, "alpha": 0.95, "beta": 0.3, "id": "row"},
    "a length of time": {"window": "13 seconds", "beta": 0.1, "id": "name"},
    "a length of time, two sides": {"window": "9 seconds", "beta": 0.0, "side": "side", "id": "number"},
    "carrying": {"size": 3, "alpha": 0.9, "beta": 0.1, "side": "side", "id": "name", "carry": ["values", "big"]},
    "carrying with ties": {"size": 2, "alpha": 0.75, "beta": 0.0, "id": "number", "carry": ["name"]},
    "in a plane": {"size": 3, "beta": 0.05, "id": "number", "values": PLANE, "epsilon": 0.6},
    "in a plane with ties": {"size": 2, "alpha": 0.75, "beta": 0.0, "id": "name", "values": PLANE, "side": "side"},
    "in a plane, by the larger": {
        "window": "9 seconds",
        "id": "big",
        "values": ["others", "values"],
        "distance": "maximum",
        "epsilon": 0.8,
    },
    "by change": {"delta": 1.5, "beta": 0.1, "id": "name"},
    "by change, two sides": {"delta": 2.0, "alpha": 0.6, "id": "number", "side": "side", "carry": ["big"]},
    "by change in a plane": {"delta": 1.8, "id": "number", "values": PLANE, "epsilon": 0.6},
    "of several columns": {"window": "13 seconds", "beta": 0.1, "id": ["name", "big"], "carry": ["fraction"]},
}


def stream(seed, rows=200, groups=6):
    """Few groups, ties in time or a microsecond apart, samples in lists, certain and uncertain tuples."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 60 * SECOND, rows)) // (SECOND // 2) * (SECOND // 2)
    times = np.sort(times + np.random.default_rng([seed, 1]).choice([-1, 0, 0, 0, 1], rows))
    samples = rng.integers(1, 6, rows)
    chances = rng.choice([0.5, 0.5, 0.9, 1.0, 0.0], rows)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "group": np.minimum(rng.zipf(1.5, rows), groups),
            "values": [(rng.integers(0, 12, n) / 4).tolist() for n in samples],
            "chances": [[chance / n] * n for chance, n in zip(chances.tolist(), samples.tolist(), strict=True)],
            "others": [(rng.integers(0, 3, n) / 4).tolist() for n in samples],
            "side": [["left", "right"][i] for i in rng.integers(0, 2, rows)],
            "number": pa.array(rng.integers(-9, 9, rows), pa.int32()),
            "big": rng.integers(0, 9, rows).astype(np.uint64) + np.uint64(2**63),
            "fraction": rng.integers(0, 9, rows) / 4,
            "name": [f"name {i}" for i in rng.integers(0, 30, rows)],
            "row": [f"row {i}" for i in range(rows)],
        }
    )


def query(spec):
    given = {"kind": "uncertain-join", "time": "ts", "by": ["group"], "delay": "2 seconds", "epsilon": 0.3}
    return make_query({**given, "values": "values", "probabilities": "chances", **spec})


def run(asked, table, cuts, snapshots=False, backends=None):
    """The answers, the final state, and how many groups have a processor at the end."""
    host, answers = local.LocalRun.start(asked, table.schema, backends), []
    for start, stop in zip([0, *cuts], [*cuts, len(table)], strict=True):
        answers += map(host.push, table.slice(start, stop - start).combine_chunks().to_batches())
        if snapshots:
            blob = host.operator.snapshot()
            host.operator = Operator(asked, host.operator.bindings, table.schema)
            host.operator.restore(blob)
            assert host.operator.snapshot() == blob
    answers.append(host.finish())
    state = host.operator.groups.dump_state()
    return sorted(map(str, pa.Table.from_batches(answers).to_pylist())), state, len(state["processors.key"])


@pytest.mark.parametrize("most", [4, 512])
@pytest.mark.parametrize("name", SPECS)
def test_small_groups_answer_like_processors_with_equal_bytes_for_any_batches(name, most, monkeypatch):
    seed = list(SPECS).index(name)
    table, asked, rng = stream(seed), query(SPECS[name]), np.random.default_rng(seed)
    few, many = (np.sort(rng.integers(0, len(table), pieces)).tolist() for pieces in (3, 15))
    monkeypatch.setattr(limits, "MOST_ENTRIES", most)
    whole, some, stopped = run(asked, table, []), run(asked, table, few), run(asked, table, many, snapshots=True)
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    rows, processors, _ = run(asked, table, few)
    assert len(rows) > 20
    assert whole[0] == some[0] == stopped[0] == rows
    np.testing.assert_equal(whole[1], some[1])
    np.testing.assert_equal(whole[1], stopped[1])
    assert not any(key.startswith("small_groups") for key in processors)
    if most == 512:
        assert len(whole[1]["small_groups.group"]) > 0
        assert whole[2] == 0
    else:
        assert whole[2] > 0


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("chance", [0.5, 1.0, 0.0])
def test_the_windows_decide_if_every_arrival_ties(chance, sides):
    table = stream(3)
    chances = [[chance / len(values)] * len(values) for values in table["values"]]
    table = table.set_column(3, "chances", pa.array(chances))
    spec = {"size": 2, "alpha": 0.75, "beta": 0.01, "id": "number", **({"side": "side"} if sides == 2 else {})}
    others = {"window": "rf1", "matcher": "nested-loop"}
    assert run(query(spec), table, [50, 120])[:1] == run(query(spec), table, [], backends=others)[:1]


@pytest.mark.parametrize("alpha", [0.5, 0.75, 0.76])
def test_a_change_exactly_as_probable_as_alpha_drops_the_oldest(alpha, monkeypatch):
    """Near or far values, each existing with one half: halves and quarters are exact in floats."""
    count, found, far = 40, [], np.random.default_rng(4).integers(0, 2, 40)
    table = pa.table(
        {
            "ts": pa.array(np.arange(count) * SECOND, pa.timestamp("us", "UTC")),
            "group": [1] * count,
            "number": pa.array(range(count), pa.int32()),
            "values": [[9.0 * far[place] + 0.125 * (place % 2)] for place in range(count)],
            "chances": [[0.5]] * count,
        }
    )
    asked = query({"delta": 1.0, "alpha": alpha, "beta": 0.01, "id": "number"})
    for most in (512, 0):
        monkeypatch.setattr(limits, "MOST_ENTRIES", most)
        found.append(run(asked, table, [15])[0])
    assert found[0] == found[1] != []


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize("spec", [{"size": 99, "id": "number"}, {"window": "1 hour", "id": "number"}], ids=list)
def test_a_group_is_small_up_to_the_last_sample(spec, beyond, monkeypatch):
    """With four tuples, eight samples each."""
    monkeypatch.setattr(limits, "MOST_ENTRIES", 4)
    samples = [8, 8, 8, 8 + beyond]
    table = pa.table(
        {
            "ts": pa.array(np.arange(4) * SECOND, pa.timestamp("us", "UTC")),
            "group": [1] * 4,
            "number": pa.array(range(4), pa.int32()),
            "values": [[0.25] * count for count in samples],
            "chances": [[0.1] * count for count in samples],
        }
    )
    whole, one_by_one = run(query(spec), table, []), run(query(spec), table, range(1, 4), snapshots=True)
    assert whole[0] == one_by_one[0] != []
    np.testing.assert_equal(whole[1], one_by_one[1])
    assert whole[2] == beyond


def test_other_groups_have_processors():
    table = stream(1)
    size = {"size": 3, "id": "number"}
    for spec, backends in ((size, {"window": "normal"}),):
        host = local.LocalRun.start(query(spec), table.schema, backends)
        assert host.operator.groups._small_groups is None


@pytest.mark.parametrize("name", ["two sides", "a length of time", "carrying", "wide"])
def test_groups_move_to_another_shard(name):
    table, asked = stream(4), query(SPECS[name])
    host = local.LocalRun.start(asked, table.schema)
    host.push(table.slice(0, 150).combine_chunks().to_batches()[0])
    parts = []
    for odd in (0, 1):
        part = Operator(asked, host.operator.bindings, table.schema)
        part.align_with(host.operator)
        part.absorb(host.operator, lambda keys, odd=odd: keys % np.uint64(2) == odd)
        parts.append(part)
    assert all(len(part.groups) for part in parts)
    again = Operator(asked, host.operator.bindings, table.schema)
    again.align_with(host.operator)
    for part in reversed(parts):
        again.absorb(part, lambda keys: np.ones(len(keys), bool))
    np.testing.assert_equal(again.groups.dump_state(), host.operator.groups.dump_state())


@pytest.mark.parametrize(
    ("name", "array", "change"),
    [
        ("two sides", "entries.chance", lambda values: np.append(1.5, values[1:])),
        ("two sides", "entries.side", lambda values: np.append(2, values[1:])),
        ("two sides", "entries.samples", lambda values: np.append(900, values[1:])),
        ("two sides", "samples.entries.value", lambda values: np.append(np.nan, values[1:])),
        ("two sides", "samples.entries.probability", np.ones_like),
        ("two sides", "count", lambda values: np.append(0, values[1:])),
        ("a length of time, two sides", "entries.time", lambda values: values[::-1]),
    ],
)
def test_an_impossible_state_is_refused(name, array, change):
    table, asked = stream(5), query(SPECS[name])
    host = local.LocalRun.start(asked, table.schema)
    host.push(table.to_batches()[0])
    held = decode(host.operator.snapshot())
    key = f"groups.small_groups.{array}"
    wrong = change(held.arrays[key]).astype(held.arrays[key].dtype)
    fresh = Operator(asked, host.operator.bindings, table.schema)
    with pytest.raises(SnapshotError, match=array.split(".")[-1]):
        fresh.restore(encode(held.header, {**held.arrays, key: wrong}))


def test_many_samples_make_a_group_large(monkeypatch):
    monkeypatch.setattr(limits, "MOST_ENTRIES", 10)
    table = stream(6)
    many = [np.linspace(0, 3, 40).tolist() for _ in range(len(table))]
    table = table.set_column(2, "values", pa.array(many)).set_column(3, "chances", pa.array([[0.02] * 40] * len(table)))
    asked = query({"size": 2, "beta": 0.001, "id": "number"})
    rows, state, processors = run(asked, table, [70])
    assert processors > 0
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    assert rows == run(asked, table, [])[0]
    assert "small_groups.group" in state
