"""Queries of small groups of every kind, rows with many ties for them, and what an operator answers, cut anyhow."""

import numpy as np
import pyarrow as pa
from skyband.engines import local
from skyband.groups import plain_turns
from skyband.groups.small_groups import limits
from skyband.operator.operator import Operator
from skyband.queries import make_query
from skyband_distinct.distinct_count import execution as distinct_count_execution

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


def near_vectors(window, **more):
    return {"kind": "near-vectors", "id": "object", "vector": "vector", "dimensions": 3, "window": window, **more}


VECTORS = [
    near_vectors("20 seconds", threshold=0.8),
    near_vectors("7 seconds", threshold=-1.0, similarity="euclidean", side="side", output="rows"),
    near_vectors("12 seconds", similarity="dot", matches=2) | {"carry": ["words"], "carry_match": ["stream"]},
    near_vectors("9 seconds", threshold=0.5, keep="first", output="kept"),
    near_vectors("12 rows", threshold=0.6, matches=3, id=["object", "stream"]),
    near_vectors("9 rows", threshold=0.5, keep="first", output="rows"),
]
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
    heavy("rows", ["20 seconds", "7 seconds"], at_least=3),
    heavy("sum", ["20 seconds", "8 seconds"], k=2, share=0.05, at_least=2.5, rest=True),
    heavy("distinct", ["12 seconds"], at_least=2, offset="1 second"),
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
    heavy("sum", ["9 rows", "20 rows"], at_least=2.5) | {"every": "2 rows"},
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
    heavy("rows", ["12 rows", "5 rows"], k=2, carry=["side", "words"], rest=True) | {"every": "2 rows"},
    heavy("distinct", ["20 rows"], k=3, object=["object", "side"], rest=True) | {"every": "3 rows", "offset": "1 row"},
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
HIGH = "score >= 2"
RANKINGS = [
    heavy("rows", ["20 seconds"], k=2, against="previous"),
    heavy("sum", ["8 seconds", "12 seconds"], k=3, against="previous", rank_by="ratio", offset="1 second"),
    heavy("rows", ["4 seconds"], at_least=2, against="previous", direction="down", carry=["side", "words"]),
    heavy("rows", ["12 rows", "5 rows"], k=2, against="previous") | {"every": "3 rows"},
    heavy("sum", ["1 day in Europe/Paris"], k=3, every="1 day in Europe/Paris", against="previous"),
    heavy("rows", ["20 seconds", "7 seconds"], k=2, part=HIGH, at_least=2),
    heavy("sum", ["20 seconds"], share=0.2, part=HIGH, offset="1 second"),
    heavy("distinct", ["12 seconds", "4 seconds"], k=2, part=HIGH, carry=["words"]),
    heavy("rows", ["12 rows", "5 rows"], k=3, part=HIGH) | {"every": "2 rows", "object": ["object", "side"]},
    heavy("sum", ["9 rows"], k=3, part="side = 'left'") | {"every": "3 rows"},
    heavy("rows", ["this week in Europe/Paris"], k=3, every="1 day in Europe/Paris", part=HIGH),
    heavy("rows", ["20 seconds", "7 seconds"], k=3, half_life="3 seconds", offset="1 second"),
    heavy("sum", ["40 seconds"], at_least=0.25, half_life="1 second", carry=["words"]),
    top_k("latest", "sum", "20 seconds") | {"half_life": "3 seconds", "offset": "1 second", "carry": ["words"]},
    top_k("mean", "max", "12 seconds") | {"half_life": "1 minute", "object": ["object", "side"], "order": "smallest"},
    top_k("smallest", "mean", "9 seconds") | {"half_life": "2 seconds"},
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
    *RANKINGS,
    *VECTORS,
    near_vectors("today in Europe/Paris", threshold=0.8, keep="first", matches=1),
    near("jaccard", 0.5, "since 09:30 in Europe/Paris", output="rows"),
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
            "vector": list(np.random.default_rng([seed, 2]).integers(-1, 3, (rows, 3))),
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
        for batch in table.slice(start, stop - start).combine_chunks().to_batches():
            answers.append(host.push(batch))
            host.operator.groups._check()
        if snapshots:
            blob = host.operator.snapshot()
            dropped += sum(host.operator.take_metrics().dropped.values())
            host.operator = Operator(asked, host.operator.bindings, table.schema)
            host.operator.restore(blob)
            assert host.operator.snapshot() == blob
            host.operator.groups._check()
    state = host.operator._groups.dump_state()
    answers.append(host.finish())
    host.operator.groups._check()
    dropped += sum(host.operator.take_metrics().dropped.values())
    return sorted(map(str, pa.Table.from_batches(answers).to_pylist())), state, dropped


def at_most(most, monkeypatch):
    monkeypatch.setattr(limits, "MOST_ENTRIES", most)
    monkeypatch.setattr(distinct_count_execution, "_FEWEST_KEYS", 1)
    monkeypatch.setattr(distinct_count_execution, "_MOST_KEYS", most)
    monkeypatch.setattr(plain_turns, "_FEW", 1)


OFTEN = len([*WORKLOADS, *TOPS, *HEAVY, *PAIRS, *NEAR, *ONCE])
"""Those after that keep what others do, and differ in what answers are made of."""
BOUNDED = [
    *((HEAVY[number], "misra-gries") for number in (1, 2)),
    *((HEAVY[number], "frequent-items-panes") for number in (0, 3)),
    *((HEAVY[number], "k-skb") for number in (4, 5)),
    *((BY_ROWS[number], "misra-gries") for number in (12, 14)),
    (BY_ROWS[16], "k-skb"),
    (BY_ROWS[14], "frequent-items-panes"),
    (RANKINGS[7], "k-skb"),
]
PROMISED = [
    *(top_k(repeats, "sum", "20 seconds") for repeats in ("never", "per-window", 2)),
    top_k("never", "sum", "30 rows") | {"every": "3 rows"},
    top_k(3, "mean", "40 rows") | {"every": "1 row"},
    top_k("per-window", spread, "15 seconds"),
    top_k("largest", "sum", "20 seconds"),
]


def is_of_rows(spec):
    """Whether its windows are counted in rows."""
    windows = spec.get("windows") or [entry["window"] for entry in spec.get("queries", [spec])]
    return windows[0].endswith(("rows", "row"))


def numbers_of(specs, rows):
    """The numbers of those whose windows are counted in rows, or of the others."""
    return [number for number, spec in enumerate(specs) if is_of_rows(spec) == rows]


def stream_of_many(seed, named="integers", rows=5000):
    """Three groups, of hundreds to more than a thousand objects each in a window, some of them often, and ties."""
    rng = np.random.default_rng([seed, 2])
    times = np.sort(rng.integers(0, 50 * SECOND, rows)) // (SECOND // 4) * (SECOND // 4)
    often, many, small = rng.zipf(1.3, rows) % 50, rng.integers(-3000, 3000, rows), rng.integers(0, 7, rows)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "group": rng.choice(3, rows, p=[0.6, 0.35, 0.05]),
            "object": NAMED[named](np.where(rng.random(rows) < 0.4, often, many)),
            "stream": [["a", "b", "c"][i] for i in rng.integers(0, 3, rows)],
            "score": with_both_zeros(np.where(rng.random(rows) < 0.5, small, rng.integers(0, 3000, rows)) / 2),
        }
    )


MANY = [
    heavy("rows", ["20 seconds"], k=3),
    heavy("rows", ["3 seconds", "20 seconds"], share=0.02, offset="1 second"),
    heavy("sum", ["20 seconds", "4 seconds"], k=5, share=0.001, rest=True),
    heavy("distinct", ["12 seconds", "20 seconds"], k=3, value="score"),
    heavy("distinct", ["20 seconds"], share=0.01, rest=True),
    heavy("rows", ["20 seconds", "7 seconds"], at_least=2),
    heavy("sum", ["24 seconds"], k=900),
    heavy("rows", ["1000 rows", "40 rows"], k=2) | {"every": "20 rows"},
    heavy("sum", ["900 rows"], k=3, share=0.01) | {"every": "7 rows", "offset": "1 row"},
    heavy("distinct", ["1024 rows"], k=3, rest=True, value="score") | {"every": "30 rows"},
    numbers(["20 seconds", "4 seconds"], "4 seconds", above=[1.5, 0]),
    numbers(["1200 rows", "90 rows"], "40 rows", above=[700]),
    numbers(["900 rows"], "1 row", above=[700]),
]
"""Groups of many entries: their new ones wait, and are put among the others together."""
