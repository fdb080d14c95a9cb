"""Durations as text and as numbers of rows."""

import pytest
from attrs import define
from hypothesis import given
from hypothesis import strategies as st
from skyband.config.durations import MOST, Duration, clock_problem, duration, durations, parse
from skyband.config.parameters import build
from skyband.errors import ConfigError
from skyband.windows.window_parameters import previous_problems

UNITS = {"microsecond": 1, "millisecond": 10**3, "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6}


@given(st.integers(0, 10**6), st.sampled_from(sorted(UNITS)), st.booleans(), st.booleans())
def test_a_number_and_a_unit(amount, unit, plural, upper):
    text = f"{amount} {unit}{'s' if plural else ''}"
    assert parse(text.upper() if upper else text).length == amount * UNITS[unit]


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("1 hour 30 minutes", 5400 * 10**6),
        ("interval 2 days", 2 * 86400 * 10**6),
        ("1 week", 7 * 86400 * 10**6),
        ("  10   seconds ", 10**7),
        ("1 day -1 hour", 23 * 3600 * 10**6),
    ],
)
def test_sparks_ways_to_say_it(text, length):
    assert parse(text) == Duration(length)


def test_lengths_go_up_to_the_last_that_there_is_and_half_of_it_where_there_are_two():
    @define
    class Long:
        window = duration(help="")

    assert build(Long, {"window": f"{MOST} microseconds"}).window.length == MOST
    with pytest.raises(ConfigError, match=f"must be at most {MOST} microseconds"):
        build(Long, {"window": f"{MOST + 1} microseconds"})
    assert previous_problems({"window": Duration(MOST // 2)}) == []
    (problem,) = previous_problems({"window": Duration(MOST // 2 + 1)})
    assert problem.message.startswith(f"must be at most {MOST // 2} microseconds with `against`")


def test_rows():
    assert parse("1000 rows") == Duration(1000, rows=True)
    assert parse("1 row") != parse("1 microsecond")


def test_equal_lengths_are_equal_however_written_and_keep_their_text():
    assert parse("60 seconds") == parse("1 minute")
    assert str(parse("60  seconds")) == "60 seconds"
    assert str(Duration(5)) == "5 microseconds"
    assert parse(parse("1 minute")) == parse("1 minute")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be a duration"),
        ("ten minutes", "must be a duration"),
        ("10", "must be a duration"),
        ("10 minutes!", "must be a duration"),
        (10, "must be a duration"),
        ("1.5 hours", "must be a duration"),
        ("1 month", "differ in length; give it in days"),
        ("1 mintue", "unknown unit 'mintue'.*did you mean 'minute'"),
        ("10 rows 5 seconds", "mixes rows and time"),
        ("1" * 20_000, "20,000 characters: '1111"),
        ("1" * 20_000 + " seconds", "20,008 characters"),
        (" " * 20_000, "20,000 characters"),
    ],
)
def test_values_that_are_not_durations(text, message):
    with pytest.raises(ValueError, match=message):
        parse(text)


@define
class Windows:
    every: Duration = duration(help="how often")
    delay: Duration = duration("0 seconds", at_least=0, help="how late")
    lengths: tuple[Duration, ...] = durations(("1 minute",), help="how long")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"every": "0 seconds"}, "every: must be longer than 0 (got 0 seconds)"),
        ({"every": "-1 second"}, "every: must be longer than 0 (got -1 second)"),
        ({"every": "1 second", "delay": "-1 second"}, "delay: must not be below 0 (got -1 second)"),
        ({"every": "1 second", "lengths": "1 minute"}, "lengths: must be a list of durations"),
        ({"every": "1 second", "lengths": ["1 minute", "5 rows"]}, "lengths[1]: must be in time, like those"),
        ({"every": "1 second", "lengths": ["1 minute", "60 seconds"]}, "lengths[1]: is listed twice"),
    ],
)
def test_fields_of_durations_say_what_is_wrong(values, said):
    with pytest.raises(ConfigError) as caught:
        build(Windows, values)
    assert str(caught.value).startswith(said)


def test_every_wrong_length_of_a_list_is_named():
    with pytest.raises(ConfigError) as caught:
        build(Windows, {"every": "soon", "lengths": ["0 minutes", "1 minute", 5, "5 rows", "1 mintue", "60 seconds"]})
    places = [problem.field for problem in caught.value.problems]
    assert places == ["every", "lengths[0]", "lengths[2]", "lengths[3]", "lengths[4]", "lengths[5]"]


def test_fields_of_durations_convert_text():
    made = build(Windows, {"every": "1 second", "lengths": ["1 minute", "2 hours"]})
    assert (made.every.length, [length.length for length in made.lengths]) == (10**6, [60 * 10**6, 7200 * 10**6])
    assert made.delay == Duration(0)


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("1 microsecond", True),
        ("0 seconds", False),
        ("-1 second", False),
        ("1 row", False),
        ("soon", False),
        (3, False),
    ],
)
def test_a_length_of_the_clock_is_above_zero_and_not_in_rows(text, fine):
    assert (clock_problem(text) is None) == fine
