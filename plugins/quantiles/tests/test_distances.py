"""Distances of two windows: within their bounds for certain, equal to the definition where all values are known."""

import math
from bisect import bisect_right
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from skyband import states
from skyband.engines import local
from skyband.errors import InputError, SnapshotError
from skyband_quantiles.distances import Steps, below, kolmogorov_smirnov, population_stability, wasserstein

START, MINUTE = 1_760_000_400_000_000, 60_000_000
SEEDS = 12


def shares_at_or_below(values, numbers):
    """By number, the share of the values at or below it."""
    ordered = sorted(values)
    return [Fraction(bisect_right(ordered, number), len(ordered)) for number in numbers]


def ks(left, right):
    ends = sorted({*left, *right})
    pairs = zip(shares_at_or_below(left, ends), shares_at_or_below(right, ends), strict=True)
    return float(max(abs(one - other) for one, other in pairs))


def area(left, right):
    ends = sorted({*left, *right})
    pairs = zip(shares_at_or_below(left, ends), shares_at_or_below(right, ends), strict=True)
    gaps = (Fraction(after) - Fraction(end) for end, after in zip(ends, [*ends[1:], ends[-1]], strict=True))
    return float(sum(gap * abs(one - other) for gap, (one, other) in zip(gaps, pairs, strict=True)))


def psi(left, right, bins):
    def part(values):
        counts = np.bincount(np.searchsorted(bins, values), minlength=len(bins) + 1)
        return (counts + 0.5) / (len(values) + (len(bins) + 1) / 2)

    p, q = part(left), part(right)
    return float(((p - q) * np.log(p / q)).sum())


def values_of(rng, rows):
    """Values of one of some kinds: many different ones, few, whole numbers, both signs, one alone."""
    kind = rng.integers(5)
    if kind == 0:
        return rng.lognormal(rng.normal(), 1, rows)
    if kind == 1:
        return rng.choice([0.0, 0.1, 7.0], rows)
    if kind == 2:
        return rng.integers(-50, 50, rows).astype(float)
    if kind == 3:
        return rng.normal(0, 100, rows) * 10.0 ** rng.integers(-3, 4)
    return np.full(rows, rng.normal())


@pytest.fixture(scope="module", params=["buckets", "exact"])
def groups(request):
    """(state, times, values) of groups at one moment. The sketch is coarse, so that its bounds matter."""
    rng, columns = np.random.default_rng(17), []
    for group in range(2 * SEEDS):
        rows = int(rng.integers(1, 4)) if group % 8 == 7 else int(rng.integers(300, 4_000))
        times = np.sort(rng.integers(0, 60 * MINUTE, rows)) + START
        columns.append((np.full(rows, group), times, values_of(rng, rows)))
    group, times, values = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.argsort(times, kind="stable")
    log = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "group": group, "value": values}).take(order)
    query = {"kind": "quantiles", "time": "ts", "value": "value", "windows": ["1 hour"], "every": "1 hour"}
    query |= {"by": "group", "emit": "state", "above": [0.5]}
    sketch = {"name": request.param} | ({"alpha": 0.05, "epsilon": 0.2} if request.param == "buckets" else {})
    table = local.apply(log, query, {"quantile-sketch": sketch})
    blobs = {row["group"]: row["state"] for row in table.to_pylist()}
    return request.param, [(blobs[number], *columns[number][1:]) for number in range(2 * SEEDS)]


@pytest.mark.parametrize("of", ["ks", "wasserstein", "psi"])
@pytest.mark.parametrize("last", [60, 37, 4])
def test_the_distance_of_the_rows_is_within_the_bounds(groups, of, last):
    backend, held = groups
    asked = 0
    for (left, *one), (right, *other) in zip(held[::2], held[1::2], strict=True):
        found = states.distance(left, right, last=f"{last} minutes", of=of, bins=[-1, 0.5, 3] if of == "psi" else [])
        ours, theirs = (values[times >= START + (60 - last) * MINUTE].tolist() for times, values in (one, other))
        if not ours or not theirs:
            assert found[:3] == (None, None, None)
            continue
        asked += 1
        truth = psi(ours, theirs, [-1, 0.5, 3]) if of == "psi" else (ks if of == "ks" else area)(ours, theirs)
        if backend == "exact":
            assert found.low == found.value == found.high == pytest.approx(truth, rel=1e-12, abs=1e-15)
            assert of != "ks" or found.value == truth
            assert (found.rows, found.against_rows) == (len(ours), len(theirs))
        else:
            assert found.low <= truth * (1 + 1e-12) and truth * (1 - 1e-12) <= found.high
            assert found.low <= found.value <= found.high
    assert asked >= SEEDS - 3


def test_bins_that_the_sketch_counts_have_equal_bounds_at_moments(groups):
    """Rows above .5 are counted, since the query asks for their share."""
    _, held = groups
    for (left, *_), (right, *_) in zip(held[::2], held[1::2], strict=True):
        found = states.distance(left, right, of="psi", bins=[0.5])
        assert found.low == found.high


@pytest.mark.parametrize("of", ["ks", "wasserstein", "psi"])
def test_a_state_is_at_most_its_bounds_apart_from_itself(groups, of):
    backend, held = groups
    for state, *_ in held:
        found = states.distance(state, state, of=of)
        assert found.low == 0 and found.value == 0
        assert backend != "exact" or found.high == 0


def test_sides_can_be_exchanged(groups):
    _, held = groups
    for of in ("ks", "wasserstein"):
        one, other = (states.distance(a[0], b[0], of=of) for a, b in (held[:2], held[1::-1]))
        assert one[:3] == other[:3]


@settings(report_multiple_bugs=False, deadline=None)  # one failure, which is an AssertionError and no group of them
@given(some.data())
def test_bounds_hold_for_whatever_rows_a_state_may_stand_for(data):
    """Of each interval the sure rows and any of the others are in the window, each anywhere in the interval."""
    steps, rows = zip(*(data.draw(known_rows()) for _ in range(2)), strict=True)
    if not all(rows):
        return
    value, low, high = kolmogorov_smirnov(*steps)
    assert low <= ks(*rows) <= high and low <= value <= high
    value, low, high = wasserstein(*steps)
    assert low <= area(*rows) <= high and low <= value <= high
    bins = sorted(data.draw(some.sets(some.integers(-1, 9), min_size=1, max_size=4)))
    value, low, high = population_stability(*steps, np.array(bins, float))
    truth = psi(*rows, bins)
    assert low * (1 - 1e-9) <= truth <= high * (1 + 1e-9) and low <= value <= high


@some.composite
def known_rows(draw):
    """Steps, perhaps with the rows above some numbers counted, and the rows of a window that they may stand for."""
    ends = sorted(draw(some.sets(some.integers(0, 8), min_size=1, max_size=6)))
    intervals, surely, perhaps, others = [], [], [], []
    while ends:
        least = ends.pop(0)
        intervals.append((least, ends.pop(0) if ends and draw(some.booleans()) else least))
        values = some.lists(some.integers(*intervals[-1]).map(float), max_size=3)
        surely.append(draw(values))
        perhaps.append(draw(values))
        others.append([value for value in perhaps[-1] if draw(some.booleans())])
    least, largest = (np.array(side, float) for side in zip(*intervals, strict=True))
    sure, maybe = (np.array([len(each) for each in of]) for of in (surely, perhaps))
    above = {}
    for cut in draw(some.sets(some.integers(-1, 9), max_size=3)):
        over, may = (sum(value > cut for each in of for value in each) for of in (surely, perhaps))
        above[float(cut)] = over, may, may / 2
    rows = [value for each in (*surely, *others) for value in each]
    return Steps(least, largest, sure, maybe, maybe / 2, above), rows


def alone(values):
    """The steps of rows that are all known."""
    ends, counts = np.unique(values, return_counts=True)
    return Steps(ends, ends, counts, np.zeros_like(counts), np.zeros(len(counts)), {})


LAYOUTS = ([(0, 0), (1, 3)], [(0, 2), (3, 3)], [(0, 2), (4, 6)])
OTHERS = [alone([0.0]), alone([1.0, 2.0]), alone([2.0]), alone([3.0, 3.0, 4.0]), alone([7.0])]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("sure", [*product(range(2), range(3))])
@pytest.mark.parametrize("maybe", [*product(range(2), range(2))])
def test_bounds_hold_for_each_row_at_either_end_of_its_interval(layout, sure, maybe):
    """All windows that a small state may stand for: of each interval as many rows, at its ends or within."""
    least, largest = (np.array(side, float) for side in zip(*layout, strict=True))
    steps = Steps(least, largest, np.array(sure), np.array(maybe), np.array(maybe) / 2, {})
    windows = [
        [*below_here, *above_here]
        for below_here, above_here in product(*(placed(*one) for one in zip(layout, sure, maybe, strict=True)))
    ]
    bins = np.array([0.0, 2.0, 5.0])
    for other, rows in zip(OTHERS, ([0], [1, 2], [2], [3, 3, 4], [7]), strict=True):
        bounds = [
            (ks, kolmogorov_smirnov(steps, other), kolmogorov_smirnov(other, steps)),
            (area, wasserstein(steps, other), wasserstein(other, steps)),
            (lambda *both: psi(*both, bins), population_stability(steps, other, bins), None),
        ]
        for window in filter(None, windows):
            for distance, one_way, other_way in bounds:
                truth = distance(window, rows)
                for _, low, high in filter(None, (one_way, other_way)):
                    assert low - 1e-12 <= truth <= high + 1e-12, (window, rows)
        if sum(sure):
            highest = max(ks(window, rows) for window in windows)
            assert kolmogorov_smirnov(steps, other)[2] == pytest.approx(highest, abs=1e-12), "some window is so far"


def placed(interval, sure, maybe):
    """The rows that may be in an interval, as lists of values."""
    places = sorted({interval[0], sum(interval) / 2, interval[1]})
    return [rows for count in range(sure, sure + maybe + 1) for rows in combinations_with_replacement(places, count)]


@given(some.lists(some.tuples(some.integers(0, 12), some.sampled_from([None, 0.25, 0.75])), min_size=1), some.data())
def test_rows_at_or_below_a_number_are_those_that_were_counted(rows, data):
    """rows: a value, and how likely it is in the window if that is not sure; some numbers are cuts that count rows."""
    width = data.draw(some.integers(1, 5))
    buckets = {}
    for value, chance in rows:
        buckets.setdefault(value // width, []).append((value, chance))
    held = [buckets[key] for key in sorted(buckets)]
    ends = [(min(value for value, _ in some_rows), max(value for value, _ in some_rows)) for some_rows in held]
    least, largest = (np.array(side, float) for side in zip(*ends, strict=True))

    def counts(some_rows):
        chances = [chance for _, chance in some_rows]
        return chances.count(None), len(chances) - chances.count(None), sum(filter(None, chances))

    sure, maybe, likely = (np.array(column) for column in zip(*map(counts, held), strict=True))
    cuts = data.draw(some.sets(some.integers(-1, 13)))
    above = {float(cut): counts([row for row in rows if row[0] > cut]) for cut in cuts}
    numbers = np.arange(-1.0, 14.0)
    found = below(Steps(least, largest, sure, maybe, likely, above), numbers)
    turned = below(Steps(-largest[::-1], -least[::-1], sure[::-1], maybe[::-1], likely[::-1], {}), -numbers[::-1])
    for place, number in enumerate(numbers.tolist()):
        surely, perhaps, probably = counts([row for row in rows if row[0] <= number])
        if number in cuts:
            assert found.sure[place] == found.sure_at_most[place] == surely
            assert found.maybe[place] == found.maybe_at_most[place] == perhaps
            assert found.likely[place] == pytest.approx(surely + probably)
        assert found.sure[place] <= surely <= found.sure_at_most[place]
        inside = ((least < number) & (number < largest)).any()
        if inside and number not in cuts:
            both = found.likely[place] + turned.likely[-1 - place]
            assert both == pytest.approx(sum(sure) + sum(likely)), "as likely from above as from below"
        assert found.maybe[place] <= perhaps <= found.maybe_at_most[place]


def test_the_bins_of_a_stability_index_are_the_deciles_of_the_right_state(groups):
    """Whichever is on which side."""
    _, held = groups
    deciles = [decile / 10 for decile in range(1, 10)]
    for (left, *_), (right, *_) in zip(held, held[1:] + held[:1], strict=True):
        ends = sorted({states.quantile(right, q=decile).value for decile in deciles})
        assert states.distance(left, right, of="psi") == states.distance(left, right, of="psi", bins=ends)


def test_the_bounds_of_two_whole_windows_are_narrow():
    """Where all rows surely are in their windows: at most the two fullest intervals apart."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        both = []
        for _ in range(2):
            ends = np.sort(rng.choice(100, 2 * int(rng.integers(1, 20)), replace=False)).astype(float)
            sure = rng.integers(1, 9, len(ends) // 2)
            both.append(Steps(ends[::2], ends[1::2], sure, np.zeros_like(sure), np.zeros(len(sure)), {}))
        _, low, high = kolmogorov_smirnov(*both)
        assert high - low <= sum(float(steps.sure.max() / steps.sure.sum()) for steps in both) + 1e-12


def test_rows_that_may_be_there_widen_the_bounds_by_no_more_than_they_are():
    steps = Steps(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([1, 1]), np.array([2, 0]), np.zeros(2), {})
    rows = below(steps, np.array([0.0]))
    assert (rows.sure.item(), rows.maybe.item()) == (1, 2)
    _, low, high = kolmogorov_smirnov(steps, alone([1.0]))
    assert (low, high) == (0.5, pytest.approx(0.75, abs=1e-15)), "at or below 0 is 1 of 2 rows to 3 of 4"


@given(known_rows(), known_rows(), some.booleans())
def test_the_value_is_that_of_the_likely_rows(one, other, all_likely):
    """Rows that are likely for sure are like sure rows, and the others like none, as far as the bounds allow."""
    steps, against = one[0]._replace(above={}), other[0]
    likely = steps._replace(likely=steps.maybe * 1.0 if all_likely else np.zeros(len(steps.maybe)))
    certain = steps._replace(
        sure=steps.sure + (steps.maybe if all_likely else 0), maybe=0 * steps.maybe, likely=0.0 * steps.likely
    )
    if not certain.sure.any() or not (against.sure + against.maybe).any():
        return
    ends = np.array([2.0, 5.0])
    for distance in (kolmogorov_smirnov, wasserstein, lambda *both: population_stability(*both, ends)):
        value, low, high = distance(likely, against)
        assert value == pytest.approx(min(max(distance(certain, against)[0], low), high), abs=1e-8)


@pytest.mark.parametrize("is_counted", [False, True])
def test_the_stability_of_two_bins_reaches_its_highest_bound(is_counted):
    """Three intervals have 3, 4 and 2 rows, and 1, 2 and 2 that may be there; the middle one spans the bins' end."""
    sure, maybe = np.array([3, 4, 2]), np.array([1, 2, 2])
    above = {5.0: (4, 3, 1.5)} if is_counted else {}
    steps = Steps(np.array([0.0, 4.0, 8.0]), np.array([1.0, 6.0, 9.0]), sure, maybe, maybe / 2, above)
    if is_counted:
        counts = [(5 + under, 4 + over) for under in range(3) for over in range(4)]
    else:
        counts = [
            (3 + one + under, 6 + two + three - under)
            for one in range(2)
            for two in range(3)
            for three in range(3)
            for under in range(5 + two)
        ]
    other = [0.0, 5.0, 5.0, 6.0, 7.0, 7.0, 7.0]
    possible = [psi([0.0] * under + [9.0] * over, other, [5.0]) for under, over in counts]
    _, low, high = population_stability(steps, alone(other), np.array([5.0]))
    assert low <= min(possible) and high == pytest.approx(max(possible), rel=1e-6)


def test_rows_counted_above_a_number_bound_only_the_shares_there():
    """Both rows are in [0, 4], one of them above 0; the other window is 3. Are they 0 and 1, the distance is 1."""
    steps = Steps(np.array([0.0]), np.array([4.0]), np.array([2]), np.array([0]), np.zeros(1), {0.0: (1, 0, 0.0)})
    assert kolmogorov_smirnov(steps, alone([3.0]))[2] == 1
    assert wasserstein(steps, alone([3.0]))[2] >= 3


def test_the_area_between_the_largest_numbers_there_are():
    assert wasserstein(alone([-9e307]), alone([8e307])) == (1.7e308, 1.7e308, 1.7e308)


def test_what_cannot_be_asked_is_refused_with_the_remedy():
    log = pa.table({"ts": pa.array([START, START + MINUTE], pa.timestamp("us", "UTC")), "value": [1.0, math.inf]})
    query = {"kind": "quantiles", "time": "ts", "value": "value", "windows": ["1 hour"], "every": "1 hour"}
    both = {
        name: local.apply(log, query | {"at": [0.5], "emit": "state"}, {"quantile-sketch": name})["state"][0].as_py()
        for name in ("buckets", "exact", "k-skb")
    }
    with pytest.raises(InputError, match="of: must be one of ks, wasserstein, psi"):
        states.distance(both["exact"], both["exact"], of="kl")
    with pytest.raises(InputError, match="bins: belongs to of = 'psi': drop it"):
        states.distance(both["exact"], both["exact"], bins=[1])
    with pytest.raises(InputError, match="bins: must be ascending"):
        states.distance(both["exact"], both["exact"], of="psi", bins=[2, 1])
    with pytest.raises(InputError, match=r"bins.* must be a finite number"):
        states.distance(both["exact"], both["exact"], of="psi", bins=[1, math.nan])
    with pytest.raises(SnapshotError, match="quantile-sketch/k-skb, which does not answer distance"):
        states.distance(both["k-skb"], both["k-skb"])
    with pytest.raises(
        InputError, match="right, row 1: is of quantile-sketch/buckets, the first of quantile-sketch/exact"
    ):
        states.distance(both["exact"], both["buckets"])
    apart = states.distance(both["buckets"], both["buckets"], of="wasserstein")
    assert apart == (None, None, None, 2, 2), "an infinite value is infinitely far from others"
    assert states.distance(both["exact"], both["exact"], of="psi").value == 0, "over the deciles, which are told"
