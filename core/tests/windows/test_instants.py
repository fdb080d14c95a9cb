"""Instants and dates as text in every year, like Python's where Python supports them."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from skyband import text_tables
from skyband.config.durations import MOST
from skyband.instants import instant, python_values
from skyband_compare.comparison import number_format
from skyband_jobs.files.text_values import instants

EPOCH = datetime.datetime(1970, 1, 1)
YEAR_12000 = int(np.datetime64("12000-01-02T03:04:05", "us").astype(np.int64))


@given(st.datetimes())
def test_a_moment_that_python_has_is_written_as_python_does(at):
    microseconds = (at - EPOCH) // datetime.timedelta(microseconds=1)
    assert text_tables.moment(microseconds) == at.isoformat(" ", "seconds")
    assert instant(microseconds).strftime("%Y-%m-%d %H:%M:%S %a") == f"{at.year:04}" + at.strftime("-%m-%d %H:%M:%S %a")


@given(st.integers(-MOST, MOST))
def test_the_calendar_is_numpys_in_every_year(microseconds):
    written = instant(microseconds).isoformat("T", "microseconds").removeprefix("+")
    assert written == str(np.datetime64(microseconds, "us"))


@pytest.mark.parametrize(
    ("microseconds", "written"),
    [
        (YEAR_12000, "+12000-01-02 03:04:05"),
        (253_402_300_800_000_000, "+10000-01-01 00:00:00"),
        (253_402_300_799_999_999, "9999-12-31 23:59:59"),
        (-62_167_219_200_000_001, "-0001-12-31 23:59:59"),
        (-62_167_219_200_000_000, "0000-01-01 00:00:00"),
        (2**63 - 1, "+294247-01-10 04:00:54"),
        (-(2**63), "-290308-12-21 19:59:05"),
    ],
)
def test_years_outside_of_pythons_range_are_written(microseconds, written):
    assert text_tables.moment(microseconds) == written
    assert number_format.moment(microseconds, in_rows=False) == written


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo", "-05:00"])
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_columns_keep_what_python_has_and_write_the_rest(zone, unit):
    kind = pa.timestamp(unit, zone)
    column = pa.array([0, None, YEAR_12000], pa.timestamp("us", zone)).cast(kind)
    near, null, far = python_values(column)
    assert (near, null) == (column[0].as_py(), None)
    hours = {None: 3, "UTC": 3, "Asia/Tokyo": 12, "-05:00": 22}[zone]
    day = 1 if zone == "-05:00" else 2
    assert text_tables.text(far) == f"+12000-01-{day:02} {hours:02}:04:05"
    assert far.isoformat().startswith(f"+12000-01-{day:02}T{hours:02}:04:05")
    assert far.isoformat()[21:] == near.isoformat()[19:], "the same zone"


def test_dates_chunks_dictionaries_and_nested_values():
    days = pa.array([3_000_000, 0], pa.date32())
    assert [text_tables.text(day) for day in python_values(days)] == ["+10183-09-21", "1970-01-01"]
    assert [text_tables.text(day) for day in python_values(days.cast(pa.date64()))] == ["+10183-09-21", "1970-01-01"]
    assert [text_tables.text(day) for day in python_values(pa.chunked_array([days, days]))][2] == "+10183-09-21"
    assert text_tables.text(python_values(days.dictionary_encode())[0]) == "+10183-09-21"
    ((nested,), none) = python_values(
        pa.array([[{"day": 3_000_000, "n": 1}], None], pa.list_(pa.struct([("day", pa.date32()), ("n", pa.int8())])))
    )
    assert (text_tables.text(nested["day"]), nested["n"], none) == ("+10183-09-21", 1, None)
    assert python_values(pa.array([2**62], pa.duration("s"))) == [str(2**62)]


@given(st.lists(st.integers(-MOST, MOST), min_size=1))
@example([0, YEAR_12000, -(10**17), 253_402_300_799_999_999, 253_402_300_800_000_000, -62_167_219_200_000_001])
def test_what_is_written_as_text_is_read_back(moments):
    column = pa.array(moments).cast(pa.timestamp("us", "UTC"))
    written = [instant(moment).isoformat(" ", "microseconds") for moment in moments]
    assert instants(pa.array(written)).equals(column)
    if max(moments) < YEAR_12000 and min(moments) > 0:
        assert instants(column.cast(pa.string())).equals(column), "as Arrow writes it, without the sign"


@pytest.mark.parametrize("text", ["+12000-01-02T03:04:05Z", "12000-01-02 03:04:05", "12000-01-02 04:04:05+01:00"])
def test_a_far_year_is_read_with_its_sign_and_zone(text):
    read = instants(pa.array([text, None, "1970-01-01"]))
    assert read.cast(pa.int64()).to_pylist() == [YEAR_12000, None, 0]
