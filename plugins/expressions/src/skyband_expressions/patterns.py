"""Java regular expressions that RE2, Arrow's engine, interprets in the same way; others are refused.

Tokens that both know but that match different characters are rewritten.
"""

import re
from collections.abc import Sequence
from string import ascii_letters

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, field, frozen

from skyband_expressions.bound import Bound, EvaluationError, call, expect, integer_of, text_of
from skyband_expressions.syntax import UnknownExpressionError
from skyband_expressions.texts import text

_PROPERTY = (
    r"\\[pP](?:\{(?:L[ulmot]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?)\}|[LMNPSZ])"
    r"|\\p\{(?:Alpha|Digit|Alnum|Upper|Lower|Punct|XDigit|Blank|Space)\}"
)
"""General categories of Unicode, and Java's names for ASCII classes."""
_TOKEN = re.compile(
    rf"(?P<property>{_PROPERTY})|(?P<boundary>\\b)|"
    r"(?P<escape>\\[dDwWsS])|(?P<mark>\\[tnrf\\.^$|?*+()\[\]{}/\"'&~#@%_=:;,<>! -])|"
    r"(?P<set>\[\^?(?:\\.|[^\\\[\]&]|&(?!&))+\])|(?P<open>\((?!\?)|\(\?:)|(?P<close>\))|(?P<repeat>(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})\??(?![*+?{]))|(?P<dot>\.)"
    r"|(?P<start>\^)|(?P<end>\$)|(?P<or>\|)|(?P<plain>[^\\\[\](){}*+?.^$|])",
    re.DOTALL,
)
_IN_SET = re.compile(rf"{_PROPERTY}|" r"\\[dwsDW]|\\[tnrf\\.^$|?*+()\[\]{}/\"'&~#@%_=:;,<>! -]|[^\\]", re.DOTALL)
_CLASSES = {
    r"\d": "[0-9]", r"\D": "[^0-9]", r"\w": "[a-zA-Z0-9_]", r"\W": "[^a-zA-Z0-9_]", r"\s": r"[ \t\n\x0B\f\r]",
    r"\S": r"[^ \t\n\x0B\f\r]",
}  # fmt: skip
_DOT = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_ASCII = {
    "Alpha": "a-zA-Z", "Digit": "0-9", "Alnum": "0-9a-zA-Z", "Upper": "A-Z", "Lower": "a-z", "XDigit": "0-9a-fA-F",
    "Punct": "!-/:-@\\[-`{-~", "Blank": r" \t", "Space": r" \t\n\x0B\f\r",
}  # fmt: skip
_BOUNDARY = r"(?:\b)"
_ANY_CASE = "(?i)"
_CASED = ("Lu", "Ll", "Lt", "Upper", "Lower")
"""Their meaning in case-insensitive patterns differs between Java versions."""
_MOST_CHARACTERS, _MOST_GROUPS = 10_000, 100
"""The most groups nested in a pattern."""
_LINE_END = r"[\n\r\x{85}\x{2028}\x{2029}]\z"


@frozen
class Pattern:
    """A regular expression for RE2."""

    re2: str
    groups: int
    has_end: bool
    """Whether it has a `$`, which in Java also matches before a final line break."""
    has_boundary: bool = False
    """Whether it has a `\\b`, which in some Java versions also matches next to letters and digits beyond ASCII."""

    @property
    def can_fail(self) -> bool:
        """Whether `check` refuses some texts."""
        return self.has_end or self.has_boundary

    def check(self, column: pa.Array) -> pa.Array:
        """The column. Raises EvaluationError if Java would match one of its texts differently."""
        if self.has_end and pc.any(pc.match_substring_regex(column, _LINE_END)).as_py():
            raise EvaluationError("text that ends in a line break, with $ in the pattern, is supported by Spark only")
        if self.has_boundary and pc.any(pc.match_substring_regex(column, r"[^\x00-\x7F]")).as_py():
            others = pc.replace_substring_regex(column, r"[\x00-\x7F]+", "")
            if pc.any(pc.match_substring_regex(others, r"[\pL\pN\pM]")).as_py():
                message = (
                    r"text with letters or digits beyond ASCII, with \b in the pattern, is supported by Spark only"
                )
                raise EvaluationError(message)
        return column

    @property
    def matches_nothing(self) -> bool:
        """Whether it matches the empty text."""
        return bool(pc.match_substring_regex(pa.array([""]), self.re2.replace(_BOUNDARY, "(?:)"))[0].as_py())


def java_pattern(pattern: str, name: str) -> Pattern:
    """Translate a Java pattern. Raises UnknownExpressionError, naming what RE2 interprets differently."""
    if len(pattern) > _MOST_CHARACTERS:
        raise UnknownExpressionError(f"{name}: the pattern has more than {_MOST_CHARACTERS:,} characters")
    any_case = pattern.startswith(_ANY_CASE)
    reading = _Reading(pattern, name, any_case)
    place = len(_ANY_CASE) if any_case else 0
    while place < len(pattern):
        place = reading.step(place)
    rewritten = "".join(reading.parts)
    try:
        pc.match_substring_regex(pa.array([""]), rewritten)
    except pa.ArrowInvalid as error:
        raise UnknownExpressionError(f"{name}: the pattern {pattern!r} cannot be read: {error}") from error
    return Pattern(rewritten, reading.groups, "end" in reading.kinds, "boundary" in reading.kinds)


@define
class _Reading:
    """A pattern while it is parsed."""

    pattern: str
    name: str
    any_case: bool
    parts: list[str] = field(factory=list, init=False)
    """The parts translated for RE2."""
    kinds: set[str] = field(factory=set, init=False)
    groups: int = field(default=0, init=False)
    _opened: list[int] = field(factory=list, init=False)
    """The first part of each open group."""
    _repeatable: bool = field(default=False, init=False)

    def step(self, place: int) -> int:
        """Parse the token that starts at `place`; returns its end."""
        match = _TOKEN.match(self.pattern, place)
        kind = None if match is None else match.lastgroup
        if match is None or kind is None or (kind == "repeat" and not self._repeatable):
            raise self._refused(self.pattern[place:])
        token = match.group()
        self.kinds.add(kind)
        self.groups += token == "("
        if kind == "open":
            self._opened.append(len(self.parts))
            if len(self._opened) > _MOST_GROUPS:
                message = f"{self.name}: the pattern has more than {_MOST_GROUPS} nested groups"
                raise UnknownExpressionError(message)
        self.parts.append(self._rewritten(kind, token))
        self._repeatable = kind in ("escape", "property", "mark", "set", "close", "dot", "plain")
        if kind == "close":
            self._close(match.end())
        return match.end()

    def _close(self, end: int) -> None:
        if not self._opened:
            message = f"{self.name}: the pattern {self.pattern!r} closes a bracket that was not opened"
            raise UnknownExpressionError(message)
        begin = self._opened.pop()
        following = _TOKEN.match(self.pattern, end)
        if following is None or following.lastgroup != "repeat":
            return
        if Pattern("".join(self.parts[begin:]), 0, False).matches_nothing:
            raise UnknownExpressionError(f"{self.name}: {self.pattern!r} repeats a group that may be empty")

    def _refused(self, token: str) -> UnknownExpressionError:
        return UnknownExpressionError(f"{self.name}: {token!r} in the pattern {self.pattern!r} is not supported")

    def _rewritten(self, kind: str, token: str) -> str:
        plain = {"dot": _DOT, "end": r"\z", "start": r"\A", "boundary": _BOUNDARY}.get(kind)
        if plain is not None:
            return plain
        if kind == "escape":
            return _CLASSES[token]
        if kind == "property":
            return f"[{self._property(token)}]"
        if kind == "mark":
            return token if token[1] in "tnrf" else re.escape(token[1])
        if kind == "plain":
            letters = self.any_case and token.isascii() and token.isalpha()
            return f"[{token.lower()}{token.upper()}]" if letters else re.escape(token)
        return self._set(token) if kind == "set" else token

    def _property(self, token: str) -> str:
        """A character property for use in a set."""
        name = token[2:].strip("{}")
        if self.any_case and name in _CASED:
            raise self._refused(token)
        return _ASCII.get(name, token)

    def _set(self, token: str) -> str:
        negated = token.startswith("[^")
        inside, parts, place = token[2 if negated else 1 : -1], list[str](), 0
        while place < len(inside):
            match = _IN_SET.match(inside, place)
            if match is None or match.group() in (r"\D", r"\W"):
                raise self._refused(token)
            part = match.group()
            is_range = part == "-" and 0 < place < len(inside) - 1
            parts.append("-" if is_range else self._of_set(part))
            place = match.end()
        if self.any_case:
            parts += _other_cases("".join(parts))
        return f"[{'^' if negated else ''}{''.join(parts)}]"

    def _of_set(self, part: str) -> str:
        if part in _CLASSES:
            return _CLASSES[part][1:-1]
        if re.fullmatch(_PROPERTY, part):
            return self._property(part)
        if part[0] == "\\" and part[1] in "tnrf":
            return part
        return f"\\x{{{ord(part[-1]):x}}}"


def _other_cases(inside: str) -> list[str]:
    """The ASCII letters that a set has in the other case only: Java treats no other letters as equal."""
    try:
        in_set = pc.match_substring_regex(pa.array(list(ascii_letters)), f"[{inside}]")
    except pa.ArrowInvalid:  # reported for the whole pattern
        return []
    return [letter.swapcase() for letter, is_in in zip(ascii_letters, in_set.to_pylist(), strict=True) if is_in]


def matches(arguments: Sequence[Bound]) -> Bound:
    """RLIKE: whether a text contains a match of a pattern."""
    expect(range(2, 3), arguments, "rlike")
    pattern = java_pattern(text_of(arguments[1], "rlike", "a pattern"), "rlike")
    return call(
        pa.bool_(),
        lambda column: pc.match_substring_regex(pattern.check(column), pattern.re2),
        text(arguments[0], "rlike"),
        can_fail=pattern.can_fail,
    )


def extract(arguments: Sequence[Bound]) -> Bound:
    """`regexp_extract(text, pattern, group)`: empty if there is no match."""
    expect(range(2, 4), arguments, "regexp_extract")
    pattern = java_pattern(text_of(arguments[1], "regexp_extract", "a pattern"), "regexp_extract")
    group = integer_of(arguments[2], "regexp_extract", "the group") if len(arguments) == 3 else 1
    if not 0 <= group <= pattern.groups:
        raise UnknownExpressionError(f"regexp_extract: the pattern has no group {group}, only {pattern.groups}")
    named = f"(?P<g0>{_named(pattern.re2)})"

    def kernel(column: pa.Array) -> pa.Array:
        groups_of = pc.extract_regex(pattern.check(column), named)
        part = pc.fill_null(pc.struct_field(groups_of, f"g{group}"), "")
        return pc.if_else(pc.is_null(column), pa.scalar(None, pa.string()), part)

    return call(pa.string(), kernel, text(arguments[0], "regexp_extract"), can_fail=pattern.can_fail)


def _named(pattern: str) -> str:
    """The pattern with its groups named g1 and so on, as Arrow requires."""
    count, parts, place = 0, [], 0
    for match in re.finditer(r"\\.|\[(?:\\.|[^\]])*\]|\((?!\?)", pattern, re.DOTALL):
        if match.group() == "(":
            count += 1
            parts.append(f"{pattern[place : match.start()]}(?P<g{count}>")
            place = match.end()
    return "".join([*parts, pattern[place:]])


def substitute(arguments: Sequence[Bound]) -> Bound:
    """`regexp_replace(text, pattern, replacement)`: replaces all matches."""
    expect(range(3, 4), arguments, "regexp_replace")
    pattern = java_pattern(text_of(arguments[1], "regexp_replace", "a pattern"), "regexp_replace")
    _not_empty(pattern, "regexp_replace")
    template = text_of(arguments[2], "regexp_replace", "the replacement")
    parts = re.findall(r"\$\d|\\.|[^\\$]|.", template, re.DOTALL)
    if any(part in ("$", "\\") or (part[0] == "$" and int(part[1]) > pattern.groups) for part in parts):
        raise UnknownExpressionError(f"regexp_replace: the replacement {template!r} is not supported")
    if re.search(r"\$\d\d", template):
        raise UnknownExpressionError("regexp_replace: groups above $9 are not supported")
    instead = "".join(f"\\{part[1]}" if part[0] == "$" else part[-1].replace("\\", "\\\\") for part in parts)
    return call(
        pa.string(),
        lambda column: pc.replace_substring_regex(pattern.check(column), pattern.re2, instead),
        text(arguments[0], "regexp_replace"),
        can_fail=pattern.can_fail,
    )


def split(arguments: Sequence[Bound]) -> Bound:
    """`split(text, pattern)`: all parts, including empty ones."""
    expect(range(2, 3), arguments, "split")
    pattern = java_pattern(text_of(arguments[1], "split", "a pattern"), "split")
    _not_empty(pattern, "split")
    return call(
        pa.list_(pa.string()),
        lambda column: pc.split_pattern_regex(pattern.check(column), pattern.re2).cast(pa.list_(pa.string())),
        text(arguments[0], "split"),
        can_fail=pattern.can_fail,
    )


def _not_empty(pattern: Pattern, name: str) -> None:
    if pattern.matches_nothing:
        raise UnknownExpressionError(f"{name} with a pattern that matches the empty text is not supported")
