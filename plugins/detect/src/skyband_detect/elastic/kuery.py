"""A query in Elastic's KQL, such as `event.action:(login or logout) and not user.name:svc-*`, as SQL.

`or` binds weakest, then `and`, then `not`. Text is compared in its own case, as Elastic compares keywords. A missing
field does not match, so `not` of it holds; in SQL it is null, and what follows `not` is false where it is null.
"""

import re
from collections.abc import Callable

from skyband_detect.sigma.field_matches import joined, name_of, text_of
from skyband_detect.sigma.refusals import RefusedError

_TOKEN = re.compile(r'\s*(?:(?P<mark>[():{}]|[<>]=?)|"(?P<quoted>(?:\\.|[^"\\])*)"|(?P<word>(?:\\.|[^\s():{}<>"\\])+))')
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_MOST_DEPTH = 30
_KEY = "query"
_WORDS = ("and", "or", "not")


def condition_of(text: str, column_of: Callable[[str], str]) -> str | None:
    """The query as SQL; None if it asks for all rows. Raises RefusedError, naming what cannot be said."""
    if not text.strip() or text.strip() == "*:*":
        return None
    reading = _Reading(text, column_of)
    sql = reading.query(0)
    if reading.next is not None:
        raise RefusedError(_KEY, f"{reading.next!r} is not expected in {text.strip()!r}")
    return sql


def _tokens(text: str) -> list[tuple[str, str]]:
    """The kind of each token, mark, quoted or word, and its text."""
    tokens, place = [], 0
    while text[place:].strip():
        match = _TOKEN.match(text, place)
        if match is None:
            raise RefusedError(_KEY, f"cannot be read from {text[place : place + 20].strip()!r} on")
        assert match.lastgroup is not None
        tokens.append((match.lastgroup, match[match.lastgroup]))
        place = match.end()
    return tokens


class _Reading:
    """A query while it is read."""

    def __init__(self, text: str, column_of: Callable[[str], str]) -> None:
        self._tokens, self._column_of, self._place = _tokens(text), column_of, 0

    @property
    def next(self) -> str | None:
        """The token to come."""
        return self._tokens[self._place][1] if self._place < len(self._tokens) else None

    def _is(self, *texts: str) -> bool:
        """Whether one of these words or marks comes next."""
        return self._place < len(self._tokens) and self._tokens[self._place][0] != "quoted" and (
            self._tokens[self._place][1].lower() in texts
        )  # fmt: skip

    def _take(self, text: str) -> bool:
        is_next = self._is(text)
        self._place += is_next
        return is_next

    def _token(self) -> tuple[str, str]:
        if self._place == len(self._tokens) or self._tokens[self._place][0] == "mark" or self._is(*_WORDS):
            at = "at its end" if self.next is None else f"before {self.next!r}"
            raise RefusedError(_KEY, f"a field or value is missing {at}")
        self._place += 1
        return self._tokens[self._place - 1]

    def query(self, depth: int, column: str | None = None) -> str:
        """Conditions with `or` between them; with a column, its values."""
        parts = [self._all(depth, column)]
        while self._take("or"):
            parts.append(self._all(depth, column))
        return joined("OR", parts)

    def _all(self, depth: int, column: str | None) -> str:
        parts = [self._one(depth, column)]
        while self._take("and"):
            parts.append(self._one(depth, column))
        return joined("AND", parts)

    def _one(self, depth: int, column: str | None) -> str:
        if depth > _MOST_DEPTH:
            raise RefusedError(_KEY, f"has more than {_MOST_DEPTH} nested conditions")
        if self._take("not"):
            return f"NOT coalesce({self._one(depth + 1, column)}, false)"
        if self._take("("):
            inside = self.query(depth + 1, column)
            if not self._take(")"):
                raise RefusedError(_KEY, "a bracket is not closed")
            return inside
        return self._of_field(depth) if column is None else _matches(column, *self._token())

    def _of_field(self, depth: int) -> str:
        kind, field = self._token()
        for comparison in ("<=", ">=", "<", ">"):
            if self._take(comparison):
                value = self._token()[1]
                if not _NUMBER.fullmatch(value):
                    raise RefusedError(_KEY, f"{field} {comparison} {value} must compare with a number")
                return f"{name_of(self._column_of(field))} {comparison} {value}"
        if not self._take(":"):
            raise RefusedError(_KEY, f"{field!r} has no field: name a column")
        if "*" in field and kind == "word":
            raise RefusedError(_KEY, f"{field!r} means several fields: name each")
        if self._is("{"):
            raise RefusedError(_KEY, f"{field!r} has nested documents, and rows have none")
        return self._one(depth + 1, name_of(self._column_of(field)))


def _matches(column: str, kind: str, value: str) -> str:
    """The condition that a column has a value."""
    plain = re.sub(r"\\(.)", r"\1", value)
    if kind == "quoted":
        return f"{column} = {text_of(plain)}"
    if value == "*":
        return f"{column} IS NOT NULL"
    if value in ("true", "false") or _NUMBER.fullmatch(value):
        return f"{column} = {value}"
    if not re.search(r"(?<!\\)\*", value):
        return f"{column} = {text_of(plain)}"
    pieces = re.findall(r"\\.|[^\\]", value)
    pattern = "".join("%" if piece == "*" else _escaped(piece[-1]) for piece in pieces)
    return f"{column} LIKE {text_of(pattern)}"


def _escaped(mark: str) -> str:
    return f"\\{mark}" if mark in ("%", "_", "\\") else mark
