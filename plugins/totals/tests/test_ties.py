"""total-ranker/exact with very many objects of equal totals: the order of objects decides, and cuts do not matter."""

from collections import Counter

import numpy as np
import pytest
import skyband
from numba import njit
from skyband_totals.exact.bar import DRAWN, LOT, STOCK
from skyband_totals.selection import rank
from skyband_totals.slots import place

ROWS = 6000
TOTALS = ["rows", "sum", "distinct"]
WINDOWS = {"one": [1500], "several": [40, 700, 1500]}


def streams():
    rng = np.random.default_rng(1)
    numbers = np.arange(ROWS)
    half = ROWS // 2
    return {
        "ascending": numbers,
        "descending": -numbers,
        "shuffled": rng.permutation(ROWS) - half,
        "up, then down": np.append(numbers[:half], -numbers[half:]),
        "down, then up": np.append(-numbers[:half], numbers[half:]),
        "ends of int64": np.where(numbers % 2 == 0, 2**63 - 1 - numbers, -(2**63) + numbers),
        "in turn": numbers % 500,
        "some twice": numbers - rng.integers(0, 2, ROWS) * rng.integers(0, 900, ROWS),
        "few": rng.integers(0, 60, ROWS),
    }


def created(total, windows, **others):
    parameters = {"windows": windows, "every": 20, "k": 3, "total": total} | others
    return skyband.create("total-ranker", "exact", **parameters)


def amounts(total, begin, end):
    """Weights of 2 except for one row in 200; each row has its own value or that of the row before."""
    numbers = np.arange(begin, end)
    return {
        "rows": {},
        "sum": {"weights": np.where(numbers % 200 == 7, 3.0, 2.0)},
        "distinct": {"values": (numbers - (numbers % 5 == 1)).astype(np.uint64)},
    }[total]


def counted(total, objects, begin, end):
    """The order of all objects in rows begin..end, by definition."""
    begin = max(begin, 0)
    given = amounts(total, begin, end)
    rows = objects[begin:end].tolist()
    found = Counter()
    if total == "distinct":
        found.update(key for key, _ in set(zip(rows, given["values"].tolist(), strict=True)))
    else:
        for key, weight in zip(rows, given["weights"].tolist() if given else [1.0] * len(rows), strict=True):
            found[key] += weight
    return sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))


def check(top, order, k):
    assert top.objects.tolist() == [key for key, _ in order[:k]]
    assert top.totals.tolist() == [total for _, total in order[:k]]
    assert top.rest == (order[k - 1][1] if len(order) >= k else 0.0)


@pytest.mark.parametrize("windows", WINDOWS)
@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("name", streams())
def test_ties_are_in_the_order_of_objects(name, total, windows):
    objects, lengths = streams()[name], WINDOWS[windows]
    ranker = created(total, lengths)
    for at in range(20, ROWS + 1, 20):
        ranker.update(np.arange(at - 20, at), objects[at - 20 : at], **amounts(total, at - 20, at))
        ranker.advance(at)
        for window, length in enumerate(lengths if at % 60 == 0 or windows == "one" else []):
            check(ranker.top(window), counted(total, objects, at - length, at), 3)


@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("name", streams())
@pytest.mark.parametrize("k", [1, 400])
def test_neither_batches_nor_snapshots_change_answers(name, total, k):
    objects, lengths = streams()[name], WINDOWS["several"]
    whole, cut = created(total, lengths, k=k), created(total, lengths, k=k)
    moments = np.arange(20, ROWS, 20)
    tops = whole.answers(np.arange(ROWS), objects, **amounts(total, 0, ROWS), moments=moments)
    found = [tops[number] for number in range(len(moments) * len(lengths))]
    begin, parts = 0, []
    for end in [*range(333, ROWS, 777), ROWS]:
        some = moments[(moments >= begin) & (moments < end)]
        given = amounts(total, begin, end)
        answers = cut.answers(np.arange(begin, end), objects[begin:end], **given, moments=some)
        parts += [answers[number] for number in range(len(some) * len(lengths))]
        cut = skyband.restore(cut.snapshot())
        begin = end
    assert len(found) == len(parts)
    for one, other in zip(found, parts, strict=True):
        assert one.objects.tolist() == other.objects.tolist()
        assert (one.totals.tolist(), one.grand, one.rest) == (other.totals.tolist(), other.grand, other.rest)


@pytest.mark.parametrize("total", ["rows", "distinct"])
def test_the_stock_grows_if_the_best_leave_next_and_shrinks_if_they_are_newest(total):
    rows, half = 30_000, 10_000
    objects = np.append(np.arange(half), -np.arange(half, rows))
    ranker = created(total, [1500])
    lots, stocks = [], []
    for begin in range(0, rows, 1000):
        end = begin + 1000
        moments = np.arange(begin, end, 20)
        ranker.answers(np.arange(begin, end), objects[begin:end], **amounts(total, begin, end), moments=moments)
        lots.append(int(ranker._ledger._ledger.spans[0, LOT]))
        stocks.append(int(ranker._ledger._ledger.spans[0, STOCK]))
    assert lots[half // 1000 - 1] > 50 < stocks[half // 1000 - 1]
    assert stocks[-1] == 0


def test_the_second_scan_keeps_all_objects_in_order_if_they_leave_in_that_order():
    rows, window = 14_000, 6400
    objects = np.arange(rows)
    ranker = created("rows", [window], k=5)
    scans, drawn = 0, 0
    for begin in range(0, rows, 20):
        found = ranker.answers(objects[begin : begin + 20], objects[begin : begin + 20], moments=np.array([begin]))
        oldest = max(begin - window, 0)
        assert found.objects.tolist() == list(range(oldest, min(oldest + 5, begin)))
        spans = ranker._ledger._ledger.spans[0]
        scans += spans[DRAWN] < drawn
        drawn = spans[DRAWN]
    assert scans <= 3 and spans[STOCK] > window // 2
    assert len(ranker._ledger._ledger.hot) == 16_384, "two fifths of them are in use after each sweep"


def test_neighbouring_objects_are_in_adjacent_distinct_slots():
    for first in (0, 8 * 12_345, 2**62, -(2**63), -8):
        slots = placed(np.arange(8, dtype=np.int64) + first, 2**14 - 1)
        assert sorted(slots.tolist()) == list(range(slots.min(), slots.min() + 8)) and slots.min() % 8 == 0
    numbers = np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 2**14)
    for keys in (numbers, np.arange(2**14) * 8, np.arange(2**14) * 1000, np.arange(2**14) << 40):
        most = np.bincount(placed(keys, 2**14 - 1)).max()
        assert most <= 16, "objects with one slot"


@njit
def placed(keys, mask):
    slots = np.empty(len(keys), np.int64)
    for number in range(len(keys)):
        slots[number] = place(keys[number], mask)
    return slots


@pytest.mark.parametrize("seed", range(12))
def test_totals_that_rise_and_fall_past_the_stock_are_answered_correctly(seed):
    rng = np.random.default_rng(seed)
    rows, length, k = 4000, int(rng.choice([60, 400, 1500])), int(rng.choice([1, 3, 20]))
    numbers = np.arange(rows)
    repeated = rng.integers(0, 300, rows) if seed % 3 else rng.integers(0, 3000, rows) // 7 * 7
    objects = np.where(rng.random(rows) < rng.choice([0.05, 0.3]), repeated - 150, numbers * rng.choice([-1, 1]))
    objects[rng.random(rows) < 0.01] = -(2**63)
    weights = np.where(rng.random(rows) < 0.5, rng.integers(1, 5, rows), (rows - numbers) // 50).astype(float)
    every = int(rng.choice([1, 5, 20]))
    ranker = skyband.create("total-ranker", "exact", windows=[length * every], every=every, k=k, total="sum")
    moments = np.arange(every, rows + 1, every)
    found = ranker.answers(numbers, objects, weights=weights, moments=moments[:-1])
    for moment, top in zip(moments[:-1].tolist(), found, strict=True):
        totals = {}
        for row in range(max(0, moment - length * every), moment) if moment % (7 * every) == 0 else []:
            totals[int(objects[row])] = totals.get(int(objects[row]), 0.0) + weights[row]
        if totals:
            wanted = sorted(((key, total) for key, total in totals.items() if total), key=lambda o: (-o[1], o[0]))[:k]
            assert list(zip(top.objects.tolist(), top.totals.tolist(), strict=True)) == wanted


@njit
def ranked(totals, keys, count):
    rank(totals, keys, count)


@pytest.mark.parametrize("count", [0, 1, 2, 255, 256, 257, 5000])
def test_many_objects_rank_by_total_then_by_object(count):
    rng = np.random.default_rng(count)
    kinds = [
        rng.permutation(count),
        rng.integers(-(2**63), 2**63 - 1, count, endpoint=True),
        np.where(np.arange(count) % 2 == 0, -(2**63) + np.arange(count), 2**63 - 1 - np.arange(count)),
    ]
    for keys in kinds:
        for totals in (np.full(count, 7), rng.integers(1, 5, count), rng.integers(1, 2**62, count)):
            order = np.lexsort((keys, -totals))
            rest = np.array([5, -5])
            mine, theirs = np.append(totals, rest), np.append(keys, rest)
            ranked(mine, theirs, count)
            assert np.array_equal(mine, np.append(totals[order], rest))
            assert np.array_equal(theirs, np.append(keys[order], rest))
