"""Values in errors are written as in a job file, shortened, whatever they are."""

import datetime
import functools
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skyband.config.durations import Duration
from skyband.config.literals import is_huge, literal
from skyband.instants import Instant

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates() | st.datetimes() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


class Unshowable:
    def __repr__(self):
        raise RuntimeError("an object's own affair")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (True, "true"),
        ({"a": False}, "{ a = false }"),
        ({}, "{}"),
        ((1, "b"), "[1, 'b']"),
        (list(range(99)), "[0, 1, 2, 3, 4, 5, 6, 7, …]"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (datetime.datetime(2026, 1, 2, 3), "2026-01-02 03:00:00"),
        (np.float64(0.5), "0.5"),
        (Duration(5, text="5 microseconds"), "5 microseconds"),
        ([Instant(datetime.date(2000, 1, 1), 20)], "[+10000-01-01]"),
        (10**5000, "a number of 5,001 digits"),
        ([-(10**5000)], "[a number of 5,001 digits]"),
        (10**40, str(10**40)),
        (literal, "the function literal"),
        (functools.partial(literal, 1), "the function partial"),
        (int, "the class int"),
        (object(), "a object"),
        (np.zeros((9, 9)), "a ndarray"),
        (Unshowable(), "a Unshowable"),
    ],
    ids=itertools.count(),
)
def test_a_value_is_written_as_toml_has_it(value, written):
    assert literal(value) == written


@given(ANYTHING)
def test_any_value_is_written_in_a_line_that_is_no_longer_than_one(value):
    assert len(literal(value)) <= 161


@pytest.mark.parametrize(("digits", "huge"), [(300, False), (302, True), (5000, True)])
def test_numbers_that_no_use_has(digits, huge):
    assert is_huge(10**digits) == is_huge(-(10**digits)) == huge
