"""Values of any sign, the largest or the smallest first: top-k and top-k-workload against plain Python."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.errors import ConfigError, InputError
from skyband.groups.execution import execution_of
from skyband.queries import make_query

SECOND = 1_000_000
EVERY = 5
REDUCE = {"latest": lambda values: values[-1], "largest": max, "smallest": min, "mean": lambda v: sum(v) / len(v)}
AGGREGATE = {"sum": sum, "min": min, "max": max}


def returns(seed, rows=400):
    """Returns of shares, a quarter of them on either exchange, many alike, one report a moment."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.choice(600, rows, replace=False)) * 0.25
    return pa.table(
        {
            "ts": pa.array((seconds * SECOND).astype(np.int64), pa.timestamp("us")),
            "share": pa.array([f"share {number}" for number in rng.integers(0, 12, rows)]),
            "number": rng.integers(0, 12, rows),
            "exchange": pa.array(rng.choice(["north", "south"], rows)),
            "sector": pa.array(rng.choice(["steel", "salt"], rows)),
            "change": rng.choice([-2.0, -0.5, -0.25, 0.0, 0.25, 1.5], rows),
        }
    )


def ranked(scores, order, k):
    """The first k of (object, score), equal scores by object."""
    sign = 1 if order == "smallest" else -1
    return sorted(scores, key=lambda entry: (sign * entry[1], entry[0]))[:k]


def windows(table, by, length):
    """(group…, at) -> the rows of [at − length, at), in seconds, where there are any."""
    found = defaultdict(list)
    for row in table.to_pylist():
        second = row["ts"].timestamp() if row["ts"].tzinfo else (row["ts"] - EPOCH).total_seconds()
        first = second // EVERY * EVERY + EVERY
        for at in np.arange(first, second + length + EVERY, EVERY):
            if at - length <= second < at:
                found[(*(row[name] for name in by), int(at))].append(row)
    return found


EPOCH = pa.scalar(0, pa.timestamp("us")).as_py()


def answers(result, by):
    found = defaultdict(list)
    for row in result.to_pylist():
        key = (*(row[name] for name in by), int((row["at"] - EPOCH).total_seconds()))
        found[key].append((row["object"], row["score"]))
        assert row["rank"] == len(found[key])
    return dict(found)


def applied(table, asked, backends, shards):
    """The answers, those of shards merged, each of the objects whose number leaves its own remainder."""
    if shards == 1:
        return local.apply(table, asked, backends)
    runs = [local.LocalRun.start(asked, table.schema, backends) for _ in range(shards)]
    for shard, run in enumerate(runs):
        mine = pa.array(table["number"].to_numpy() % shards == shard)
        run.add(table.filter(mine).combine_chunks().to_batches()[0])
    latest = max(run._latest for run in runs)
    return execution_of(asked).merge(pa.Table.from_batches([run.operator.finish(latest) for run in runs]))


def query(**changes):
    keys = {"time": "ts", "object": "number", "stream": "exchange", "value": "change", "streams": ["north", "south"]}
    return make_query({"kind": "top-k", **keys, "k": 3, "window": "20 seconds", "every": "5 seconds", **changes})


@pytest.mark.parametrize("order", ["largest", "smallest"])
@pytest.mark.parametrize("repeats", REDUCE)
@pytest.mark.parametrize(
    ("aggregate", "by", "backend", "shards"),
    [("sum", [], "eaa", 1), ("min", ["sector"], "eaa", 1), ("max", [], "sla", 1), ("sum", [], "eaa", 4)],
)
def test_top_k_of_any_sign_from_either_end(order, repeats, aggregate, by, backend, shards):
    table = returns(len(repeats))
    result = applied(
        table, query(order=order, repeats=repeats, aggregate=aggregate, by=by), {"object-ranker": backend}, shards
    )
    expected = {}
    for key, rows in windows(table, by, 20).items():
        values = defaultdict(lambda: {"north": [], "south": []})
        for row in rows:
            values[row["number"]][row["exchange"]].append(row["change"])
        scores = {
            number: AGGREGATE[aggregate]([REDUCE[repeats](one) if one else 0.0 for one in both.values()])
            for number, both in values.items()
        }
        expected[key] = ranked(scores.items(), order, 3)
    last = max(key[-1] for key in answers(result, by))
    found = answers(result, by)
    assert {key: [name for name, _ in best] for key, best in found.items()} == {
        key: [name for name, _ in best] for key, best in expected.items() if key[-1] <= last
    }
    for key, best in found.items():
        assert [score for _, score in best] == pytest.approx([score for _, score in expected[key]])


@pytest.mark.parametrize("backend", ["paneband", "mintopk"])
@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("order", ["largest", "smallest"])
def test_a_workload_of_any_sign_from_either_end(order, backend, shards):
    table = returns(5)
    asked = make_query(
        {
            "kind": "top-k-workload",
            "time": "ts",
            "object": "number",
            "score": "change",
            "order": order,
            "queries": [{"name": "a", "window": "20 seconds", "slide": "5 seconds", "k": 3}],
        }
    )
    found = answers(applied(table, asked, {"workload-ranker": backend}, shards), [])
    expected = {
        key: ranked([(row["number"], row["change"]) for row in rows], order, 3)
        for key, rows in windows(table, [], 20).items()
    }
    assert found == {key: best for key, best in expected.items() if key[-1] <= max(found)[-1]}


def test_an_unknown_order_is_named_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"order: must be one of largest, smallest \(got 'lowest'\)"):
        query(order="lowest")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"repeats": "never"}, r"repeats: a promise ranks the largest first only: drop order = \"smallest\""),
        ({"aggregate": lambda values: values.sum()}, r"aggregate: a function ranks the largest first only"),
    ],
)
def test_what_needs_the_largest_first_says_so(changes, said):
    with pytest.raises(ConfigError, match=said):
        query(order="smallest", **changes)


@pytest.mark.parametrize(
    ("changes", "value", "said"),
    [
        ({"repeats": 2}, -1.0, r"change, row 0: must be at least 0 if repeats = 2 \(got -1.0\): choose repeats"),
        (
            {"aggregate": lambda values: values.sum()},
            -1.0,
            r"change, row 0: must be at least 0 if aggregate is a fun",
        ),
        ({"order": "smallest"}, float("-inf"), r"change, row 0: must be a finite number \(got -inf\)"),
        ({"upper": 10}, 11.0, r"change, row 0: must be at most 10, query\.upper \(got 11\.0\)"),
    ],
)
def test_values_that_cannot_be_taken_are_named(changes, value, said):
    table = returns(1).slice(0, 1)
    table = table.set_column(table.column_names.index("change"), "change", pa.array([value]))
    with pytest.raises(InputError, match=said):
        local.apply(table, query(**changes))
