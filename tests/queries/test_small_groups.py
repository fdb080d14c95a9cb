"""Small groups of rankers, answered by one call: row for row as by a processor each, however the input is cut."""

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.errors import SnapshotError
from skyband.groups import small_groups, state_arrays
from skyband.operator.operator import Operator
from skyband.queries import make_query
from skyband_distinct.distinct_count import execution as distinct_count_execution
from skyband_setjoin import small_sets

SECOND = 1_000_000
WORKLOADS = [
    [("10 seconds", "5 seconds", 2, "0 seconds"), ("24 seconds", "11 seconds", 1, "4 seconds")],
    [("3 seconds", "7 seconds", 3, "2 seconds")],  # most rows are in no window
    [("20 seconds", "1 second", 4, "0 seconds"), ("1 second", "1 second", 1, "0 seconds")],
]
TOPS = [
    ("latest", "sum", "20 seconds"),
    ("largest", "min", "20 seconds"),
    ("smallest", [1.0, 0.5, 0.3], "7 seconds"),
    ("mean", "mean", "20 seconds"),
    ("never", "max", "9 seconds"),
    ("per-window", "sum", "20 seconds"),
    (2, "sum", "13 seconds"),
]


def workload(queries):
    names = ("window", "slide", "k", "phase")
    named = [{"name": f"q{i}", **dict(zip(names, entry, strict=True))} for i, entry in enumerate(queries)]
    return {"kind": "top-k-workload", "object": "object", "score": "score", "queries": named}


def top_k(repeats, aggregate, window):
    spec = {"object": "object", "stream": "stream", "value": "score", "streams": ["a", "b", "c"], "k": 2}
    rule = {"repeats": repeats, "aggregate": aggregate, "upper": 3.0}
    return {"kind": "top-k", **spec, **rule, "window": window, "every": "4 seconds"}


def heavy(total, windows, **more):
    column = {"rows": {}, "sum": {"weight": "score", "unit": 0.5}, "distinct": {"value": "stream"}}[total]
    spec = {"object": "object", "total": total, **column, "windows": windows, "every": "4 seconds", **more}
    return {"kind": "heavy-hitters", **spec}


def pairs(similarity, k, window, **more):
    spec = {"id": "object", "tokens": "words", "similarity": similarity, "k": k, "window": window}
    return {"kind": "top-k-pairs", **spec, "every": "4 seconds", **more}


BY_2_ROWS = {"every": "2 rows"}
PAIRS = [
    pairs("jaccard", 3, "20 seconds"),
    pairs("overlap", 2, "7 seconds", side="side", offset="1 second"),
    pairs("hamming", 100, "12 seconds"),
    pairs("cosine", 4, "9 seconds", every="13 seconds"),
]


def near(similarity, threshold, window, **more):
    spec = {"id": "object", "tokens": "words", "similarity": similarity, "threshold": threshold, "window": window}
    return {"kind": "near-duplicates", **spec, **more}


NEAR = [
    near("jaccard", 0.5, "20 seconds"),
    near("containment", 0.6, "7 seconds", side="side", output="rows"),
    near("hamming", -2, "12 seconds", matches=2),
    near("overlap", 2, "9 seconds", keep="first", output="kept"),
    near("cosine", 0.6, "20 seconds", keep="first", matches=1, output="rows"),
    near("dice", 0.5, "250 milliseconds"),
]
HEAVY = [
    heavy("rows", ["20 seconds"], k=2),
    heavy("rows", ["3 seconds", "10 seconds"], share=0.3, offset="1 second"),
    heavy("sum", ["20 seconds", "4 seconds"], k=3, share=0.1),
    heavy("sum", ["7 seconds"], k=1, offset="3 seconds"),
    heavy("distinct", ["12 seconds", "20 seconds"], k=3),
    heavy("distinct", ["9 seconds"], share=0.2),
]
ONCE = [
    *(workload(queries) | {"repeats": "best"} for queries in WORKLOADS),
    workload(WORKLOADS[2]) | {"repeats": "best", "carry": ["side", "words"]},
    workload(WORKLOADS[0]) | {"repeats": "best", "object": ["object", "side"], "carry": ["words"], "order": "smallest"},
]
BY_ROWS = [
    workload([("10 rows", "5 rows", 2, "0 rows"), ("24 rows", "11 rows", 1, "4 rows")]),
    workload([("3 rows", "7 rows", 3, "2 rows")]),  # most rows are in no window
    workload([("20 rows", "1 row", 4, "0 rows"), ("1 row", "1 row", 1, "0 rows")]),
    *(
        top_k(repeats, "sum", "9 rows") | {"every": every}
        for repeats, every in (("latest", "1 row"), ("mean", "4 rows"))
    ),
    *(top_k(repeats, "max", "15 rows") | {"every": "2 rows", "offset": "1 row"} for repeats in ("largest", "smallest")),
    top_k("latest", "sum", "3 rows") | {"every": "10 rows"},
    top_k("never", "sum", "12 rows") | {"every": "1 row"},
    top_k(2, "mean", "20 rows") | {"every": "3 rows"},
    workload([("10 rows", "5 rows", 2, "0 rows"), ("24 rows", "11 rows", 1, "4 rows")]) | {"repeats": "best"},
    workload([("20 rows", "1 row", 4, "0 rows"), ("3 rows", "7 rows", 3, "2 rows")]) | {"repeats": "best"},
    heavy("rows", ["12 rows", "5 rows"], k=2) | {"every": "1 row"},
    heavy("rows", ["20 rows"], k=3, share=0.1) | {"every": "4 rows", "offset": "1 row"},
    heavy("sum", ["20 rows", "4 rows"], k=3, share=0.1) | {"every": "4 rows", "offset": "1 row"},
    heavy("sum", ["7 rows"], k=2) | {"every": "1 row"},
    heavy("distinct", ["9 rows", "30 rows"], k=3) | {"every": "3 rows"},
    heavy("rows", ["6 rows"], share=0.3) | {"every": "10 rows"},
    pairs("jaccard", 3, "8 rows", every="1 row"),
    pairs("overlap", 2, "7 rows", every="3 rows", side="side", offset="1 row"),
    near("jaccard", 0.5, "9 rows"),
    near("containment", 0.6, "30 rows", side="side", output="rows"),
    near("hamming", -2, "14 rows", matches=2),
    near("overlap", 2, "20 rows", keep="first", output="kept"),
    near("cosine", 0.6, "60 rows", keep="first", matches=1, output="rows"),
    near("dice", 0.5, "1 row"),
]
SMALLEST = [
    spec | {"order": "smallest"}
    for spec in (
        workload(WORKLOADS[0]),
        top_k(*TOPS[0]),
        top_k("smallest", "max", "15 seconds"),
        BY_ROWS[0],
        BY_ROWS[3],
    )
]
CARRYING = [
    *(spec | {"carry": ["side", "stream", "words"]} for spec in (workload(WORKLOADS[0]), workload(WORKLOADS[2]))),
    workload(WORKLOADS[0]) | {"object": ["object", "side"], "order": "smallest"},
    *(top_k(*entry) | {"carry": ["side", "words"]} for entry in TOPS[:5]),
    HEAVY[0] | {"object": ["object", "side"], "carry": ["words"]},
    *(PAIRS[number] | {"carry": ["stream", "words"]} for number in (0, 1)),
    PAIRS[0] | {"id": ["object", "stream"], "carry": ["score"]},
    BY_ROWS[19] | {"id": ["object", "stream"], "carry": ["words"]},
    NEAR[0] | {"carry": ["stream"], "carry_match": ["words", "stream"]},
    NEAR[1] | {"id": ["object", "stream"], "carry": ["words"], "carry_match": ["score"]},
    NEAR[3] | {"id": ["object", "stream"], "carry": ["words"]},
    *(HEAVY[number] | {"carry": ["side", "words"]} for number in (2, 4)),
    top_k(*TOPS[0]) | {"object": ["object", "side"], "carry": ["words"]},
    top_k("smallest", "max", "15 seconds") | {"object": ["side", "object"], "carry": ["words"], "order": "smallest"},
]
CARRYING_ROWS = [
    top_k("latest", "sum", "12 rows") | {"every": "3 rows", "carry": ["side", "words"]},
    top_k("never", "sum", "12 rows") | {"every": "1 row", "carry": ["side", "words"]},
    top_k("largest", "max", "20 rows") | {"every": "5 rows", "object": ["object", "side"], "carry": ["words"]},
    BY_ROWS[0] | {"object": ["object", "side"], "carry": ["words"], "order": "smallest"},
    BY_ROWS[2] | {"repeats": "best", "carry": ["side", "words"]},
    heavy("rows", ["12 rows", "5 rows"], k=2, carry=["side", "words"]) | {"every": "2 rows"},
    heavy("distinct", ["20 rows"], k=3, object=["object", "side"]) | {"every": "3 rows", "offset": "1 row"},
    near("jaccard", 0.5, "12 rows") | {"carry": ["stream"], "carry_match": ["words", "stream"]},
    near("cosine", 0.6, "9 rows", keep="first") | {"id": ["object", "stream"], "carry": ["words"]},
]


def distinct(windows, every, **more):
    return {"kind": "distinct-count", "item": "object", "windows": windows, "every": every, **more}


def numbers(windows, every, **more):
    return {"kind": "quantiles", "value": "score", "windows": windows, "every": every, "at": [0.5, 0.1, 1], **more}


NUMBERS = [
    numbers(["20 seconds", "4 seconds"], "4 seconds", above=[1.5, 0]),
    numbers(["7 seconds"], "3 seconds", offset="1 second"),
    numbers(["12 rows", "5 rows"], "1 row", above=[1.5]),
]
DAYS = {"window": "1 day in Europe/Paris", "every": "1 day in Europe/Paris"}
TODAY = {"window": "today in Europe/Paris", "every": "5 hours", "offset": "1 hour"}
CALENDAR = [
    top_k(*TOPS[0]) | DAYS,
    top_k("largest", "sum", "1 second") | TODAY | {"carry": ["words"]},
    top_k("never", "sum", "1 second") | TODAY,
    pairs("jaccard", 3, **DAYS),
    pairs("overlap", 2, **(TODAY | {"every": "1 day in Europe/Paris"})),
    distinct(["today in Europe/Paris", "this week in Europe/Paris", "30 hours"], "7 hours"),
    distinct(["2 days in Europe/Paris"], "1 day in Europe/Paris", offset="3 hours"),
    heavy("rows", ["today in Europe/Paris", "30 hours"], k=2, every="7 hours", offset="1 minute"),
    heavy("sum", ["2 days in Europe/Paris"], k=3, share=0.1, every="1 day in Europe/Paris"),
    heavy("distinct", ["this week in Europe/Paris"], k=3, every="1 day in Europe/Paris", carry=["words"]),
    numbers(["today in Europe/Paris", "30 hours"], "7 hours", above=[1.5]),
    numbers(["2 days in Europe/Paris"], "1 day in Europe/Paris", offset="3 hours"),
]


def spread(values):
    """Ties where `max` has none, and other scores than any aggregate that has a name."""
    return float(np.floor(values.sum() + 2 * np.sqrt(values.max())))


def half_shared(shared, n, m):
    """Falls slower as sets grow than any that has a name."""
    return shared / (n + m + 1.0)


CALLED = [
    *(pairs(half_shared, k, window, **more) for k, window, more in [(3, "20 seconds", {}), (2, "7 rows", BY_2_ROWS)]),
    pairs(half_shared, 4, "9 seconds", side="side", every="13 seconds") | {"carry": ["stream"]},
    near(half_shared, 0.3, "20 seconds"),
    near(half_shared, 0.2, "9 seconds", keep="first", matches=1),
    near(half_shared, 0.3, "10 rows"),
    *(top_k(repeats, spread, window) for repeats, _, window in TOPS),
    top_k("mean", np.max, "9 rows") | {"every": "2 rows"},
    top_k("never", spread, "12 rows") | {"every": "1 row"},
    top_k("latest", spread, "20 seconds") | {"carry": ["side", "words"]},
    top_k("largest", spread, "7 seconds") | {"object": ["object", "side"], "k": 4},
]
SPECS = [
    *map(workload, WORKLOADS),
    *(top_k(*entry) for entry in TOPS),
    *HEAVY,
    *PAIRS,
    *NEAR,
    *ONCE,
    *BY_ROWS,
    *SMALLEST,
    *CARRYING,
    *CARRYING_ROWS,
    *CALENDAR,
    *CALLED,
    *NUMBERS,
]


NAMED = {
    "text": lambda ids: [f"object {one}" for one in ids],
    "integers": lambda ids: ids,
    "fractions": lambda ids: ids / 2,
}


def with_both_zeros(scores):
    """Every second 0 is -0."""
    zeros = np.flatnonzero(scores == 0)
    scores[zeros[::2]] = -0.0
    return scores


def stream(seed, named="integers", rows=150):
    """Few groups and objects, many ties in score and time, of 0 and -0 too, and rows a microsecond apart; a silence."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 50 * SECOND, rows)) // (SECOND // 4) * (SECOND // 4)
    times += (times > 30 * SECOND) * rng.integers(0, 40) * SECOND
    odd = np.random.default_rng([seed, 1])
    times = np.sort(times + odd.choice([-1, 0, 0, 0, 0, 0, 1], rows))
    objects, lengths = rng.integers(-4, 5, rows), rng.integers(0, 4, rows)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "group": np.minimum(rng.zipf(1.5, rows), 6),
            "object": NAMED[named](objects),
            "stream": [["a", "b", "c"][i] for i in rng.integers(0, 3, rows)],
            "score": with_both_zeros(rng.integers(0, 7, rows) / 2),
            "words": [[f"w{i}" for i in rng.integers(0, 5, length)] for length in lengths],
            "side": [["left", "right"][i] for i in rng.integers(0, 2, rows)],
        }
    )


def over_days(table):
    """The same where each second was an hour and a half, from before clocks are set forward on."""
    start = 1774566000 * SECOND  # 2026-03-27 00:00 in Paris
    times = pa.array(table["ts"].cast(pa.int64()).to_numpy() * 5400 + start, table["ts"].type)
    return table.set_column(0, "ts", times)


def query(spec, **more):
    return make_query({"time": "ts", **spec, **more})


def run(asked, table, cuts, snapshots=False, backends=None):
    """The answers, the state before the last of them, and the rows dropped."""
    host, answers, dropped = local.LocalRun.start(asked, table.schema, backends or {}), [], 0
    for start, stop in zip([0, *cuts], [*cuts, len(table)], strict=True):
        answers += map(host.push, table.slice(start, stop - start).combine_chunks().to_batches())
        if snapshots:
            blob = host.operator.snapshot()
            dropped += sum(host.operator.take_metrics().dropped.values())
            host.operator = Operator(asked, host.operator.bindings, table.schema)
            host.operator.restore(blob)
            assert host.operator.snapshot() == blob
    state = host.operator._groups.dump_state()
    answers.append(host.finish())
    dropped += sum(host.operator.take_metrics().dropped.values())
    return sorted(map(str, pa.Table.from_batches(answers).to_pylist())), state, dropped


def at_most(most, monkeypatch):
    monkeypatch.setattr(small_groups, "MOST_ENTRIES", most)
    monkeypatch.setattr(distinct_count_execution, "_FEWEST_KEYS", 1)
    monkeypatch.setattr(distinct_count_execution, "_MOST_KEYS", most)


OFTEN = len([*WORKLOADS, *TOPS, *HEAVY, *PAIRS, *NEAR, *ONCE])
"""Those after that keep what others do, and differ in what answers are made of."""


@pytest.mark.parametrize(
    ("number", "most"),
    [(number, most) for number in range(len(SPECS)) for most in ([4, 512] if number < OFTEN else [6])],
)
def test_small_groups_answer_as_processors_and_their_bytes_tell_no_cuts(number, most, monkeypatch):
    at_most(most, monkeypatch)
    table = stream(number, list(NAMED)[number % 3])
    calendar = "Paris" in str(SPECS[number])
    table = over_days(table) if calendar else table
    asked = query(SPECS[number], by=["group"], delay="3 hours" if calendar else "2 seconds")
    rng = np.random.default_rng(number)
    few, many = (np.sort(rng.integers(0, len(table), pieces)).tolist() for pieces in (3, 15))
    data = not any(callable(SPECS[number].get(name)) for name in ("aggregate", "similarity"))  # snapshots hold no code
    whole, some, stopped = run(asked, table, []), run(asked, table, few), run(asked, table, many, snapshots=data)
    at_most(0, monkeypatch)
    rows, processors, dropped = run(asked, table, few)
    assert whole[0] == some[0] == stopped[0] == rows
    assert whole[2] == some[2] == stopped[2] == dropped
    np.testing.assert_equal(whole[1], some[1])
    np.testing.assert_equal(whole[1], stopped[1])
    assert not any(name.startswith("small_groups") for name in processors)
    if most == 512:
        assert len(whole[1]["processors.key"]) == 0


IN_PARTS = [
    SPECS[0], SPECS[3], HEAVY[2], PAIRS[0], NEAR[0], ONCE[0], BY_ROWS[0], BY_ROWS[3], BY_ROWS[16], CARRYING_ROWS[0],
    distinct(["10 seconds"], "4 seconds"), NUMBERS[0],
    {"kind": "uncertain-sum", "values": "score", "probabilities": "chance", "window": "9 seconds"},
    {"kind": "uncertain-sum", "values": "score", "probabilities": "chance", "size": 3, "alpha": 0.9},
    {"kind": "uncertain-join", "id": "object", "values": "score", "probabilities": "chance", "size": 3, "epsilon": 1,
     "beta": 0.01},
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(IN_PARTS)))
def test_rows_given_in_several_parts_before_a_turn_count_as_given_at_once(number, monkeypatch):
    """As `SmallGroups.add` says, whoever calls it."""
    at_most(20, monkeypatch)
    table = stream(number)
    table = table.append_column("chance", pa.array(np.random.default_rng(number).random(len(table)) / 2))
    asked, found = query(IN_PARTS[number], by=["group"]), []
    for parts in (1, 3):
        host = local.LocalRun.start(asked, table.schema)
        small = host.operator._groups._small_groups

        def add(keys, rows, small=small, parts=parts):
            which = np.searchsorted(np.sort(rows.times), rows.times) * parts // max(len(rows), 1)
            for part in range(parts):
                type(small).add(small, keys[which == part], rows.pick(which == part))

        monkeypatch.setattr(small, "add", add)
        answers = [host.push(batch) for batch in table.to_batches(max_chunksize=60)]
        state = host.operator.groups.dump_state()
        rows = pa.Table.from_batches([*answers, host.finish()]).to_pylist()
        found.append((sorted(map(str, rows)), state))
    assert found[0][0] == found[1][0] != []
    np.testing.assert_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("number", [*range(OFTEN), *(SPECS.index(spec) for spec in CALENDAR)])
def test_an_input_without_rows_has_no_answers(number):
    host = local.LocalRun.start(query(SPECS[number], by=["group"], delay="3 hours"), stream(1).schema)
    assert len(host.finish()) == 0


@pytest.mark.parametrize("looks", [False, True])
def test_where_all_groups_have_grown_the_state_at_the_end_is_the_same(looks, monkeypatch):
    """Whether they grew when the input ended, or before, when the state was looked at."""
    monkeypatch.setattr(small_groups, "MOST_ENTRIES", 1)
    spec = top_k("latest", "sum", "20 seconds") | {"every": "20 seconds"}
    table = stream(1, rows=60).sort_by("ts").slice(0, 8).drop_columns("group")
    table = table.append_column("group", pa.array([1] * len(table)))
    host = local.LocalRun.start(query(spec, by=["group"], delay="0 seconds"), table.schema)
    for batch in (*table.slice(0, 5).to_batches(), *table.slice(5).to_batches()):
        assert not len(host.push(batch))
    if looks:
        assert len(host.operator.groups.dump_state()["processors.key"]) == 1
    assert len(host.finish())
    state = host.operator.groups.dump_state()
    assert state["small_groups.until"].tolist() == [20 * SECOND]
    assert len(state["processors.key"]) == 1


@pytest.mark.parametrize(
    "spec",
    [SPECS[0], SPECS[3], HEAVY[0], PAIRS[0], NEAR[0]],
    ids=["workload", "top-k", "heavy-hitters", "pairs", "near-duplicates"],
)
def test_a_small_group_is_a_few_bytes(spec):
    groups = 2000
    table = pa.table(
        {
            "ts": pa.array(np.sort(np.arange(4 * groups) % 8) * SECOND, pa.timestamp("us", "UTC")),
            "group": np.arange(4 * groups) % groups,
            "object": np.arange(4 * groups) % 9,
            "stream": ["a", "b"] * (2 * groups),
            "score": np.arange(4 * groups) % 5 / 2,
            "words": [["one", "two", f"number {number}"] for number in range(4 * groups)],
        }
    )
    host = local.LocalRun.start(query(spec, by=["group"]), table.schema)
    host.push(table.to_batches()[0])
    assert host.operator.take_metrics().groups == groups
    assert len(host.operator.snapshot()) < 250 * groups


@pytest.mark.parametrize("times", [[0, 0, 1], [0, 1, 2], [0, 0, 0]])
@pytest.mark.parametrize("scores", [[1.0, 5.0, 6.0], [1.0, 6.0, 5.0], [1.0, 5.0, 5.0]])
def test_an_object_that_comes_again_beats_a_row_but_once(times, scores):
    """With k = 2 the row of object 7 stays, whatever object 8 does."""
    table = pa.table(
        {
            "ts": pa.array(np.array(times) * SECOND, pa.timestamp("us", "UTC")),
            "group": [1, 1, 1], "object": [7, 8, 8], "score": scores,
        }
    )  # fmt: skip
    asked = query(workload([("10 seconds", "5 seconds", 2, "0 seconds")]) | {"repeats": "best"}, by=["group"])
    host = local.LocalRun.start(asked, table.schema)
    answers = pa.Table.from_batches([*map(host.push, table.to_batches()), host.finish()])
    assert answers.select(["rank", "object", "score"]).to_pylist() == [
        {"rank": 1, "object": 8, "score": max(scores)},
        {"rank": 2, "object": 7, "score": 1.0},
    ]


def test_a_function_is_called_once_for_values_that_are_alike():
    called = []

    def largest(values):
        called.append(tuple(values))
        return float(values.max())

    asked = query(top_k("latest", largest, "20 seconds"), by=["group"])
    host = local.LocalRun.start(asked, stream(1).schema)
    called.clear()  # a look at whether it is monotone has been
    for batch in stream(1).to_batches(max_chunksize=50):
        host.push(batch)
    host.finish()
    assert len(called) == len(set(called)) > 30


def test_approximate_backends_keep_their_processors():
    table = stream(1)
    kept = [
        (top_k("never", "sum", "20 seconds"), {"object-ranker": {"name": "approx", "exact_reports": 0}}),
        (NEAR[0], {"set-matcher": "minhash-lsh"}),
        *((HEAVY[number], {"total-ranker": "k-skb"}) for number in (0, 2)),
    ]
    for given, backends in kept:
        host = local.LocalRun.start(query(given, by=["group"]), table.schema, backends)
        assert host.operator._groups._small_groups is None


BOUNDED = [
    *((HEAVY[number], "misra-gries") for number in (1, 2)),
    *((HEAVY[number], "frequent-items-panes") for number in (0, 3)),
    *((HEAVY[number], "k-skb") for number in (4, 5)),
    *((BY_ROWS[number], "misra-gries") for number in (12, 14)),
    (BY_ROWS[16], "k-skb"),
    (BY_ROWS[14], "frequent-items-panes"),
]


@pytest.mark.parametrize("number", range(len(BOUNDED)))
def test_a_group_is_small_where_a_bounded_ranker_has_all_that_there_is(number, monkeypatch):
    spec, name = BOUNDED[number]
    table, backends = stream(number + 40), {"total-ranker": {"name": name, "epsilon": 0.1}}
    asked = query(spec, by=["group"], delay="2 seconds")
    cuts = np.sort(np.random.default_rng(number).integers(0, len(table), 9)).tolist()
    found, grown = [], []
    for most in (0, 4, 512):
        monkeypatch.setattr(small_groups, "MOST_ENTRIES", most)
        whole = run(asked, table, [], backends=backends)
        in_parts = run(asked, table, cuts, snapshots=True, backends=backends)
        assert (whole[0], whole[2]) == (in_parts[0], in_parts[2])
        np.testing.assert_equal(whole[1], in_parts[1])
        found.append((whole[0], whole[2]))
        grown.append(len(whole[1]["processors.key"]))
    assert found[0] == found[1] == found[2] == run(asked, table, [])[::2]
    assert grown[0] > 0 == grown[2]


PROMISED = [
    *(top_k(repeats, "sum", "20 seconds") for repeats in ("never", "per-window", 2)),
    top_k("never", "sum", "30 rows") | {"every": "3 rows"},
    top_k(3, "mean", "40 rows") | {"every": "1 row"},
    top_k("per-window", spread, "15 seconds"),
    top_k("largest", "sum", "20 seconds"),
]


@pytest.mark.parametrize("chance", [None, 0.0])
@pytest.mark.parametrize("number", range(len(PROMISED)))
def test_a_group_is_small_while_its_approximate_ranker_is_exact(number, chance, monkeypatch):
    """What it goes on with does not tell when it grew: here groups of more than three, and seven, reports do."""
    ranker = {"name": "approx", "exact_reports": 7, "sketch": "exact", "refresh": 2, "chance": chance}
    table, backends = stream(number + 20, rows=400), {"object-ranker": ranker}
    asked = query(PROMISED[number], by=["group"], delay="2 seconds")
    cuts = np.sort(np.random.default_rng(number).integers(0, len(table), 9)).tolist()
    data = not callable(PROMISED[number]["aggregate"])
    found, grown = [], []
    for most in (0, 3, 512):
        monkeypatch.setattr(small_groups, "MOST_ENTRIES", most)
        whole = run(asked, table, [], backends=backends)
        in_parts = run(asked, table, cuts, snapshots=data, backends=backends)
        assert (whole[0], whole[2]) == (in_parts[0], in_parts[2])
        np.testing.assert_equal(whole[1], in_parts[1])
        found.append((whole[0], whole[2]))
        grown.append(len(whole[1]["processors.key"]))
    assert found[0] == found[1] == found[2]
    exact = run(asked, table, [])[0]
    if number < len(PROMISED) - 1:
        assert exact != found[0][0] or chance is None, "chances count"
        assert grown[0] >= grown[1] >= grown[2] > 0
    else:
        assert exact == found[0][0], "there is nothing to expect where a later report counts"


def test_a_function_of_many_streams_keeps_its_processors():
    table = stream(1)
    for streams in (16, 17):
        given = top_k("latest", np.max, "20 seconds")
        given["streams"] = [f"s{number}" for number in range(streams)]
        host = local.LocalRun.start(query(given, by=["group"]), table.schema)
        assert (host.operator._groups._small_groups is None) == (streams == 17)


def sets(sizes):
    """A group with a set a second, of so many tokens each, every two of which share some."""
    times = pa.array(np.arange(len(sizes)) * SECOND, pa.timestamp("us", "UTC"))
    words = [[*range(size), 3, 3] for size in sizes]
    return pa.table({"ts": times, "group": ["one"] * len(sizes), "object": np.arange(len(sizes)), "words": words})


def test_a_group_of_sets_grows_by_their_tokens_too(monkeypatch):
    monkeypatch.setattr(small_sets, "MOST_TOKENS", 40)
    asked, grown, found = query(pairs("jaccard", 3, "5 seconds"), by=["group"]), [], []
    for sizes in ([6] * 20, [6] * 10 + [15] + [6] * 9, [6] * 10 + [40] + [6] * 9):
        table = sets(sizes)
        whole, one_by_one = run(asked, table, []), run(asked, table, range(1, len(table)), snapshots=True)
        assert whole[0] == one_by_one[0]
        np.testing.assert_equal(whole[1], one_by_one[1])
        grown.append(len(whole[1]["processors.key"]))
        found.append(whole[0])
    monkeypatch.setattr(small_groups, "MOST_ENTRIES", 0)
    assert (grown[0], grown[2]) == (0, 1)
    assert found[2] == run(asked, table, [])[0]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("time", lambda values: values[::-1]),
        ("tokens", lambda values: values[::-1]),
        ("tokens sizes", lambda values: values[:-1]),
        ("tokens sizes", lambda values: values + 1),
        ("tokens sizes", lambda values: values - 9),
        ("tokens", lambda values: values.astype(np.int32)),
        ("code", lambda values: values[1:]),
    ],
)
def test_a_state_of_sets_that_cannot_be_is_refused(name, change):
    table = sets([4, 5, 6, 7])
    host = local.LocalRun.start(query(pairs("jaccard", 3, "20 seconds"), by=["group"]), table.schema)
    host.push(table.to_batches()[0])
    state = state_arrays.without_prefix("small_groups", host.operator._groups.dump_state())
    assert len(state["entries.time"]) == 3
    with pytest.raises(SnapshotError, match=f"{name}: must"):
        fresh = Operator(host.operator.query, host.operator.bindings, table.schema)._groups._small_groups
        fresh.load_state(state | {f"entries.{name}": change(state[f"entries.{name}"])})


@pytest.mark.parametrize("value", [-0.5, 3.5, np.nan])
def test_a_value_that_the_query_does_not_take_is_in_no_state(value):
    table, asked = stream(2), query(top_k("never", "sum", "20 seconds"), by=["group"])
    host = local.LocalRun.start(asked, table.schema)
    host.push(table.to_batches()[0])
    state = state_arrays.without_prefix("small_groups", host.operator._groups.dump_state())
    with pytest.raises(SnapshotError, match="value: must"):
        fresh = Operator(asked, host.operator.bindings, table.schema)._groups._small_groups
        fresh.load_state(state | {"entries.value": np.full_like(state["entries.value"], value)})


@pytest.mark.parametrize(
    "spec",
    [
        *(SPECS[3], PAIRS[1], NEAR[4], BY_ROWS[0], BY_ROWS[19], BY_ROWS[-2]),
        *(CARRYING[number] for number in (0, 3, 4, 8, 12)),
        *(CARRYING_ROWS[number] for number in (0, 3, 5)),
    ],
    ids=lambda spec: spec["kind"],
)
def test_groups_and_their_names_move_to_another_shard(spec):
    table, asked = stream(4, "text"), query(spec, by=["group"])
    host = local.LocalRun.start(asked, table.schema)
    host.push(table.slice(0, 100).combine_chunks().to_batches()[0])
    state, parts = host.operator.groups.dump_state(), []
    for odd in (0, 1):
        part = Operator(asked, host.operator.bindings, table.schema)
        part.align_with(host.operator)
        part.absorb(host.operator, lambda keys, odd=odd: keys % np.uint64(2) == odd)
        part.groups.dump_state()
        parts.append(part)
    assert all(len(part.groups) for part in parts)
    again = Operator(asked, host.operator.bindings, table.schema)
    again.align_with(host.operator)
    for part in reversed(parts):
        again.absorb(part, lambda keys: np.ones(len(keys), bool))
    np.testing.assert_equal(again.groups.dump_state(), state)


@pytest.mark.parametrize("order", ["largest", "smallest"])
def test_rows_that_are_alike_carry_their_own_where_a_group_grows_between_them(order, monkeypatch):
    """Of rows of one time, object and score the latest ranks first, on whichever side of the growth it came."""
    rows, asked = 12, workload([("10 seconds", "1 second", 5, "0 seconds")]) | {"carry": ["words"], "order": order}
    times = pa.array(np.arange(rows) // 6 * SECOND, pa.timestamp("us", "UTC"))
    words = [[f"w{number}"] for number in range(rows)]
    table = pa.table(
        {"ts": times, "group": ["one"] * rows, "object": [4] * rows, "score": [2.5] * rows, "words": words}
    )
    monkeypatch.setattr(small_groups, "MOST_ENTRIES", 0)
    expected = run(query(asked, by=["group"]), table, [])
    for most in range(1, 6):
        monkeypatch.setattr(small_groups, "MOST_ENTRIES", most)
        assert run(query(asked, by=["group"]), table, [7])[0] == expected[0]
