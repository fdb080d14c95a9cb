"""uncertain-sum and uncertain-join on the local engine, compared with all possible worlds."""

from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.errors import ConfigError, InputError
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.queries import make_query

SECOND = 1_000_000


SHARES = [(1.0,), (0.5, 0.5), (0.75,), (0.5,), (0.25, 0.5), (0.125, 0.25, 0.25)]
"""The probabilities of a tuple's samples: certain and uncertain tuples, all exact in binary."""


def tuples(rng, count):
    """Tuples of one to three samples on a grid where halves and quarters are exact."""
    chosen = [SHARES[number] for number in rng.integers(0, len(SHARES), count)]
    return [((rng.integers(-2, 3, len(shares)) * 0.5).tolist(), list(shares)) for shares in chosen]


def table(rows, **columns):
    times = pa.array(np.arange(len(rows)) * SECOND, pa.timestamp("us", "UTC"))
    given = {"values": [values for values, _ in rows], "probabilities": [shares for _, shares in rows]}
    return pa.table({"ts": times, **{name: pa.array(column) for name, column in {**given, **columns}.items()}})


def worlds(rows):
    """Each possible world: the value of each tuple, None if it does not exist, and the world's probability."""
    options = []
    for values, shares in rows:
        chances = [(value, Fraction(share)) for value, share in zip(values, shares, strict=True)]
        options.append([*chances, (None, 1 - sum(share for _, share in chances))])
    for world in product(*options):
        chance = Fraction(1)
        for _, share in world:
            chance *= share
        yield [value for value, _ in world], chance


def query(kind, **changes):
    keys = {"time": "ts", "values": "values", "probabilities": "probabilities", "size": 2, "alpha": 0.9375}
    joined = {"side": "side", "id": "id", "epsilon": 0.5, "beta": 0.05}
    return make_query({"kind": kind, **keys, **(joined if kind == "uncertain-join" else {}), **changes})


@pytest.mark.parametrize("seed", range(3))
def test_expected_sum_equals_that_of_all_worlds(seed):
    rows = tuples(np.random.default_rng(seed), 6)
    result = local.apply(table(rows), query("uncertain-sum"))
    assert result.column_names == ["time", "sum", "expected", "kept"]
    for count in range(1, len(rows) + 1):
        expected = Fraction(0)
        for world, chance in worlds(rows[:count]):
            expected += chance * sum(map(Fraction, [value for value in world if value is not None][-2:]))
        assert result["expected"][count - 1].as_py() == pytest.approx(float(expected), abs=1e-12)


def test_sum_is_of_the_averages_of_the_tuples_kept():
    rows = tuples(np.random.default_rng(7), 40)
    result = local.apply(table(rows), query("uncertain-sum"))
    averages = [np.average(values, weights=shares) for values, shares in rows]
    for row, kept in enumerate(result["kept"].to_pylist()):
        assert result["sum"][row].as_py() == pytest.approx(sum(averages[row + 1 - kept : row + 1]))
    assert max(result["kept"].to_pylist()) > 2


@pytest.mark.parametrize("by", [[], ["place"]])
def test_sums_carry_columns_of_their_rows(by):
    """Rows with equal times, in any order, keep their own columns."""
    data = many(8)
    notes = pa.array([None if row % 3 else [row, None] for row in range(len(data))], pa.list_(pa.int64()))
    data = data.append_column("note", notes)
    asked = query("uncertain-sum", by=by, size=10, carry=["id", "note", "values"])
    result = local.apply(data, asked)
    assert result.column_names == [*by, "time", "sum", "expected", "kept", "id", "note", "values"]
    rows = {row["id"]: row for row in data.to_pylist()}
    for answer in result.to_pylist():
        row = rows.pop(answer["id"])
        assert [answer[name] for name in ("time", "note", "values", *by)] == [
            row[name] for name in ("ts", "note", "values", *by)
        ]
    assert not rows
    assert result.drop_columns(["id", "note", "values"]).equals(
        local.apply(data, query("uncertain-sum", by=by, size=10))
    )
    assert local.apply(data.take(np.random.default_rng(0).permutation(len(data))), asked).equals(result)


def test_a_sum_is_not_carried_over_a_column_of_its_name():
    with pytest.raises(ConfigError, match=r"carry: 'sum' is also the name of another column of the answers: rename it"):
        query("uncertain-sum", carry="sum")


def test_certain_numbers_need_no_lists():
    data = pa.table({"ts": pa.array([1, 2, 3, 4]), "values": [1.0, 2.0, 4.0, 8.0], "probabilities": [1, 1, 1, 1]})
    result = local.apply(data, query("uncertain-sum", alpha=1.0))
    expected = [1.0, 3.0, 6.0, 12.0]
    assert result.to_pydict() == {"time": [1, 2, 3, 4], "sum": expected, "expected": expected, "kept": [1, 2, 2, 2]}


def join_by_worlds(rows, sides, size, epsilon, beta):
    """(row, left, right, probability): each later tuple with each earlier one of the other side, over all worlds.

    Without sides it is joined with each earlier tuple, which is the left.
    """
    found = {}
    for row, here in enumerate(rows):
        side = sides[row] if sides else "right"
        others = [at for at in range(row) if not sides or sides[at] != side]
        chances = dict.fromkeys(others, Fraction(0))
        for world, chance in worlds([here, *(rows[at] for at in others)]):
            there = [at for at, value in zip(others, world[1:], strict=True) if value is not None][-size:]
            for at, value in zip(others, world[1:], strict=True):
                if at in there and world[0] is not None and abs(world[0] - value) <= epsilon:
                    chances[at] += chance
        for at, chance in chances.items():
            if chance >= Fraction(beta) and chance > 0:
                found[(row, *((row, at) if side == "left" else (at, row)))] = float(chance)
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("beta", [0.0625, 0.25])
@pytest.mark.parametrize("side", ["side", None])
def test_join_equals_that_of_all_worlds(seed, beta, side):
    rng = np.random.default_rng([5, seed])
    rows, sides = tuples(rng, 9 if side else 7), rng.choice(["left", "right"], 9).tolist()
    sides = sides if side else None
    data = table(rows, id=[f"tuple {row}" for row in range(len(rows))], **({"side": sides} if side else {}))
    result = local.apply(data, query("uncertain-join", alpha=1.0, beta=beta, side=side))
    got = {}
    for row in result.to_pylist():
        pair = [int(row[side].split()[1]) for side in ("left", "right")]
        assert int(row["time"].timestamp()) == max(pair)
        got[(max(pair), *pair)] = row["probability"]
    assert got == pytest.approx(join_by_worlds(rows, sides, 2, 0.5, beta), abs=1e-12)


def many(seed, rows=400):
    rng = np.random.default_rng([6, seed])
    values = np.sin(np.arange(rows)[:, None] * 0.1) + rng.normal(0, 0.1, (rows, 4))
    shares = np.repeat((1 - 0.4 * rng.random(rows))[:, None] / 4, 4, axis=1)
    drawn = list(zip(values.tolist(), shares.tolist(), strict=True))
    groups = [f"group {number}" for number in rng.integers(0, 3, rows)]
    data = table(drawn, side=rng.integers(0, 2, rows), id=np.arange(rows), place=groups)
    return data.set_column(0, "ts", pa.array(np.sort(rng.integers(0, rows // 3, rows)) * SECOND, pa.timestamp("us")))


@pytest.mark.parametrize("kind", ["uncertain-sum", "uncertain-join"])
@pytest.mark.parametrize("by", [[], ["place"]])
def test_batches_order_and_restarts_make_no_difference(kind, by):
    data, asked = many(1), query(kind, by=by, size=10)
    wanted = local.apply(data, asked)
    assert len(wanted) > 100
    shuffled = data.take(np.random.default_rng(0).permutation(len(data)))
    assert local.apply(shuffled, asked).equals(wanted)
    parts = [local.LocalRun.start(asked, data.schema)]
    pieces = []
    for number, batch in enumerate(data.to_batches(max_chunksize=17)):
        pieces.append(parts[-1].push(batch))
        if number % 5 == 4:
            blob = parts[-1].operator.snapshot()
            parts[-1].operator = Operator(asked, bind(asked, data.schema), data.schema)
            parts[-1].operator.restore(blob)
            assert parts[-1].operator.snapshot() == blob
    pieces.append(parts[-1].finish())
    order = [(wanted.column_names[len(by)], "ascending"), *((name, "ascending") for name in by)]
    assert pa.Table.from_batches(pieces).sort_by(order).equals(wanted)


@pytest.mark.parametrize("window", ["rf1", "exact"])
@pytest.mark.parametrize("matcher", ["nested-loop", "index-match", "sort-match", "block"])
def test_backends_return_the_same_join(window, matcher):
    data, asked = many(2), query("uncertain-join", size=20)
    assert local.apply(data, asked, {"window": window, "matcher": matcher}).equals(local.apply(data, asked))


@pytest.mark.parametrize("window", ["normal", "refined-normal"])
def test_approximate_windows_come_close(window):
    data, asked = many(3), query("uncertain-sum", size=50)
    exact, near = (local.apply(data, asked, {"window": name}) for name in ("exact", window))
    assert np.abs(np.asarray(exact["kept"]) - np.asarray(near["kept"])).max() <= 2
    assert exact["expected"].equals(near["expected"])


def test_rows_with_a_null_are_dropped_and_counted():
    rows = [([1.0], [1.0]), (None, [1.0]), ([1.0, None], [0.5, 0.5]), ([2.0], None), ([3.0], [1.0])]
    run = local.LocalRun.start(query("uncertain-sum"), table(rows).schema)
    result = pa.Table.from_batches([run.push(batch) for batch in table(rows).to_batches()] + [run.finish()])
    assert result["expected"].to_pylist() == [1.0, 4.0]
    assert run.operator.take_metrics().dropped == {"null sample": 3}


def test_a_filter_turns_uncertain_values_into_uncertain_existence():
    """Section 3.2 of Dallachiesa et al.: samples are dropped, tuples kept with their remaining probability."""
    rows = [([1.0, -1.0], [0.5, 0.5])] * 20
    kept = [([value for value in values if value > 0], [0.5]) for values, _ in rows] + [([], [])]
    whole, filtered = (local.apply(table(data), query("uncertain-sum", size=1)) for data in (rows, kept))
    assert whole["kept"].to_pylist() == [1] * 20
    assert filtered["kept"].to_pylist()[-2:] == [4, 5]
    assert filtered["expected"][19].as_py() == pytest.approx(1 - 0.5**20)


@pytest.mark.parametrize("kind", ["uncertain-sum", "uncertain-join"])
@pytest.mark.parametrize(
    ("wrong", "key", "said"),
    [
        (([1.0, 2.0], [0.5]), "probabilities", "one entry for each"),
        (([1.0, float("nan")], [0.5, 0.5]), "values", "finite"),
        (([float("inf")], [0.5]), "values", "finite"),
        (([1.0], [1.5]), "probabilities", "from 0 to 1"),
        (([1.0], [-0.5]), "probabilities", "from 0 to 1"),
        (([1.0], [float("nan")]), "probabilities", "from 0 to 1"),
        (([1.0, 2.0], [0.75, 0.5]), "probabilities", "at most 1"),
    ],
)
def test_bad_samples_are_refused_by_row_and_nothing_changes(kind, wrong, key, said):
    good = table([([1.0], [1.0])] * 5, side=[0, 1, 0, 1, 0], id=range(5))
    bad = table([([1.0], [1.0]), (None, None), wrong], side=[0, 1, 0], id=range(3))
    asked = query(kind, alpha=0.5, beta=0.5) if kind == "uncertain-join" else query(kind, alpha=0.5)
    run = local.LocalRun.start(asked, good.schema)
    answers = [run.push(batch) for batch in good.to_batches()]
    before = run.operator.snapshot()
    with pytest.raises(InputError, match=said) as error:
        run.push(bad.to_batches()[0])
    assert (error.value.argument, error.value.row) == (key, 2)
    assert run.operator.snapshot() == before
    answers.append(run.finish())
    assert pa.Table.from_batches(answers).equals(local.apply(good, asked))


def test_an_unknown_side_is_refused_by_row():
    data = table([([1.0], [1.0])] * 2, side=["left", "middle"], id=[1, 2])
    with pytest.raises(InputError, match="middle") as error:
        local.apply(data, query("uncertain-join"))
    assert error.value.row == 1


NAN = float("nan")
WRONG_OF_BOTH = [("alpha", 0), ("alpha", 1.5), ("alpha", NAN), ("size", 0)]
WRONG_OF_JOINS = [("beta", 1.0), ("beta", -0.5), ("beta", NAN), ("epsilon", -1.0), ("epsilon", NAN)]


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        *(("uncertain-sum", *wrong) for wrong in WRONG_OF_BOTH),
        *(("uncertain-join", *wrong) for wrong in WRONG_OF_BOTH + WRONG_OF_JOINS),
    ],
)
def test_wrong_keys_are_named(kind, key, value):
    with pytest.raises(ConfigError) as error:
        query(kind, **{key: value})
    assert [problem.field for problem in error.value.problems] == [key]


@pytest.mark.parametrize(("beta", "kept", "matched"), [(0.25, 3, [0, 1, 2]), (np.nextafter(0.25, 1.0), 2, [2])])
def test_a_match_of_exactly_beta_is_included(beta, kept, matched):
    """Of a certain tuple and two fair ones, the first and the second each are the last to exist with 0.25."""
    rows = [([0.0], [1.0])] + [([0.0], [0.5])] * 2 + [([0.0], [1.0])]
    data = table(rows, side=[0, 0, 0, 1], id=range(4))
    asked = query("uncertain-join", size=1, alpha=1.0, beta=beta)
    run = local.LocalRun.start(asked, data.schema)
    answers = pa.Table.from_batches([*map(run.push, data.to_batches()), run.finish()])
    assert answers["left"].to_pylist() == matched
    assert run.operator.take_metrics().retained == kept + 1


@pytest.mark.parametrize("shares", [[0.1] * 10, [0.6, 0.3, 0.1], [1 / 6] * 6, [1 / 49] * 49])
def test_samples_that_sum_to_one_up_to_rounding_are_certain(shares):
    rows = [([1.0] * len(shares), shares)] * 6
    assert local.apply(table(rows), query("uncertain-sum", alpha=1.0))["kept"].to_pylist() == [1, 2, 2, 2, 2, 2]


def test_a_single_sample_just_below_one_is_not_certain():
    rows = [([1.0], [float(np.nextafter(1.0, 0.0))])] * 6
    assert local.apply(table(rows), query("uncertain-sum", alpha=1.0))["kept"].to_pylist() == [1, 2, 3, 4, 5, 6]
