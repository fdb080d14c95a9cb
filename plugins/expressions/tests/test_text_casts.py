"""Casts of text: formats that only Spark reads are an error, and never null or another value."""

import datetime as dt
import re

import pyarrow as pa
import pytest
from skyband.errors import InputError
from skyband_expressions.expression import parse_column

CASTS = ["CAST", "TRY_CAST"]


def value_of(text, cast):
    expression, _ = parse_column(f"{cast} AS value")
    return expression.evaluate(pa.RecordBatch.from_pydict({"text": pa.array([text, None])})).to_pylist()


@pytest.mark.parametrize("function", CASTS)
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("2026-01-31 10:20:30 Europe/Berlin", "TIMESTAMP"),
        ("2026-01-31 10:20:30 PST", "TIMESTAMP"),
        ("10:20", "TIMESTAMP"),
        ("T3", "TIMESTAMP"),
        (":5", "TIMESTAMP"),
        ("12026-01-31", "DATE"),
        ("0000-01-01", "DATE"),
        ("-2026-01-31", "DATE"),
        ("0x1p3", "DOUBLE"),
        ("-0X1.8p1", "FLOAT"),
    ],
)
def test_formats_that_only_spark_reads_are_an_error(text, kind, function):
    with pytest.raises(InputError, match="supported by Spark only"):
        value_of(text, f"{function}(text AS {kind})")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("tomorrow", "TIMESTAMP"),
        ("2026-02-30 10:00:00", "TIMESTAMP"),
        ("2026-01-31 10:20+01:00", "TIMESTAMP"),
        ("2026-01-31T10:20Z", "TIMESTAMP"),
        ("2026-01-31 25:00:00", "TIMESTAMP"),
        ("2020-01-02t03:04:05", "TIMESTAMP"),
        ("2020-01-02T03:04:05z", "TIMESTAMP"),
        ("2020-01-02 03:04:05 utc", "TIMESTAMP"),
        ("2020-01-02 03:04:05 gmt", "TIMESTAMP"),
        ("2020-01-02 03:04:05+", "TIMESTAMP"),
        ("294247-01-10 04:00:54.775808", "TIMESTAMP"),
        ("9999999-01-01", "DATE"),
        ("25:00", "TIMESTAMP"),
        ("1.5x", "DOUBLE"),
        ("x10", "DOUBLE"),
    ],
)
def test_invalid_text_is_null_for_try_cast_and_an_error_for_cast(text, kind):
    assert value_of(text, f"TRY_CAST(text AS {kind})") == [None, None]
    with pytest.raises(InputError, match=re.escape(f"{text!r} is not a valid ")):
        value_of(text, f"CAST(text AS {kind})")


@pytest.mark.parametrize(
    ("zone", "seconds"),
    [
        ("", 0),
        ("Z", 0),
        ("  UTC", 0),
        ("GMT", 0),
        (" UT", 0),
        ("+1", 3600),
        ("+01", 3600),
        ("+01:00", 3600),
        ("+0100", 3600),
        ("-1:30", -5400),
        ("+1:3", 3780),
        ("+01:00:30", 3630),
        ("-010030", -3630),
        ("UTC+1", 3600),
        ("GMT-1:30", -5400),
    ],
)
def test_supported_zones(zone, seconds):
    """As in java.time.ZoneId, with or without spaces before them."""
    expected = dt.datetime(2026, 1, 31, 10, 20, 30, tzinfo=dt.UTC) - dt.timedelta(seconds=seconds)
    for beside in ("", ".", ".0"):
        assert value_of(f"2026-01-31 10:20:30{beside}{zone}", "TRY_CAST(text AS TIMESTAMP)")[0] == expected


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("2020-01-02 03", 1_577_934_000_000_000),
        ("2020-01-02T3", 1_577_934_000_000_000),
        ("2020-01-02 3:4", 1_577_934_240_000_000),
        ("0000-01-01", -62_167_219_200_000_000),
        ("-0001-12-31", -62_167_305_600_000_000),
        ("+12000-1", 316_516_204_800_000_000),
        ("294247-01-10 04:00:54.7758079", 2**63 - 1),
        ("-290308-12-21 19:59:05.224192", -(2**63)),
        ("1970-01-01 00:00:00.1234567890123", 123_456),
    ],
)
def test_times_of_any_year_and_with_missing_parts(text, micros):
    assert value_of(text, "unix_micros(TRY_CAST(text AS TIMESTAMP))") == [micros, None]


@pytest.mark.parametrize("sign", "+-")
def test_zones_are_supported_up_to_18_hours(sign):
    for zone, there in (("17:59", True), ("18:00", True), ("18", True), ("18:01", False), ("19:00", False)):
        (value, _) = value_of(f"2026-01-31 10:20:30{sign}{zone}", "TRY_CAST(text AS TIMESTAMP)")
        assert (value is not None) == there, zone


@pytest.mark.parametrize(
    ("last", "beyond"),
    [
        ("2026-01-31 23:00:00", "2026-01-31 24:00:00"),
        ("2026-01-31 10:59:00", "2026-01-31 10:60:00"),
        ("2026-01-31 10:20:59", "2026-01-31 10:20:60"),
        ("2026-01-31 10:20:30+01:59", "2026-01-31 10:20:30+01:60"),
        ("2026-12-31", "2026-13-01"),
        ("2026-01-31", "2026-01-32"),
        ("2024-02-29", "2026-02-29"),
        ("2026-01-01", "2026-00-01"),
        ("2026-01-01", "2026-01-00"),
    ],
)
def test_each_part_of_a_time_is_valid_up_to_its_last_value(last, beyond):
    assert value_of(last, "CAST(text AS TIMESTAMP)")[0] is not None
    assert value_of(beyond, "TRY_CAST(text AS TIMESTAMP)") == [None, None]
    with pytest.raises(InputError, match=re.escape(f"{beyond!r} is not a valid ")):
        value_of(beyond, "CAST(text AS TIMESTAMP)")


@pytest.mark.parametrize("half", ["AM", "PM"])
def test_half_a_day_has_the_hours_from_1_to_12(half):
    for hour in range(15):
        read, text = "hour(to_timestamp(text, 'yyyy-MM-dd hh a'))", f"2026-01-31 {hour:02} {half}"
        if 1 <= hour <= 12:
            assert value_of(text, read) == [hour % 12 + 12 * (half == "PM"), None]
        else:
            with pytest.raises(InputError, match="is not a time in the format"):
                value_of(text, read)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("1.005", "10, 2", "1.01"),
        ("-1.005", "10, 2", "-1.01"),
        ("99999999.994", "10, 2", "99999999.99"),
        ("99999999.995", "10, 2", None),
        ("2147483648", "10, 2", None),
        ("3.4e39", "38, 0", None),
        ("1e-400", "38, 0", "0"),
        ("1e999999999", "38, 0", None),
        (" 0012.5e+1\t", "5, 1", "125.0"),
        (".5", "1, 0", "1"),
        ("5.", "3, 2", "5.00"),
        ("-.0005", "3, 3", "-0.001"),
        ("1", "3, 3", None),
        ("9" * 38, "38, 0", "9" * 38),
        ("1,000", "10, 2", None),
    ],
)
def test_decimals_are_rounded_and_have_room(text, kind, value):
    assert value_of(text, f"CAST(TRY_CAST(text AS DECIMAL({kind})) AS STRING)") == [value, None]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("5", "INT"), ("1.5", "DOUBLE"), ("1.5", "DECIMAL(5, 2)"), ("true", "BOOLEAN"), ("2026-01-31", "DATE")],
)
def test_control_characters_and_spaces_around_a_value_are_no_part_of_it_and_others_are(text, kind):
    (plain, _) = value_of(text, f"CAST(text AS {kind})")
    around = [*map(chr, range(0x21)), "\x7f"]
    for mark in [*around, "\x80", "\xa0", "\u2003", "_"]:
        expected = plain if mark in around else None
        for padded in (mark + text, text + mark, mark + text + mark):
            if kind == "DATE" and (mark in " T" and padded != mark + text):  # a time may follow
                continue
            assert value_of(padded, f"TRY_CAST(text AS {kind})") == [expected, None], (mark, padded)
