"""Columns that are parts of a date, such as year, month and day, and the time that they form together."""

from collections.abc import Iterable, Iterator, Mapping

_PARTS = {
    "year": ("year", "yr", "yyyy"),
    "month": ("month", "mon", "mo", "mm", "mnth"),
    "day": ("day", "dy", "dd", "mday", "dom"),
    "hour": ("hour", "hr", "hh"),
    "minute": ("minute", "min", "mi"),
    "second": ("second", "sec", "ss"),
}
"""Usual names of such columns, the largest part first."""
_OTHERS = ("doy", "yday", "week", "weekday", "wday", "dow", "quarter", "season")


def is_part(name: str) -> bool:
    """Whether a column's name is a part of a date, which alone says nothing about the order of rows."""
    word = name.strip().casefold()
    return word in _OTHERS or any(word in words for words in _PARTS.values())


def times_of_parts(
    columns: Mapping[str, str], whole_numbers: Iterable[str], least: int
) -> Iterator[tuple[str, str, str]]:
    """The expression, name and form of the time formed by at least `least` parts, from the year on; none if one in
    between is missing, or there are fewer."""
    by_word = {name.strip().casefold(): name for name in whole_numbers}
    parts_in_order = [next((by_word[word] for word in words if word in by_word), None) for words in _PARTS.values()]
    count = next((place for place, name in enumerate(parts_in_order) if name is None), len(parts_in_order))
    if count < least or any(name is not None for name in parts_in_order[count:]):
        return
    names = [name for name in parts_in_order[:count] if name is not None]
    parts = [f"CAST({columns[name]} AS STRING)" for name in names]
    parts += ["'1'"] * (3 - count)
    pattern = "yyyy-M-d-H-m-s"[: 2 * len(parts) + 2]
    yield f"to_timestamp(concat_ws('-', {', '.join(parts)}), '{pattern}')", "ts", ", ".join(names)
