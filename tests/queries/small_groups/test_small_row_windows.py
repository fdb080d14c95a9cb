"""Small groups with windows of rows: as processors answer, with every exact backend, and when queries join."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.small_groups import limits
from skyband.operator.operator import Operator
from skyband.queries import make_query
from skyband_distinct.distinct_count import execution as distinct_count_execution

SECOND = 1_000_000
BACKENDS = {
    "object-ranker": ["eaa", "sla"],
    "workload-ranker": ["paneband", "mintopk", "mtopband", "mtoplist"],
    "pair-ranker": ["swoop", "scase", "base"],
    "total-ranker": ["exact"],
}
TOP_K = {
    "kind": "top-k",
    "object": "object",
    "stream": "stream",
    "value": "score",
    "streams": ["a", "b"],
    "k": 2,
    "window": "12 rows",
    "every": "3 rows",
}
PAIRS = {"kind": "top-k-pairs", "id": "object", "tokens": "words", "k": 2, "window": "9 rows", "every": "2 rows"}


def workload(*queries):
    names = ("name", "window", "slide", "k", "phase")
    named = [dict(zip(names, entry, strict=True)) for entry in queries]
    return {"kind": "top-k-workload", "object": "object", "score": "score", "queries": named}


LONG, SHORT = ("long", "20 rows", "7 rows", 2, "3 rows"), ("short", "5 rows", "1 row", 1, "0 rows")
DEEP, SPARSE = ("deep", "30 rows", "5 rows", 6, "0 rows"), ("sparse", "2 rows", "9 rows", 1, "0 rows")
HEAVY = {"kind": "heavy-hitters", "object": "object", "windows": ["12 rows", "30 rows"], "every": "3 rows", "k": 2}
QUERIES = {
    "object-ranker": TOP_K,
    "workload-ranker": workload(LONG, SHORT),
    "pair-ranker": PAIRS,
    "total-ranker": HEAVY,
}
BEST = [
    workload(*queries) | {"repeats": "best", "order": order}
    for queries, order in [((LONG, SHORT), "largest"), ((DEEP, SPARSE), "largest"), ((LONG, DEEP), "smallest")]
]
STATIC = [
    ("object-ranker", TOP_K | {"repeats": "largest"}),
    ("object-ranker", TOP_K | {"repeats": "smallest", "aggregate": "min"}),
    ("object-ranker", TOP_K | {"repeats": "mean"}),
    ("total-ranker", HEAVY | {"total": "distinct", "value": "stream", "offset": "1 row"}),
    ("total-ranker", HEAVY | {"total": "sum", "weight": "score", "unit": 0.5, "share": 0.1}),
    ("total-ranker", HEAVY | {"windows": ["8 rows", "20 rows"], "every": "4 rows", "offset": "3 rows", "share": 0.2}),
    *(
        ("object-ranker", TOP_K | {"repeats": repeats, "upper": 9.0, "window": window})
        for repeats, window in [("never", "12 rows"), ("never", "5 rows"), ("per-window", "20 rows"), (2, "12 rows")]
    ),
]


def stream(seed, rows=400):
    rng = np.random.default_rng(seed)
    words = [[f"w{i}" for i in rng.integers(0, 6, length)] for length in rng.integers(0, 5, rows)]
    return pa.table(
        {
            "ts": pa.array(np.sort(rng.integers(0, 90, rows)) * SECOND, pa.timestamp("us", "UTC")),
            "group": np.minimum(rng.zipf(1.4, rows), 7),
            "object": [f"object {i}" for i in rng.integers(0, 12, rows)],
            "stream": np.array(["a", "b"])[rng.integers(0, 2, rows)],
            "score": rng.integers(0, 9, rows) / 2,
            "words": words,
        }
    )


def query(spec):
    return make_query({"time": "ts", "by": ["group"], **spec})


def run(asked, table, cuts, backends=None):
    """All answers, and of each pass over a snapshot the number of small groups; asked: a query, or one for each cut."""
    host, answers, small = None, [], []
    specs = asked if isinstance(asked, list) else [asked] * (len(cuts) + 1)
    for spec, start, stop in zip(specs, [0, *cuts], [*cuts, len(table)], strict=True):
        begun = local.LocalRun.start(query(spec), table.schema, backends)
        if host is not None:
            begun.operator.restore(host.operator.snapshot())
        host = begun
        answers += map(host.push, table.slice(start, stop - start).combine_chunks().to_batches())
        small.append(len(host.operator.groups.dump_state().get("small_groups.group", ())))
    answers.append(host.finish())
    rows = [row for part in answers for row in part.to_pylist()]
    return sorted(rows, key=str), small


@pytest.mark.parametrize("most", [3, 512])
@pytest.mark.parametrize(
    ("role", "spec", "backend"),
    [(role, QUERIES[role], backend) for role, backends in BACKENDS.items() for backend in backends]
    + [(role, spec, backend) for role, spec in STATIC for backend in BACKENDS[role]]
    + [("workload-ranker", spec, "paneband") for spec in BEST],
)
def test_a_group_that_has_grown_goes_on_in_any_exact_backend(role, spec, backend, most, monkeypatch):
    table, cuts = stream(most), [90, 91, 200, 330]
    monkeypatch.setattr(limits, "MOST_ENTRIES", most)
    given, small = run(spec, table, cuts, {role: backend})
    assert (small[-1] == 7) == (most == 512)
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    assert (given, [0] * 5) == run(spec, table, cuts, {role: backend})


@pytest.mark.parametrize("most", [3, 512])
@pytest.mark.parametrize("every", [1, 4, 12])
def test_distinct_keys_of_the_last_rows_are_those_of_a_set(most, every, monkeypatch):
    monkeypatch.setattr(distinct_count_execution, "_FEWEST_KEYS", 1)
    monkeypatch.setattr(distinct_count_execution, "_MOST_KEYS", most)
    table, windows = stream(2), [3, 10]
    times = pa.array(np.arange(len(table)) * SECOND, pa.timestamp("us", "UTC"))
    table = table.set_column(0, "ts", times)
    spec = {"kind": "distinct-count", "item": "object", "windows": [f"{window} rows" for window in windows]}
    given, small = run(spec | {"every": f"{every} rows"}, table, [50, 220], {"sketch": "exact"})
    assert (small[-1] == 7) == (most == 512)
    seen, expected = {}, []
    for row in table.to_pylist():
        objects = seen.setdefault(row["group"], [])
        objects.append(row["object"])
        if len(objects) % every == 0:
            counts = [(f"{window} rows", float(len({*objects[-window:]}))) for window in windows]
            expected += [(row["group"], len(objects), *counted) for counted in counts]
    assert sorted((row["group"], row["at"], row["window"], row["count"]) for row in given) == sorted(expected)


def seconds(part):
    return part if isinstance(part, int) else f"{part.split()[0]} seconds"


@pytest.mark.parametrize("unit", ["rows", "seconds"])
@pytest.mark.parametrize("most", [4, 512])
def test_queries_that_join_answer_over_rows_from_then_on(most, unit, monkeypatch):
    table, cuts = stream(5), [120, 150, 151, 300]
    queries = [[LONG], [SHORT, LONG], [DEEP, SHORT], [DEEP, SHORT], [LONG, DEEP, SPARSE]]
    if unit == "seconds":
        queries = [[(name, *(seconds(part) for part in parts)) for name, *parts in asked] for asked in queries]
    specs = [workload(*asked) for asked in queries]
    monkeypatch.setattr(limits, "MOST_ENTRIES", most)
    given, small = run(specs, table, cuts)
    assert (small[-1] == 7) == (most == 512) or unit == "seconds"
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    assert given == run(specs, table, cuts)[0]
    assert {row["query"] for row in given} == {"long", "short", "deep", "sparse"}


@pytest.mark.parametrize("most", [3, 512])
@pytest.mark.parametrize("repeats", ["never", "per-window", 2])
def test_rows_that_break_a_promise_are_counted(repeats, most, monkeypatch):
    table, counted = stream(4), []
    for entries in (most, 0):
        monkeypatch.setattr(limits, "MOST_ENTRIES", entries)
        host = local.LocalRun.start(query(TOP_K | {"repeats": repeats, "upper": 9.0}), table.schema)
        for batch in table.to_batches(max_chunksize=70):
            host.push(batch)
        host.finish()
        counted.append(host.operator.take_metrics().dropped["repeated report"])
    assert counted[0] == counted[1] > 20


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("seen", lambda values: values - 5, "entries.time: must be below"),
        ("seen", lambda values: values[:-1], "seen: must"),
        ("seen", lambda values: -values, "seen: must"),
        ("queries", lambda values: values.astype(np.int64), "queries: must"),
        ("entries.score", lambda values: values[::-1], "score: a group's rows must be by rank"),
        ("count", lambda values: values - 1, "count: must"),
        ("since.0", lambda values: -1 - values, "since.0: must"),
    ],
)
def test_a_state_that_cannot_be_is_refused(name, change, said):
    table, spec = stream(7), workload(LONG)
    host = local.LocalRun.start(query(spec), table.schema)
    host.push(table.to_batches()[0])
    later = local.LocalRun.start(query(workload(DEEP)), table.schema)
    later.operator.restore(host.operator.snapshot())
    state = state_arrays.without_prefix("small_groups", later.operator.groups.dump_state())
    fresh = Operator(later.operator.query, later.operator.bindings, table.schema)._groups._small_groups
    with pytest.raises(SnapshotError, match=said):
        fresh.load_state(state | {name: change(state[name])})
    fresh.load_state(state)
    np.testing.assert_equal(fresh.dump_state(), state)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("group", lambda values: values + np.uint64(1), "group: must be groups of this state"),
        ("entries.time", lambda values: values[::-1], "time: must be in order within a group"),
        ("entries.time", lambda values: values + 400, "time: must be below the group's number of rows"),
        ("entries.time", lambda values: values[1:], "as long as the other columns"),
        ("count", lambda values: values - 1, "count: must"),
    ],
)
def test_rows_to_carry_that_cannot_be_are_refused(name, change, said):
    table = stream(7)
    host = local.LocalRun.start(query(TOP_K | {"carry": ["words"]}), table.schema)
    host.push(table.to_batches()[0])
    state = state_arrays.without_prefix("small_groups", host.operator.groups.dump_state())
    fresh = Operator(host.operator.query, host.operator.bindings, table.schema)._groups._small_groups
    with pytest.raises(SnapshotError, match=said):
        fresh.load_state(state | {f"carried.{name}": change(state[f"carried.{name}"])})
    fresh.load_state(state)
    np.testing.assert_equal(fresh.dump_state(), state)


def test_rows_that_wait_for_a_turn_of_their_group_are_not_looked_at(monkeypatch):
    table, looked = stream(3), []
    host = local.LocalRun.start(query(TOP_K | {"carry": ["words"]}), table.schema)
    host.push(table.to_batches()[0])
    rows = host.operator._groups._small_groups._table.rows_behind
    monkeypatch.setattr(rows, "hold", lambda held: (looked.append(len(held)), type(rows).hold(rows, held)))
    one = table.filter(pa.compute.equal(table["group"], 5)).slice(0, 1).combine_chunks()
    own = len(table.filter(pa.compute.equal(table["group"], 5)))
    late = one.set_column(0, "ts", pa.array([100 * SECOND], table["ts"].type))
    found = [host.push(late.to_batches()[0]), host.finish()]
    turns = [rows for rows in looked if rows]
    assert max(turns) < 30
    assert 0 < turns[-1] <= own
    monkeypatch.setattr(limits, "MOST_ENTRIES", 0)
    alone = local.LocalRun.start(query(TOP_K | {"carry": ["words"]}), table.schema)
    alone.push(table.to_batches()[0])
    wanted = [alone.push(late.to_batches()[0]), alone.finish()]
    rows, same = (sorted(map(str, pa.Table.from_batches(each).to_pylist())) for each in (found, wanted))
    assert rows == same
    assert len(rows) == 4, "where a group had not answered since its last rows"
