"""Casts of text: what only Spark knows how to read is an error, and never null or another value."""

import re

import pyarrow as pa
import pytest
from skyband.errors import InputError
from skyband.expressions.expression import parse_column

CASTS = ["CAST", "TRY_CAST"]


def value_of(text, cast):
    expression, _ = parse_column(f"{cast} AS value")
    return expression.evaluate(pa.RecordBatch.from_pydict({"text": pa.array([text, None])})).to_pylist()


@pytest.mark.parametrize("function", CASTS)
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("2026-01-31 10:20:30 Europe/Berlin", "TIMESTAMP"), ("2026-01-31T10:20:30 GMT+1", "TIMESTAMP"),
        ("2026-01-31 10:20:30+0100", "TIMESTAMP"), ("2026-01-31 10:20:30 PST", "TIMESTAMP"),
        ("2026-01-31 10:20:30+01:00:30", "TIMESTAMP"), ("10:20", "TIMESTAMP"), ("12026-01-31", "TIMESTAMP"),
        ("0x1p3", "DOUBLE"), ("-0X1.8p1", "FLOAT"),
    ],
)  # fmt: skip
def test_what_spark_alone_reads_is_an_error(text, kind, function):
    with pytest.raises(InputError, match="known to Spark only"):
        value_of(text, f"{function}(text AS {kind})")


@pytest.mark.parametrize(
    ("text", "kind"), [("tomorrow", "TIMESTAMP"), ("2026-02-30 10:00:00", "TIMESTAMP"),
                       ("2026-01-31 10:20+01:00", "TIMESTAMP"), ("2026-01-31T10:20Z", "TIMESTAMP"),
                       ("2026-01-31 25:00:00", "TIMESTAMP"), ("1.5x", "DOUBLE"), ("x10", "DOUBLE")],
)  # fmt: skip
def test_what_nobody_reads_is_null_where_tried_and_an_error_else(text, kind):
    assert value_of(text, f"TRY_CAST(text AS {kind})") == [None, None]
    with pytest.raises(InputError, match=re.escape(f"{text!r} is no ")):
        value_of(text, f"CAST(text AS {kind})")


@pytest.mark.parametrize("zone", ["Z", " UTC", "+1", "+01", "+01:00", "-1:30"])
def test_zones_that_are_known(zone):
    assert value_of(f"2026-01-31 10:20:30{zone}", "TRY_CAST(text AS TIMESTAMP)")[0] is not None


@pytest.mark.parametrize("sign", "+-")
def test_zones_are_known_up_to_18_hours(sign):
    for zone, there in (("17:59", True), ("18:00", True), ("18", True), ("18:01", False), ("19:00", False)):
        (value, _) = value_of(f"2026-01-31 10:20:30{sign}{zone}", "TRY_CAST(text AS TIMESTAMP)")
        assert (value is not None) == there, zone


@pytest.mark.parametrize(
    ("last", "beyond"),
    [
        ("2026-01-31 23:00:00", "2026-01-31 24:00:00"), ("2026-01-31 10:59:00", "2026-01-31 10:60:00"),
        ("2026-01-31 10:20:59", "2026-01-31 10:20:60"), ("2026-01-31 10:20:30+01:59", "2026-01-31 10:20:30+01:60"),
        ("2026-12-31", "2026-13-01"), ("2026-01-31", "2026-01-32"), ("2024-02-29", "2026-02-29"),
        ("2026-01-01", "2026-00-01"), ("2026-01-01", "2026-01-00"), ("0001-01-01", "0000-01-01"),
    ],
)  # fmt: skip
def test_each_part_of_a_time_is_known_up_to_its_last_value(last, beyond):
    assert value_of(last, "CAST(text AS TIMESTAMP)")[0] is not None
    assert value_of(beyond, "TRY_CAST(text AS TIMESTAMP)") == [None, None]
    with pytest.raises(InputError, match=re.escape(f"{beyond!r} is no ")):
        value_of(beyond, "CAST(text AS TIMESTAMP)")


@pytest.mark.parametrize("half", ["AM", "PM"])
def test_half_a_day_has_the_hours_from_1_to_12(half):
    for hour in range(15):
        read, text = "hour(to_timestamp(text, 'yyyy-MM-dd hh a'))", f"2026-01-31 {hour:02} {half}"
        if 1 <= hour <= 12:
            assert value_of(text, read) == [hour % 12 + 12 * (half == "PM"), None]
        else:
            with pytest.raises(InputError, match="is no time of the format"):
                value_of(text, read)
