"""heavy-hitters beside an earlier window: distances of shares by their definition, and what is remembered for a lag."""

from bisect import bisect_left
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from cut_run import cut_run
from skyband.engines import local
from skyband.errors import ConfigError, SnapshotError
from skyband_totals.heavy_hitters import execution
from skyband_totals.heavy_hitters.earlier_tops import EarlierTops
from skyband_totals.heavy_hitters.variation import variation_of
from skyband_totals.top import Top, Tops

SECOND = 1_000_000
QUERY = {"kind": "heavy-hitters", "time": "t", "object": "key", "windows": ["10 seconds"], "every": "10 seconds"}
DISTANCE = {"distance": ["total-variation"]}
BOUNDED = {"misra-gries": {"epsilon": 0.5}, "frequent-items-panes": {"epsilon": 0.4}}
BOUNDED["k-skb"] = {"epsilon": 0.3, "delta": 1e-5}


def stream(seed, size=400, keys=8):
    """Rows of 40 windows, some of few rows and some of none, in which other objects come to the fore."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, 400, size))
    seconds = seconds[(seconds // 10 % 7 != 3) | (seconds % 10 == 0)]
    seconds = seconds[(seconds < 200) | (seconds >= 240)]
    names = (rng.zipf(1.4, len(seconds)) + seconds // 100) % keys
    columns = {"t": pa.array(seconds * SECOND, pa.timestamp("us", "UTC")), "key": names.astype(str).tolist()}
    return pa.table(
        columns | {"amount": rng.integers(0, 4, len(seconds)) / 4, "what": rng.integers(0, 3, len(seconds))}
    )


def plain(table):
    """The rows, with their times in seconds."""
    times = table["t"].cast(pa.int64()).to_numpy() / SECOND
    return table.set_column(0, "t", pa.array(times)).to_pylist()


def totals(rows, query, at, length=10):
    """The total of each object over [at - length, at) seconds."""
    first, last = (bisect_left(rows, end, key=lambda row: row["t"]) for end in (at - length, at))
    inside = rows[first:last]
    if query.get("total") == "distinct":
        return Counter(key for key, _ in {(row["key"], row["what"]) for row in inside})
    of = Counter()
    for row in inside:
        of[row["key"]] += Fraction(row["amount"]) if query.get("total") == "sum" else 1
    return +of


def variation(ours, theirs):
    if not sum(ours.values()) or not sum(theirs.values()):
        return None
    p, q = ({key: Fraction(number) / sum(of.values()) for key, number in of.items()} for of in (ours, theirs))
    return sum(abs(p.get(key, 0) - q.get(key, 0)) for key in {*ours, *theirs}) / 2


AMOUNTS = {
    "rows": {},
    "sum": {"total": "sum", "weight": "amount", "unit": 0.25},
    "distinct": {"total": "distinct", "value": "what"},
}


@pytest.mark.parametrize("against", ["previous", "50 seconds"])
@pytest.mark.parametrize("total", AMOUNTS)
def test_distances_of_exact_totals_are_those_of_the_definition(total, against):
    query, table = QUERY | AMOUNTS[total] | DISTANCE | {"against": against}, stream(1)
    rows, lag = plain(table), 10 if against == "previous" else 50
    answers = local.apply(table, query)
    found = 0
    for row in answers.to_pylist():
        at = row["at"].timestamp()
        ours, theirs = totals(rows, query, at), totals(rows, query, at - lag)
        assert (row["total"], row["previous"]) == (sum(ours.values()), sum(theirs.values()))
        truth = variation(ours, theirs)
        assert row["low"] == row["value"] == row["high"] == (None if truth is None else float(truth))
        found += truth is not None
    assert found > 15
    assert cut_run(table, query, np.random.default_rng(2))[0].equals(answers)


@pytest.mark.parametrize("name", BOUNDED)
def test_bounds_contain_the_distance(name):
    keys = DISTANCE | {"windows": ["60 seconds"], "every": "20 seconds", "against": "80 seconds"}
    query, table = QUERY | keys, stream(3, 30_000 if name == "misra-gries" else 4_000, keys=200)
    rows = plain(table)
    unsure = 0
    for row in local.apply(table, query, {"total-ranker": {"name": name, **BOUNDED[name]}}).to_pylist():
        at = row["at"].timestamp()
        truth = variation(totals(rows, query, at, 60), totals(rows, query, at - 80, 60))
        truth = None if truth is None else float(truth)
        assert truth is None or row["low"] <= truth <= row["high"], (name, row)
        assert truth is None or row["low"] <= row["value"] <= row["high"]
        unsure += truth is not None and row["low"] < row["high"]
    assert unsure > 10


def test_any_totals_within_the_bounds_have_a_distance_within_those_of_it():
    """Random shares, some told with bounds, the others at most the rest."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        sides, truths = [], []
        for _ in range(2):
            true = rng.integers(0, 30, 12) * (rng.random(12) < 0.7)
            true[0] += 1
            told = np.flatnonzero(rng.random(12) < 0.6)
            low, high = (np.maximum(true[told] + sign * rng.integers(0, 4, len(told)), 0) for sign in (-1, 1))
            rest = float(np.delete(true, told).max(initial=0) + rng.integers(0, 3))
            grand = true.sum()
            bounds = grand - rng.integers(0, min(5, grand)), grand + rng.integers(0, 5)
            numbers = low + 0.0, low + 0.0, high + 0.0, *map(float, (grand, *bounds, rest))
            sides.append(Tops.of([Top(told.astype(np.int64), *numbers)]))
            truths.append(Counter(dict(enumerate(true.tolist()))))
        value, low, high = (float(column[0]) for column in variation_of(*sides, 1.0))
        assert low <= variation(*truths) <= high
        assert low <= value <= high


def test_distances_by_groups_and_the_same_from_text_or_several_columns():
    table = stream(5)
    query = QUERY | DISTANCE | {"against": "30 seconds", "by": ["what"]}
    one = local.apply(table, query)
    several = local.apply(table.append_column("again", table["key"]), query | {"object": ["key", "again"]})
    assert one.equals(several) and len(one) > 60
    alone = local.apply(table.filter(pa.compute.equal(table["what"], 1)), {**query, "by": []})
    assert one.filter(pa.compute.equal(one["what"], 1)).drop_columns(["what"]).slice(0, len(alone)).equals(alone)


@pytest.mark.parametrize("most", [0, 3, 6, 512])
@pytest.mark.parametrize("against", ["previous", "40 seconds"])
def test_small_groups_have_the_distances_of_processors_however_the_input_was_cut(most, against, monkeypatch):
    monkeypatch.setattr(execution, "_MOST_IF_COSTLY", most)
    table = stream(7, 300)
    query = (
        QUERY
        | AMOUNTS["sum"]
        | DISTANCE
        | {"against": against, "by": ["what"], "windows": ["10 seconds", "20 seconds"]}
    )
    answers = local.apply(table, query)
    order = [("what", "ascending"), ("at", "ascending"), ("window", "ascending")]
    parts = cut_run(table, query, np.random.default_rng(most))[0]
    assert parts.sort_by(order).equals(answers.sort_by(order))
    rows, lag = plain(table), None if against == "previous" else 40
    for row in answers.to_pylist():
        at, length = row["at"].timestamp(), int(row["window"].split()[0])
        own = [each for each in rows if each["what"] == row["what"]]
        ours, theirs = (totals(own, query, end, length) for end in (at, at - (lag or length)))
        truth = variation(ours, theirs)
        assert (row["total"], row["previous"]) == (sum(ours.values()), sum(theirs.values()))
        assert row["low"] == row["value"] == row["high"] == (None if truth is None else float(truth))
    assert len(answers) > 150


def test_distinct_values_are_compared_with_a_window_of_any_lag_by_the_count_of_each():
    query = QUERY | AMOUNTS["distinct"] | {"against": "30 seconds", "k": 4, "by": ["amount"]}
    table = stream(6)
    rows = plain(table)
    answers = local.apply(table, query).to_pylist()
    for row in answers:
        at = row["at"].timestamp()
        own = [each for each in rows if each["amount"] == row["amount"]]
        ours, theirs = (totals(own, query, at - lag)[row["object"]] for lag in (0, 30))
        assert (row["total"], row["previous"], row["difference"]) == (ours, theirs, ours - theirs)
    assert len(answers) > 100


def test_names_are_known_for_the_whole_lag():
    keys, seconds = ["ann", "bob", "ann", "cho"], [1, 2, 62, 63]
    rows = pa.table({"t": pa.array(seconds, pa.timestamp("s")), "key": keys, "page": [7, 8, 9, 6]})
    answers = local.apply(rows, QUERY | {"against": "1 minute", "k": 5, "carry": ["page"]})
    newest = [tuple(row.values()) for row in answers.select(["object", "status", "page"]).to_pylist()][-3:]
    assert sorted(newest) == [("ann", "same", 9), ("bob", "gone", 8), ("cho", "new", 6)]


def top(*pairs, rest=0.0, bounds=None):
    objects, numbers = (np.array(column) for column in zip(*pairs, strict=True))
    low, high = (numbers - 1.0, numbers + 1.0) if bounds else (numbers + 0.0, numbers + 0.0)
    return Top(objects, numbers + 0.0, low, high, *[float(numbers.sum())] * 3, rest)


def remembered(*entries):
    past = EarlierTops(2)
    for window, at, answer in entries:
        past.add(window, at, answer)
    return past


def test_shards_remember_together_what_each_remembers():
    ours = remembered((0, 10, top((5, 2), (1, 9))), (0, 20, top((5, 3))), (1, 20, top((7, 1), bounds=True)))
    theirs = remembered((0, 20, top((4, 8))), (0, 30, top((4, 1))), (1, 20, top((2, 5), rest=2.0)))
    ours.merge(theirs)
    both = remembered(
        (0, 10, top((5, 2), (1, 9))), (0, 20, top((4, 8), (5, 3))), (0, 30, top((4, 1))),
        (1, 20, Top(np.array([2, 7]), *np.array([[5.0, 1], [5, 0], [5, 2]]), 6.0, 6.0, 6.0, 2.0)),
    )  # fmt: skip
    found, wanted = ours.to_arrays(), both.to_arrays()
    assert {name: column.tolist() for name, column in found.items()} == {
        name: column.tolist() for name, column in wanted.items()
    }
    assert (len(ours), ours.nbytes) == (len(both), both.nbytes)


def test_what_is_remembered_of_exact_totals_is_16_bytes_an_object_and_is_forgotten():
    past = EarlierTops(1)
    for at in range(100):
        past.find(0, at - 9, at - 9)
        past.add(0, at, top(*((number, 1) for number in range(500))))
    assert past.nbytes == 10 * (300 + 16 * 500) and len(past) == 5_000
    assert past.find(0, 95, 95).grand == 500 and past.find(0, 94, 94).grand == 0 == len(past.find(0, 200, 200).objects)
    assert past.nbytes == len(past) == 0


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("of", np.array([0, 2])),
        ("at", np.array([20, 10])),
        ("at", np.array([10, 40])),
        ("sizes", np.array([1, 1])),
        ("bounded", np.array([0, 2])),
        ("numbers", np.full(8, np.nan)),
        ("totals", np.array([-1.0, 1, 1])),
        ("low", np.zeros(2)),
        ("objects", np.zeros(2, np.int64)),
    ],
)
def test_a_damaged_state_is_refused_by_its_array(name, wrong):
    arrays = remembered((0, 10, top((5, 2), (1, 9))), (0, 20, top((5, 3), bounds=True))).to_arrays()
    again = EarlierTops(2)
    again.load(arrays, 21)
    assert all(np.array_equal(column, arrays[key]) for key, column in again.to_arrays().items())
    with pytest.raises(SnapshotError, match=name if name != "objects" else "sizes"):
        EarlierTops(2).load(arrays | {name: wrong}, 21)


@pytest.mark.parametrize(
    ("keys", "field", "said"),
    [
        ({"against": "5 seconds"}, "against", "must be at least as long as each window"),
        ({"against": "25 seconds"}, "against", r"must be a multiple of `every` \(10 seconds\)"),
        ({"against": "70 rows"}, "against", "must be a length of time above 0"),
        ({"against": "next"}, "against", "must be a duration"),
        ({"against": None, **DISTANCE}, "distance", 'needs `against`: add against = "previous" or "7 days"'),
        ({"distance": ["ks"]}, "distance", r'must be \["total-variation"\], half the sum .* quantiles'),
        ({"distance": "total-variation"}, "distance", r'must be \["total-variation"\]'),
        ({"distance": ["total-variation"] * 2}, "distance", r'must be \["total-variation"\]'),
        ({**DISTANCE, "k": 3}, "k", "is about objects, but `distance` compares the shares of all"),
        ({**DISTANCE, "carry": ["what"]}, "carry", "is about objects"),
        ({**DISTANCE, "direction": "up"}, "direction", "is about objects"),
        ({**DISTANCE, "share": 0.1}, "share", "is for one window, but `against` compares two"),
        ({**DISTANCE, "against": "previous", "windows": ["15 seconds"]}, r"windows\[0\]", "must be a multiple of"),
        ({**DISTANCE, "longest": "1 day"}, "distance", "cannot be combined with `longest`"),
        (
            {"against": "previous", "total": "distinct", "value": "what", "k": 2},
            "total",
            '.* such as against = "10 sec',
        ),
        ({"windows": ["9 rows"], "every": "9 rows", "k": 1}, "against", '.* write "previous"'),
        ({"half_life": "1 minute", "k": 1}, "against", "subtracts totals without decay"),
    ],
)
def test_impossible_comparisons_are_refused_with_the_remedy(keys, field, said):
    with pytest.raises(ConfigError, match=f"{field}: {said}"):
        local.LocalRun.start(QUERY | {"against": "30 seconds"} | keys, stream(0).schema)
