"""`carry` in top-k and top-k-workload: the columns of the row behind each answer, against plain Python."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import RankedRows
from skyband.engines import local
from skyband.errors import ConfigError
from skyband.groups.small_groups import limits
from skyband.queries import make_query

SECOND = 1_000_000
EVERY, WINDOW = 5, 20


def orders(seed, rows=300):
    """Orders of customers by two shops, one a moment, amounts often alike, with a silence in the middle."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.choice(480, rows, replace=False)) * 0.25
    seconds = np.where(seconds > 60, seconds + 200, seconds)
    return pa.table(
        {
            "ts": pa.array((seconds * SECOND).astype(np.int64), pa.timestamp("us")),
            "customer": [f"customer {number}" for number in rng.integers(0, 9, rows)],
            "number": pa.array(rng.integers(0, 9, rows), pa.int32()),
            "shop": rng.choice(["north", "south"], rows).tolist(),
            "town": rng.choice(["Bern", "Basel"], rows).tolist(),
            "amount": rng.choice([-1.0, 2.0, 5.0, 8.0], rows),
            "order": np.arange(rows),
            "note": [None if number % 7 == 0 else f"note {number}" for number in range(rows)],
        }
    )


def moments_of(table, by):
    """(group…, at) -> the rows of [at − WINDOW, at), by time, each with its second."""
    micro = np.asarray(table["ts"].cast(pa.int64()))
    found = defaultdict(list)
    for time, row in zip((micro / SECOND).tolist(), table.to_pylist(), strict=True):
        at = int(time // EVERY * EVERY + EVERY)
        while at - WINDOW <= time:
            found[(*(row[name] for name in by), at)].append(row)
            at += EVERY
    return found


def answers(result, by, columns):
    at = (np.asarray(result["at"].cast(pa.int64())) // SECOND).tolist()
    found = defaultdict(list)
    for moment, row in zip(at, result.to_pylist(), strict=True):
        found[(*(row[name] for name in by), moment)].append(tuple(row[name] for name in columns))
    return dict(found)


def query(**changes):
    keys = {"time": "ts", "object": "customer", "stream": "shop", "value": "amount", "streams": ["north", "south"]}
    keys |= {"k": 3, "window": f"{WINDOW} seconds", "every": f"{EVERY} seconds", "carry": ["order", "note"]}
    return make_query({"kind": "top-k", **keys, **changes})


CHOSEN = {
    "latest": lambda rows: rows[-1],
    "mean": lambda rows: rows[-1],
    "largest": lambda rows: max(enumerate(rows), key=lambda entry: (entry[1]["amount"], entry[0]))[1],
    "smallest": lambda rows: min(enumerate(rows), key=lambda entry: (entry[1]["amount"], -entry[0]))[1],
}


@pytest.mark.parametrize("by", [[], ["town"]])
@pytest.mark.parametrize("repeats", CHOSEN)
def test_top_k_gives_the_columns_of_the_objects_row(repeats, by):
    table = orders(len(repeats))
    result = local.apply(table, query(repeats=repeats, by=by))
    plain = local.apply(table, query(repeats=repeats, by=by, carry=[]))
    assert result.drop_columns(["order", "note"]).equals(plain)
    assert result.schema.field("order").type == pa.int64()
    windows = moments_of(table, by)
    found = answers(result, by, ("object", "order", "note"))
    assert len(found) > 20
    for key, named in found.items():
        for customer, order, note in named:
            row = CHOSEN[repeats]([row for row in windows[key] if row["customer"] == customer])
            assert (order, note) == (row["order"], row["note"])


def workload(**changes):
    keys = {"time": "ts", "object": "number", "score": "amount", "carry": ["order", "note"]}
    asked = [{"name": "a", "window": f"{WINDOW} seconds", "slide": f"{EVERY} seconds", "k": 5}]
    return make_query({"kind": "top-k-workload", "queries": asked, **keys, **changes})


@pytest.mark.parametrize("order", ["largest", "smallest"])
@pytest.mark.parametrize("by", [[], ["town"]])
def test_a_workload_gives_the_columns_of_each_ranked_row(by, order):
    """Equal amounts by number; of rows of one number with one amount the latest first."""
    table = orders(5)
    found = answers(local.apply(table, workload(by=by, order=order)), by, ("object", "score", "order", "note"))
    sign = 1 if order == "smallest" else -1
    expected = {
        key: [
            (row["number"], row["amount"], row["order"], row["note"])
            for row in sorted(rows, key=lambda row: (sign * row["amount"], row["number"], -row["order"]))[:5]
        ]
        for key, rows in moments_of(table, by).items()
    }
    assert found == {key: rows for key, rows in expected.items() if key in found}
    assert len(found) > 20


ROWS = {
    "top-k": query(window="40 rows", every="10 rows", repeats="largest"),
    "top-k-workload": workload(queries=[{"name": "a", "window": "40 rows", "slide": "10 rows", "k": 4}]),
}


@pytest.mark.parametrize("kind", ROWS)
def test_windows_of_rows_carry_rows_of_the_window(kind):
    result = local.apply(orders(6), ROWS[kind])
    at, order = np.asarray(result["at"]), np.asarray(result["order"])
    assert ((order < at) & (order >= at - 40)).all()
    assert len(set(at.tolist())) == 30


@pytest.mark.parametrize(
    "asked",
    [query(repeats="largest", by=["town"]), query(), workload(by=["town"]), *ROWS.values()],
    ids=lambda asked: f"{asked.kind} {asked.by} {asked.rows}",
)
def test_batches_and_snapshots_cannot_be_seen(asked):
    table = orders(7).combine_chunks()
    run = local.LocalRun.start(asked, table.schema)
    pieces = []
    for start in range(0, len(table), 37):
        pieces.append(run.push(table.slice(start, 37).to_batches()[0]))
        again = local.LocalRun.start(asked, table.schema)
        again.restore(run.operator.snapshot())
        assert again.operator.snapshot() == run.operator.snapshot()
        run = again
    pieces.append(run.finish())
    whole = local.apply(table, asked)
    assert sorted(map(repr, pa.Table.from_batches(pieces).to_pylist())) == sorted(map(repr, whole.to_pylist()))


@pytest.mark.parametrize("asked", [workload(by=["town"]), query(by=["town"])], ids=lambda asked: asked.kind)
def test_a_group_may_grow_within_rows_that_are_alike_but_for_what_they_carry(asked, monkeypatch):
    table = orders(8, rows=60)
    ts = table["ts"].cast(pa.int64()).to_numpy() // (4 * SECOND) * 4 * SECOND  # some twenty rows a time
    table = table.set_column(0, "ts", pa.array(ts, pa.timestamp("us")))
    for name, value in (("customer", "a"), ("number", pa.scalar(1, pa.int32())), ("amount", 2.0)):
        table = table.set_column(table.column_names.index(name), name, pa.repeat(value, len(table)))
    found = []
    for most in (0, *range(1, 14)):
        monkeypatch.setattr(limits, "MOST_ENTRIES", most)
        found.append(sorted(map(repr, local.apply(table, asked).to_pylist())))
    assert len(found[0]) > 20
    assert [number for number, some in enumerate(found) if some != found[0]] == []


def rows_one_by_one(asked, table):
    run = local.LocalRun.start(asked, table.schema)
    pieces = [run.push(batch) for batch in table.to_batches(max_chunksize=1)]
    return sorted(map(repr, pa.Table.from_batches([*pieces, run.finish()]).to_pylist()))


TOTALS = {"kind": "heavy-hitters", "time": "ts", "object": "order", "k": 50, "carry": ["note"]}


@pytest.mark.parametrize(
    "asked",
    [
        query(window="7 rows", every="3 rows", object="order", carry=["note"], by=["town"], k=50),
        workload(
            queries=[{"name": "a", "window": "7 rows", "slide": "3 rows", "k": 50}],
            object="order",
            by=["town"],
            carry=["note"],
        ),
        make_query(TOTALS | {"windows": ["7 rows", "2 rows"], "every": "3 rows", "by": ["town"]}),
    ],
    ids=lambda asked: asked.kind,
)
def test_the_first_row_of_a_window_of_rows_is_carried_too(asked):
    """Each row is of an object of its own."""
    table = orders(9, rows=60).combine_chunks()
    assert rows_one_by_one(asked, table) == sorted(map(repr, local.apply(table, asked).to_pylist()))


def test_the_order_of_arrival_cannot_be_seen_in_what_is_carried():
    """Rows alike in all but what they carry, at one moment."""
    table = pa.table(
        {
            "ts": pa.array([1] * 6, pa.timestamp("s")),
            "customer": ["a"] * 6,
            "number": [1] * 6,
            "shop": ["north"] * 6,
            "amount": [2.0] * 6,
            "order": [4, 1, 3, 0, 5, 2],
            "note": ["n"] * 6,
        }
    )
    for asked in (query(), workload()):
        turned = local.apply(table.take(pa.array([5, 4, 3, 2, 1, 0])), asked)
        assert turned.equals(local.apply(table, asked))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"carry": ["score"]}, r"carry: 'score' is also the name of another column of the answers: rename it"),
        ({"carry": ["order", "order"]}, r"carry: names a column twice"),
        ({"carry": 3}, r"carry: must be a column name or a list of them \(got 3\)"),
    ],
)
def test_what_cannot_be_carried_is_named(changes, said):
    for made in (query, workload):
        with pytest.raises(ConfigError, match=said):
            made(**changes)


def test_a_column_that_is_not_there_is_named_with_the_closest():
    with pytest.raises(ConfigError, match=r"query\.carry: the source has no column 'notes'; did you mean 'note'"):
        local.apply(orders(1), query(carry="notes"))


@pytest.mark.parametrize(("which", "kept"), [("latest", 1), ("largest", 4), ("smallest", 4), ("each", 300)])
def test_rows_that_a_later_one_reaches_are_not_kept(which, kept):
    """Of an object the latest alone stands for it; of the largest values those above all later ones, one of each."""
    rows = RankedRows([pa.field("note", pa.string())], which)
    random = np.random.default_rng(3)
    for moment in range(30):
        values = random.integers(0, 4, 10) + 0.0
        columns = {"object": np.zeros(10, np.int64), "carry.0": pa.array([f"{moment}"] * 10)}
        rows.update(np.full(10, moment), Rows(np.empty(0, np.int64), columns), values)
        rows.forget(0)
    frame = rows.frame()
    assert len(frame) <= kept
    values = frame["value"].to_numpy()
    if which in ("largest", "smallest"):
        assert (np.diff(values) * (-1 if which == "largest" else 1) > 0).all()


@pytest.mark.parametrize("which", ["latest", "largest", "smallest", "each"])
def test_a_copy_takes_in_and_forgets_rows_for_itself(which):
    """Whether or not those before it were looked through."""
    for looks in (False, True):
        taken = {name: RankedRows([pa.field("note", pa.string())], which) for name in ("one", "copy", "own", "others")}

        def take(name, times, taken=taken):
            values = np.random.default_rng(int(times[0])).integers(0, 4, len(times)) + 0.0
            columns = {"object": times % 3, "carry.0": pa.array([f"{name[0]} {time}" for time in times.tolist()])}
            taken[name].update(times, Rows(np.empty(0, np.int64), columns), values)

        for name in ("one", "own", "others"):
            for start in (0, 10):
                take(name, np.arange(start, start + 10))
        if looks:
            taken["one"].frame()
        taken["copy"] = taken["one"].copy()
        for name, start in (("one", 20), ("own", 20), ("copy", 30), ("others", 30)):
            take(name, np.arange(start, start + 10))
        for name in ("copy", "others"):
            taken[name].forget(5)
        for mine, expected in (("one", "own"), ("copy", "others")):
            columns = ["time", "id", "value"]
            assert taken[mine].frame().select(columns).equals(taken[expected].frame().select(columns))
