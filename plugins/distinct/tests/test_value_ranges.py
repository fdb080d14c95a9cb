"""distinct-count by ranges of a value: answers and states, compared with counting by hand."""

import datetime
import json
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband import states
from skyband.cli.commands import group
from skyband.config.half_open_ranges import ValueRange, read_range
from skyband.engines import local
from skyband.errors import ConfigError, InputError
from skyband.queries import make_query

MINUTE = 60_000_000
START = 1_760_000_400_000_000
INF = float("inf")
RANGES = [[0, 10], [10, 20], [20, INF], [-INF, 0], [5, 15], [-INF, INF]]
BACKENDS = ("exact", "k-skb")


def payments(rows=3000, seed=1):
    """Amounts at the ends of the ranges; many clients have several at the same moment."""
    rng = np.random.default_rng(seed)
    minutes = np.sort(rng.integers(0, 180, rows)) * MINUTE
    return pa.table(
        {
            "ts": pa.array(START + minutes, pa.timestamp("us", "UTC")),
            "client": rng.integers(0, 250, rows),
            "amount": rng.choice([-5, 0, 5, 9, 10, 15, 20, 100], rows),
            "shop": rng.choice(["a", "b"], rows),
        }
    )


TABLE = payments()


def query(**changes):
    keys = {"time": "ts", "item": "client", "windows": ["1 hour", "25 minutes"], "every": "30 minutes"}
    return make_query({"kind": "distinct-count", **keys, "value": "amount", **changes})


@cache
def timed_rows():
    return [(moment(row, "ts"), row) for row in TABLE.to_pylist()]


def by_hand(start, stop, ends, **values):
    """The clients whose last row of the window, the largest amount if there are several, is in the range."""
    last = {}
    for time, row in timed_rows():
        if start <= time < stop and all(row[name] == value for name, value in values.items()):
            last[row["client"]] = max(last.get(row["client"], (time, row["amount"])), (time, row["amount"]))
    low, high = ends
    return sum(low <= amount < high for _, amount in last.values())


def moment(row, name="at"):
    return int(row[name].timestamp()) * 1_000_000


@pytest.mark.parametrize("by", [[], ["shop"]])
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_range_of_every_window_equals_counting_it_by_hand(backend, by):
    answers = local.apply(TABLE, query(ranges=RANGES, by=by), {"sketch": backend}).to_pylist()
    assert len(answers) == 6 * 2 * len(RANGES) * (2 if by else 1)
    for row in answers:
        low, high = (float(end) for end in row["range"].strip("[)").split(", "))
        length = {"1 hour": 60, "25 minutes": 25}[row["window"]] * MINUTE
        shop = {"shop": row["shop"]} if by else {}
        expected = by_hand(moment(row) - length, moment(row), (low, high), **shop)
        assert (row["count"], row["low"], row["high"]) == (expected,) * 3, row


def test_answers_name_the_ranges_as_they_were_given():
    answers = local.apply(TABLE, query(ranges=[[0, 0.5], [10, INF], [-INF, -3]]), {"sketch": "exact"})
    assert answers.column_names == ["at", "window", "range", "count", "low", "high"]
    assert answers["range"].to_pylist()[:3] == ["[0, 0.5)", "[10, inf)", "[-inf, -3)"]


def test_ranges_that_cover_all_values_add_up_to_the_plain_count():
    plain = local.apply(TABLE, query(value=None), {"sketch": "exact"})
    parted = local.apply(TABLE, query(ranges=[[-INF, 3], [3, 10], [10, INF]]), {"sketch": "exact"})
    sums = parted.group_by(["at", "window"]).aggregate([("count", "sum")])
    assert {tuple(row.values()) for row in plain.select(["at", "window", "count"]).to_pylist()} == {
        tuple(row.values()) for row in sums.to_pylist()
    }


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_state_answers_any_range_alone_and_united(backend):
    answers = local.apply(TABLE, query(by=["shop"], emit="state"), {"sketch": backend}).to_pylist()
    by_moment = {}
    for row in answers:
        by_moment.setdefault(moment(row), {})[row["shop"]] = row["state"]
    at, shops = sorted(by_moment.items())[3]
    united = states.union(shops.values())
    for minutes in (1, 7, 37, 60):
        start = at - minutes * MINUTE
        for ends in ((0, 10), (10, 20), (9, 9.5), (None, 5), (15, None)):
            low, high = (-INF if ends[0] is None else ends[0]), (INF if ends[1] is None else ends[1])
            for shop, state in shops.items():
                expected = by_hand(start, at, (low, high), shop=shop)
                assert states.estimate(state, last=f"{minutes} minutes", between=ends) == (expected,) * 3
            expected = by_hand(start, at, (low, high))
            assert states.estimate(shops.values(), since=start, between=ends) == (expected,) * 3
            assert states.estimate(united, since=start, between=ends) == (expected,) * 3
            column = pa.array([united, None])
            estimates = states.estimates(column, last=f"{minutes} minutes", between=ends).to_pylist()
            assert estimates == [{"count": expected, "low": expected, "high": expected}, None]


def test_in_rows_the_last_row_of_a_client_counts():
    table = pa.table({"seq": range(8), "client": list("abababab"), "amount": [1, 2, 3, 4, 5, 6, 7, 8.5]})
    rows = query(time="seq", windows=["4 rows"], every="4 rows", ranges=[[0, 4], [4, 8], [8, INF]])
    answers = local.apply(table, rows, {"sketch": "exact"})
    assert answers["count"].to_pylist() == [1, 1, 0, 0, 1, 1]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_largest_value_comes_last_if_row_numbers_are_equal(backend, order):
    table = pa.table({"seq": [7, 7, 7], "client": ["a", "a", "a"], "amount": [1, 9, 5]}).take(pa.array(order))
    asked = query(time="seq", windows=["3 rows"], every="3 rows", ranges=[[1, 5], [5, 9], [9, 10]])
    assert local.apply(table, asked, {"sketch": backend})["count"].to_pylist() == [0, 0, 1]


def test_rows_without_a_number_are_left_out_and_counted():
    table = pa.table(
        {
            "ts": pa.array([1, 2, 3, 4, 5], pa.timestamp("s")),
            "client": ["a", "a", None, "b", "c"],
            "amount": [1.0, None, 2.0, float("nan"), INF],
        }
    )
    asked = query(windows=["1 minute"], every="1 minute", ranges=[[0, 5], [5, INF]])
    run = local.LocalRun.start(asked, table.schema, {"sketch": "exact"})
    run.push(table.to_batches()[0])
    assert run.finish().column("count").to_pylist() == [1, 1]
    assert run.operator.take_metrics().dropped == {"null item": 1, "null value": 2}


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint32(), pa.float32(), pa.decimal128(9, 2), pa.int64()], ids=str)
def test_values_are_numbers_of_any_type(kind):
    amounts = pa.array([1, 10, 19, 20, 30], pa.float64()).cast(kind)
    table = pa.table({"ts": pa.array(range(5), pa.timestamp("s")), "client": range(5), "amount": amounts})
    asked = query(windows=["1 minute"], every="1 minute", ranges=[[1, 10], [10, 20], [20, 30]])
    assert local.apply(table, asked, {"sketch": "k-skb"})["count"].to_pylist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("changes", "backend", "field", "said"),
    [
        ({"ranges": [[0, 10]]}, "pcsa-ml", "backends.sketch", "choose k-skb or exact; or add a column with the range"),
        ({"ranges": [[0, 10]]}, {"name": "se-fm"}, "backends.sketch", "se-fm has no parameter 'values'"),
        ({"ranges": [[0, 10]], "value": "shop"}, "exact", "query.value", "column 'shop' must be a number"),
        ({"ranges": [[0, 10]], "value": "amuont"}, "exact", "query.value", "did you mean 'amount'?"),
        ({"ranges": [[0, 10]], "value": None}, "exact", "value", "is required with `ranges`"),
        ({"ranges": [[0, 10]], "emit": "state"}, "exact", "ranges", "cannot be used with `emit`"),
        ({"ranges": []}, "exact", "ranges", "must be a list of ranges"),
        ({"ranges": "0-10"}, "exact", "ranges", "must be a list of ranges"),
        (
            {"ranges": [0, 10]},
            "exact",
            "ranges",
            "each must be two numbers, the least value and the first one above the range",
        ),
        ({"ranges": [[10, 10]]}, "exact", "ranges", "each must have its first end below its second"),
        ({"ranges": [[0, "x"]]}, "exact", "ranges", "each must be two numbers"),
        ({"ranges": [[0, 10], [0.0, 10]]}, "exact", "ranges", "has [0, 10) twice"),
        ({"value": None}, {"name": "k-skb", "values": "latest"}, "query.value", "name the column here"),
        ({"ranges": [[0, 1]]}, {"name": "k-skb", "values": "latest"}, "backends.sketch.values", "is set by the query"),
    ],
)
def test_invalid_ranges_are_refused_with_the_remedy(changes, backend, field, said):
    with pytest.raises(ConfigError) as caught:
        local.apply(TABLE, query(**changes), {"sketch": backend})
    (problem,) = caught.value.problems
    assert problem.field == field and said in problem.message


@pytest.mark.parametrize("ends", [(1, 0), (0, 0), (0,), (0, 1, 2), "01", 5, (float("nan"), 1), (True, 2), (0, "1")])
def test_a_value_that_is_not_a_range_is_refused(ends):
    state = local.apply(TABLE, query(emit="state"), {"sketch": "exact"})["state"][0].as_py()
    with pytest.raises(InputError, match=r"between: must (be two numbers|have its first end below)"):
        states.estimate(state, between=ends)


def test_states_without_values_are_refused_with_the_remedy():
    for backend in ("exact", "k-skb", "pcsa-ml", "se-pcsa"):
        state = local.apply(TABLE, query(value=None, emit="state"), {"sketch": backend})["state"][0].as_py()
        with pytest.raises(InputError, match=r"between: needs states with values, .* set `value` in the query"):
            states.estimate(state, between=(0, 10))
        with pytest.raises(InputError, match="between: needs states with values"):
            states.estimate([state, state], between=(0, 10))
    valued = local.apply(TABLE, query(emit="state"), {"sketch": "exact"})["state"][0].as_py()
    plain = local.apply(TABLE, query(value=None, emit="state"), {"sketch": "exact"})["state"][0].as_py()
    with pytest.raises(InputError, match="row 1: has values = None, the first 'latest'"):
        states.estimate([valued, plain], between=(0, 10))


def test_a_range_includes_its_first_end_but_not_its_second_unless_infinite():
    values = np.array([-INF, -1.0, 0.0, 9.999, 10.0, INF])
    for ends, expected in (
        ((0, 10), [0, 0, 1, 1, 0, 0]),
        ((0, INF), [0, 0, 1, 1, 1, 1]),
        ((-INF, 0), [1, 1, 0, 0, 0, 0]),
        ((None, None), [1] * 6),
        ((10, 1e300), [0, 0, 0, 0, 1, 0]),
    ):
        assert read_range(ends).holds(values).astype(int).tolist() == expected
    assert str(ValueRange(-INF, 2.0**60)) == "[-inf, 1.152921504606847e+18)"


def test_ask_counts_ranges_of_a_table_of_states(tmp_path):
    path = tmp_path / "states.parquet"
    pq.write_table(local.apply(TABLE, query(by=["shop"], emit="state"), {"sketch": "exact"}), path)
    chosen = ["--between", "0", "10", "--between", "10", "inf"]
    asked = ["ask", str(path), "--last", "37 minutes", "--by", "shop", "--union", *chosen]
    rows = json.loads(CliRunner().invoke(group, [*asked, "--json"]).stdout)["answers"]
    at = START + 180 * MINUTE
    expected = [
        {**shop, "last": "37 minutes", "between": name, "count": by_hand(at - 37 * MINUTE, at, ends, **shop)}
        for shop in ({"shop": "a"}, {"shop": "b"}, {})
        for name, ends in (("[0, 10)", (0, 10)), ("[10, inf)", (10, INF)))
    ]
    assert [{key: value for key, value in row.items() if key not in ("low", "high")} for row in rows] == expected
    table = CliRunner().invoke(group, asked).stdout.splitlines()
    assert table[0].split() == ["shop", "last", "between", "count", "low", "high"]
    assert "[0, 10)" in table[1] and len(table) == 7
    wrong = CliRunner().invoke(group, ["ask", str(path), "--between", "10", "0"])
    assert wrong.exit_code != 0 and "between: must have its first end below its second" in wrong.stderr


def test_times_far_from_a_minute_keep_their_values():
    """A row a microsecond before the window does not count, even if its value is in the range."""
    moments = [START + 60 * MINUTE - 37 * MINUTE - 1, START + 60 * MINUTE - 37 * MINUTE, START + 60 * MINUTE - 1]
    table = pa.table({"ts": pa.array(moments, pa.timestamp("us", "UTC")), "client": [1, 2, 3], "amount": [5, 10, 5]})
    (state,) = local.apply(table, query(emit="state", every="1 hour"), {"sketch": "exact"})["state"].to_pylist()
    begin = datetime.datetime.fromtimestamp(moments[1] / 1e6, datetime.UTC)
    assert states.estimate(state, since=begin, between=(5, 10)).count == 1
    assert states.estimate(state, since=begin, between=(5, 10.5)).count == 2
    assert states.estimate(state, since=moments[0], between=(5, 10)).count == 2
