"""Lines of logs: finds the time in each, and columns from the rest, as expressions in Spark's SQL."""

import datetime
import re
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from skyband_jobs.first_job.times import Times, times_as, times_in, value_of

if TYPE_CHECKING:
    import pyarrow as pa

_DAY, _ZONE = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "(Z|[+-][0-9]{2}:[0-9]{2})?"
_MONTH, _HMS = "[A-Z][a-z]{2}", "[0-9]{2}:[0-9]{2}:[0-9]{2}"


@frozen
class _Form:
    """How lines write times: a regular expression for Java and RE2, whose first group is the time."""

    pattern: str
    kind: str = ""
    """The type of a number since 1970; empty for text."""
    format: str = ""
    """The pattern that parses it, where guessing would be ambiguous; empty where it is guessed."""
    has_year: bool = True


_FORMS = (
    _Form("^([0-9]{2}/[0-9]{2}/[0-9]{2} [0-9:]{8}) [A-Z]+ ", format="yy/MM/dd HH:mm:ss"),  # Spark's own
    _Form("([0-9]{1,2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:]{8} [+-][0-9]{4})"),
    _Form(f"({_DAY}[T ][0-9:]{{8}}([.][0-9]{{1,9}})?{_ZONE})"),
    _Form("([0-9]{4}/[0-9]{1,2}/[0-9]{1,2} [0-9:]{8})"),
    _Form(f"([0-9]{{1,2}}/{_MONTH}/[0-9]{{4}}:{_HMS}([.][0-9]{{3}})?)"),
    _Form(f"({_MONTH} {_MONTH} [ 0-9][0-9] {_HMS}([.][0-9]{{6}})? [0-9]{{4}})"),
    _Form(f"([0-9]{{1,2}} {_MONTH} [0-9]{{4}} {_HMS}( [+-][0-9]{{4}}| GMT|[.][0-9]{{3}})?)"),
    _Form("([0-9]{1,2}/[0-9]{1,2}/[0-9]{4} [0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( [AP]M)?)"),
    _Form("([0-9]{1,2}[.][0-9]{1,2}[.][0-9]{4} [0-9]{1,2}:[0-9]{2}(:[0-9]{2})?)"),
    _Form("^([0-9]{8}-[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2})", format="yyyyMMdd-H:m:s"),
    _Form("^([0-9]{10}[.][0-9]{1,6})", "DOUBLE"),
    *(_Form(f"^([0-9]{{{digits}}})([^0-9]|$)", "BIGINT") for digits in (10, 13, 16, 19)),
    _Form("^[^ ]+ ([0-9]{10}) ", "BIGINT"),  # supercomputers, such as BGL
    _Form("^([0-9]{6} [0-9]{6}) ", format="yyMMdd HHmmss"),  # Hadoop's file system
    _Form(f"^(?:<[0-9]+>)?({_MONTH} [ 0-9][0-9] {_HMS})", format="yyyy MMM d HH:mm:ss", has_year=False),  # syslog
    _Form(f"^([0-9]{{2}}-[0-9]{{2}} {_HMS}[.][0-9]{{3}})", format="yyyy MM-dd HH:mm:ss.SSS", has_year=False),  # Android
    _Form(f"^\\[?([0-9]{{2}}[.][0-9]{{2}} {_HMS})", format="yyyy MM.dd HH:mm:ss", has_year=False),
    _Form(f"^[IWEF]([0-9]{{4}} {_HMS}[.][0-9]{{6}})", format="yyyy MMdd HH:mm:ss.SSSSSS", has_year=False),  # glog
)
"""The first form that most lines match is taken."""
_AT_LEAST = 0.5
"""The share of the first lines that must have a time; the others are left out."""
_MOST_WORDS = 8
_NO_COMMENT = " AND NOT value LIKE '#%'"
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DAY_LENGTH = 86_400_000_000
_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL"
_OF_TIMES = r"^[\[(]?([0-9]{1,4}[-/:.][0-9]{1,2}[-/:][0-9:.,TZ+-]*|[0-9]{10,}([.][0-9]+)?)[\])]?$"
"""Words that are the time, or part of it."""
_REQUEST = '"[A-Z]+ [^"]*" [0-9]{3} '
_OF_REQUESTS = {
    "client": "regexp_extract(value, '^([^ ]+)', 1)",
    "method": "regexp_extract(value, '\"([A-Z]+) ', 1)",
    "url": "regexp_extract(value, '\"[A-Z]+ ([^ \"]+)', 1)",
    "status": "regexp_extract(value, '\" ([0-9]{3}) ', 1)",
    "bytes": "TRY_CAST(regexp_extract(value, '\" [0-9]{3} ([0-9]+)', 1) AS BIGINT)",
}
"""Columns of the common log format of web servers."""


@frozen
class Lines:
    """The lines that are rows, and their columns by name."""

    where: str
    columns: dict[str, str]
    times: Times
    notes: tuple[str, ...]


def lines_of(rows: "pa.Table", changed: datetime.date) -> Lines | None:
    """The form of the lines in column `value`; None where less than half of them contain a known time.

    changed: the day of the file's last change, for times without a year.
    """
    import pyarrow.compute as pc

    values = rows.column("value")
    comments = pc.starts_with(values, "#")
    has_comments = 0 < pc.sum(comments).as_py() < _AT_LEAST * len(rows)
    lines = rows.filter(pc.invert(comments)) if has_comments else rows
    lines = lines.filter(pc.greater(pc.utf8_length(lines.column("value")), 0))
    for form in _FORMS:
        mask = pc.match_substring_regex(lines.column("value"), form.pattern)
        count = pc.sum(mask).as_py() or 0
        if count == 0 or count < _AT_LEAST * len(lines):
            continue
        stamped = lines.filter(mask)
        times = _times(form, stamped, changed)
        if times is not None:
            left_out = len(rows) - count
            notes = (f"{left_out:,} lines without such a time are left out",) if left_out else ()
            where = f"value RLIKE {_literal(form.pattern)}{_NO_COMMENT if has_comments else ''}"
            return Lines(where, _columns(stamped, form), times, notes)
    return None


def _times(form: _Form, lines: "pa.Table", changed: datetime.date) -> Times | None:
    text = f"regexp_extract(value, {_literal(form.pattern)}, 1)"
    if form.kind:
        return times_in(lines, {"ts": f"CAST({text} AS {form.kind})"})
    if not form.format:
        return times_in(lines, {"ts": text})
    if " d " in form.format:
        text = f"regexp_replace({text}, '  +', ' ')"
    if form.has_year:
        return times_as(lines, f"to_timestamp({text}, '{form.format}')", "ts", form.format)
    for year in (changed.year, changed.year - 1):
        times = times_as(lines, f"to_timestamp(concat('{year} ', {text}), '{form.format}')", "ts", form.format)
        if times is not None and int(times.moments.max()) < (changed.toordinal() - _EPOCH + 2) * _DAY_LENGTH:
            break
    doubt = f"these times have no year: {year} is assumed, as the file was last changed on {changed}; at"
    return times and evolve(times, doubts=(f"{doubt} New Year, split the file",))


def _literal(pattern: str) -> str:
    """A regular expression as a literal of Spark's SQL."""
    return "'" + pattern.replace("\\", "\\\\") + "'"


def _columns(lines: "pa.Table", form: _Form) -> "dict[str, str]":
    """Columns to ask about: the parts of a web server's requests, else the level and the words of a line."""
    import pyarrow.compute as pc

    values = lines.column("value")
    if pc.all(pc.match_substring_regex(values, _REQUEST)).as_py():
        return dict(_OF_REQUESTS)
    columns = {}
    if 2 * (pc.sum(pc.match_substring_regex(values, rf"\b({_LEVELS})\b")).as_py() or 0) >= len(lines):
        columns["level"] = f"regexp_extract(value, '({_LEVELS})', 1)"
    begin = _words_of_time(str(values[0].as_py()), form)
    for number in range(begin, begin + _MOST_WORDS):
        before = f"([^ ]+ +){{{number}}}" if number else ""
        word = f"regexp_extract(value, '^{before}([^ ]+)', {2 if number else 1})"
        words = pc.unique(value_of(word, lines))
        if pc.any(pc.equal(words, "")).as_py():
            break
        if pc.all(pc.match_substring_regex(words, "^[0-9]{1,9}$")).as_py():
            columns[f"word{number + 1}"] = f"TRY_CAST({word} AS BIGINT)"
        elif not pc.all(pc.match_substring_regex(words, _OF_TIMES)).as_py():
            columns[f"word{number + 1}"] = word
    return columns


def _words_of_time(line: str, form: _Form) -> int:
    """The number of words in the time at the start of a line; 0 where the time is later in the line."""
    match = re.search(form.pattern, line)
    return 0 if match is None or " " in line[: match.start(1)] else len(match[1].split())
