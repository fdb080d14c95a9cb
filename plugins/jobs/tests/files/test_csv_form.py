"""The form of separated values is guessed from their first lines; no row is mistaken for text before the table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband_jobs.first_job.csv_form import csv_form

ROWS = "".join(f"2026-01-{number:02},{number % 7},{number / 4}\n" for number in range(1, 29))


@given(place=st.integers(1, 27), line=st.sampled_from(["a,b\n", "2026-01-03,1\n", "a,b,c,d\n", "nothing\n"]))
def test_an_odd_line_among_rows_loses_none_of_those_before_it(place, line):
    lines = ROWS.splitlines(keepends=True)
    form = csv_form("day,who,v\n" + "".join([*lines[:place], line, *lines[place:]]))
    assert "skipRows" not in form.options
    assert not form.is_regular


@given(st.lists(st.sampled_from(["made by hand", "a, b", "", 'an "open', "2026-01-03", "x;y"]), min_size=1, max_size=9))
def test_lines_before_a_table_are_skipped(lines):
    text = "".join(f"{line}\n" for line in lines)
    form = csv_form(f"{text}day,who,v\n{ROWS}")
    assert form.is_regular
    assert form.options.get("header")
    blank = all(not line for line in lines)
    assert blank or form.options["skipRows"] == len(lines)


@pytest.mark.parametrize(
    ("first", "is_header"),
    [
        (",who,v", True),
        ('"","who","v"', True),
        ("day,v,v", True),
        ("2026-01-01,1,2.5", False),
        ("1,2,3", False),
        (",,", False),
        ("03-JAN-26,1,2", False),
        ("2m_temp,who,v", True),
        ("-,who,v", True),
    ],
)
def test_a_line_of_names(first, is_header):
    form = csv_form(f"{first}\n{ROWS}")
    assert form.options.get("header", False) is is_header
    assert form.is_regular
