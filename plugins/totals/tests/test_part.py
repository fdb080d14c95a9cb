"""`part` of heavy-hitters, compared with fractions of totals, ranked as fractions, on random streams."""

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from cut_run import cut_run
from skyband import ConfigError
from skyband.engines import local
from skyband_totals.conformance.oracle import TotalOracle

KINDS = {
    "rows": {},
    "sum": {"total": "sum", "weight": "amount", "unit": 0.1},
    "distinct": {"total": "distinct", "value": "page"},
}
LIMITS = [{"k": 1}, {"k": 3}, {"share": 0.2}, {"at_least": 2}, {"k": 2, "at_least": 3}, {"k": 2, "share": 0.15}]
EVERY = 5
EPOCH = pa.scalar(0, pa.timestamp("us")).as_py()
BOUNDED = {"misra-gries": {"epsilon": 0.5}, "frequent-items-panes": {"epsilon": 0.4}}
BOUNDED["k-skb"] = {"epsilon": 0.5, "delta": 1e-5}
CONDITIONS = {
    "status >= 500": lambda row: (row["status"] or 0) >= 500,
    "status IN (404, 503) OR failed": lambda row: row["status"] in (404, 503) or bool(row["failed"]),
    "failed": lambda row: bool(row["failed"]),
    "NOT failed": lambda row: row["failed"] is False,
}


def stream(rng, size=None):
    """Rows with equal times, at moments and between them, with gaps, nulls of all kinds and weights of 0."""
    size = int(rng.integers(0, 50)) if size is None else size
    seconds = np.sort(rng.integers(0, 60, size))
    seconds += 40 * (seconds > 20) + 13 * (seconds > 40)
    some = [200, 404, 500, 503, None]
    return pa.table(
        {
            "t": pa.array(seconds * 1_000_000, pa.timestamp("us")),
            "key": pa.array([None if key > 7 else int(key) for key in rng.zipf(1.5, size)], pa.int64()),
            "amount": rng.integers(0, 6, size) / 10,
            "page": rng.integers(0, 4, size),
            "group": rng.integers(0, 3, size),
            "status": pa.array([some[place] for place in rng.integers(0, 5, size)], pa.int32()),
            "failed": pa.array([[True, False, None][place] for place in rng.integers(0, 3, size)], pa.bool_()),
        }
    )


def expected(rows, query, by, of_rows):
    """{(group, moment or number of rows, window): [(rank, object, part, matching, total, share), ...]}."""
    total, meets = query.get("total", "rows"), CONDITIONS[query["part"]]
    limits = {name: query[name] for name in ("share", "at_least") if name in query}
    unit = query.get("unit", 1.0)
    rules = {"total": total, "unit": unit, **limits}
    pairs, latest, found = defaultdict(lambda: (TotalOracle(rules), TotalOracle(rules))), 0, {}
    for row in rows.to_pylist():
        if row["key"] is None:
            continue
        group = row["group"] if by else 0
        whole, some = pairs[group]
        latest = int((row["t"] - EPOCH).total_seconds())
        amount = {"rows": 1, "sum": round(row["amount"] * 10), "distinct": row["page"]}[total]
        entry = (len(whole.rows) if of_rows else latest, row["key"], amount)
        whole.rows.append(entry)
        if meets(row):
            some.rows.append(entry)
    windows = [int(window.split()[0]) for window in query["windows"]]
    for group, (whole, some) in pairs.items():
        times = [time for time, _, _ in whole.rows]
        last = len(times) if of_rows else latest // EVERY * EVERY + EVERY
        for at in range(0, last + 1, EVERY):
            if not any(at - max(windows) <= time < at for time in times):
                continue
            for window in windows:
                answer, totals = whole.answer(at - window, at), whole.totals(at - window, at)
                met = some.totals(at - window, at)
                ranked = sorted(answer.objects, key=lambda key: (-Fraction(met[key], totals[key]), key))
                found[group, at, window] = [
                    (rank, key, met[key] / totals[key], whole.worth(met[key]), whole.worth(totals[key]))
                    for rank, key in enumerate(ranked[: query.get("k")], 1)
                ]
    return {place: lines for place, lines in found.items() if lines}


def answered(table, by, of_rows):
    found, count = defaultdict(list), Counter()
    for row in table.to_pylist():
        window, group = int(row["window"].split()[0]), row["group"] if by else 0
        place = group, row["at"] if of_rows else int((row["at"] - EPOCH).total_seconds()), window
        assert row["low"] == row["high"] == row["part"]
        count[place] += 1
        found[place].append((row["rank"], row["object"], row["part"], row["matching"], row["total"]))
    return dict(found)


def follow(seed):
    rng = np.random.default_rng([43, seed])
    query = {"kind": "heavy-hitters", "time": "t", "object": "key", **list(KINDS.values())[seed % 3]}
    query |= LIMITS[int(rng.integers(len(LIMITS)))]
    query["part"] = list(CONDITIONS)[int(rng.integers(len(CONDITIONS)))]
    windows, by, rows = [(10,), (20, 5), (15, 25)][int(rng.integers(3))], bool(rng.integers(2)), stream(rng)
    query |= {"windows": [f"{window} seconds" for window in windows], "every": f"{EVERY} seconds"}
    query |= {"by": ["group"]} if by else {}
    wanted = expected(rows, query, by, of_rows=False)
    assert answered(local.apply(rows, query), by, of_rows=False) == wanted, (seed, query)
    cut = cut_run(rows, query, rng)[0]
    assert answered(cut, by, of_rows=False) == wanted, (seed, query, "in batches")
    return len(wanted)


def test_objects_rank_by_the_part_that_meets_a_condition():
    assert sum(follow(seed) for seed in range(24)) > 150


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:all .* rows were left out")
def test_objects_rank_by_the_part_that_meets_a_condition_on_ten_thousand_streams():
    assert sum(follow(seed) for seed in range(100, 10_100)) > 50_000


@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_contain_the_part(name):
    rng = np.random.default_rng(7)
    size = 8000 if name == "misra-gries" else 4000
    rows = stream(rng, size).set_column(1, "key", pa.array(rng.zipf(1.3, size) % 200))
    query = {"kind": "heavy-hitters", "time": "t", "object": "key", "windows": ["30 seconds"], "every": "10 seconds"}
    query |= {"part": "status >= 500", "at_least": 30}
    found = local.apply(rows, query, {"total-ranker": {"name": name, **BOUNDED[name]}})
    unsure = 0
    keys, seconds = rows["key"].to_numpy(), rows["t"].cast(pa.int64()).to_numpy() // 1_000_000
    met = rows["status"].fill_null(0).to_numpy() >= 500
    for row in found.to_pylist():
        at = int((row["at"] - EPOCH).total_seconds())
        inside = (keys == row["object"]) & (at - 30 <= seconds) & (seconds < at)
        true = (inside & met).sum() / inside.sum()
        assert row["low"] * (1 - 1e-9) <= true <= row["high"] * (1 + 1e-9), (name, row)
        assert 0 <= row["low"] <= row["part"] <= row["high"] <= 1
        unsure += row["low"] < row["high"]
    assert unsure


@pytest.mark.parametrize("name", BOUNDED)
def test_a_condition_that_no_row_meets_has_parts_of_0(name):
    """Even for objects of which it is unknown whether they have any row."""
    rng = np.random.default_rng([7, 41])
    rows = stream(rng, 8000).set_column(1, "key", pa.array(rng.zipf(1.1, 8000) % 500))
    query = {
        "kind": "heavy-hitters",
        "time": "t",
        "object": "key",
        "windows": ["20 seconds"],
        "every": "5 seconds",
        "part": "status >= 9999",
        "k": 800,
    }
    answers = local.apply(rows, query, {"total-ranker": {"name": name, **BOUNDED[name]}})
    assert len(answers)
    for column in ("part", "low", "high", "matching"):
        assert {*answers[column].to_pylist()} == {0.0}, column


@pytest.mark.parametrize(
    ("keys", "key", "said"),
    [
        ({"part": "status >> 500"}, "part", "is not a condition that all engines support: .*or make a boolean column"),
        ({"part": ""}, "part", 'must be a condition on the columns of a row, such as "status >= 500"'),
        ({"part": "state = 3"}, "part", "the source has no column 'state'"),
        ({"part": "status = 'bad'"}, "part", "'bad' is not a valid bigint; or make"),
        ({"part": "status"}, "part", "`status` is int32, not a condition: compare it with a value; or make"),
        ({"emit": "state"}, "part", "is not part of a state: drop this, or `emit`"),
        ({"rest": True}, "rest", "needs totals, but `part` ranks by a part of them: remove one of the two"),
        ({"total": "distinct", "value": "page", "windows": ["9 rows"], "every": "3 rows"}, "part", "with total = "),
    ],
)
def test_queries_without_parts_are_refused(keys, key, said):
    query = {"kind": "heavy-hitters", "time": "t", "object": "key", "k": 3, "windows": ["5 seconds"]}
    query |= {"every": "5 seconds", "part": "status >= 500", **keys}
    with pytest.raises(ConfigError, match=f"{key}: {said}"):
        local.LocalRun.start(query, stream(np.random.default_rng(0), 3).schema)


def test_windows_in_rows():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = stream(rng, 40)
        rows = rows.set_column(0, "t", pa.array(np.arange(40)))
        query = {"kind": "heavy-hitters", "time": "t", "object": "key", "windows": ["12 rows", "7 rows"]}
        query |= {"every": "5 rows", "part": "status >= 500", **[KINDS["rows"], KINDS["sum"]][seed % 2], "k": 3}
        numbered = rows.set_column(0, "t", pa.array(np.arange(40), pa.timestamp("us")))
        wanted = expected(numbered, query, by=False, of_rows=True)
        found = answered(local.apply(rows, query), by=False, of_rows=True)
        assert list(found.values()) == list(wanted.values())


@pytest.mark.parametrize("by", [[], ["group"]], ids=["alone", "small group"])
def test_a_value_meets_the_condition_by_its_latest_row_that_does(by):
    rows = pa.table(
        {
            "t": pa.array([0, 1, 2, 8, 9], pa.timestamp("s")),
            "key": [1] * 5,
            "page": [5, 6, 5, 6, 6],
            "failed": [False, True, True, True, False],
            "group": [0] * 5,
        }
    )
    query = {"kind": "heavy-hitters", "time": "t", "object": "key", "k": 1, "part": "failed", **KINDS["distinct"]}
    found = local.apply(rows, query | {"windows": ["7 seconds"], "every": "5 seconds", "by": by})
    assert found.select(["matching", "total"]).to_pylist() == [
        {"matching": 2.0, "total": 2.0},
        {"matching": 1.0, "total": 1.0},
    ]


@pytest.mark.parametrize("by", [[], ["group"]], ids=["alone", "small group"])
def test_the_first_row_of_a_window_meets_the_condition_however_rows_are_cut(by):
    """Batches forget rows just before the next window, or a value's row would be lost there."""
    query = {"kind": "heavy-hitters", "time": "t", "object": "key", "k": 1, "part": "failed", **KINDS["distinct"]}
    query |= {"windows": ["10 seconds"], "every": "5 seconds", "by": by}
    for begins in range(4, 12):
        seconds = [begins, begins + 1, 11, 14, 16]
        rows = pa.table(
            {
                "t": pa.array(seconds, pa.timestamp("s")),
                "key": [1] * 5,
                "page": [5, 5, 6, 6, 7],
                "failed": [True, *[False] * 4],
                "status": [0] * 5,
                "amount": [0.0] * 5,
                "group": [0] * 5,
            }
        )
        wanted = expected(rows, query, bool(by), of_rows=False)
        for cut in range(1, 5):
            run = local.LocalRun.start(query, rows.schema)
            batches = [part.to_batches()[0] for part in (rows.slice(0, cut), rows.slice(cut))]
            told = pa.Table.from_batches([*map(run.push, batches), run.finish()])
            assert answered(told, bool(by), of_rows=False) == wanted, (begins, cut)
