"""Expressions return Spark's values: numbers, text, times and days up to the largest."""

import calendar
import datetime as dt
import math
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from itertools import product
from operator import eq, ge, gt, le, lt, ne

import numpy as np
import pyarrow as pa
import pytest
from skyband.config.time_zone_conversion import FIRST_YEAR, LAST_YEAR, YEARS
from skyband.errors import InputError
from skyband_expressions.expression import UnknownExpressionError, parse_column
from skyband_jobs.files.where_and_select import OnlySparkError, Shape

INTEGERS = pa.table(
    {
        "row": pa.array(range(5), pa.int64()),
        "small": pa.array([0, -1, None, 2**31 - 1, -(2**31)], pa.int32()),
        "large": pa.array([1_767_225_600, None, 253_402_300_799, -62_135_596_800, 1], pa.int64()),
    }
)
"""Times from the years 1 to 9999 in seconds, and those of 32 bits."""

FRACTIONS = [
    (
        pa.array([1.5, None, float("nan"), float("-inf"), -1.0000019, 1e300, -1e300]),
        [1_500_000, None, None, None, -1_000_001, 2**63 - 1, -(2**63)],
    ),
    (pa.array([0.5, None, -0.25], pa.float32()), [500_000, None, -250_000]),
    (pa.array([Decimal("1.5"), None, Decimal("-0.000001")], pa.decimal128(38, 7)), [1_500_000, None, -1]),
    (
        pa.array([Decimal("9223372036854.775807"), Decimal("-9223372036854.775808")], pa.decimal128(20, 6)),
        [2**63 - 1, -(2**63)],
    ),
]

BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}

FLOATS = [float("-inf"), -1.5, -0.0, 0.0, 5e-324, 1.5, float("inf"), float("nan"), None]


def test_a_literal_keeps_its_digits_next_to_a_decimal_and_a_cast_one_those_of_its_type():
    shape = Shape.parse(
        None, ["n + (-3) AS plain", "n + CAST((-3) AS INT) AS made", "CAST(7 AS INT) * n AS times", "n * (-3) AS less"]
    )
    types = shape.schema(pa.schema([("n", pa.decimal128(9, 2))])).types
    assert types == [pa.decimal128(10, 2), pa.decimal128(13, 2), pa.decimal128(20, 2), pa.decimal128(11, 2)], (
        "as on Spark"
    )


@pytest.mark.parametrize("unit", [1_000_000, 1_000, 1])
def test_whole_numbers_become_times(unit):
    name = {1_000_000: "timestamp_seconds", 1_000: "Timestamp_Millis", 1: "TIMESTAMP_MICROS"}[unit]
    shape = Shape.parse("row > 0", [f"{name}(small) AS a", f"{name} ( `large` ) AS b", "row"])
    schema = shape.schema(INTEGERS.schema)
    assert schema.types == [pa.timestamp("us", "UTC"), pa.timestamp("us", "UTC"), pa.int64()]
    assert shape.reads(["b"]) == ["large", "row"]
    (batch,) = INTEGERS.to_batches()
    made, kept = shape.apply(batch, schema)
    assert kept.tolist() == [1, 2, 3, 4]
    for column, source in (("a", "small"), ("b", "large")):
        numbers = made.column(column).cast(pa.int64()).to_pylist()
        assert numbers == [None if value is None else value * unit for value in INTEGERS[source].to_pylist()[1:]]


@pytest.mark.parametrize(("unit", "name"), [(1_000_000, "timestamp_seconds"), (1_000, "timestamp_millis")])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_number_too_far_from_1970_is_reported_with_its_row(unit, name, sign):
    most = sign * ((2**63 - 1) // unit)
    rows = pa.record_batch({"n": pa.array([0, most, most + sign], pa.int64())})
    shape = Shape.parse("n <> 0", [f"{name}(n) AS ts"])
    made, _ = shape.apply(rows.slice(0, 2), shape.schema(rows.schema))
    assert made.column(0).cast(pa.int64()).to_pylist() == [most * unit]
    with pytest.raises(
        InputError, match=rf"timestamp_.*, row 2: {most + sign} is too far from 1970: is it in a smaller unit"
    ):
        shape.apply(rows, shape.schema(rows.schema))


@pytest.mark.parametrize(("seconds", "micros"), FRACTIONS, ids=lambda column: str(getattr(column, "type", "")))
def test_seconds_with_fractions_become_times(seconds, micros):
    rows = pa.record_batch({"n": seconds})
    shape = Shape.parse(None, ["timestamp_seconds(n) AS ts"])
    made, _ = shape.apply(rows, shape.schema(rows.schema))
    assert made.schema.types == [pa.timestamp("us", "UTC")]
    assert made.column(0).cast(pa.int64()).to_pylist() == micros


def test_a_calendar_knows_years_beyond_16_bits():
    """As in Spark, for the last time."""
    rows = pa.record_batch({"n": pa.array([2**63 - 1, None, -(2**63)], pa.int64())})
    names = ("year", "month", "day", "hour", "dayofyear", "weekofyear", "weekday")
    shape = Shape.parse(None, [f"{name}(timestamp_micros(n)) AS {name}_" for name in names])
    made, _ = shape.apply(rows, shape.schema(rows.schema))
    last, none, first = (tuple(row.values()) for row in made.to_pylist())
    assert last == (294247, 1, 10, 4, 10, 1, 6)
    assert none == (None,) * 7
    assert first[:4] == (-290308, 12, 21, 19)


@pytest.mark.parametrize("number", ["0.0000001", "9223372036854.775808", "-9223372036855", "1" * 30])
def test_a_decimal_that_is_not_a_time_is_reported_with_its_row(number):
    rows = pa.record_batch({"n": pa.array([Decimal(1), Decimal(number)], pa.decimal128(38, 7))})
    shape = Shape.parse(None, ["timestamp_seconds(n) AS ts"])
    with pytest.raises(InputError, match=r"row 1: .* seconds since 1970 are not a whole number of microseconds"):
        shape.apply(rows, shape.schema(rows.schema))


def test_a_branch_that_is_not_taken_does_not_fail():
    rows = pa.record_batch({"n": [0, 2, None]})
    for text in (
        "CASE WHEN n <> 0 THEN 6 div n END",
        "if(n = 0, NULL, 6 div n)",
        "coalesce(nullif(n, n), 6 div nullif(n, 0))",
    ):
        shape = Shape.parse(None, [f"{text} AS m"])
        assert shape.apply(rows, shape.schema(rows.schema))[0]["m"].to_pylist() == [None, 3, None]
    where = Shape.parse("n = 0 OR 6 div n = 3", None)
    assert where.apply(rows, rows.schema)[1].tolist() == [0, 1]


def evaluated(text, rows):
    shape = Shape.parse(None, [f"{text} AS value"])
    return shape.apply(rows, shape.schema(rows.schema))[0]["value"].to_pylist()


def test_an_escaped_backslash_in_a_pattern_is_one_wherever_wildcards_are():
    texts = ["a\\b", "a\\\\b", "xa\\by", "a\nb\\", "a%b", None]
    for pattern, expected in {
        r"%a\\b%": [True, False, True, False, False, None],
        r"a\\b%": [True, False, False, False, False, None],
        r"%a\\b": [True, False, False, False, False, None],
        r"a_b\\": [False, False, False, True, False, None],
        r"%\\": [False, False, False, True, False, None],
        r"a\%b": [False, False, False, False, True, None],
        r"%\\_%": [True, True, True, False, False, None],
    }.items():
        sql = pattern.replace("\\", "\\\\")
        assert evaluated(f"t LIKE '{sql}'", pa.record_batch({"t": texts})) == expected, pattern


def test_operands_next_to_a_null_are_not_evaluated():
    """As on Spark, if they could fail: after a null, before a null divisor, and after a match of IN."""
    rows = pa.record_batch({"x": pa.array([None, 3], pa.int64()), "n": pa.array([0, 1], pa.int64())})
    assert evaluated("x + 6 div n", rows) == [None, 9]
    assert evaluated("x < 6 div n", rows) == [None, True]
    for operator, expected in (("/", 2.0), ("div", 2), ("%", 0)):
        assert evaluated(f"(6 div n) {operator} x", rows) == [None, expected]
        with pytest.raises(InputError, match="row 0: division by zero"):
            evaluated(f"x {operator} (6 div n)", rows)
    assert evaluated("x IN (3, 6 div n)", rows) == [None, True]
    assert evaluated("n IN (n, 6 div n)", rows) == [True, True]
    assert evaluated("concat(x, 6 div n)", rows) == evaluated("x || (6 div n)", rows) == [None, "36"]
    assert evaluated("concat(n, NULL, 6 div n)", rows) == [None, None]
    fail = ("(6 div n) + x", "x <=> 6 div n", "least(x, 6 div n)", "array(x, 6 div n)", "concat(6 div n, NULL)")
    for text in fail:
        with pytest.raises(InputError, match="row 0: division by zero"):
            evaluated(text, rows)


def test_what_is_of_columns_is_summed_and_multiplied_before_what_is_not():
    """Like Spark's optimizer for whole numbers: a result may fit in one order and overflow in another."""
    rows = pa.record_batch({"m": pa.array([2**62], pa.int64()), "n": pa.array([2], pa.int64()), "d": [0.5]})
    for text in ("m * 0 * n", "0 * (m * n)", "(m * 0) * (n * 1)", "m - m + 1 * 0 * m * n"):
        with pytest.raises(InputError, match="row 0: the result does not fit its type"):
            evaluated(text, rows)
    assert evaluated("(m + 9223372036854775807) + (-m - 5)", rows) == [2**63 - 6], "the first alone overflows"
    assert evaluated("m * 2 * -1 * (1 - 1) * d", rows) == [0.0], "-2 is constant, and doubles are not reordered"
    with pytest.raises(UnknownExpressionError, match="a constant part cannot be evaluated: overflow"):
        parse_column("n * 9223372036854775807 * 2 AS value")[0].type_in(rows.schema)
    for null in ("NULL", "nullif(3, 3)", "TRY_CAST('a' AS INT)", "CASE WHEN FALSE THEN 1 END"):
        assert evaluated(f"m * n * {null}", rows) == evaluated(f"{null} = m * n", rows) == [None], "whatever the row"
    cents = pa.record_batch({"c": pa.array([1], pa.decimal128(9, 2))})
    assert parse_column("c + 1 * 0 AS value")[0].type_in(cents.schema) == pa.decimal128(13, 2), "digits of an INT"


def test_values_at_the_ends_equal_spark():
    rows = pa.record_batch({"d": [float("nan"), 1.5], "s": ["\u0130", "a"], "n": [-(2**63), 2**63 - 1]})
    assert evaluated("floor(d)", rows) == [0, 1]
    assert evaluated("ceil(d)", rows) == [0, 2]
    assert evaluated("upper(lower(s))", rows) == ["\u0130", "A"]
    assert evaluated("lower(upper(lower(s)))", rows) == ["i\u0307", "a"]
    assert evaluated("unix_micros(timestamp_micros(n))", rows) == [-(2**63), 2**63 - 1]
    for unit in ("second", "minute", "day", "week", "quarter", "year"):
        with pytest.raises(InputError, match=r"row 0: the time -92.* microseconds from 1970 is too far away"):
            evaluated(f"date_trunc('{unit}', timestamp_micros(n))", rows)


@pytest.mark.parametrize("kind", BITS)
def test_numbers_and_text_become_whole_numbers_up_to_the_largest(kind):
    """A DOUBLE is truncated first, so 127.9 fits TINYINT; 2^63 becomes the largest BIGINT."""
    most = 2 ** (BITS[kind] - 1) - 1
    for end, sign in ((most, 1), (-most - 1, -1)):
        numbers = pa.record_batch({"d": [float(end), end + 0.9 * sign], "s": [str(end), f" {'+' * (sign > 0)}{end}\t"]})
        assert evaluated(f"cast(d AS {kind})", numbers) == [end, end]
        assert evaluated(f"cast(s AS {kind})", numbers) == [end, end]
        beyond = float(end + sign) if kind != "BIGINT" else float(np.nextafter(float(end), np.inf * sign))
        wrong = pa.record_batch(
            {"d": [0.0, beyond], "s": ["-0", str(end + sign)], "t": ["0" * 30, str(end) + "0" * 20]}
        )
        for column in "dst":
            assert evaluated(f"try_cast({column} AS {kind})", wrong) == [0, None]
            with pytest.raises(InputError, match=rf"row 1: .* is not a valid {kind.lower()}"):
                evaluated(f"cast({column} AS {kind})", wrong)


@pytest.mark.parametrize("kind", list(BITS)[:3])
@pytest.mark.parametrize("source", [pa.int64(), pa.decimal128(20, 0), pa.decimal128(20, 1)], ids=str)
def test_wider_numbers_become_narrower_ones_up_to_the_largest(kind, source):
    most = 2 ** (BITS[kind] - 1) - 1
    ends = [-most - 1, -most, 0, most - 1, most]
    rows = pa.record_batch({"n": pa.array([*ends, None], pa.decimal128(20, 0)).cast(source)})
    assert evaluated(f"cast(n AS {kind})", rows) == [*ends, None]
    beyond = pa.record_batch({"n": pa.array([most, most + 1, -most - 1, -most - 2], pa.decimal128(20, 0)).cast(source)})
    assert evaluated(f"try_cast(n AS {kind})", beyond) == [most, None, -most - 1, None]
    with pytest.raises(InputError, match=rf"row 1: .* is not a valid {kind.lower()}"):
        evaluated(f"cast(n AS {kind})", beyond)


def test_whether_a_list_has_a_value_is_unknown_only_where_a_null_may_be_it():
    lists = [None, *([*some] for size in range(4) for some in product([None, 1, 2], repeat=size))]
    rows = pa.record_batch({"list": pa.array(lists, pa.list_(pa.int64())), "n": pa.array([1] * len(lists))})

    def has(some, value):
        if some is None or value is None:
            return None
        return True if value in some else None if None in some else False

    for value in (1, 2, 3):
        assert evaluated(f"array_contains(list, {value}L)", rows) == [has(some, value) for some in lists]
    assert evaluated("array_contains(list, n)", rows) == [has(some, 1) for some in lists]


def test_the_first_of_duplicate_keys_of_a_map_counts():
    maps = [[("a", 1), ("b", 2), ("a", 3)], [("b", 4), ("b", 5)], [], None]
    rows = pa.record_batch({"m": pa.array(maps, pa.map_(pa.string(), pa.int64()))})
    for how in ("m['{}']", "element_at(m, '{}')"):
        assert evaluated(how.format("a"), rows) == [1, None, None, None]
        assert evaluated(how.format("b"), rows) == [2, 4, None, None]


def test_clocks_of_zones_are_known_from_their_first_microsecond_to_their_last():
    first, beyond = YEARS
    rows = pa.record_batch({"t": pa.array([first, beyond - 1, None], pa.timestamp("us", "UTC"))})
    clocks = evaluated("from_utc_timestamp(t, 'Asia/Tokyo')", rows)
    assert [clock.year for clock in clocks[:2]] == [FIRST_YEAR, LAST_YEAR + 1] and clocks[2] is None
    for outside in (first - 1, beyond):
        rows = pa.record_batch({"t": pa.array([0, outside], pa.timestamp("us", "UTC"))})
        with pytest.raises(InputError, match=f"outside the years {FIRST_YEAR} to {LAST_YEAR}"):
            evaluated("from_utc_timestamp(t, 'Asia/Tokyo')", rows)
        assert evaluated("from_utc_timestamp(t, 'UTC') = t", rows) == [True, True]


def test_whole_numbers_become_times_and_fractions_whole_numbers_up_to_the_largest():
    most = 2**63 // 1_000_000
    seconds = [sign * (most + beside) for sign in (1, -1) for beside in (-1, 0, 1, 2)] + [2**63 - 1, -(2**63)]
    rows = pa.record_batch({"n": pa.array(seconds, pa.int64())})
    times = [max(min(second * 1_000_000, 2**63 - 1), -(2**63)) for second in seconds]
    assert evaluated("unix_micros(cast(n AS TIMESTAMP))", rows) == times
    for name, end, beyond in (("floor", -(2.0**63), 2.0**63), ("ceil", np.nextafter(2.0**63, 0), -(2.0**63) - 2048)):
        assert evaluated(f"{name}(d)", pa.record_batch({"d": [end]})) == [int(end)]
        with pytest.raises(InputError, match=rf"row 1: .* is too large for {name}"):
            evaluated(f"{name}(d)", pa.record_batch({"d": [0.0, beyond]}))


def test_in_compares_numbers_like_equality():
    """NaN equals NaN and −0.0 equals 0.0, also with two or more literals."""
    values = [0.0, -0.0, float("nan"), 1.5, None]
    rows = pa.record_batch({"d": pa.array(values), "f": pa.array(values, pa.float32())})
    for column in "df":
        assert evaluated(f"{column} IN (0.0D, 2.0D)", rows) == [True, True, False, False, None]
        assert evaluated(f"{column} IN (-0.0D, cast('NaN' AS DOUBLE), 3.0D)", rows) == [True, True, True, False, None]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
def test_any_two_numbers_are_compared_as_spark_orders_them(kind):
    """NaN is the largest and equals itself, −0.0 equals 0.0; comparisons with null are null, except <=>."""
    pairs = [*product(FLOATS, repeat=2)]
    rows = pa.record_batch(
        {name: pa.array(column, kind) for name, column in zip("ab", zip(*pairs, strict=True), strict=True)}
    )
    ranks = [
        [
            None
            if one is None
            else (math.isnan(one), 0 if math.isnan(one) else float(np.float32(one)) if kind == pa.float32() else one)
            for one in pair
        ]
        for pair in pairs
    ]
    for name, compare in {"<": lt, "<=": le, ">": gt, ">=": ge, "=": eq, "<>": ne}.items():
        expected = [None if None in pair else compare(*pair) for pair in ranks]
        assert evaluated(f"a {name} b", rows) == expected, name
    assert evaluated("a <=> b", rows) == [a == b for a, b in ranks]
    for name, best in (("greatest", max), ("least", min)):
        found = evaluated(f"{name}(a, b)", rows)
        expected = [best([one for one in pair if one is not None], default=None) for pair in ranks]
        assert [None if one is None else (math.isnan(one), 0 if math.isnan(one) else one) for one in found] == expected


def test_parts_of_text_are_those_of_any_position_and_length():
    """Spark counts from 1, or from the end, and a start before the text shortens the length."""
    texts = ["", "a", "Sé𝄞x", "abcdefg", None]
    rows = pa.record_batch({"t": texts})
    for position, size in product(range(-6, 7), range(-1, 9)):
        expected = []
        for text in texts:
            start = 0 if text is None else position - 1 if position > 0 else len(text) + position if position else 0
            expected.append(None if text is None else text[max(start, 0) : max(start + size, start, 0)])
        if position != 0:
            assert evaluated(f"substring(t, {position}, {size})", rows) == expected, (position, size)
    for size in range(9):
        assert evaluated(f"left(t, {size})", rows) == [text and text[:size] for text in texts]
        assert evaluated(f"right(t, {size})", rows) == [text and text[max(len(text) - size, 0) :] for text in texts]


@pytest.mark.parametrize(("digits", "scale"), [(1, 0), (2, 0), (3, 1), (5, 5), (18, 2), (36, 0)])
def test_decimals_have_room_up_to_their_last_digit(digits, scale):
    with localcontext(Context(99)):
        unit, most = Decimal(1).scaleb(-scale), Decimal(10) ** (digits - scale)
        last, halfway = most - unit, most - unit / 2
    kind = f"decimal({digits}, {scale})"
    fits, beyond = [last, last.copy_negate(), Decimal(0)], [most, most.copy_negate()]
    wide = pa.record_batch({"d": pa.array([*fits, *beyond], pa.decimal128(digits + 1, scale))})
    assert evaluated(f"try_cast(d AS {kind})", wide) == [*fits, None, None]
    half = pa.record_batch({"d": pa.array([halfway, last], pa.decimal128(digits + 2, scale + 1))})
    assert evaluated(f"try_cast(d AS {kind})", half) == [None, last], "rounded first"
    if digits < 18 and scale == 0:
        whole = pa.record_batch({"n": [int(one) for one in (*fits, *beyond)]})
        assert evaluated(f"try_cast(n AS {kind})", whole) == [*fits, None, None]


@pytest.mark.parametrize("scale", [0, 1, 5])
def test_halves_of_decimals_are_rounded_away_from_zero(scale):
    """With odd and even digits, to distinguish other rounding modes."""
    numbers = [Decimal(number).scaleb(-scale - 1) for number in range(-105, 106)]
    rows = pa.record_batch({"d": pa.array(numbers, pa.decimal128(20, scale + 1))})
    expected = [number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP) for number in numbers]
    assert evaluated(f"cast(d AS decimal(20, {scale}))", rows) == expected


@pytest.mark.parametrize("scale", [0, 1, 6, 7, 8])
def test_decimals_become_text_unless_one_has_an_exponent(scale):
    """With more decimals Java writes the smallest as 1E-7."""
    numbers = [Decimal(number).scaleb(-scale) for number in (1, -1, 0, 12_345_678_901)]
    rows = pa.record_batch({"d": pa.array(numbers, pa.decimal128(20, scale))})
    if scale <= 6:
        assert evaluated("cast(d AS string)", rows) == [f"{number:f}" for number in numbers]
    else:
        with pytest.raises(OnlySparkError, match="to string is not supported"):
            evaluated("cast(d AS string)", rows)


def test_days_exist_as_in_the_calendar_of_any_year():
    years = range(1, 10_000)
    leap = pa.record_batch({"t": [f"{year:04}-02-29" for year in years]})
    found = evaluated("try_cast(t AS DATE) IS NOT NULL", leap)
    assert [year for year, there in zip(years, found, strict=True) if there] == [*filter(calendar.isleap, years)]
    ends = [(2026, month, day) for month in range(14) for day in range(33)]
    texts = pa.record_batch({"t": [f"{year}-{month:02}-{day:02}" for year, month, day in ends]})
    there = [1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1] for year, month, day in ends]
    for kind in ("DATE", "TIMESTAMP"):
        assert evaluated(f"try_cast(t AS {kind}) IS NOT NULL", texts) == there


def test_times_before_1970_are_rounded_down_to_their_day():
    """And to their second."""
    day = 86_400 * 10**6
    micros = [
        sign * whole * unit + beside
        for sign in (1, -1)
        for whole in (0, 1, 2, 719_000)
        for unit in (10**6, day)
        for beside in (-1, 0, 1)
    ]
    rows = pa.record_batch({"n": pa.array(micros, pa.int64())})
    days = evaluated("cast(timestamp_micros(n) AS DATE)", rows)
    assert [(one - dt.date(1970, 1, 1)).days for one in days] == [one // day for one in micros]
    assert evaluated("unix_seconds(timestamp_micros(n))", rows) == [one // 10**6 for one in micros]
    assert evaluated("cast(timestamp_micros(n) AS BIGINT)", rows) == [one // 10**6 for one in micros]
    assert evaluated("unix_millis(timestamp_micros(n))", rows) == [one // 1000 for one in micros]


@pytest.mark.parametrize("name", ["and", "or"])
def test_and_and_or_stop_once_decided(name):
    """Three values each, with conditions that fail in different rows."""
    values = [True, False, None]
    pairs = [*product(values, repeat=2)]
    decides = name == "or"
    firsts, seconds = zip(*pairs, strict=True)
    rows = pa.record_batch({"a": firsts, "n": [None if one is None else int(one) for one in seconds]})
    expected = [decides if decides in pair else None if None in pair else not decides for pair in pairs]
    assert evaluated(f"a {name} (10 div 10) * n = 1", rows) == expected
    assert evaluated(f"a {name} (2 + n) div (n + 1) < 2", rows) == expected
    zero = pa.record_batch({"a": [decides], "n": [-1]})
    assert evaluated(f"a {name} 1 div (n + 1) = 1", zero) == [decides]
    for other in (not decides, None):
        with pytest.raises(InputError, match="zero"):
            evaluated(f"a {name} 1 div (n + 1) = 1", pa.record_batch({"a": pa.array([other], pa.bool_()), "n": [-1]}))


def test_seconds_with_fractions_are_clamped_to_the_last_time():
    most = 2.0**63
    edges = [most / 1e6, np.nextafter(most / 1e6, 0), np.nextafter(most / 1e6, np.inf), 1e300]
    for sign in (1, -1):
        seconds = [sign * float(one) for one in edges]
        expected = [
            min(max(int(one * 1e6), -(2**63)), 2**63 - 1) if abs(one) < 1e299 else (2**63 - 1 if sign > 0 else -(2**63))
            for one in seconds
        ]
        assert evaluated("unix_micros(timestamp_seconds(d))", pa.record_batch({"d": seconds})) == expected


@pytest.mark.parametrize("operator", ["/", "DIV", "%"])
@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.float64()])
def test_only_a_division_of_a_number_by_zero_is_an_error(operator, kind):
    """A null on either side is null, as on Spark, which looks at zero last."""
    if operator == "DIV" and pa.types.is_floating(kind):
        return
    expression, _ = parse_column(f"a {operator} b AS value")
    for one, other in product([None, 0, 7], repeat=2):
        row = pa.record_batch({"a": pa.array([one], kind), "b": pa.array([other], kind)})
        if one is not None and other == 0:
            with pytest.raises(InputError, match="divi"):
                expression.evaluate(row)
        else:
            assert expression.evaluate(row)[0].is_valid == (None not in (one, other)), (one, other)


@pytest.mark.parametrize("rows", range(1, 6))
def test_each_row_has_the_value_of_the_first_branch_that_it_comes_to(rows):
    """However many come to each: compared with Python."""
    cases = {
        "CASE WHEN a > 1 THEN 10 WHEN a = 0 THEN b ELSE -1 END": lambda a, b: (
            10 if a is not None and a > 1 else b if a == 0 else -1
        ),
        "CASE WHEN a > 1 THEN 10 WHEN b = 1 THEN 20 END": lambda a, b: (
            10 if a is not None and a > 1 else 20 if b == 1 else None
        ),
        "coalesce(a, b, 7)": lambda a, b: next(value for value in (a, b, 7) if value is not None),
        "if(a = b, a, -2)": lambda a, b: a if a is not None and a == b else -2,
        "nullif(a, b)": lambda a, b: None if a is not None and a == b else a,
        "greatest(a, b)": lambda a, b: max((one for one in (a, b) if one is not None), default=None),
        "least(a, b)": lambda a, b: min((one for one in (a, b) if one is not None), default=None),
        "a IN (0, 2) OR b = 1": lambda a, b: (
            True if a in (0, 2) or b == 1 else None if a is None or b is None else False
        ),
    }
    rng = np.random.default_rng(rows)
    for text, expected in cases.items():
        expression, _ = parse_column(f"{text} AS value")
        for _ in range(12):
            pairs = [tuple([None, 0, 1, 2][one] for one in rng.integers(0, 4, 2)) for _ in range(rows)]
            batch = pa.record_batch(
                {
                    name: pa.array(column, pa.int64())
                    for name, column in zip("ab", zip(*pairs, strict=False), strict=False)
                }
            )
            assert expression.evaluate(batch).to_pylist() == [expected(*pair) for pair in pairs], (text, pairs)
