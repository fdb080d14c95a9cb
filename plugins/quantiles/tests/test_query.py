"""quantiles equals its definition and DuckDB, whatever the windows and batches; impossible queries are refused."""

from decimal import Decimal
from fractions import Fraction
from math import ceil, inf, nan

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from skyband.engines.local import apply
from skyband.errors import ConfigError, InputError
from skyband.operator.row_encoding import encode
from skyband.queries import make_query

SECOND = 1_000_000
ROWS = 900
WINDOWS = {"10 seconds": 10, "30 seconds": 30}
PLAIN = {"kind": "quantiles", "time": "t", "value": "millis", "every": "5 seconds", "windows": list(WINDOWS)}
AT, ABOVE = [0.5, 0.07, 0.14, 0.95, 0, 1], [40.0, 0]


def table(seed=1, rows=ROWS):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 90, rows)) * SECOND + rng.integers(0, 5, rows) * 1000
    millis = np.round(np.exp(rng.normal(3, 1, rows)), 1)
    return pa.table({"t": pa.array(times, pa.timestamp("us")), "millis": millis, "place": rng.integers(0, 2, rows)})


def answered(values):
    """Rows (quantile, above, value) of an answer, by definition."""
    values = sorted(values)
    found = [(q, None, values[max(1, ceil(Fraction(repr(float(q))) * len(values))) - 1]) for q in AT]
    return found + [(None, limit, sum(value > limit for value in values) / len(values)) for limit in ABOVE]


def expected(rows):
    times, values = rows.column("t").cast(pa.int64()).to_numpy(), rows.column("millis").to_numpy()
    found = {}
    for at in range(5, 130, 5):
        for name, window in WINDOWS.items():
            inside = values[(times >= (at - window) * SECOND) & (times < at * SECOND)]
            if len(inside):
                found[at, name] = answered(inside), len(inside)
    return found


def answers(result):
    found = {}
    for row in result.to_pylist():
        assert row["low"] <= row["value"] <= row["high"]
        at = row["at"] if isinstance(row["at"], int) else round(row["at"].timestamp() % 86_400)
        rows, _ = found.setdefault((at, row["window"]), ([], row["rows"]))
        rows.append((row["quantile"], row["above"], row["value"]))
    return found


def test_it_equals_its_definition():
    rows = table()
    wanted = {key: value for key, value in expected(rows).items() if key[0] <= 90}
    assert answers(apply(rows, {**PLAIN, "at": AT, "above": ABOVE})) == wanted


def test_groups_are_separate_streams():
    rows = table(2)
    result = apply(rows, {**PLAIN, "at": AT, "above": ABOVE, "by": "place"})
    for place in (0, 1):
        alone = rows.filter(pa.compute.equal(rows["place"], place))
        mine = result.filter(pa.compute.equal(result["place"], place)).drop_columns("place")
        assert answers(mine) == answers(apply(alone, {**PLAIN, "at": AT, "above": ABOVE}))


def test_windows_in_rows_count_rows():
    rows = table(3)
    asked = {**PLAIN, "windows": ["100 rows", "7 rows"], "every": "50 rows", "at": AT, "above": ABOVE}
    result = answers(apply(rows, asked))
    values = rows.sort_by([("t", "ascending"), ("millis", "ascending")]).column("millis").to_numpy()
    for at in range(50, ROWS + 1, 50):
        for window in (100, 7):
            inside = values[max(0, at - window) : at]
            assert result[at, f"{window} rows"] == (answered(inside), len(inside))


def test_it_equals_duckdb():
    requests = table(4)
    truth = duckdb.sql(
        """
        with moments as (select unnest(range(5, 95, 5)) as moment)
        select moment, quantile_disc(millis, 0.5), quantile_disc(millis, 0.95), avg((millis > 40)::int), count(*)
        from moments join requests
            on epoch_us(t) < moment * 1000000 and epoch_us(t) >= (moment - 30) * 1000000 group by moment
        """
    ).fetchall()
    got = answers(apply(requests, {**PLAIN, "at": [0.5, 0.95], "above": [40]}))
    assert truth
    for moment, median, high, share, count in truth:
        rows, held = got[moment, "30 seconds"]
        assert ([value for _, _, value in rows[:2]], held) == ([median, high], count)
        assert rows[2][2] == pytest.approx(share)


def test_columns_without_quantiles_or_limits_are_left_out():
    rows = table(5)
    common = ["at", "window", "value", "low", "high", "rows"]
    assert apply(rows, {**PLAIN, "at": [0.5]}).column_names == [*common[:2], "quantile", *common[2:]]
    assert apply(rows, {**PLAIN, "above": [5]}).column_names == [*common[:2], "above", *common[2:]]


def test_values_that_are_not_numbers_are_left_out_and_counted_and_infinities_are_values():
    batch = pa.RecordBatch.from_pydict(
        {"t": pa.array([SECOND] * 6, pa.timestamp("us")), "millis": [1.0, None, nan, inf, -inf, -0.0]}
    )
    encoded = encode(make_query({**PLAIN, "at": [0.5]}), batch)
    assert encoded.dropped == {"null value": 2}
    assert [str(value) for value in encoded.frame.column("value").to_pylist()] == ["1.0", "inf", "-inf", "0.0"]


def test_decimals_are_the_nearest_float_and_large_whole_numbers_are_refused():
    times = pa.array([SECOND] * 2, pa.timestamp("us"))
    tenths = pa.table({"t": times, "millis": pa.array([Decimal("0.1"), Decimal("0.3")], pa.decimal128(9, 1))})
    assert apply(tenths, {**PLAIN, "at": [0.5, 1]})["value"].to_pylist()[:2] == [0.1, 0.3]
    large = pa.table({"t": times, "millis": [1, 2**53 + 1]})
    with pytest.raises(InputError, match=r"^millis, row 1: 9007199254740993 is not exact as float64"):
        apply(large, {**PLAIN, "at": [0.5]})


@pytest.mark.parametrize("kind", [pa.string(), pa.duration("us"), pa.bool_()])
def test_a_column_that_is_not_a_number_is_refused(kind):
    rows = pa.table({"t": pa.array([SECOND], pa.timestamp("us")), "millis": pa.array([None], kind)})
    with pytest.raises(ConfigError, match="value: column 'millis' must be a number"):
        apply(rows, {**PLAIN, "at": [0.5]})


@pytest.mark.parametrize(
    ("keys", "field", "said"),
    [
        ({"at": [95]}, "at[0]", "must be from 0 to 1: 0.95 for the 95th percentile (got 95)"),
        ({"at": [0.5, 0.9999999999]}, "at[1]", "must have at most nine decimals"),
        ({"at": [0.5, 0.5]}, "at[1]", "is listed twice"),
        ({"at": 0.5}, "at", "must be a list"),
        ({}, "at", "is required without `above`: set at = [0.5, 0.99], above = [400], or both"),
        ({"above": [nan]}, "above[0]", "must be a finite number"),
        ({"above": [1, inf]}, "above[1]", "must be a finite number"),
        ({"percentiles": [95]}, "percentiles", "is called `at` here: write at = [0.5, 0.99], parts of 1"),
        ({"percentile": 95}, "percentile", "is called `at` here: write at = [0.5, 0.99], parts of 1"),
        ({"at": [0.5], "limit": 400}, "limit", "above = [400] gives the share above 400"),
        ({"at": [0.5], "threshold": 400}, "threshold", "above = [400] gives the share above 400"),
        ({"at": [0.5], "interpolation": "linear"}, "interpolation", "a quantile here is a row's value"),
        ({"at": [0.5], "object": "place"}, "object", 'by = "object"'),
        ({"at": [0.5], "weight": "w"}, "weight", "heavy-hitters adds weights up"),
        ({"at": [0.5], "every": "5 rows"}, "every", "must be in time"),
    ],
)
def test_impossible_queries_are_refused_with_the_remedy(keys, field, said):
    with pytest.raises(ConfigError) as caught:
        make_query({**PLAIN, **keys})
    assert field in [problem.field for problem in caught.value.problems]
    assert said in str(caught.value)
