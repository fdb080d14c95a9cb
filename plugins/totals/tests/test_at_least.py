"""`at_least` of every backend, compared with totals added up in fractions, on random streams."""

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
import skyband
from skyband.engines import local
from skyband_totals.exact.bar import BAR, SIZE, STOCK

ROWS = {"misra-gries": 12_000}  # the youngest rows are kept unchanged
SPAN = 60
"""The length of a stream in seconds."""
WINDOWS = (20, 50)
EVERY = 10
UNIT = 0.1
KINDS = {
    "rows": {},
    "sum": {"total": "sum", "weight": "amount", "unit": UNIT},
    "distinct": {"total": "distinct", "value": "page"},
}
LOOSE = {"misra-gries": {"epsilon": 0.9}, "frequent-items-panes": {"epsilon": 0.4}}
"""Parameters with which totals have bounds and not all objects are kept."""
LOOSE["k-skb"] = {"epsilon": 0.7, "delta": 1e-4}
CASES = [("exact", total, groups) for total in KINDS for groups in (1, 40)]
"""With 40 groups, each is small."""
CASES += [(name, total, groups) for name in LOOSE for total in ("rows", "sum") for groups in (1, 3)]
CASES += [("k-skb", "distinct", groups) for groups in (1, 3)]
FLOATS = 1e-9
"""Estimates are rounded."""


def stream(seed, groups, size=1000):
    rng = np.random.default_rng([42, seed])
    return pa.table(
        {
            "t": pa.array(np.sort(rng.integers(0, SPAN, size)) * 1_000_000, pa.timestamp("us")),
            "key": rng.zipf(1.4, size) % 90,
            "amount": rng.integers(0, 12, size) / 10,
            "page": rng.integers(0, 30, size),
            "group": rng.integers(0, groups, size),
        }
    )


def truth(rows, total):
    """{(moment in seconds, window, group): {object: total}} of all windows."""
    found = defaultdict(Counter)
    pairs = set()
    for row in rows.to_pylist():
        second = row["t"].second + 60 * row["t"].minute
        for window in WINDOWS:
            for moment in range(second // EVERY * EVERY + EVERY, min(second + window, SPAN) + 1, EVERY):
                place, key = (moment, window, row["group"]), row["key"]
                new = (place, key, row["page"]) not in pairs
                pairs.add((place, key, row["page"]))
                amount = {"rows": 1, "sum": round(row["amount"] / UNIT), "distinct": int(new)}[total]
                found[place][key] += amount
    worth = Fraction(repr(UNIT)) if total == "sum" else 1
    return {place: {key: amount * worth for key, amount in counted.items()} for place, counted in found.items()}


def answered(rows, name, total, groups, **limits):
    """{(moment, window, group): [rows of the answer]}"""
    query = {"kind": "heavy-hitters", "time": "t", "object": "key", **KINDS[total], **limits}
    query |= {"windows": [f"{window} seconds" for window in WINDOWS], "every": f"{EVERY} seconds"}
    ranker = {"name": name, **LOOSE.get(name, {})}
    result = local.apply(rows, {**query, "by": ["group"] if groups > 1 else []}, {"total-ranker": ranker})
    found = defaultdict(list)
    for row in result.to_pylist():
        moment = row["at"].second + 60 * row["at"].minute
        found[moment, int(row["window"].split()[0]), row.get("group", 0)].append(row)
    return found


def limits_of(totals, seed):
    """Totals of objects: with one unit more or less, the answer would change."""
    some = sorted({total for counted in totals.values() for total in counted.values() if total > 0})
    return [some[0], some[len(some) // 4], some[len(some) * 3 // 4 + seed], some[-1]]


@pytest.mark.parametrize(("name", "total", "groups"), CASES)
def test_objects_that_reach_the_total_are_in_the_answer(name, total, groups):
    unsure = 0
    for seed in range(2):
        rows = stream(seed, groups, ROWS.get(name, 1000))
        totals = truth(rows, total)
        for least in limits_of(totals, seed):
            found = answered(rows, name, total, groups, at_least=float(least))
            assert found.keys() <= totals.keys()
            for place, counted in totals.items():
                large = {key: amount for key, amount in counted.items() if amount >= least and amount > 0}
                rows_there = found.get(place, [])
                if name == "exact":
                    ranked = sorted(large.items(), key=lambda entry: (-entry[1], entry[0]))
                    assert [(row["object"], row["total"]) for row in rows_there] == [
                        (key, float(amount)) for key, amount in ranked
                    ], (place, least)
                    continue
                grand = sum(counted.values())
                there = {row["object"]: row for row in rows_there}
                slack = LOOSE[name]["epsilon"] * grand
                assert all(amount <= slack for key, amount in large.items() if key not in there), (place, least)
                for key, row in there.items():
                    assert row["low"] * (1 - FLOATS) <= counted[key] <= row["high"] * (1 + FLOATS)
                    assert row["high"] * (1 + FLOATS) >= float(least), "what has surely less is in the answer"
                    unsure += row["low"] < float(least) <= row["high"]
    if groups == 1:  # a small group is exact
        assert (unsure > 0) == (name != "exact"), "no total had bounds"


@pytest.mark.parametrize("groups", [1, 40], ids=["alone", "groups"])
@pytest.mark.parametrize("total", KINDS)
def test_with_other_limits_objects_must_meet_them_all(total, groups):
    rows = stream(7, groups)
    totals = truth(rows, total)
    for least in limits_of(totals, 0)[:3]:
        found = answered(rows, "exact", total, groups, at_least=float(least), k=4, share=0.05)
        for place, counted in totals.items():
            grand = sum(counted.values())
            ranked = sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))[:4]
            ranked = [(key, float(amount)) for key, amount in ranked if amount >= max(least, grand * Fraction("0.05"))]
            assert [(row["object"], row["total"]) for row in found.get(place, [])] == ranked, (place, least)


@pytest.mark.parametrize("total", KINDS)
@pytest.mark.parametrize("limit", [{"share": 1e-300}, {"share": 5e-324, "k": 2**62}, {"k": 2**62}, {"at_least": 0.5}])
def test_limits_that_all_objects_meet_have_no_effect(limit, total):
    """The limit of 1e-300 is 2**62 objects, and twice that does not fit int64: a bar there would leave no candidate."""
    if limit == {"at_least": 0.5} and total != "sum":
        pytest.skip("refused: every object of an answer has one")
    rng = np.random.default_rng(3)
    size = 3000
    times, objects = np.sort(rng.integers(0, 400, size)), rng.integers(0, 500, size)
    units = rng.integers(1, 5, size)
    amounts = {"rows": {}, "sum": {"weights": units.astype(float)}, "distinct": {"values": units.astype(np.uint64)}}
    ranker, start = skyband.create("total-ranker", windows=[100], every=1, total=total, **limit), 0
    for stop in [*np.flatnonzero(np.diff(times) > 0)[::40] + 1, size]:
        part = slice(start, int(stop))
        start = part.stop
        ranker.update(times[part], objects[part], **{name: column[part] for name, column in amounts[total].items()})
        now = int(times[part][-1]) + 1
        ranker.advance(now)
        top = ranker.top(0)
        inside = [row for row in range(part.stop) if now - 100 <= times[row] < now]
        if total == "distinct":
            counted = Counter(key for key, _ in {(int(objects[row]), int(units[row])) for row in inside})
        else:
            counted = Counter()
            for row in inside:
                counted[int(objects[row])] += int(units[row]) if total == "sum" else 1
        ranked = sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
        assert list(zip(top.objects.tolist(), top.totals.tolist(), strict=True)) == ranked
        (span,) = ranker._ledger._ledger.spans
        assert (span[BAR], span[STOCK], span[SIZE]) == (1, 0, len(ranked)), "there is a bar"
