"""`rest` of heavy-hitters, compared with the definition, on random streams."""

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from cut_run import cut_run
from in_process_shards import on_shards
from skyband import ConfigError
from skyband.engines import local
from skyband.groups.small_groups import limits
from skyband.queries import make_query
from skyband_totals.conformance.oracle import TotalOracle

KINDS = {
    "rows": {},
    "sum": {"total": "sum", "weight": "amount", "unit": 0.1},
    "distinct": {"total": "distinct", "value": "page"},
}
LIMITS = [{"k": 1}, {"k": 3}, {"share": 0.2}, {"at_least": 2}, {"k": 2, "share": 0.15}, {"k": 50}]
EVERY = 5
BEFORE = {"exact": {}, "misra-gries": {"epsilon": 0.6}, "frequent-items-panes": {"epsilon": 0.9}}
BEFORE["k-skb"] = {"epsilon": 0.5, "delta": 1e-4}
FLOATS = 1e-9


def stream(rng, size=None):
    """Rows with equal times, at moments and between them, with gaps, null objects and weights of 0."""
    size = int(rng.integers(0, 50)) if size is None else size
    seconds = np.sort(rng.integers(0, 60, size))
    seconds += 40 * (seconds > 20) + 13 * (seconds > 40)
    return pa.table(
        {
            "t": pa.array(seconds * 1_000_000, pa.timestamp("us")),
            "key": pa.array([None if key > 7 else int(key) for key in rng.zipf(1.5, size)], pa.int64()),
            "amount": rng.integers(0, 6, size) / 10,
            "page": rng.integers(0, 4, size),
            "group": rng.integers(0, 3, size),
        }
    )


def expected(rows, windows, total, by, limits, empty=False):
    """{(group, moment, window): [(rank, object, total, share, objects), ...]}, by definition."""
    oracles = defaultdict(lambda: TotalOracle({"total": total, "unit": KINDS[total].get("unit", 1.0), **limits}))
    latest = None
    for row in rows.to_pylist():
        second = int((row["t"] - EPOCH).total_seconds())
        if row["key"] is None:
            continue
        latest = second
        amount = {"rows": 1, "sum": round(row["amount"] * 10), "distinct": row["page"]}[total]
        oracles[row["group"] if by else 0].rows.append((second, row["key"], amount))
    found = {}
    for group, oracle in oracles.items():
        times = [second for second, _, _ in oracle.rows]
        for at in range(0, latest // EVERY * EVERY + EVERY + 1, EVERY):
            if not any((0 if empty else at - max(windows)) <= second < at for second in times):
                continue
            for window in windows:
                answer, totals = oracle.answer(at - window, at), oracle.totals(at - window, at)
                ranked = zip(answer.objects, answer.totals, strict=True)
                lines = [(rank, key, worth, worth / answer.grand, 1) for rank, (key, worth) in enumerate(ranked, 1)]
                left = oracle.worth(sum(units for key, units in totals.items() if key not in answer.objects))
                share = left / answer.grand if answer.grand else None
                others = len(totals) - len(answer.objects)
                found[group, at, window] = [*lines, (None, None, left, share, others)]
    return found


EPOCH = pa.scalar(0, pa.timestamp("us")).as_py()


def answered(table, by):
    found = defaultdict(list)
    for row in table.to_pylist():
        place = (
            row.get("group", 0) if by else 0,
            int((row["at"] - EPOCH).total_seconds()),
            int(row["window"].split()[0]),
        )
        assert row["low"] == row["high"] == row["total"]
        found[place].append((row["rank"], row["object"], row["total"], row["share"], row["objects"]))
    return dict(found)


def follow(seed, monkeypatch):
    rng = np.random.default_rng([42, seed])
    total, shown = list(KINDS)[seed % 3], LIMITS[int(rng.integers(len(LIMITS)))]
    windows = [(10,), (20, 5), (15, 25), (5, 30)][int(rng.integers(4))]
    by, rows = bool(rng.integers(2)), stream(rng)
    monkeypatch.setattr(limits, "MOST_ENTRIES", int(rng.choice([0, 3, 512])))
    query = {"kind": "heavy-hitters", "time": "t", "object": "key", "rest": True, **KINDS[total], **shown}
    query |= {"windows": [f"{window} seconds" for window in windows], "every": f"{EVERY} seconds"}
    query |= {"by": ["group"]} if by else {}
    query |= {"empty": "zero"} if (empty := bool(rng.integers(2))) else {}
    wanted = expected(rows, windows, total, by, shown, empty)
    assert answered(local.apply(rows, query), by) == wanted, (seed, query)
    assert answered(cut_run(rows, query, rng)[0], by) == wanted, (seed, query, "in batches")


def test_all_other_objects_have_the_remainder(monkeypatch):
    for seed in range(30):
        follow(seed, monkeypatch)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:all .* rows were left out")
def test_all_other_objects_have_the_remainder_on_ten_thousand_streams(monkeypatch):
    for seed in range(100, 10_100):
        follow(seed, monkeypatch)


@pytest.mark.parametrize("name", BEFORE)
def test_bounds_of_the_other_objects_hold(name):
    rng = np.random.default_rng(7)
    rows = stream(rng, 8000 if name == "misra-gries" else 3000)
    rows = rows.set_column(1, "key", pa.array(rng.zipf(1.3, len(rows)) % 400))
    query = {"kind": "heavy-hitters", "time": "t", "object": "key", "rest": True, "k": 4, "every": "5 seconds"}
    found = local.apply(rows, {**query, "windows": ["30 seconds"]}, {"total-ranker": {"name": name, **BEFORE[name]}})
    wanted, unsure, unknown = expected(rows, (30,), "rows", False, {"k": 4}), 0, 0
    answers = defaultdict(list)
    for row in found.to_pylist():
        answers[int((row["at"] - EPOCH).total_seconds())].append(row)
    assert len(answers) == len(wanted)
    for (_, at, _), lines in wanted.items():
        *ranked, others = answers[at]
        seconds = rows["t"].cast(pa.int64()).to_numpy() // 1_000_000
        counted = Counter(rows["key"].to_numpy()[(at - 30 <= seconds) & (seconds < at)].tolist())
        for row in ranked:
            counted.pop(row["object"], None)
        true = sum(counted.values())
        assert others["rank"] is others["object"] is None
        assert others["low"] * (1 - FLOATS) <= true <= others["high"] * (1 + FLOATS), (name, at)
        assert others["low"] <= others["total"] <= others["high"]
        assert others["objects"] in (None, len(counted))
        unsure += others["low"] < others["high"]
        unknown += others["objects"] is None
        assert name != "exact" or others["total"] == true == lines[-1][2]
    assert (unsure > 0) == (unknown > 0) == (name != "exact")


def test_shards_report_the_number_of_other_objects_if_each_knows_its_own():
    """The number is unknown if one shard has too many rows to know its own."""
    rng, told = np.random.default_rng(37), set()
    seconds = np.arange(8000) * 60 // 8000
    keys = np.where(rng.random(8000) < 0.9, 0, rng.integers(1, 12, 8000))
    rows = pa.table({"t": pa.array(seconds * 1_000_000, pa.timestamp("us")), "key": keys})
    query = {"kind": "heavy-hitters", "time": "t", "object": "key", "rest": True, "k": 4, "every": "5 seconds"}
    query = make_query({**query, "windows": ["30 seconds"]})
    for shards in (2, 5):
        found = on_shards(rows, query, shards, 2, {"total-ranker": {"name": "misra-gries", "epsilon": 0.6}})[0]
        for row in found.filter(pc.is_null(found["rank"])).to_pylist():
            at = (row["at"] - EPOCH).total_seconds()
            inside = (at - 30 <= seconds) & (seconds < at)
            assert row["objects"] in (None, len(np.unique(keys[inside])) - 4), (shards, at)
            told.add(row["objects"] is not None)
    assert told == {False, True}


def test_a_state_has_no_row_of_other_objects():
    query = {"kind": "heavy-hitters", "time": "t", "object": "key", "k": 1, "windows": ["5 seconds"]}
    query |= {"every": "5 seconds", "rest": True, "emit": "state"}
    with pytest.raises(ConfigError, match="rest: is not part of a state: drop this, or `emit`"):
        local.apply(stream(np.random.default_rng(0), 3), query)
    with pytest.raises(ConfigError, match="'objects' is also the name of another column of the answers"):
        rows = stream(np.random.default_rng(0), 3).rename_columns(["t", "key", "amount", "page", "objects"])
        local.apply(rows, {**query, "emit": None, "carry": ["objects"]})
    with pytest.raises(ConfigError, match="empty: requires `rest`, whose row is 0 for an empty window"):
        local.apply(rows, {**query, "emit": None, "rest": False, "empty": "zero"})
