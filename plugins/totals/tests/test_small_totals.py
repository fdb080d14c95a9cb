"""Small groups hold the weights of panes in whole units, so that groups with any weights grow without loss."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from skyband.engines import local
from skyband.groups.small_groups import limits
from skyband_totals.fixed_point import MOST_TOGETHER, worth
from skyband_totals.heavy_hitters import small_group_panes

SECOND = 1_000_000


@pytest.mark.parametrize("of", ["seconds", "rows"])
@pytest.mark.parametrize("unit", [1.0, 0.1, 3.0, 2.0**-20])
def test_rows_of_up_to_2_53_units_are_preserved(unit, of, monkeypatch):
    rng = np.random.default_rng(13)
    rows = 300
    units = 2 ** rng.integers(0, 54, rows) - rng.integers(0, 2, rows)
    stream = pa.table(
        {
            "ts": pa.array(np.sort(rng.integers(0, 60, rows)) * SECOND, pa.timestamp("us", "UTC")),
            "group": rng.integers(0, 3, rows),
            "object": rng.integers(0, 4, rows),
            "weight": units * unit,
        }
    )
    query = {"kind": "heavy-hitters", "time": "ts", "by": ["group"], "object": "object", "total": "sum", "k": 4}
    query |= {"weight": "weight", "unit": unit, "windows": [f"20 {of}", f"8 {of}"], "every": f"4 {of}"}
    found = []
    for most in (512, 3, 0):  # always small, grown at once, never small
        monkeypatch.setattr(limits, "MOST_ENTRIES", most)
        found.append(
            local.apply(stream, query).sort_by([(name, "ascending") for name in ("group", "at", "window", "rank")])
        )
    assert len(found[0]) > 300
    assert found[0].equals(found[2])
    assert found[1].equals(found[2])


@pytest.mark.parametrize("unit", [1.0, 0.1, 3.0])
@pytest.mark.parametrize("by", [[], ["group"]])
def test_rows_of_a_pane_may_reach_the_most_units_of_one_weight(unit, by):
    """Each group has an object with three rows in a pane: the last brings their sum to 2**51, or one or two off."""
    sums = [MOST_TOGETHER + beside for beside in (-2, -1, 0, 1, 2)]
    parts = [part for together in sums for part in (together // 2, together - together // 2 - 1, 1)]
    groups = np.repeat(np.arange(len(sums)), 3)
    stream = pa.table(
        {
            "ts": pa.array(np.arange(len(parts)) % 3 * SECOND, pa.timestamp("us", "UTC")),
            "group": groups,
            "object": groups,
            "weight": worth(np.array(parts), unit),
        }
    )
    query = {"kind": "heavy-hitters", "time": "ts", "by": by, "object": "object", "total": "sum", "k": len(sums)}
    query |= {"weight": "weight", "unit": unit, "windows": ["20 seconds"], "every": "4 seconds"}
    answers = local.apply(stream, query)
    first = answers.filter(pc.equal(answers["at"], pc.min(answers["at"]))).sort_by("object")
    assert first["total"].to_pylist() == [worth(together, unit) for together in sums]


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_most_units_leave_the_same_state_however_rows_are_cut(seed):
    """Hundreds of new entries wait for others, in order: only the last of an object has room."""
    rng, many, rows = np.random.default_rng(seed), 300, 80
    heavy = rng.choice([5, 7, MOST_TOGETHER - 3, MOST_TOGETHER - 11], rows)
    stream = pa.table(
        {
            "ts": pa.array(np.arange(many + rows) * 10_000, pa.timestamp("us", "UTC")),
            "group": ["one"] * (many + rows),
            "object": np.append(np.arange(many), rng.integers(0, 6, rows)),
            "weight": np.append(np.ones(many), heavy),
        }
    )
    query = {"kind": "heavy-hitters", "time": "ts", "by": ["group"], "object": "object", "total": "sum", "k": 4}
    query |= {"weight": "weight", "unit": 1.0, "windows": ["8 seconds"], "every": "4 seconds", "delay": "0 seconds"}
    states, found = set(), set()
    for cuts in ([], [many + 20, many + 50], range(many, many + rows, 3)):
        run, answers = local.LocalRun.start(query, stream.schema), []
        for start, stop in zip([0, *cuts], [*cuts, many + rows], strict=True):
            answers += map(run.push, stream.slice(start, stop - start).to_batches())
            blob = run.operator.snapshot()
            run = local.LocalRun.start(query, stream.schema)
            run.operator.restore(blob)
        states.add(blob)
        answers.append(run.operator.finish(10_000 * (many + rows - 1)))
        found.add(str(pa.Table.from_batches(answers).to_pylist()))
    assert len(states) == len(found) == 1


RANKED = {
    "two windows": {"k": 2, "against": "previous"},
    "a part": {"k": 2, "part": "amount >= 3"},
    "a part of distinct values": {"k": 2, "part": "amount >= 3", "total": "distinct", "value": "amount"},
    "half-lives": {"k": 2, "half_life": "6 seconds"},
}


@pytest.mark.parametrize("ranked", RANKED)
@pytest.mark.parametrize("by", [[], ["group"]])
def test_answers_do_not_depend_on_the_entries_listed_at_once(ranked, by, monkeypatch):
    """The groups of a pass are answered in parts if all their entries would be too many."""
    rng = np.random.default_rng(14)
    rows = 200
    stream = pa.table(
        {
            "ts": pa.array(np.sort(rng.integers(0, 60, rows)) * SECOND, pa.timestamp("us", "UTC")),
            "group": rng.integers(0, 7, rows),
            "object": rng.integers(0, 4, rows),
            "amount": rng.integers(0, 6, rows),
        }
    )
    query = {"kind": "heavy-hitters", "time": "ts", "by": by, "object": "object", "windows": ["9 seconds"]}
    found = []
    for at_once in (1 << 21, 40, 1):
        monkeypatch.setattr(small_group_panes, "_AT_ONCE", at_once)
        found.append(sorted(map(str, local.apply(stream, query | {"every": "3 seconds"} | RANKED[ranked]).to_pylist())))
    assert len(found[0]) > 30
    assert found[1] == found[0]
    assert found[2] == found[0]


@pytest.mark.parametrize(
    ("name", "total"),
    [
        *((name, "sum") for name in ("misra-gries", "k-skb", "frequent-items-panes", "exact")),
        *((name, "distinct") for name in ("k-skb", "exact")),
    ],
)
def test_rows_of_equal_times_may_arrive_in_any_order(name, total):
    """The answers and the bytes of the state are the same, although bounds depend on the order of rows.

    Only the time of the last row is not yet over.
    """
    rng, found, states = np.random.default_rng(15), set(), set()
    rows = 6000
    weights = {"weight": "amount"} if total == "sum" else {"value": "amount"}
    query = {"kind": "heavy-hitters", "time": "ts", "object": "object", "windows": ["20 seconds"], "k": 5}
    query |= {"every": "5 seconds", "total": total, **weights}
    bounds = {} if name == "exact" else {"epsilon": 0.5} | ({"delta": 0.1} if name == "k-skb" else {})
    seconds, objects = np.append(rng.integers(0, 60, rows - 1), 60), rng.zipf(1.3, rows) % 500
    amounts = rng.integers(1, 9, rows)
    for _ in range(3):
        order = rng.permutation(rows)
        order = order[np.argsort(seconds[order], kind="stable")]
        table = pa.table(
            {
                "ts": pa.array(seconds[order] * SECOND, pa.timestamp("us", "UTC")),
                "object": objects[order],
                "amount": amounts[order],
            }
        )
        run = local.LocalRun.start(query, table.schema, {"total-ranker": {"name": name, **bounds}})
        parts = [run.push(table.combine_chunks().to_batches()[0])]
        states.add(run.operator.snapshot())
        found.add(str(pa.Table.from_batches([*parts, run.finish()]).to_pylist()))
    assert len(found) == len(states) == 1
