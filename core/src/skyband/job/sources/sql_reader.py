"""Reads the part of SQL that means the same on Spark and on the local engine.

A condition compares columns with literals: `=`, `<>`, `<`, `<=`, `>`, `>=`, `IN`, `BETWEEN`, `LIKE`, `IS NULL`, put
together by `AND`, `OR`, `NOT` and parentheses. A column of `select` is another one, perhaps renamed, a function of one,
or a literal.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
from attrs import frozen

from skyband.config.literals import MOST_DIGITS
from skyband.job.sources.column_functions import COLUMN_FUNCTIONS, problem_of
from skyband.job.sources.conditions import Both, Not, Test

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?![\w.]))|(?P<text>'[^'\\]*'(?!'))|`(?P<quoted>[^`]+)`"
    r"|(?P<key>(?i:and|or|not|in|between|like|is|null|true|false|as)(?!\w))"
    rf"|(?P<function>(?i:{'|'.join(COLUMN_FUNCTIONS)})(?=\s*\())"
    r"|(?P<word>[A-Za-z_]\w*(?![\w.]|\s*\())|(?P<mark><=(?!>)|>=|<>|!=|=(?!=)|<(?!=)|>|\(|\)|,|-))"
)
_OPPOSITE = {"<>": "=", "!=": "="}
KNOWN = (
    "=, <>, <, <=, >, >=, IN, BETWEEN, LIKE, IS NULL, AND, OR and NOT, of columns with numbers, text, true and false"
)


class UnknownSqlError(ValueError):
    """Text beyond the part of SQL that both engines know."""


MOST_DEPTH = 50
"""Of brackets and NOTs within each other."""


@frozen
class Projection:
    """A column of `source.select`: another one, a function of one, or the same value in every row."""

    name: str
    column: str | None
    value: Any = None
    function: str | None = None

    def problem(self, schema: pa.Schema) -> str | None:
        """Why its function does not take the column of this schema."""
        if self.function is None or self.column is None:
            return None
        return problem_of(self.function, self.column, schema.field(self.column).type)

    def type_in(self, schema: pa.Schema) -> pa.DataType:
        """Its type, Spark's for a literal."""
        if self.function is not None:
            return COLUMN_FUNCTIONS[self.function].type
        if self.column is not None:
            return schema.field(self.column).type
        if isinstance(self.value, Decimal):
            _, digits, exponent = self.value.as_tuple()
            return pa.decimal128(max(len(digits), -int(exponent)), -int(exponent))
        small = isinstance(self.value, int) and not isinstance(self.value, bool) and abs(self.value) < 2**31
        return pa.int32() if small else pa.scalar(self.value).type


def parse_condition(text: str) -> Any:
    """The condition that is written so. Raises UnknownSqlError, naming what is beyond the common part."""
    reader = _Reader(text)
    condition = reader.any_of()
    reader.end()
    return condition


def parse_column(text: str) -> Projection:
    """An entry of `source.select`: `column`, `column AS name`, `function(column) AS name` or `literal AS name`.

    Raises UnknownSqlError.
    """
    reader = _Reader(text)
    column = value = None
    function = reader.function()
    if function is not None:
        column = reader.argument()
    elif reader.at_literal():
        value = reader.literal(fraction=Decimal)
    else:
        column = reader.column()
    name = column if function is None else None
    if reader.taken("as"):
        name = reader.column()
    reader.end()
    if name is None:
        raise UnknownSqlError(f"{text!r} has no name: write {text} AS name")
    return Projection(name, column, value, function)


class _Reader:
    """Reads tokens from left to right."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        place = 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if match is None:
                raise UnknownSqlError(f"`{text[place:].strip()}` is beyond what the local engine knows: {KNOWN}")
            kind = str(match.lastgroup)
            self._tokens.append((match[kind].lower() if kind == "key" else kind, match[kind]))
            place = match.end()
        self._next = self._depth = 0

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._next] if self._next < len(self._tokens) else ("end", "the end")

    def taken(self, *kinds: str) -> bool:
        """Whether the next token is a keyword or mark of `kinds`, which is passed then."""
        kind, word = self._peek()
        fits = kind in kinds or (kind == "mark" and word in kinds)
        self._next += fits
        return fits

    def end(self) -> None:
        """Raise unless all is read."""
        if self._peek()[0] != "end":
            self._fail()

    def _fail(self) -> Any:
        raise UnknownSqlError(f"{self._peek()[1]!r} does not go on here: the local engine knows {KNOWN}")

    def _expect(self, mark: str) -> None:
        if not self.taken(mark):
            self._fail()

    def column(self) -> str:
        """A name, perhaps in backticks."""
        kind, word = self._peek()
        if kind not in ("word", "quoted"):
            self._fail()
        self._next += 1
        return word

    def function(self) -> str | None:
        """The function that is next, in lower case; None where there is none."""
        kind, word = self._peek()
        if kind != "function":
            return None
        self._next += 1
        return word.lower()

    def argument(self) -> str:
        """A name in brackets."""
        self._expect("(")
        name = self.column()
        self._expect(")")
        return name

    def at_literal(self) -> bool:
        """Whether a literal is next."""
        kind, word = self._peek()
        return kind in ("number", "text", "true", "false") or (kind, word) == ("mark", "-")

    def literal(self, fraction: type = float) -> Any:
        """A number, text, true or false; `fraction`: what a number with a point is made of."""
        negative = self.taken("-")
        kind, word = self._peek()
        if not self.at_literal() or (negative and kind != "number"):
            self._fail()
        self._next += 1
        if kind == "number":
            if len(word) > MOST_DIGITS:
                self._fail()
            number = fraction(word) if "." in word else int(word)
            return -number if negative else number
        return word[1:-1] if kind == "text" else kind == "true"

    def any_of(self) -> Any:
        """Conditions joined by OR."""
        return self._joined("or", lambda: self._joined("and", self._negated))

    def _joined(self, how: str, part: Callable[[], Any]) -> Any:
        parts = [part()]
        while self.taken(how):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Both(how, tuple(parts))

    def _negated(self) -> Any:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise UnknownSqlError(f"is nested deeper than {MOST_DEPTH} brackets and NOTs")
        if self.taken("not"):
            condition = Not(self._negated())
        elif self.taken("("):
            condition = self.any_of()
            self._expect(")")
        else:
            condition = self._test()
        self._depth -= 1
        return condition

    def _test(self) -> Any:
        column = self.column()
        if self.taken("is"):
            negated = self.taken("not")
            self._expect("null")
            return Not(Test(column, "null")) if negated else Test(column, "null")
        for mark in ("=", "<>", "!=", "<=", ">=", "<", ">"):
            if self.taken(mark):
                test = Test(column, _OPPOSITE.get(mark, mark), (self.literal(),))
                return Not(test) if mark in _OPPOSITE else test
        negated = self.taken("not")
        if self.taken("in"):
            test = Test(column, "in", self._list())
        elif self.taken("between"):
            low = self.literal()
            self._expect("and")
            test = Test(column, "between", (low, self.literal()))
        elif self.taken("like"):
            test = Test(column, "like", (self.literal(),))
        else:
            if negated:
                self._fail()
            return Test(column, "true")
        return Not(test) if negated else test

    def _list(self) -> tuple[Any, ...]:
        self._expect("(")
        values = [self.literal()]
        while self.taken(","):
            values.append(self.literal())
        self._expect(")")
        return tuple(values)
