"""uncertain-sum and uncertain-join over windows of time and of change, compared with their definitions."""

import json

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.errors import ConfigError
from skyband.operator.bind_backends import bind
from skyband.queries import make_query

SECOND = 1_000_000
KEYS = {"time": "ts", "values": "values", "probabilities": "chances"}


def rows(seed, count=150, span=60):
    """Tuples of one to three samples, some with equal times, as dicts in order of time and number."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, span, count))
    seconds += 500 * (seconds > span // 2)
    chosen = [((1.0,), (0.5, 0.5), (0.75,), (0.25, 0.5), (0.0,))[at] for at in rng.integers(0, 5, count)]
    return [
        {
            "ts": int(second) * SECOND,
            "number": number,
            "side": ["left", "right"][rng.integers(2)],
            "values": (rng.integers(-4, 5, len(shares)) * 0.5).tolist(),
            "chances": list(shares),
        }
        for number, (second, shares) in enumerate(zip(seconds, chosen, strict=True))
    ]


def table(given):
    found = pa.Table.from_pylist(given)
    return found.set_column(0, "ts", found["ts"].cast(pa.timestamp("us", "UTC")))


def in_order(given):
    """The rows in order: uncertain-sum orders equal times by a hash of samples, so here times are distinct."""
    return {row["ts"]: row for row in given}.values()


def mean(row):
    return sum(value * share for value, share in zip(row["values"], row["chances"], strict=True))


def ask(kind, given, **keys):
    return local.apply(table(given), make_query({"kind": kind, **KEYS, **keys})).to_pylist()


def alike(here, there, epsilon):
    pairs = [
        (a, b)
        for a in zip(here["values"], here["chances"], strict=True)
        for b in zip(there["values"], there["chances"], strict=True)
    ]
    return sum(p * q for (a, p), (b, q) in pairs if abs(a - b) <= epsilon)


@pytest.mark.parametrize("seed", range(3))
def test_sums_over_a_length_of_time(seed):
    given = list(in_order(rows(seed)))
    found = ask("uncertain-sum", given, window="10 seconds", statistics=["average", "count"])
    assert [*found[0]] == ["time", "sum", "expected", "kept", "count", "average"]
    for row, answer in zip(given, found, strict=True):
        held = [other for other in given if row["ts"] - 10 * SECOND < other["ts"] <= row["ts"]]
        existence = [sum(other["chances"]) for other in held]
        expected = sum(map(mean, held))
        averages = sum(mean(other) / share for other, share in zip(held, existence, strict=True) if share)
        assert (answer["kept"], answer["count"]) == (len(held), sum(existence))
        assert (answer["sum"], answer["expected"]) == pytest.approx((averages, expected))
        assert answer["average"] == (pytest.approx(expected / sum(existence)) if sum(existence) else None)


@pytest.mark.parametrize("seed", range(3))
def test_sums_over_similar_tuples(seed):
    given, start = list(in_order(rows(seed))), 0
    found = ask("uncertain-sum", given, delta=1.0, alpha=0.7, statistics=["count"])
    for last, answer in enumerate(found):
        while start < last and change(given[start : last + 1], 1.0) >= 0.7:
            start += 1
        held = given[start : last + 1]
        assert answer["kept"] == len(held)
        assert answer["expected"] == pytest.approx(sum(map(mean, held)))
        assert answer["count"] == pytest.approx(sum(sum(row["chances"]) for row in held))


def change(held, delta):
    """P(some later tuple is further than delta from the first, given that the first exists), section 8.1."""
    first, *others = held
    exists = sum(first["chances"])
    if not exists:
        return 1.0
    broken = 0.0
    for value, share in zip(first["values"], first["chances"], strict=True):
        none = 1.0
        for other in others:
            none *= 1 - sum(p for v, p in zip(other["values"], other["chances"], strict=True) if abs(v - value) > delta)
        broken += share * (1 - none)
    return broken / exists


@pytest.mark.parametrize("side", ["side", None])
@pytest.mark.parametrize("seed", range(3))
def test_matches_within_a_length_of_time(seed, side):
    given = rows(seed)
    found = ask("uncertain-join", given, id="number", side=side, epsilon=0.5, beta=0.3, window="3 seconds")
    wanted = {}
    order = sorted(given, key=lambda row: (row["ts"], row["side"] if side else "", row["number"]))
    for at, row in enumerate(order):
        for other in order[:at]:
            apart = side is None or row["side"] != other["side"]
            if apart and other["ts"] > row["ts"] - 3 * SECOND and alike(row, other, 0.5) >= 0.3:
                left = side is not None and row["side"] == "left"
                pair = (row, other) if left else (other, row)
                wanted[tuple(each["number"] for each in pair)] = alike(row, other, 0.5)
    assert {(row["left"], row["right"]): row["probability"] for row in found} == pytest.approx(wanted)
    assert len(wanted) == len(found) > 20


def test_a_silent_side_drops_old_tuples():
    given = [{**row, "side": "left"} for row in rows(9, count=40)] + [
        {"ts": 10_000 * SECOND, "number": 99, "side": "right", "values": [0.0], "chances": [1.0]}
    ]
    assert ask("uncertain-join", given[:-1], id="number", side="side", epsilon=9.0, window="1 hour") == []
    matched = ask("uncertain-join", given, id="number", side="side", epsilon=9.0, window="3 hours")
    assert len(matched) == sum(sum(row["chances"]) >= 0.5 for row in given[:-1])
    assert ask("uncertain-join", given, id="number", side="side", epsilon=9.0, window="1 minute") == []


@pytest.mark.parametrize("kind", ["uncertain-sum", "uncertain-join"])
def test_a_window_is_of_one_kind(kind):
    keys = {"kind": kind, **KEYS} | ({"id": "number", "epsilon": 1.0} if kind == "uncertain-join" else {})
    for wrong, said in [
        ({}, "size: is required, or one of `window`"),
        ({"size": 3, "delta": 1.0}, "delta: excludes size"),
        ({"window": "3 rows"}, "window: must be a length of time; for a number of tuples set `size`"),
        ({"window": "1 microsecond"}, "window: must be at least 2 microseconds"),
        ({"delta": -1.0}, "delta: must be at least 0"),
    ]:
        with pytest.raises(ConfigError, match=said):
            make_query({**keys, **wrong})
    numbers = table(rows(1)).set_column(0, "ts", pa.array(range(150)))
    with pytest.raises(ConfigError, match=r"query\.window: is a length of time, and column 'ts' holds numbers"):
        local.apply(numbers, make_query({**keys, "window": "1 minute"}))
    with pytest.raises(ConfigError, match="window"):
        bind(make_query({**keys, "window": "1 minute"}), None, {"window": "rf1"})
    assert "window" in bind(make_query({**keys, "size": 3}), None, {"window": "rf1"})


def test_unknown_statistics_are_refused():
    with pytest.raises(ConfigError, match="statistics: must be a list of 'count' and 'average'"):
        make_query({"kind": "uncertain-sum", **KEYS, "size": 1, "statistics": ["median"]})
    asked = {"kind": "uncertain-sum", **KEYS, "size": 2, "statistics": ["count"]}
    certain = [{"ts": at * SECOND, "values": [1.0], "chances": [1.0]} for at in range(4)]
    found = local.apply(table(certain), make_query(json.loads(json.dumps(asked)))).to_pydict()
    assert found["count"] == [1.0, 2.0, 2.0, 2.0]
