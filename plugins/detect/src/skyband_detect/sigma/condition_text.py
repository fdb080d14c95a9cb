"""The condition of a detection, such as `selection and not 1 of filter_*`, as SQL.

`or` binds weakest, then `and`, then `not`. A missing field does not match in Sigma, so `not` of it holds. In SQL the
field is null, and NOT NULL is null: what follows `not` is therefore false where it is null.
"""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from skyband_detect.sigma.field_matches import joined
from skyband_detect.sigma.refusals import RefusedError

_TOKEN = re.compile(r"\s*(?:(?P<mark>[()])|(?P<word>[^\s()]+))")
_MOST_DEPTH = 30
_KEY = "detection.condition"


def sql_of(text: str, selections: Mapping[str, str]) -> str:
    """The condition as SQL; selections: the SQL of each search identifier. Raises RefusedError."""
    if "|" in text:
        raise RefusedError(_KEY, f"an aggregation after | is of old rules: write a correlation (got {text!r})")
    reading = _Reading(text, selections)
    sql = reading.either(0)
    if reading.next is not None:
        raise RefusedError(_KEY, f"{reading.next!r} is not expected in {text!r}")
    return sql


class _Reading:
    """A condition while it is read."""

    def __init__(self, text: str, selections: Mapping[str, str]) -> None:
        self._text, self._selections = text, selections
        self._tokens = [match.group().strip() for match in _TOKEN.finditer(text)]
        self._place = 0

    @property
    def next(self) -> str | None:
        """The token to come."""
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _take(self, *words: str) -> bool:
        is_next = self.next is not None and self.next.lower() in words
        self._place += is_next
        return is_next

    def either(self, depth: int) -> str:
        """Conditions with `or` between them."""
        parts = [self._all(depth)]
        while self._take("or"):
            parts.append(self._all(depth))
        return joined("OR", parts)

    def _all(self, depth: int) -> str:
        parts = [self._one(depth)]
        while self._take("and"):
            parts.append(self._one(depth))
        return joined("AND", parts)

    def _one(self, depth: int) -> str:
        if depth > _MOST_DEPTH:
            raise RefusedError(_KEY, f"has more than {_MOST_DEPTH} nested conditions")
        if self._take("not"):
            return f"NOT coalesce({self._one(depth + 1)}, false)"
        if self._take("("):
            inside = self.either(depth + 1)
            if not self._take(")"):
                raise RefusedError(_KEY, f"a bracket is not closed in {self._text!r}")
            return inside
        token = self.next
        if token is None or token in ("(", ")") or token.lower() in ("and", "or", "of"):
            raise RefusedError(_KEY, f"cannot be read: {self._text!r}")
        self._place += 1
        if self._take("of"):
            return self._several(token)
        if token not in self._selections:
            raise RefusedError(_KEY, f"names {token!r}, which the detection does not have")
        return self._selections[token]

    def _several(self, number: str) -> str:
        pattern = self.next or ""
        self._place += 1
        is_them = pattern.lower() == "them"
        names = [name for name in self._selections if fnmatchcase(name, "*" if is_them else pattern)]
        names = [name for name in names if not (is_them and name.startswith("_"))]
        if number.lower() not in ("1", "any", "all"):
            raise RefusedError(_KEY, f"must be 1, any or all of several (got {number!r} in {self._text!r})")
        if not names:
            raise RefusedError(_KEY, f"no search identifier is like {pattern!r}")
        word = "AND" if number.lower() == "all" else "OR"
        return joined(word, [self._selections[name] for name in names])
