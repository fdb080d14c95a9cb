"""total-ranker/exact where very many objects have one total: the order by object decides, and cuts do not."""

from collections import Counter

import numpy as np
import pytest
import skyband
from skyband_totals.candidates import AIM

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
    """Weights of 2 but for one row in 200; each row's own value, or that of the row before."""
    numbers = np.arange(begin, end)
    return {
        "rows": {},
        "sum": {"weights": np.where(numbers % 200 == 7, 3.0, 2.0)},
        "distinct": {"values": (numbers - (numbers % 5 == 1)).astype(np.uint64)},
    }[total]


def counted(total, objects, begin, end):
    """The order of all objects of rows begin..end, by the definition."""
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
def test_candidates_become_more_where_the_best_are_the_next_to_leave_and_fewer_after(total):
    rows, half = 30_000, 10_000
    objects = np.append(np.arange(half), -np.arange(half, rows))
    ranker = created(total, [1500])
    aims = []
    for begin in range(0, rows, 1000):
        end = begin + 1000
        moments = np.arange(begin, end, 20)
        ranker.answers(np.arange(begin, end), objects[begin:end], **amounts(total, begin, end), moments=moments)
        aims.append(int(ranker._ledger._ledger.spans[0, AIM]))
    assert aims[half // 1000 - 1] > 50
    assert aims[-1] < aims[half // 1000 - 1]
