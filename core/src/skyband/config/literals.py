"""Writes values as a job file would, short enough for an error message."""

import datetime
from collections.abc import Mapping
from itertools import islice
from typing import Any

MOST_DIGITS = 300
"""The most digits of a number in a job: more than any float has before its point."""
_MOST_BITS = 1000
_MOST_LETTERS = 160
_MOST_ENTRIES = 8


def literal(value: Any) -> str:
    """A value as a job file writes it, shortened if long; other values as Python writes them.

    Never raises, and never writes out a number of thousands of digits.
    """
    return _cut(_text_of(value, 4))


def is_huge(value: Any) -> bool:
    """Whether it is a whole number with more digits than any use needs."""
    return isinstance(value, int) and value.bit_length() > _MOST_BITS


def _text_of(value: Any, depth: int) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if is_huge(value):
        return f"a number of {_digits(value):,} digits"
    if isinstance(value, str):
        return repr(value[: 2 * _MOST_LETTERS])
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, list | tuple | Mapping):
        return _collection(value, depth - 1)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if callable(value):
        return f"the function {getattr(value, '__name__', type(value).__name__)}"
    return _foreign(value)


def _collection(value: Any, depth: int) -> str:
    if depth == 0:
        return "…"
    more = ", …" if len(value) > _MOST_ENTRIES else ""
    if isinstance(value, Mapping):
        pairs = (f"{key} = {_text_of(entry, depth)}" for key, entry in islice(value.items(), _MOST_ENTRIES))
        inside = ", ".join(pairs) + more
        return f"{{ {inside} }}" if inside else "{}"
    return f"[{', '.join(_text_of(entry, depth) for entry in islice(value, _MOST_ENTRIES))}{more}]"


def _foreign(value: Any) -> str:
    """A value that no job file can hold: its own text if that is one line, else its type."""
    try:
        text = repr(value) if vars(object)["__str__"] is type(value).__str__ else str(value)
    except Exception:  # an object's __str__ may raise anything
        text = ""
    return text if text and "\n" not in text and " object at 0x" not in text else f"a {type(value).__qualname__}"


def _digits(value: int) -> int:
    """About how many digits, without writing them."""
    return int(value.bit_length() * 0.30103) + 1


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…"
