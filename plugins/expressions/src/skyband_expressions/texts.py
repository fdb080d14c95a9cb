"""Functions of text, counted in characters as in Spark."""

import re
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from skyband_expressions.bound import MANY, Bound, call, expect, integer_of, text_of
from skyband_expressions.casts import cast_to
from skyband_expressions.spark_types import name_of
from skyband_expressions.syntax import UnknownExpressionError


def text(argument: Bound, name: str) -> Bound:
    """A text argument. Raises UnknownExpressionError if it is not text."""
    if argument.type not in (pa.string(), pa.null()):
        message = f"{name} takes text, not {name_of(argument.type)}: write cast(… AS string)"
        raise UnknownExpressionError(message)
    return cast_to(argument, pa.string())


def of_one(name: str, kernel: Callable[[pa.Array], pa.Array], kind: pa.DataType) -> Callable[[Sequence[Bound]], Bound]:
    """A function of one text."""

    def bind(arguments: Sequence[Bound]) -> Bound:
        expect(range(1, 2), arguments, name)
        return call(kind, kernel, text(arguments[0], name))

    return bind


def _in_case(simple: Callable[[pa.Array], pa.Array], full: Callable[[str], str]) -> Callable[[pa.Array], pa.Array]:
    """Text in another case: a letter beyond ASCII may become several, or depend on its neighbours."""

    def kernel(column: pa.Array) -> pa.Array:
        if pc.all(pc.string_is_ascii(column)).as_py() is not False:
            return simple(column)
        encoded = column.dictionary_encode()
        values = pa.array([full(value) for value in encoded.dictionary.to_pylist()], pa.string())
        return values.take(encoded.indices)

    return kernel


lower = of_one("lower", _in_case(pc.ascii_lower, str.lower), pa.string())
upper = of_one("upper", _in_case(pc.ascii_upper, str.upper), pa.string())
length = of_one("length", lambda column: pc.utf8_length(column).cast(pa.int32()), pa.int32())
reverse = of_one("reverse", pc.utf8_reverse, pa.string())


def trim(name: str) -> Callable[[Sequence[Bound]], Bound]:
    """`trim`, `ltrim` and `rtrim`: spaces only."""
    kernel = {"trim": pc.utf8_trim, "ltrim": pc.utf8_ltrim, "rtrim": pc.utf8_rtrim}[name]
    return of_one(name, lambda column: kernel(column, " "), pa.string())


def concat(arguments: Sequence[Bound]) -> Bound:
    """`concat` and `||`: null if one is null, so that those after it are not evaluated."""
    expect(MANY, arguments, "concat")
    parts = [cast_to(argument, pa.string()) for argument in arguments]
    return call(pa.string(), lambda *columns: pc.binary_join_element_wise(*columns, ""), *parts, folds_nulls=False)


def concat_with(arguments: Sequence[Bound]) -> Bound:
    """`concat_ws(separator, …)`: skips nulls."""
    expect(range(2, MANY[-1]), arguments, "concat_ws")
    separator = text_of(arguments[0], "concat_ws", "the separator")
    parts = [cast_to(argument, pa.string()) for argument in arguments[1:]]

    def kernel(*columns: pa.Array) -> pa.Array:  # Arrow's own way to skip nulls loses rows in which all are
        pieces = [pc.fill_null(pc.binary_join_element_wise(separator, column, ""), "") for column in columns]
        return pc.utf8_slice_codeunits(pc.binary_join_element_wise(*pieces, ""), len(separator))

    return call(pa.string(), kernel, *parts, strict=False)


def substring(arguments: Sequence[Bound]) -> Bound:
    """`substring(text, position, length)`: from 1, or from the end if below 0."""
    expect(range(2, 4), arguments, "substring")
    start = integer_of(arguments[1], "substring", "the position")
    size = integer_of(arguments[2], "substring", "the length") if len(arguments) == 3 else None
    return call(pa.string(), lambda column: _sliced(column, start, size), text(arguments[0], "substring"))


def _sliced(column: pa.Array, position: int, size: int | None) -> pa.Array:
    start = position - 1 if position > 0 else position
    if size is not None and size <= 0:
        return pc.utf8_slice_codeunits(column, 0, 0)
    if size is None or (start < 0 and start + size >= 0):
        return pc.utf8_slice_codeunits(column, start)
    return pc.utf8_slice_codeunits(column, start, start + size)


def left_part(arguments: Sequence[Bound]) -> Bound:
    """`left(text, length)`."""
    expect(range(2, 3), arguments, "left")
    size = integer_of(arguments[1], "left", "the length")
    return call(pa.string(), lambda column: _sliced(column, 1, size), text(arguments[0], "left"))


def right_part(arguments: Sequence[Bound]) -> Bound:
    """`right(text, length)`."""
    expect(range(2, 3), arguments, "right")
    size = max(0, integer_of(arguments[1], "right", "the length"))
    return call(pa.string(), lambda column: _sliced(column, -size, size), text(arguments[0], "right"))


def replace(arguments: Sequence[Bound]) -> Bound:
    """`replace(text, search, replacement)`: of literal text."""
    expect(range(2, 4), arguments, "replace")
    search = text_of(arguments[1], "replace", "the text to search for")
    instead = text_of(arguments[2], "replace", "the replacement") if len(arguments) == 3 else ""
    column = text(arguments[0], "replace")
    return call(pa.string(), lambda texts: pc.replace_substring(texts, search, instead), column) if search else column


_TESTS = {"startswith": pc.starts_with, "endswith": pc.ends_with, "contains": pc.match_substring}


def has(name: str) -> Callable[[Sequence[Bound]], Bound]:
    """`startswith`, `endswith` and `contains`."""

    def bind(arguments: Sequence[Bound]) -> Bound:
        expect(range(2, 3), arguments, name)
        part = text_of(arguments[1], name, "the part")
        return call(pa.bool_(), lambda column: _TESTS[name](column, part), text(arguments[0], name))

    return bind


def like(arguments: Sequence[Bound]) -> Bound:
    """LIKE: `%` matches any text, `_` any character, and a backslash escapes them."""
    pattern = text_of(arguments[1], "LIKE", "a pattern")
    marks = iter(pattern)
    for mark in marks:
        if mark == "\\" and next(marks, "") not in ("%", "_", "\\"):
            raise UnknownExpressionError(f"LIKE: the pattern {pattern!r} has a backslash not before %, _ or backslash")
    matches = pc.match_like
    if r"\\" in pattern:  # Arrow's shortcuts for patterns such as '%a' take an escaped backslash for two
        matches, pattern = pc.match_substring_regex, _like_as_regex(pattern)
    return call(pa.bool_(), lambda column: matches(column, pattern), text(arguments[0], "LIKE"))


def _like_as_regex(pattern: str) -> str:
    """A regular expression of RE2 that matches what a pattern of LIKE does."""
    pieces = re.findall(r"\\.|.", pattern, re.DOTALL)
    parts = ({"%": ".*", "_": "."}.get(piece) or re.escape(piece[-1]) for piece in pieces)
    return rf"(?s)\A{''.join(parts)}\z"
