"""States of heavy-hitters: any window, alone and united, compared with counting by hand."""

import datetime
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
import skyband
from in_process_shards import on_shards
from skyband import states
from skyband.engines import local
from skyband.errors import ConfigError, InputError, SkybandError, SnapshotError
from skyband.queries import make_query
from skyband.snapshot import decode, encode
from skyband.states.state import read_state

MINUTE = 60_000_000
START = 1_760_000_400_000_000
QUERY = {
    "kind": "heavy-hitters",
    "time": "ts",
    "object": "page",
    "windows": ["1 hour"],
    "every": "10 minutes",
    "by": "status",
    "k": 4,
    "emit": "state",
}
TOTALS = {
    "rows": {},
    "sum": {"total": "sum", "weight": "bytes", "unit": 0.1},
    "distinct": {"total": "distinct", "value": "client"},
}
NAMES = {
    "text": lambda page: f"page-{page}",
    "int32": lambda page: page,
    "uint64": lambda page: page + 2**63,
    "date": lambda page: datetime.date(2025, 1, 1) + datetime.timedelta(page),
}
TYPES = {"text": pa.string(), "int32": pa.int32(), "uint64": pa.uint64(), "date": pa.date32()}


def log(seed, rows=1500, pages=30, names="text"):
    rng = np.random.default_rng(seed)
    page = (rng.zipf(1.5, rows) % pages).tolist()
    return pa.table(
        {
            "ts": pa.array(START + np.sort(rng.integers(0, 150 * MINUTE, rows)), pa.timestamp("us", "UTC")),
            "page": pa.array(list(map(NAMES[names], page)), TYPES[names]),
            "client": rng.integers(0, 40, rows),
            "bytes": np.round(rng.integers(0, 500, rows) * 0.1, 1),
            "status": rng.choice(["200", "404"], rows),
        }
    )


def emitted(table, ranker, total="rows", **changes):
    answers = local.apply(table, {**QUERY, **TOTALS[total], **changes}, {"total-ranker": ranker})
    return answers.to_pylist()


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("emit", ["state", "changed-state"])
def test_objects_in_a_dictionary_equal_those_of_a_plain_column(names, emit):
    """As pandas and Parquet store them."""
    plain = log(3, 200, names=names)
    page = plain["page"].combine_chunks().dictionary_encode()
    in_dictionary = plain.set_column(1, "page", page)
    assert emitted(in_dictionary, "exact", emit=emit) == emitted(plain, "exact", emit=emit)


def by_hand(table, total, start, at, k, status=None):
    """The largest totals of [start, at) from plain Python, as (total, name), with equal totals in any order."""
    times = np.asarray(table["ts"].cast(pa.int64()))
    rows = table.filter(pa.array((start <= times) & (times < at))).to_pylist()
    rows = [row for row in rows if status is None or row["status"] == status]
    if total == "distinct":
        found = Counter(page for page, _ in {(row["page"], row["client"]) for row in rows})
    else:
        found = Counter()
        for row in rows:
            found[row["page"]] += round(row["bytes"] * 10) if total == "sum" else 1
    unit = 10 if total == "sum" else 1
    grand = sum(found.values())
    return {name: count / unit for name, count in found.items() if count}, grand / unit, k


def check(found, expected):
    totals, grand, k = expected
    assert found["total"].to_pylist() == sorted(totals.values(), reverse=True)[:k]
    assert all(totals[row["object"]] == row["total"] == row["low"] == row["high"] for row in found.to_pylist())
    assert found["rank"].to_pylist() == list(range(1, len(found) + 1))
    assert found["share"].to_pylist() == pytest.approx([total / grand for total in found["total"].to_pylist()])


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("ranker", ["exact", "k-skb"])
def test_any_window_of_one_state_or_several_equals_counting_by_hand(ranker, total, names):
    table = log(3, names=names)
    minutes = (10, 30, 60) if ranker == "exact" else (1, 17, 43, 60)
    held = {}
    for row in emitted(table, ranker, total):
        at = int(row["at"].timestamp() * 1_000_000)
        held.setdefault(at, {})[row["status"]] = row["state"]
    assert len(held) >= 15
    for at, by_status in list(held.items())[2::4]:
        for last in minutes:
            start = at - last * MINUTE
            for status, state in by_status.items():
                found = states.heavy_hitters(state, last=f"{last} minutes", k=7)
                check(found, by_hand(table, total, start, at, 7, status))
                assert found.schema.field("object").type == TYPES[names]
            both = list(by_status.values())
            found = states.heavy_hitters(both, last=f"{last} minutes", k=7)
            check(found, by_hand(table, total, start, at, 7))
            assert states.heavy_hitters(states.union(both), since=start, k=7).equals(found)


@pytest.mark.parametrize("total", TOTALS)
def test_the_whole_window_equals_the_answer_of_the_query(total):
    table = log(4)
    asked = {**QUERY, **TOTALS[total], "emit": None, "k": None, "share": 0.06}
    for ranker in ("exact", {"name": "k-skb", "epsilon": 0.2, "seed": 5}):
        answers = local.apply(table, asked, {"total-ranker": ranker}).to_pylist()
        rows = local.apply(table, {**asked, "emit": "state"}, {"total-ranker": ranker}).to_pylist()
        for row in rows[::3]:
            mine = [a for a in answers if (a["status"], a["at"]) == (row["status"], row["at"])]
            columns = ("rank", "object", "total", "share", "low", "high")
            assert states.heavy_hitters(row["state"]).to_pylist() == [{name: a[name] for name in columns} for a in mine]


@pytest.mark.parametrize("total", TOTALS)
def test_a_sample_answers_like_the_restored_ranker(total):
    table = log(5, rows=20_000, pages=2000)
    rows = emitted(table, {"name": "k-skb", "epsilon": 0.15}, total)
    for left, right in zip(rows[6::2], rows[7::2], strict=False):
        one, other = (skyband.restore(row["state"]) for row in (left, right))
        assert len(one) < 0.8 * len(table), "it samples"
        for last in (7, 31, 60):
            at = one.now
            since = max(at, other.now) - last * MINUTE
            top = one.since(since)
            found = states.heavy_hitters(left["state"], since=since)
            assert found["total"].to_pylist() == top.totals.tolist()
            assert found["low"].to_pylist() == top.low.tolist() and found["high"].to_pylist() == top.high.tolist()
        if left["at"] == right["at"]:
            one.merge(other)
            found = states.heavy_hitters([left["state"], right["state"]], since=since)
            assert found["total"].to_pylist() == one.since(since).totals.tolist()


@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("ranker", ["exact", "k-skb"])
def test_shards_of_one_group_make_one_state(ranker, total):
    table = log(11, rows=600)
    query = make_query({**QUERY, **TOTALS[total], "by": ()})
    together, _ = on_shards(table, query, 3, batches=4, backends={"total-ranker": ranker})
    alone = emitted(table, ranker, total, by=())
    assert together["at"].to_pylist() == [row["at"] for row in alone]
    for mine, theirs in list(zip(together["state"].to_pylist(), alone, strict=True))[::3]:
        for last in ("10 minutes", "40 minutes"):
            found = states.heavy_hitters(mine, last=last, k=9)
            assert found.equals(states.heavy_hitters(theirs["state"], last=last, k=9))


def test_states_of_changes_are_only_emitted_after_new_rows():
    table = pa.table(
        {
            "ts": pa.array([START + m * MINUTE for m in (1, 2, 31, 32)], pa.timestamp("us", "UTC")),
            "page": ["a", "b", "a", "a"],
        }
    )
    rows = emitted(table, "exact", by=(), emit="changed-state")
    assert [(int(row["at"].timestamp()) - START // 1_000_000) // 60 for row in rows] == [10, 40]
    found = states.heavy_hitters(rows[1]["state"])
    assert found.select(["object", "total"]).to_pylist() == [
        {"object": "a", "total": 3.0},
        {"object": "b", "total": 1.0},
    ]
    assert states.describe(rows[1]["state"]).changed
    united = states.union([row["state"] for row in rows])
    assert states.heavy_hitters(united, last="30 minutes")["total"].to_pylist() == [2.0]


@pytest.mark.parametrize("ranker", ["exact", "k-skb"])
def test_moments_with_an_offset_and_windows_of_rows(ranker):
    table = log(6)
    shifted = emitted(table, ranker, by=(), offset="3 minutes")
    at = int(shifted[8]["at"].timestamp() * 1_000_000)
    assert (at // MINUTE) % 10 == 3
    check(
        states.heavy_hitters(shifted[8]["state"], last="20 minutes", k=5),
        by_hand(table, "rows", at - 20 * MINUTE, at, 5),
    )
    plain = emitted(table, ranker, by=())
    pair = [shifted[8]["state"], plain[8]["state"]]
    with pytest.raises(InputError, match="states"):
        states.heavy_hitters(pair)
    rows = emitted(table, ranker, by=(), windows=["300 rows"], every="100 rows")
    found = states.heavy_hitters(rows[4]["state"], last="200 rows", k=3)
    expected = Counter(table["page"].to_pylist()[300:500])
    assert found["total"].to_pylist() == [count for _, count in expected.most_common(3)]
    with pytest.raises(InputError, match="counts rows"):
        states.heavy_hitters([rows[4]["state"]] * 2)


def test_incompatible_states_are_refused():
    table = log(7)
    exact, sample = (emitted(table, name)[5]["state"] for name in ("exact", "k-skb"))
    for other, said in [
        (sample, "states, row 1: is of total-ranker/k-skb, the first of total-ranker/exact"),
        (emitted(table, "exact", k=5)[5]["state"], "has k = 5, the first 4"),
        (emitted(table, "exact", "sum")[5]["state"], "has total = 'sum', the first 'rows'"),
        (emitted(table, "exact")[9]["state"], "combine states of one moment"),
        (emitted(log(7, names="int32"), "exact")[5]["state"], "has objects of type int32, the first string"),
    ]:
        for function in (states.heavy_hitters, states.union):
            with pytest.raises(InputError, match=said):
                function([exact, other])
    for arguments, said in [
        ({"last": "37 minutes"}, "last: total-ranker/exact answers windows that begin at multiples of 10 minutes"),
        ({"last": "2 hours"}, "where this state begins: ask for at most the last 1 hour"),
        ({"k": 0}, r"k: must be at least 1 \(got 0\)"),
        ({"share": 1.5}, r"share: must be above 0 and at most 1 \(got 1.5\)"),
    ]:
        with pytest.raises(InputError, match=said):
            states.heavy_hitters(exact, **arguments)


def test_another_familys_question_is_refused_with_the_possible_ones():
    pytest.importorskip("skyband_distinct")
    state = emitted(log(7), "exact")[5]["state"]
    with pytest.raises(SnapshotError, match=r"ranker/exact, which does not answer estimate \(it answers heavy_h"):
        states.estimate(state)


def test_queries_that_cannot_emit_states_are_refused_by_name():
    table = log(8)
    for ranker in ("misra-gries", "frequent-items-panes"):
        with pytest.raises(ConfigError, match=f"{ranker}.* total-ranker/exact or total-ranker/k-skb|{ranker} lacks"):
            emitted(table, ranker)
    with pytest.raises(ConfigError, match="object: must be one column"):
        emitted(table, "exact", object=["page", "client"])
    with pytest.raises(ConfigError, match="carry: is not part of a state"):
        emitted(table, "exact", carry=["client"])


@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("ranker", ["exact", "k-skb"])
def test_arbitrary_bytes_lead_to_an_error_or_an_answer(ranker, total):
    rng = np.random.default_rng(9)
    rows = emitted(log(9, rows=300, names="date"), ranker, total, by=(), offset="1 minute")
    state = rows[6]["state"]
    held = decode(state)
    for _ in range(300):
        arrays = {name: values.copy() for name, values in held.arrays.items()}
        name = rng.choice(sorted(arrays))
        values = arrays[name]
        kind = rng.integers(0, 4)
        if kind == 0 and len(values):
            values[rng.integers(len(values))] = rng.integers(-128, 127, dtype=np.int64).astype(values.dtype)
        elif kind == 1 and len(values):
            values[rng.integers(len(values))] = np.iinfo(values.dtype).max
        elif kind == 2:
            arrays[name] = values[: rng.integers(len(values) + 1)]
        else:
            arrays[name] = values.astype(rng.choice([np.float64, np.int32, np.uint8]))
        forged = encode(held.header, arrays)
        try:
            found = states.heavy_hitters(forged, last="20 minutes", k=5)
        except SkybandError:
            continue
        assert len(found) <= 5
    for cut in (3, 20, len(state) // 2, len(state) - 1):
        with pytest.raises(SnapshotError):
            states.heavy_hitters(state[:cut])
    for changes in ({"parameters": 3}, {"parameters": {"windows": [5]}}, {"covers": {"at": 1}}, {"covers": None}):
        try:
            states.heavy_hitters(encode({**held.header, **changes}, held.arrays))
        except SkybandError:
            continue
    assert read_state(state).retained > 0
