"""Parses text as times and days, in exactly the formats of Spark's casts and readers."""

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skyband_expressions.bound import EvaluationError
from skyband_expressions.spark_types import INSTANT

_NUMBERS = npt.NDArray[np.int64]
_CLOCK = r"(?P<minute>[0-9]{1,2})(?::(?P<second>[0-9]{1,2})(?P<fraction>\.[0-9]*)?(?P<zone>[^0-9].*)?)?"
"""A zone may follow only seconds."""
_DAY = r"(?P<year>[+-]?[0-9]{4,%d})(?:-(?P<month>[0-9]{1,2})(?:-(?P<day>[0-9]{1,2})(?:%s)?)?)?"
_TIME = rf"(?s)\A{_DAY % (6, f'[ T](?P<hour>[0-9]{{1,2}})(?::{_CLOCK})?')}\z"
_DATE = rf"(?s)\A{_DAY % (7, '[ T].*')}\z"
_OF_TODAY = r"(?s)\A(T([01]?[0-9]|2[0-3])(:[0-5]?[0-9])?|([01]?[0-9]|2[0-3])?:[0-5]?[0-9])(:[0-5]?[0-9]([^0-9].*)?)?\z"

_PLAIN_ZONE = r"Z|[+-](0[0-9]|1[0-7]):[0-5][0-9]"
_PLAIN_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?"
_PLAIN = rf"\A[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([ T]{_PLAIN_CLOCK}({_PLAIN_ZONE})?)?)?\z"
"""Formats that Arrow parses equally and faster, if every text has them or is null."""
_PLAIN_DAY = r"\A(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-[0-9]{2}-[0-9]{2}\z"

_JAVA_SPACE = "".join(map(chr, range(0x21)))
_ONE_HOUR, _ONE_MINUTE = re.compile(r"([+-])([0-9]):"), re.compile(r"([+-])([0-9]{2}):([0-9])$")
_OFFSET = re.compile(r"(?:UTC?|GMT)?([+-])([0-9]{1,2}|[0-9]{2}:?[0-9]{2}|[0-9]{2}:[0-9]{2}:[0-9]{2}|[0-9]{6})")
_MOST = 18 * 3600
_OLD_NAMES = re.compile(
    "A(CT|ET|GT|RT|ST)|BET|BST|CAT|CNT|CST|CTT|EAT|ECT|EST|HST|IET|IST|JST|MIT|MST|NET|NST|P(LT|NT|RT|ST)|SST|VST"
    "|SystemV/.*"
)
"""Java's own names of zones."""

_SECOND, _DAY_SECONDS = 1_000_000, 86_400
_FIRST, _LAST = divmod(-(2**63), _SECOND), divmod(2**63 - 1, _SECOND)
"""The first and the last 64-bit instant: the second, and the microseconds in it."""


def instants(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Trimmed texts as instants, in UTC if they name no zone, cut to microseconds; and bool[n], which are valid.

    Raises EvaluationError for a text that only Spark reads.
    """
    plain = _read_plain(texts, _PLAIN, _instants_of_plain)
    if plain is not None:
        return plain, pc.is_valid(texts)
    parts = pc.extract_regex(texts, _TIME)
    _check_day(texts, parts)
    part = _numbers_of(parts)
    hour, minute, second = part("hour", 0), part("minute", 0), part("second", 0)
    days, valid = _days_of(part("year", 1970), part("month", 1), part("day", 1))
    offsets, zoned = _offsets(pc.struct_field(parts, "zone"))
    valid &= zoned & (hour < 24) & (minute < 60) & (second < 60)
    seconds = days * _DAY_SECONDS + hour * 3600 + minute * 60 + second - offsets
    fraction = pc.utf8_rpad(pc.utf8_slice_codeunits(pc.struct_field(parts, "fraction"), 1, 7), 6, "0")
    micros = pc.fill_null(fraction.cast(pa.int64()), 0).to_numpy()
    valid &= (seconds > _FIRST[0]) | ((seconds == _FIRST[0]) & (micros >= _FIRST[1]))
    valid &= (seconds < _LAST[0]) | ((seconds == _LAST[0]) & (micros <= _LAST[1]))
    # The product alone would be too small for the first second.
    values = np.where(valid, np.maximum(seconds, _FIRST[0] + 1), 0) * _SECOND + micros
    values -= np.where(valid & (seconds == _FIRST[0]), _SECOND, 0)
    return _column(values, texts).cast(INSTANT), _right(parts, valid)


def days(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Trimmed texts as days, whatever follows them, and bool[n], which are valid.

    Raises EvaluationError if one is not in the years 1 to 9999.
    """
    plain = _read_plain(texts, _PLAIN_DAY, lambda column: column.cast(pa.date32()))
    if plain is not None:
        return plain, pc.is_valid(texts)
    parts = pc.extract_regex(texts, _DATE)
    part = _numbers_of(parts)
    year = part("year", 1970)
    numbers, valid = _days_of(year, part("month", 1), part("day", 1))
    valid &= (numbers >= -(2**31)) & (numbers < 2**31)
    far = valid & ((year < 1) | (year > 9999))
    if far.any():
        message = "days outside the years 1 to 9999 are supported by Spark only"
        raise EvaluationError(f"{texts[int(far.argmax())].as_py()!r}: {message}")
    return _column(np.where(valid, numbers, 0).astype(np.int32), texts).cast(pa.date32()), _right(parts, valid)


def _read_plain(texts: pa.Array, form: str, reader: Callable[[pa.Array], pa.Array]) -> pa.Array | None:
    """All texts parsed by Arrow; None if one needs the slow path."""
    if not pc.all(pc.match_substring_regex(texts, form), min_count=0).as_py():
        return None
    try:
        return reader(texts)
    except pa.ArrowInvalid:
        return None


def _instants_of_plain(texts: pa.Array) -> pa.Array:
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    if longest > len("2026-01-31 09:30:00.123456"):
        texts = pc.replace_substring_regex(texts, r"(\.[0-9]{6})[0-9]+", r"\1")
    if longest <= len("2026-01-31 09:30:00"):
        return texts.cast(pa.timestamp("us")).cast(INSTANT)
    zoned = pc.match_substring_regex(texts, rf"({_PLAIN_ZONE})\z")
    if not pc.any(zoned).as_py():
        return texts.cast(pa.timestamp("us")).cast(INSTANT)
    texts = pc.if_else(pc.equal(pc.binary_length(texts), 10), pc.binary_join_element_wise(texts, "00:00", " "), texts)
    return pc.if_else(zoned, texts, pc.binary_join_element_wise(texts, "Z", "")).cast(INSTANT)


def _check_day(texts: pa.Array, parts: pa.Array) -> None:
    unsure = pc.and_kleene(pc.is_null(parts), pc.match_substring_regex(texts, _OF_TODAY))
    if pc.any(unsure).as_py():
        text = texts[pc.index(unsure, True).as_py()].as_py()
        raise EvaluationError(f"{text!r}: a time without a day, which then is today, is supported by Spark only")


def _column(values: npt.NDArray[np.signedinteger], texts: pa.Array) -> pa.Array:
    return pa.array(values, mask=pc.is_null(texts).to_numpy(zero_copy_only=False))


def _right(parts: pa.Array, valid: npt.NDArray[np.bool_]) -> pa.Array:
    return pc.and_(pc.is_valid(parts), pa.array(valid))


def _numbers_of(parts: pa.Array) -> Callable[[str, int], _NUMBERS]:
    """The parts of texts as numbers, with a default for a missing one."""

    def numbers(name: str, otherwise: int) -> _NUMBERS:
        texts = pc.utf8_ltrim(pc.struct_field(parts, name), "+")
        texts = pc.if_else(pc.equal(texts, ""), None, texts)
        values: _NUMBERS = pc.fill_null(texts.cast(pa.int64()), otherwise).to_numpy()
        return values

    return numbers


def _days_of(year: _NUMBERS, month: _NUMBERS, day: _NUMBERS) -> tuple[_NUMBERS, npt.NDArray[np.bool_]]:
    """Days since 1970, and which of them exist in the calendar."""
    valid = (month >= 1) & (month <= 12)
    months = ((year - 1970) * 12 + np.where(valid, month, 1) - 1).astype("datetime64[M]")
    first, beyond = (
        month_start.astype("datetime64[D]").astype(np.int64)
        for month_start in (months, months + np.timedelta64(1, "M"))
    )
    return first + day - 1, valid & (day >= 1) & (day <= beyond - first)


def _offsets(zones: pa.Array) -> tuple[_NUMBERS, npt.NDArray[np.bool_]]:
    """Seconds from UTC, and which zones are valid. Each distinct zone is parsed once."""
    coded = pc.fill_null(zones, "").dictionary_encode()
    seconds = [offset_of(zone) for zone in coded.dictionary.to_pylist()]
    places = coded.indices.to_numpy()
    are_zones = np.array([offset is not None for offset in seconds], bool)
    return np.array([offset or 0 for offset in seconds], np.int64)[places], are_zones[places]


def offset_of(zone: str) -> int | None:
    """Seconds from UTC of a zone as in `java.time.ZoneId`; None for an invalid one, and 0 for none.

    Raises EvaluationError for a named zone, such as Europe/Berlin.
    """
    name = zone.strip(_JAVA_SPACE)
    if name in ("", "Z", "UTC", "GMT", "UT"):
        return 0
    name = _ONE_MINUTE.sub(r"\1\2:0\3", _ONE_HOUR.sub(r"\g<1>0\2:", name, count=1), count=1)
    match = _OFFSET.fullmatch(name)
    if match is not None:
        digits = match[2].replace(":", "").rjust(2, "0").ljust(6, "0") if len(match[2]) > 1 else f"0{match[2]}0000"
        hours, minutes, seconds = (int(digits[place : place + 2]) for place in (0, 2, 4))
        size = hours * 3600 + minutes * 60 + seconds
        return (size if match[1] == "+" else -size) if max(minutes, seconds) < 60 and size <= _MOST else None
    from zoneinfo import available_timezones

    if _OLD_NAMES.fullmatch(name) or name in available_timezones():
        raise EvaluationError(f"{name!r}: times with such a zone are supported by Spark only")
    return None
