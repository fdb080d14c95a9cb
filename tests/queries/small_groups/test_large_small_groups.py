"""Small groups of hundreds and thousands of entries, many rows of which come between two answers: as by processors."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.groups.small_groups import limits
from skyband.roles.object_ranker import REDUCTIONS
from skyband_incomplete.top_k import execution as top_k_execution
from skyband_workload.top_k_workload import execution as workload_execution
from small_group_queries import CALENDAR, ONCE, SECOND, TOPS, WORKLOADS, at_most, query, run, spread, top_k, workload

ROWS, MOST = 2600, limits.MOST_ENTRIES
MANY_K = [
    [("10 seconds", "5 seconds", 200, "0 seconds"), ("24 seconds", "11 seconds", 90, "4 seconds")],
    [("30 seconds", "20 seconds", 400, "3 seconds")],
]
SPECS = {
    **{f"top-k {' '.join(map(str, entry))}": top_k(*entry) for entry in TOPS},
    **{
        f"top-k {repeats} over all rows": top_k(repeats, "sum", "40 seconds") | {"every": "40 seconds", "k": 70}
        for repeats in ("latest", "largest", "smallest", "mean", "never", 3)
    },
    **{
        f"top-k {repeats} each second": top_k(repeats, aggregate, "12 seconds") | {"every": "1 second", "k": k}
        for repeats, aggregate, k in [
            ("latest", "sum", 2),
            ("largest", [1.0, 0.0, 0.3], 9),
            ("smallest", "max", 3),
            ("mean", "sum", 3),
            ("never", "min", 4),
            (2, "mean", 5),
        ]
    },
    "names and a column more": top_k("largest", "max", "15 seconds") | {"carry": ["side"], "order": "smallest", "k": 9},
    "several columns": top_k("latest", "sum", "20 seconds") | {"object": ["object", "side"], "k": 20},
    "fading": top_k("largest", "sum", "20 seconds") | {"half_life": "3 seconds", "k": 20},
    "fading means": top_k("mean", "min", "20 seconds") | {"half_life": "1 second"},
    "a function": top_k("latest", spread, "20 seconds"),
    "of a day": CALENDAR[0] | {"k": 30},
    "top-k in rows": top_k("largest", "sum", "900 rows") | {"every": "150 rows", "k": 12},
    "top-k in rows promised": top_k(2, "sum", "900 rows") | {"every": "150 rows"},
    "top-k in rows once": top_k("never", "max", "700 rows") | {"every": "90 rows"},
    **{f"workload {number}": workload(queries) for number, queries in enumerate([*WORKLOADS, *MANY_K])},
    "workload, smallest": workload(MANY_K[0]) | {"order": "smallest", "carry": ["side"]},
    "workload once": workload(MANY_K[1]) | {"repeats": "best"},
    "workload once, few": ONCE[0],
    "workload in rows": workload([("900 rows", "150 rows", 200, "0 rows"), ("70 rows", "40 rows", 50, "4 rows")]),
}


BELOW = {3: 0.3, 150: 0.0, 400: 0.1, 5000: 0.0}
"""By the number of objects: of the values, where they may be so, how many are below 0."""


def stream(seed, objects, below, named=str):
    """Three groups, of which one has most of the rows, some at once; ties in time and score, rows that are alike."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 48 * SECOND, ROWS) // (SECOND // 20) * (SECOND // 20))
    burst = rng.integers(0, 48 * SECOND)
    times = np.sort(np.where(rng.random(ROWS) < 0.3, burst + rng.integers(0, SECOND // 2, ROWS), times))
    scores = rng.integers(0, 13, ROWS) / 4
    if seed % 3:
        scores = np.sort(scores)[:: 1 if seed % 3 == 1 else -1]
    scores = np.where(rng.random(ROWS) < below, -scores, scores)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "group": rng.choice(3, ROWS, p=[0.8, 0.15, 0.05]),
            "object": [named(one) for one in rng.integers(-objects, objects, ROWS)],
            "stream": [["a", "b", "c"][i] for i in rng.integers(0, 3, ROWS)],
            "score": scores,
            "side": [["left", "right"][i] for i in rng.integers(0, 2, ROWS)],
        }
    )


def most_of_all(most, monkeypatch):
    """Every kind of query has its groups answered together up to so many entries."""
    at_most(most, monkeypatch)
    for execution in (top_k_execution, workload_execution):
        monkeypatch.setattr(execution, "MOST_WHERE_DEAR", most)


@pytest.mark.parametrize("objects", BELOW)
@pytest.mark.parametrize("name", SPECS)
def test_many_rows_between_answers_are_as_few_and_as_by_processors(name, objects, monkeypatch):
    """Answers, rows dropped and bytes of state, with limits that a group is above, about at and below."""
    seed = [*SPECS].index(name) + objects
    data = not callable(SPECS[name].get("aggregate"))  # snapshots hold no code
    asks_no_promise = SPECS[name].get("repeats", "best") in ("best", *REDUCTIONS)
    below = BELOW[objects] if data and asks_no_promise else 0.0
    table, rng = stream(seed, objects, below, str if seed % 2 else int), np.random.default_rng(seed)
    asked = query(SPECS[name], by=["group"], delay="1 second")
    few, some = (np.sort(rng.integers(0, ROWS, pieces)).tolist() for pieces in (2, 20))
    cuts_by_limit = {int(rng.integers(20, 200)): some, int(rng.integers(200, 1200)): [*range(0, ROWS, 30)], MOST: some}
    most_of_all(0, monkeypatch)
    rows, _, dropped = run(asked, table, few)
    for most, cuts in cuts_by_limit.items():
        most_of_all(most, monkeypatch)
        whole, pieces = run(asked, table, few), run(asked, table, cuts, snapshots=data and most == MOST)
        assert whole[0] == pieces[0] == rows
        assert whole[2] == pieces[2] == dropped
        np.testing.assert_equal(whole[1], pieces[1])
    assert len(whole[1]["processors.key"]) == 0


@pytest.mark.parametrize(
    ("spec", "most"),
    [
        (top_k("latest", "sum", "1 hour"), 2048),
        (top_k("largest", "max", "1 hour"), 2048),
        (top_k("mean", "sum", "1 hour") | {"half_life": "1 minute"}, MOST),
        *((top_k(repeats, "sum", "1 hour"), 512) for repeats in ("mean", "smallest", "never", 2)),
        (top_k("latest", "sum", "1 hour") | {"order": "smallest"}, 512),
        (top_k("latest", spread, "1 hour"), 512),
        (top_k("latest", "sum", "99 rows") | {"every": "1 row"}, 512),
        (workload(MANY_K[0]), 4096),
        (workload(MANY_K[0]) | {"repeats": "best"}, 512),
        (workload([("99 rows", "1 row", 9, "0 rows")]), 4096),
        (workload(MANY_K[0]) | {"longest": "1 hour", "most": 400}, 512),
    ],
)
def test_how_large_a_small_group_may_be(spec, most):
    """Where a walk through thousands of entries may cost more than processors do, as few as hundreds."""
    backends = {"workload-ranker": "paneband"} if "longest" in spec else {}
    host = local.LocalRun.start(query(spec, by=["group"]), stream(1, 3, 0.0).schema, backends)
    assert host.operator._groups._small_groups._table.most == most


def test_a_ranker_that_is_exact_up_to_some_reports_only_ranks_no_larger_groups_together():
    """`approx` is exact up to what it says, and where a report takes the place of another all along."""
    for repeats, most in (("never", 300), ("latest", 2048)):
        ranker = {"object-ranker": {"name": "approx", "exact_reports": 300}}
        host = local.LocalRun.start(
            query(top_k(repeats, "sum", "1 hour"), by=["group"]), stream(1, 3, 0.0).schema, ranker
        )
        assert host.operator._groups._small_groups._table.most == most


RISING = {
    "below 0 before the first answer": ("latest", [(3, 999, "b", -3.0), (7, 999, "a", 3.0)]),
    "below 0 later": ("latest", [(5, 999, "b", -3.0), (7, 999, "a", 3.0), (8, 0, "a", 2.0), (8, 1, "a", 2.0)]),
    "a mean": ("mean", [(3, 999, "a", 0.0), (7, 999, "a", 3.0)]),
    "a smallest value": ("smallest", [(3, 999, "a", 0.0), (7, 999, "a", 3.0)]),
}


@pytest.mark.parametrize("name", RISING)
def test_an_object_rises_without_a_row_of_its_own(name, monkeypatch):
    """However far it was from the best of hundreds, as what held it down expires."""
    repeats, own = RISING[name]
    rows = sorted([(4, other, "a", 2.0) for other in range(400)] + own + [(40, 0, "a", 2.0)], key=lambda row: row[0])
    seconds, objects, streams, scores = zip(*rows, strict=True)
    times = pa.array(np.array(seconds) * SECOND, pa.timestamp("us", "UTC"))
    table = pa.table({"ts": times, "group": [1] * len(rows), "object": objects, "stream": streams, "score": scores})
    asked = query(top_k(repeats, "sum", "12 seconds") | {"every": "1 second"}, by=["group"])
    most_of_all(MOST, monkeypatch)
    answers = run(asked, table, [])[0]
    assert any("'object': 999, 'score': 3.0" in answer for answer in answers)
    most_of_all(0, monkeypatch)
    assert answers == run(asked, table, [])[0]
