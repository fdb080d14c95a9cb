"""Small groups of uncertain-sum, answered by one call: bit for bit like processors, for any batches."""

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
BOTH = ["count", "average"]
SPECS = {
    "size": {"size": 3, "alpha": 0.9},
    "with statistics": {"size": 2, "alpha": 0.8, "statistics": BOTH},
    "with ties": {"size": 2, "alpha": 0.75, "statistics": ["average"], "carry": ["count", "name"]},
    "certain": {"size": 2, "alpha": 1.0},
    "of one": {"size": 1, "alpha": 0.999},
    "wide": {"size": 40, "alpha": 0.95},
    "a length of time": {"window": "13 seconds"},
    "a length of time with statistics": {"window": "9 seconds", "statistics": BOTH, "carry": ["name"]},
}


def stream(seed, rows=200, groups=6):
    """Few groups, ties in time or a microsecond apart, samples in lists, certain and uncertain tuples."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 60 * SECOND, rows)) // (SECOND // 2) * (SECOND // 2)
    times = np.sort(times + np.random.default_rng([seed, 1]).choice([-1, 0, 0, 0, 1], rows))
    samples = rng.integers(1, 11, rows)
    chances = rng.choice([0.5, 0.5, 0.9, 1.0, 0.0], rows)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "group": np.minimum(rng.zipf(1.5, rows), groups),
            "values": [rng.normal(0, 10, n).tolist() for n in samples],
            "chances": [[chance / n] * n for chance, n in zip(chances.tolist(), samples.tolist(), strict=True)],
            "count": np.arange(rows),
            "name": [f"row {i}" for i in range(rows)],
        }
    )


def query(spec):
    given = {"kind": "uncertain-sum", "time": "ts", "by": ["group"], "delay": "2 seconds"}
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


@pytest.mark.parametrize("most", [3, 512])
@pytest.mark.parametrize("name", SPECS)
def test_small_groups_answer_like_processors_with_equal_bytes_for_any_batches(name, most, monkeypatch):
    seed = list(SPECS).index(name)
    table, asked, rng = stream(seed), query(SPECS[name]), np.random.default_rng(seed)
    few, many = (np.sort(rng.integers(0, len(table), pieces)).tolist() for pieces in (3, 15))
    monkeypatch.setattr(limits, "MOST_ENTRIES", most)
    whole, some, stopped = run(asked, table, []), run(asked, table, few), run(asked, table, many, snapshots=True)
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    rows, processors, _ = run(asked, table, few)
    np.testing.assert_equal(processors, run(asked, table, many)[1])
    assert whole[0] == some[0] == stopped[0] == rows
    np.testing.assert_equal(whole[1], some[1])
    np.testing.assert_equal(whole[1], stopped[1])
    assert not any(key.startswith("small_groups") for key in processors)
    assert (whole[2] == 0) == (most == 512)
    if most == 512:
        assert len(whole[1]["small_groups.group"]) > 0


@pytest.mark.parametrize("chance", [0.5, 1.0, 0.0])
def test_the_window_decides_if_every_arrival_ties(chance):
    table = stream(3)
    table = table.set_column(
        3, "chances", pa.array([[chance / len(values)] * len(values) for values in table["values"]])
    )
    spec = {"size": 2, "alpha": 0.75}
    assert run(query(spec), table, [50, 120])[0] == run(query(spec), table, [], backends={"window": "rf1"})[0]


def test_other_windows_have_processors():
    table = stream(1)
    for spec, backends in (({"delta": 3.0}, None), ({"size": 3}, {"window": "normal"})):
        host = local.LocalRun.start(query(spec), table.schema, backends)
        assert host.operator.groups._small_groups is None


def test_groups_move_to_another_shard():
    table, asked = stream(4), query(SPECS["with statistics"])
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


def test_an_impossible_state_is_refused():
    table, asked = stream(5), query(SPECS["size"])
    host = local.LocalRun.start(asked, table.schema)
    host.push(table.to_batches()[0])
    held = decode(host.operator.snapshot())
    prefix = "groups.small_groups."
    for name, wrong in (("entries.chance", 1.5), ("entries.average", np.nan), ("count", 0), ("count", 4000)):
        array = held.arrays[prefix + name].copy()
        array[0] = wrong
        fresh = Operator(asked, host.operator.bindings, table.schema)
        with pytest.raises(SnapshotError, match=name.removeprefix("entries.")):
            fresh.restore(encode(held.header, {**held.arrays, prefix + name: array}))


def test_a_small_group_takes_few_bytes():
    groups = 2000
    many = 8 * groups
    table = pa.table(
        {
            "ts": pa.array(np.arange(many) // groups * SECOND, pa.timestamp("us", "UTC")),
            "group": np.arange(many) % groups,
            "values": np.arange(many) / 7,
            "chances": np.full(many, 0.8),
        }
    )
    host = local.LocalRun.start(query({"size": 4, "delay": "0 seconds"}), table.schema)
    host.push(table.to_batches()[0])
    assert host.operator.take_metrics().groups == groups
    assert sum(array.nbytes for array in host.operator.groups.dump_state().values()) < 240 * groups
