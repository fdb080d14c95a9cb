"""`half_life` of top-k, compared with the definition: weights every value again at each moment."""

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from math import fsum

import numpy as np
import pyarrow as pa
import pytest
from cut_run import cut_run
from in_process_shards import on_shards
from skyband import ConfigError, SnapshotError
from skyband.engines.local import apply
from skyband.groups.small_groups import limits
from skyband.queries import make_query

SECOND = 1_000_000
STREAMS = ["air", "soil", "sea"]
CLOSE = 1e-9
QUERY = {"kind": "top-k", "time": "t", "object": "cell", "stream": "from", "value": "value", "streams": STREAMS}


def stream(rng, size):
    """Reports with ties, at moments and next to them, with silences, nulls, and values of 0 and below."""
    micros = rng.integers(0, 60_000, size) * 1000
    micros = np.sort(np.where(rng.random(size) < 0.4, micros // 5_000_000 * 5_000_000, micros))
    micros += 70 * SECOND * (micros > 20 * SECOND)
    values = [None if value > 11 else value / 2 for value in rng.integers(-6, 13, size).tolist()]
    columns = {"t": pa.array(micros, pa.timestamp("us")), "cell": rng.integers(0, 6, size)}
    columns |= {"from": [STREAMS[place] for place in rng.integers(0, 3, size)], "value": pa.array(values, pa.float64())}
    return pa.table(columns | {"group": rng.integers(0, 3, size), "number": np.arange(size)})


def expected(entries, query, at):
    """{object: score} of reports (time, object, stream, value) in order of arrival, by definition."""
    window, half_life = (int(query[key].split()[0]) * SECOND for key in ("window", "half_life"))
    worth = defaultdict(list)
    for time, cell, origin, value in entries:
        if at - window <= time < at:
            worth[cell, origin].append(value * 2.0 ** float(Fraction(time - at, half_life)))
    reduced = {
        "latest": lambda values: values[-1],
        "largest": max,
        "smallest": min,
        "mean": lambda v: fsum(v) / len(v),
    }[query.get("repeats", "latest")]
    vectors = {cell: [0.0] * len(STREAMS) for cell, _ in worth}
    for (cell, origin), values in worth.items():
        vectors[cell][STREAMS.index(origin)] = reduced(values)
    how = query.get("aggregate", "sum")
    weights = how if isinstance(how, list) else [1] * len(STREAMS)
    combined = {"min": min, "max": max, "mean": lambda v: fsum(v) / len(v)}.get(
        str(how), lambda v: fsum(weight * value for weight, value in zip(weights, v, strict=True))
    )
    return {cell: combined(vector) for cell, vector in vectors.items()}


def check(table, rows, query):
    """Compare the answers of every group and moment with the definition; returns how many there are."""
    every, best = int(query["every"].split()[0]) * SECOND, -1 if query.get("order") == "smallest" else 1
    groups, answers, latest = defaultdict(list), defaultdict(list), 0
    times = rows["t"].cast(pa.int64()).to_pylist()
    rows = sorted(
        zip(times, rows.to_pylist(), strict=True), key=lambda entry: (entry[0], entry[1]["value"] or 0)
    )  # at one time the largest is the latest
    for time, row in rows:
        if row["value"] is not None:
            latest = time
            entry = (time, row["cell"], row["from"], row["value"])
            groups[row["group"] if "by" in query else 0].append(entry)
    for at, row in zip(table["at"].cast(pa.int64()).to_pylist(), table.to_pylist(), strict=True):
        answers[row.get("group", 0), at].append((row["rank"], row["object"], row["score"]))
    count = 0
    for group, entries in groups.items():
        for at in range(0, latest // every * every + every + 1, every):
            scores = {cell: best * score for cell, score in expected(entries, query, at).items()}
            lines = [(rank, cell, best * score) for rank, cell, score in answers.pop((group, at), [])]
            assert [rank for rank, _, _ in lines] == list(range(1, min(query["k"], len(scores)) + 1))
            assert len({cell for _, cell, _ in lines}) == len(lines)
            for _, cell, score in lines:
                assert abs(score - scores[cell]) <= CLOSE * max(abs(scores[cell]), 1e-6), (at, cell)
            for (_, cell, score), (_, other, less) in pairwise(lines):
                assert score > less or (score == less and cell < other)
            there = {cell for _, cell, _ in lines}
            left = max((score for cell, score in scores.items() if cell not in there), default=-np.inf)
            assert not lines or left <= lines[-1][2] + CLOSE * abs(lines[-1][2])
            count += bool(lines)
    assert not answers
    return count


def query_of(rng):
    query = QUERY | {"every": "5 seconds", "k": int(rng.integers(1, 6))}
    query |= {"window": f"{[5, 20, 60][int(rng.integers(3))]} seconds"}
    query |= {"half_life": f"{[1, 7, 600][int(rng.integers(3))]} seconds"}
    query |= {"repeats": str(rng.choice(["latest", "largest", "smallest", "mean"]))}
    query |= {"aggregate": ["sum", "mean", "min", "max", [0.5, 2, 0]][int(rng.integers(5))]}
    query |= {"order": "smallest"} if rng.integers(2) else {}
    return query | ({"by": ["group"]} if rng.integers(2) else {})


def follow(seed, monkeypatch):
    rng = np.random.default_rng([42, 10, seed])
    monkeypatch.setattr(limits, "MOST_ENTRIES", int(rng.choice([0, 3, 512])))
    rows, query = stream(rng, int(rng.integers(1, 50))), query_of(rng)
    whole = apply(rows, query)
    count = check(whole, rows, query)
    cut, state = cut_run(rows, query, rng)
    keys = [(name, "ascending") for name in ("at", *query.get("by", ()), "rank")]
    assert cut.sort_by(keys).equals(whole.sort_by(keys)), (seed, query)
    assert state == cut_run(rows, query, rng)[1], (seed, query)
    return count


@pytest.mark.filterwarnings("ignore:all .* rows were left out")
def test_values_are_worth_half_as_much_for_each_half_life(monkeypatch):
    assert sum(follow(seed, monkeypatch) for seed in range(40)) > 250


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:all .* rows were left out")
def test_values_are_worth_half_as_much_for_each_half_life_on_ten_thousand_streams(monkeypatch):
    assert sum(follow(seed, monkeypatch) for seed in range(100, 10_100)) > 80_000


def test_small_groups_answer_like_a_ranker_to_the_last_bit(monkeypatch):
    rng = np.random.default_rng(8)
    rows = stream(rng, 3000)
    rows = rows.set_column(4, "group", pa.array(rng.integers(0, 40, 3000)))
    rows = rows.set_column(3, "value", pa.array(rng.normal(size=3000)))
    for _ in range(12):
        query = query_of(rng) | {"by": ["group"]}
        small = apply(rows, query)
        with monkeypatch.context() as patch:
            patch.setattr(limits, "MOST_ENTRIES", 0)
            assert small.equals(apply(rows, query))


def test_shards_have_the_same_best():
    rows = stream(np.random.default_rng(4), 300)
    query = QUERY | {"every": "5 seconds", "k": 3, "window": "20 seconds", "half_life": "4 seconds"}
    table, metrics = on_shards(rows, make_query(query), 3, batches=4)
    assert table.equals(apply(rows, query))
    assert len(metrics) == 3


def test_years_of_half_lives_overflow_nothing_and_lose_nothing():
    """Numbers that grow with time, as in forward decay, would overflow float64 after 1,024 half-lives."""
    days = np.array([0, 1, 365, 365, 3650])
    rows = pa.table(
        {
            "t": pa.array(days * 86_400, pa.timestamp("s")),
            "cell": [1, 2, 3, 4, 5],
            "from": ["air"] * 5,
            "value": [4.0, 2, 8, 2, 1],
        }
    )
    query = {**QUERY, "streams": ["air"], "every": "1 day", "k": 9, "window": "2 days", "half_life": "1 hour"}
    scores = {row["object"]: row["score"] for row in apply(rows, query).to_pylist() if row["at"].hour == 0}
    assert scores[1] == 4 * 2.0**-48
    assert (scores[3], scores[4]) == (8 * 2.0**-48, 2 * 2.0**-48)
    assert scores[5] == 2.0**-24


def test_a_newer_small_value_passes_an_older_large_one_and_ties_go_to_the_smaller_object():
    rows = pa.table(
        {
            "t": pa.array([0, 20, 20, 40], pa.timestamp("s")),
            "cell": [9, 8, 7, 6],
            "from": ["air"] * 4,
            "value": [4.0, 2.0, 2.0, 1.0],
            "number": [1, 2, 3, 4],
        }
    )
    query = {**QUERY, "streams": ["air"], "every": "1 minute", "k": 4, "window": "1 minute"}
    query |= {"carry": ["number"]}
    tied = apply(rows, query | {"half_life": "20 seconds"}).select(["object", "score", "number"]).to_pylist()
    assert [tuple(row.values()) for row in tied] == [(6, 0.5, 4), (7, 0.5, 3), (8, 0.5, 2), (9, 0.5, 1)]
    assert apply(rows, query | {"half_life": "10 seconds"})["object"].to_pylist() == [6, 7, 8, 9]
    assert apply(rows, query | {"half_life": "1 hour"})["object"].to_pylist() == [9, 7, 8, 6]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"window": "9 rows", "every": "3 rows"}, "half_life: must be a length of time, and needs windows in time"),
        ({"half_life": "9 rows"}, "half_life: must be a length of time"),
        ({"half_life": "0 seconds"}, "half_life: must be"),
        ({"window": "today in UTC"}, 'half_life: needs windows and `every` of fixed length: write "24 hours"'),
        ({"repeats": "never"}, "repeats: is a promise, which `half_life` does not support: choose one of latest"),
        ({"repeats": 3}, "repeats: is a promise"),
        ({"aggregate": sum}, "aggregate: is a function, which `half_life` would call for all objects"),
        ({"repeats": "largest", "carry": ["number"]}, "carry: is of the latest row with `half_life`"),
    ],
)
def test_unsupported_keys_are_refused(keys, message):
    with pytest.raises(ConfigError, match=message):
        make_query({**QUERY, "every": "5 seconds", "k": 3, "window": "1 minute", "half_life": "9 seconds"} | keys)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("times", [5, 4]),
        ("streams", np.array([0, 3], np.int32)),
        ("values", [1.0, float("nan")]),
        ("objects", [1]),
        ("values", [1, 2]),
    ],
)
def test_an_impossible_state_is_refused(name, values):
    from skyband_incomplete.top_k.decayed_ranker import DecayedRanker

    query = make_query({**QUERY, "every": "5 seconds", "k": 3, "window": "1 minute", "half_life": "9 seconds"})
    ranker = DecayedRanker(query.backend_parameters("object-ranker"), 5 * SECOND, 9 * SECOND)
    state = {"times": np.array([4, 5]), "streams": np.array([0, 2], np.int32)}
    state |= {"objects": np.array([1, 2]), "values": np.array([1.0, 2.0])}
    ranker.load_state(state)
    assert len(ranker) == 2
    with pytest.raises(SnapshotError, match="of decayed values"):
        ranker.load_state(state | {name: np.array(values)})
