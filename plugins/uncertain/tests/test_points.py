"""uncertain-join of points in a plane and in space, compared with sums over all samples, and over all worlds."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from in_process_shards import on_shards
from skyband.engines import local
from skyband.errors import ConfigError, InputError, SnapshotError
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.queries import make_query
from skyband_uncertain.joint_samples_kernels import scale_for, within
from skyband_uncertain.time_and_change_windows import DeltaWindow

SECOND = 1_000_000
AXES = ("x", "y", "z")
SHARES = [(1.0,), (0.5, 0.5), (0.75,), (0.25, 0.5), (0.125, 0.25, 0.25), ()]


def points(seed, count, axes, most=6):
    """Points on a grid of threes and fours, so that many are exactly five apart; several have equal times."""
    rng = np.random.default_rng([11, seed])
    rows = []
    for number, second in enumerate(np.sort(rng.integers(0, count // 2, count)).tolist()):
        shares = SHARES[rng.integers(0, len(SHARES))]
        row = {"ts": second * SECOND, "number": number, "side": ["left", "right"][rng.integers(2)]}
        row |= {axis: rng.choice([-4, -3, 0, 3, 4, most], len(shares)).astype(float).tolist() for axis in axes}
        rows.append(row | {"chances": list(shares)})
    return rows


def table(rows, axes):
    kinds = {name: pa.list_(pa.float64()) for name in (*axes, "chances")}
    schema = pa.schema({"ts": pa.timestamp("us", "UTC"), "number": pa.int64(), "side": pa.string(), **kinds})
    return pa.Table.from_pylist(rows, schema=schema)


def query(axes, **changes):
    keys = {"time": "ts", "id": "number", "values": [*axes], "probabilities": "chances", "epsilon": 5, "beta": 0.1}
    window = {} if {"window", "delta"} & {*changes} else {"size": 5}
    return make_query({"kind": "uncertain-join", **keys, **window, **changes})


def apart(a, b, distance="euclidean"):
    return max(abs(p - q) for p, q in zip(a, b, strict=True)) if distance == "maximum" else math.dist(a, b)


def samples(row, axes):
    return list(zip(zip(*(row[axis] for axis in axes), strict=True), row["chances"], strict=True))


def near(here, there, axes, epsilon=5, distance="euclidean"):
    pairs = product(samples(here, axes), samples(there, axes))
    return sum(p * q for (a, p), (b, q) in pairs if apart(a, b, distance) <= epsilon)


def told(result):
    return {(row["left"], row["right"]): row["probability"] for row in result.to_pylist()}


def by_hand(rows, axes, held, side=None, beta=0.1, **how):
    """(left, right) -> probability of each row with the earlier rows in `held`."""
    found = {}
    for at, row in enumerate(rows):
        for other in held(at):
            there = rows[other]
            chance = near(row, there, axes, **how)
            if chance >= beta and (side is None or there["side"] != row["side"]):
                first = row["side"] == "left" if side else False
                ids = (row["number"], there["number"]) if first else (there["number"], row["number"])
                found[ids] = chance
    return found


@pytest.mark.parametrize("axes", ["xy", "xyz"])
@pytest.mark.parametrize("side", [None, "side"])
@pytest.mark.parametrize("distance", ["euclidean", "maximum"])
@pytest.mark.parametrize("beta", [0.125, 0.0])
def test_points_within_a_length_of_time(axes, side, distance, beta):
    """The shares are exact in binary: a probability of exactly beta and a distance of exactly epsilon match."""
    rows = points(1, 160, axes)
    times = [row["ts"] for row in rows]
    epsilon = 4 if distance == "maximum" else 5
    asked = query(axes, window="20 seconds", side=side, distance=distance, epsilon=epsilon, beta=beta)
    wanted = by_hand(
        rows,
        axes,
        lambda at: [o for o in range(at) if times[o] > times[at] - 20 * SECOND],
        side,
        beta or 1e-9,
        epsilon=epsilon,
        distance=distance,
    )
    given = table(rows, axes)
    ordered = given.take(pa.array(np.random.default_rng(1).permutation(len(rows))))
    result = local.apply(ordered, asked)
    if side:  # of two with equal times the right one is later
        together = {frozenset(pair): chance for pair, chance in told(result).items()}
        assert together == {frozenset(pair): chance for pair, chance in wanted.items()}
        sides = [row["side"] for row in rows]
        assert {(sides[left], sides[right]) for left, right in told(result)} == {("left", "right")}
    else:
        assert told(result) == wanted
    assert len(wanted) > 200
    if beta:
        assert beta in wanted.values()
        pairs = [product(samples(rows[one], axes), samples(rows[two], axes)) for one, two in told(result)]
        assert sum(apart(a, b, distance) == epsilon for pair in pairs for (a, _), (b, _) in pair) > 50


def worlds(rows, axes):
    options = []
    for row in rows:
        chances = [(point, Fraction(share)) for point, share in samples(row, axes)]
        options.append([*chances, (None, 1 - sum(share for _, share in chances))])
    for world in product(*options):
        chance = Fraction(1)
        for _, share in world:
            chance *= share
        yield [point for point, _ in world], chance


@pytest.mark.parametrize("axes", ["xy", "xyz"])
@pytest.mark.parametrize("seed", range(3))
def test_the_last_existing_points_equal_all_worlds(axes, seed):
    rows = points(seed, 8, axes, most=3)
    rows = [row | {"ts": at * SECOND} for at, row in enumerate(rows)]
    wanted = {}
    for at in range(len(rows)):
        chances = dict.fromkeys(range(at), Fraction(0))
        for (here, *others), chance in worlds([rows[at], *rows[:at]], axes):
            there = [number for number, point in enumerate(others) if point is not None][-2:]
            for number in there:
                if here is not None and apart(here, others[number]) <= 5:
                    chances[number] += chance
        wanted |= {(number, at): float(chance) for number, chance in chances.items() if chance >= Fraction(1, 16)}
    result = local.apply(table(rows, axes), query(axes, size=2, alpha=1.0, beta=0.0625))
    assert told(result) == pytest.approx(wanted, abs=1e-12)
    assert len(wanted) > 3


def broken(held, axes, delta, distance):
    oldest, *younger = held
    chance = exists = 0.0
    for a, p in samples(oldest, axes):
        kept = 1.0
        for row in younger:
            kept *= 1 - sum(q for b, q in samples(row, axes) if apart(a, b, distance) > delta)
        exists, chance = exists + p, chance + p * (1 - kept)
    return chance / exists if exists else 1.0


@pytest.mark.parametrize("axes", ["xy", "xyz"])
@pytest.mark.parametrize("distance", ["euclidean", "maximum"])
def test_points_until_they_have_moved(axes, distance):
    rows, starts, start = points(3, 150, axes, most=4), [], 0
    for last in range(len(rows)):
        starts.append(start)
        while start < last and broken(rows[start : last + 1], axes, 7.0, distance) >= 0.9:
            start += 1
    wanted = by_hand(rows, axes, lambda at: range(starts[at], at), distance=distance)
    asked = query(axes, delta=7.0, alpha=0.9, distance=distance)
    assert told(local.apply(table(rows, axes), asked)) == wanted
    assert len(wanted) > 60
    assert max(at - first for at, first in enumerate(starts)) > 3


@pytest.mark.parametrize("matcher", ["block", "nested-loop", "index-match", "sort-match"])
def test_all_matchers_return_the_same_bits_for_any_first_column(matcher):
    rng = np.random.default_rng(4)
    given = table(points(4, 10, "xy"), "xy").schema
    rows = [
        {
            "ts": at * SECOND,
            "number": at,
            "side": "left",
            "x": rng.normal(0, 4, 3).tolist(),
            "y": rng.normal(0, 4, 3).tolist(),
            "chances": (rng.random(3) / 3).tolist(),
        }
        for at in range(300)
    ]
    data = pa.Table.from_pylist(rows, schema=given)
    asked = query("xy", size=30, beta=0.02)
    result = local.apply(data, asked, {"matcher": matcher})
    assert result.equals(local.apply(data, asked))
    assert told(local.apply(data, query("yx", size=30, beta=0.02))) == pytest.approx(told(result), rel=1e-12)
    assert len(result) > 500


@pytest.mark.parametrize("side", [None, "side"])
@pytest.mark.parametrize("window", [{"size": 6}, {"window": "9 seconds"}, {"delta": 7.0, "alpha": 0.8}])
def test_batches_restarts_and_shards_make_no_difference(side, window):
    given = table(points(5, 200, "xy"), "xy")
    asked = query("xy", side=side, carry=["x", "y"], **window)
    whole = local.apply(given, asked)
    for size in (1, 23):
        run, answers = local.LocalRun.start(asked, given.schema), []
        for batch in given.combine_chunks().to_batches(max_chunksize=size):
            answers.append(run.push(batch))
            blob = run.operator.snapshot()
            run.operator = Operator(asked, bind(asked, given.schema), given.schema)
            run.operator.restore(blob)
            assert run.operator.snapshot() == blob
        answers.append(run.finish())
        assert pa.Table.from_batches(answers).equals(whole)
    sharded = on_shards(given, asked, 3, 4)[0].to_pylist()
    assert sorted(map(str, sharded)) == sorted(map(str, whole.to_pylist()))
    assert len(whole) > 100


def test_one_column_in_a_list_is_that_column():
    given = table(points(6, 100, "xy"), "xy")
    assert query("x") == query("x", values="x")
    doubled = given.append_column("x2", given["x"])
    same = local.apply(doubled, query(["x", "x2"], distance="maximum"))
    assert same.equals(local.apply(given, query("x")))


def test_certain_points_need_no_lists():
    given = pa.table(
        {"ts": pa.array([1, 2, 3]), "number": [1, 2, 3], "x": [0, 3, 3], "y": [0.0, 4.0, 4.1], "chances": [1, 1, 1]}
    )
    assert told(local.apply(given, query("xy"))) == {(1, 2): 1.0, (2, 3): 1.0}


@pytest.mark.parametrize("unit", [2.0**-1074, 2.0**-1000, 2.0**-560, 1.0, 2.0**530, 2.0**1020])
def test_distances_of_any_size_are_compared(unit):
    """3, 4 and 5 of these units: a limit of five is enough, and the next smaller float is not."""
    here, there, limit = np.zeros((2, 1)), np.array([[3.0], [4.0]]) * unit, 5 * unit
    assert within(here, 0, there, 0, limit, scale_for(limit), True)
    below = math.nextafter(limit, 0)
    assert not within(here, 0, there, 0, below, scale_for(below), True)


def test_a_point_within_the_limit_is_within_it_in_each_coordinate():
    """Finding tuples by one coordinate relies on this, at distances that rounding could bring to the limit."""
    rng = np.random.default_rng(7)
    for difference in rng.random(2000):
        limit = math.nextafter(difference, 0)
        here, there = np.zeros((2, 1)), np.array([[difference], [0.0]])
        assert not within(here, 0, there, 0, limit, scale_for(limit), True)
        assert within(here, 0, there, 0, difference, scale_for(difference), True)


def test_a_null_in_any_coordinate_drops_a_row():
    rows = points(8, 40, "xyz")
    rows[3]["y"] = None
    rows[7] = {**rows[7], "x": [0.0], "y": [0.0], "z": [None], "chances": [1.0]}
    run = local.LocalRun.start(query("xyz"), table(rows, "xyz").schema)
    given = [run.push(batch) for batch in table(rows, "xyz").to_batches()]
    found = pa.Table.from_batches([*given, run.finish()])
    assert run.operator.take_metrics().dropped == {"null sample": 2}
    left = [row for row in rows if row["number"] not in (3, 7)]
    assert told(found) == told(local.apply(table(left, "xyz"), query("xyz")))


@pytest.mark.parametrize(
    ("changes", "key", "said"),
    [
        ({"y": [1.0, 2.0, 3.0]}, "y", r"must have as many samples as the first column of values \(got 3, not 2\)"),
        ({"y": [1.0, float("inf")]}, "y", r"must be finite \(got inf\)"),
        ({"x": [1.0, float("inf")]}, "values", r"must be finite \(got inf\)"),
        ({"chances": [0.5]}, "probabilities", "must have one entry for each of the values"),
    ],
)
def test_bad_points_are_refused_by_row(changes, key, said):
    good = {"ts": 0, "number": 1, "side": "left", "x": [1.0, 2.0], "y": [1.0, 2.0], "chances": [0.5, 0.5]}
    run = local.LocalRun.start(query("xy"), table([good], "xy").schema)
    run.push(table([good] * 3, "xy").to_batches()[0])
    before = run.operator.snapshot()
    with pytest.raises(InputError, match=said) as error:
        run.push(table([good, {**good, "x": None}, {**good, **changes}], "xy").to_batches()[0])
    assert (error.value.argument, error.value.row) == (key, 2)
    assert run.operator.snapshot() == before


def test_a_window_of_points_refuses_numbers():
    with pytest.raises(InputError, match=r"values: must have 2 coordinates \(got 1\)"):
        DeltaWindow(1.0, coordinates=2).append([0, 1], [0.0], [1.0])


@pytest.mark.parametrize(
    ("keys", "key", "said"),
    [
        ({"values": ["x", "y", "z", "t"]}, "values", r"at most 3 columns, one for each coordinate \(got 4\): join by"),
        ({"values": ["x", "x"]}, "values", "names a column twice"),
        ({"values": []}, "values", "must be a column name or a list of them"),
        ({"values": ["x", 3]}, "values", "must be a column name or a list of them"),
        ({"distance": "manhattan"}, "distance", "must be one of euclidean, maximum"),
    ],
)
def test_invalid_keys_are_named(keys, key, said):
    with pytest.raises(ConfigError, match=said) as error:
        query("xy", **keys)
    assert [problem.field for problem in error.value.problems] == [key]


def test_a_missing_coordinate_is_named():
    given = table(points(9, 10, "xy"), "xy")
    with pytest.raises(ConfigError, match=r"query.values: the source has no column 'yy'; did you mean 'y'"):
        local.apply(given, query(["x", "yy"]))
    with pytest.raises(ConfigError, match=r"query.values: column 'side' must be a number, or a list of numbers"):
        local.apply(given, query(["x", "side"]))


def test_a_checkpoint_of_other_coordinates_is_refused():
    given = table(points(9, 10, "xyz"), "xyz")
    run = local.LocalRun.start(query("xy"), given.schema)
    with pytest.raises(SnapshotError, match=r"query.values was .*'x', 'y', 'z'.*, is .*'x', 'y'"):
        other = local.LocalRun.start(query("xyz"), given.schema)
        run.operator.restore(other.operator.snapshot())
