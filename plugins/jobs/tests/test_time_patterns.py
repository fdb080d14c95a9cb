"""The patterns tried on a text are all that match it as a time."""

import datetime
import re

import pyarrow as pa
import pytest
from skyband_expressions.bound import EvaluationError
from skyband_expressions.time_formats import formatted
from skyband_jobs.first_job.time_patterns import PATTERNS, patterns_of

MOMENT = datetime.datetime(2026, 11, 9, 21, 5, 7, 120_000)
WRITTEN = {
    "yyyy": "%Y",
    "yy": "%y",
    "MMM": "%b",
    "MM": "%m",
    "M": "%m",
    "dd": "%d",
    "d": "%d",
    "HH": "%H",
    "H": "%H",
    "h": "%I",
    "mm": "%M",
    "m": "%M",
    "ss": "%S",
    "s": "%S",
    "SSSSSS": "%f",
    "SSS": "120",
    "a": "%p",
    "Z": "+0000",
}


def _text(pattern):

    return MOMENT.strftime(re.sub(r"([A-Za-z])\1*", lambda match: WRITTEN[match[0]], pattern))


def _reads(pattern, text):
    try:
        return formatted(pattern)(pa.array([text]))[0].is_valid
    except EvaluationError:
        return False


@pytest.mark.parametrize("pattern", PATTERNS[::25])
def test_no_pattern_that_reads_a_text_is_left_out(pattern):
    text = _text(pattern)
    assert patterns_of(text, PATTERNS) == [one for one in PATTERNS if _reads(one, text)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_pattern_is_found_by_a_text_of_it(pattern):
    assert pattern in patterns_of(_text(pattern), [pattern])
