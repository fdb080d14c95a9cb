"""How people and programs write times: patterns of Java's DateTimeFormatter, and changes that make texts fit."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_DAYS = (
    "M/d/yyyy", "d/M/yyyy", "d.M.yyyy", "d-MMM-yyyy", "yyyy/M/d", "yyyy-M-d", "yyyy.M.d", "M/d/yy", "d/M/yy", "yy/M/d",
    "d-M-yyyy", "M-d-yyyy", "d.M.yy", "d-MMM-yy", "d MMM yyyy", "d/MMM/yyyy", "MMM d yyyy", "MMM d, yyyy", "yyyyMMdd",
    "yyMMdd",
)  # fmt: skip
_CLOCKS = (
    " H:mm:ss", " H:mm", " h:mm:ss a", " h:mm a", " H:mm:ss.SSS", " H:mm:ss.SSSSSS", "", ":HH:mm:ss", ":HH:mm:ss Z",
    " H:mm:ss Z", " H:mm:ss.SSS Z", ":HH:mm:ss.SSS", "HHmmss", "HHmm", "HH", " HHmmss", " HHmmss Z", " HH.mm.ss",
    " h.mm.ss a", " h.mm.ss.SSSSSS a", "-HH.mm.ss.SSSSSS", "-H:m:s", ", H:mm:ss", ", H:mm", ", h:mm:ss a", ", h:mm a",
)  # fmt: skip
_YEAR_LAST = ("MMM d H:mm:ss yyyy", "MMM d H:mm:ss.SSSSSS yyyy", "MMM d H:mm:ss Z yyyy")
PATTERNS = ("dd/MMM/yyyy:HH:mm:ss Z", *map("".join, product(_DAYS, _CLOCKS)), *_YEAR_LAST)
"""Patterns that are tried for texts that are not ISO 8601."""
CLOCK_PATTERNS = tuple(pattern for pattern in PATTERNS if pattern.lower().count("h"))
DAY_PATTERNS = tuple(pattern for pattern in PATTERNS if pattern not in CLOCK_PATTERNS)

_CHANGES = (
    ("^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? +", ""),
    (" [(][A-Za-z ]+[)]$", ""),
    (" (GMT|UTC|UT|Z)( |$)", " +0000$2"),
    ("([0-9])Z$", "$1 +0000"),
    ("  +", " "),
    ("([.][0-9]{6})[0-9]+", "$1"),
    ("(:[0-9]{2}),([0-9]{1,6})$", "$1.$2"),
    ("^([0-9]{8})T([0-9]{6})", "$1 $2"),
)
"""Regular expressions of what no pattern accepts, and the replacements."""

_NO_VALUE = ("NA", "N/A", "n/a", "NULL", "null", "None", r"\N", "-", "--", "?", ".", "#N/A", "nan", "NaN", "NaT")


def changed(column: str, texts: "pa.Array") -> str:
    """A text column's expression, with each change that any of its texts needs."""
    import pyarrow.compute as pc

    for pattern, instead in _CHANGES:
        if pc.any(pc.match_substring_regex(texts, pattern)).as_py():
            column = f"regexp_replace({column}, '{pattern}', '{instead}')"
            texts = pc.replace_substring_regex(texts, pattern, instead.replace("$", "\\"))
    return column


def marks_in(texts: "pa.Array") -> list[str]:
    """The usual marks for a missing value that occur in the texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return [str(one) for one in pc.unique(texts.filter(pc.is_in(texts, pa.array(_NO_VALUE)))).to_pylist()]


def without_marks(column: str, marks: Sequence[str]) -> str:
    """A column's expression that is null where the value is one of these marks."""
    for mark in marks:
        literal = mark.replace("\\", "\\\\")
        column = f"nullif({column}, '{literal}')"
    return column


def _shape_of_text(text: str) -> str:
    """A text with one character for each run of digits, each word and a zone."""
    text = re.sub(r"(?<= )[+-]\d{4}(?= |$)", "~", text)
    return re.sub(r"[^\W\d_]+", "w", re.sub(r"\d+", "0", text))


@cache
def _shape_of_pattern(pattern: str) -> str:
    """The shape of texts that a pattern fits."""
    text = re.sub(r"MMM|a", "w", pattern.replace("Z", "~"))
    return re.sub(r"[yMdHhmsS]+", "0", text)


def patterns_of(text: str, patterns: Sequence[str]) -> list[str]:
    """The patterns that parse a text."""
    import pyarrow as pa
    from skyband_expressions.bound import EvaluationError
    from skyband_expressions.time_formats import formatted

    fitting, shape = [], _shape_of_text(text)
    for pattern in patterns:
        if _shape_of_pattern(pattern) != shape:  # costs a hundredth of parsing the text
            continue
        try:
            formatted(pattern)(pa.array([text]))
        except EvaluationError:
            continue
        fitting.append(pattern)
    return fitting
