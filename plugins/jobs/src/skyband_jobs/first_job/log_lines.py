"""Lines of logs: the time in each, and columns of what stands beside it, as expressions in Spark's SQL."""

from typing import TYPE_CHECKING

from attrs import frozen

from skyband_jobs.first_job.times import Times, times_in, value_of

if TYPE_CHECKING:
    import pyarrow as pa

_DAY, _ZONE = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "(Z|[+-][0-9]{2}:[0-9]{2})?"
_TIMES = (
    "[0-9]{1,2}/[A-Z][a-z]{2}/[0-9]{4}:[0-9:]{8} [+-][0-9]{4}",
    f"{_DAY}[T ][0-9:]{{8}}([.][0-9]{{1,9}})?{_ZONE}",
    "[0-9]{4}/[0-9]{1,2}/[0-9]{1,2} [0-9:]{8}",
    "[0-9]{1,2}/[0-9]{1,2}/[0-9]{4} [0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( [AP]M)?",
    "[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{4} [0-9]{1,2}:[0-9]{2}(:[0-9]{2})?",
)
"""How times are written in lines, as regular expressions that Java and RE2 read alike."""
_NUMBERS = (("[0-9]{10}[.][0-9]{1,6}", "DOUBLE"), *((f"[0-9]{{{digits}}}", "BIGINT") for digits in (10, 13, 16, 19)))
_AT_LEAST = 0.5
"""The part of the first lines that has a time; the others are left out."""
_MOST_WORDS = 8
_LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARNING|WARN|ERROR|CRITICAL|FATAL"
_OF_TIMES = r"^[\[(]?([0-9]{1,4}[-/:.][0-9]{1,2}[-/:][0-9:.,TZ+-]*|[0-9]{10,}([.][0-9]+)?)[\])]?$"
"""Words that are the time, or a part of it."""
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
    """Which lines are rows, and the columns of them by name."""

    where: str
    columns: dict[str, str]
    times: Times
    notes: tuple[str, ...]


def lines_of(rows: "pa.Table") -> Lines | None:
    """What lines are, in the column `value`; None where less than half of them hold a time that is known."""
    import pyarrow.compute as pc

    lines = rows.filter(pc.greater(pc.utf8_length(rows.column("value")), 0))
    for pattern, kind in (*((pattern, "") for pattern in _TIMES), *((f"^{one}", kind) for one, kind in _NUMBERS)):
        where = f"value RLIKE '{pattern}'"
        mask = pc.match_substring_regex(lines.column("value"), pattern)
        count = pc.sum(mask).as_py() or 0
        if count == 0 or count < _AT_LEAST * len(lines):
            continue
        text = f"regexp_extract(value, '({pattern.removeprefix('^')})', 1)"
        text = f"CAST({text.replace(chr(39) + '(', chr(39) + '^(')} AS {kind})" if kind else text
        stamped = lines.filter(mask)
        times = times_in(stamped, {"ts": text})
        if times is not None:
            left_out = len(rows) - count
            notes = (f"{left_out:,} lines without such a time are left out",) if left_out else ()
            return Lines(where, _columns(stamped), times, notes)
    return None


def _columns(lines: "pa.Table") -> "dict[str, str]":
    """What may be asked about: of requests to a web server their parts, else the level and the words of a line."""
    import pyarrow.compute as pc

    values = lines.column("value")
    if pc.all(pc.match_substring_regex(values, _REQUEST)).as_py():
        return dict(_OF_REQUESTS)
    columns = {}
    if 2 * (pc.sum(pc.match_substring_regex(values, rf"\b({_LEVELS})\b")).as_py() or 0) >= len(lines):
        columns["level"] = f"regexp_extract(value, '({_LEVELS})', 1)"
    for number in range(_MOST_WORDS):
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
