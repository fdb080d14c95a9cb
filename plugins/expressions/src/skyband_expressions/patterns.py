"""Regular expressions: those of Java's that RE2, which Arrow has, reads the same; others are refused.

They are rewritten where both know a mark and mean different characters by it.
"""

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from skyband_expressions.bound import Bound, EvaluationError, call, expect, integer_of, text_of
from skyband_expressions.syntax import UnknownExpressionError
from skyband_expressions.texts import text

_TOKEN = re.compile(
    r"(?P<escape>\\[dDwWsS])|(?P<mark>\\[tnrf\\.^$|?*+()\[\]{}/\"'&~#@%_=:;,<>! -])|"
    r"(?P<set>\[\^?(?:\\.|[^\\\[\]&]|&(?!&))+\])|(?P<open>\((?!\?)|\(\?:)|(?P<close>\))|(?P<repeat>(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})\??(?![*+?{]))|(?P<dot>\.)"
    r"|(?P<start>\^)|(?P<end>\$)|(?P<or>\|)|(?P<plain>[^\\\[\](){}*+?.^$|])",
    re.DOTALL,
)
_IN_SET = re.compile(r"\\[dwsDW]|\\[tnrf\\.^$|?*+()\[\]{}/\"'&~#@%_=:;,<>! -]|[^\\]", re.DOTALL)
_CLASSES = {
    r"\d": "[0-9]", r"\D": "[^0-9]", r"\w": "[a-zA-Z0-9_]", r"\W": "[^a-zA-Z0-9_]", r"\s": r"[ \t\n\x0B\f\r]",
    r"\S": r"[^ \t\n\x0B\f\r]",
}  # fmt: skip
_DOT = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_LINE_END = r"[\n\r\x{85}\x{2028}\x{2029}]\z"


@frozen
class Pattern:
    """A regular expression as RE2 reads it."""

    re2: str
    groups: int
    has_end: bool
    """Whether it has a `$`, which Java also sees before a line break that ends a text."""

    def check(self, column: pa.Array) -> pa.Array:
        """The column. Raises EvaluationError where one of its texts is read otherwise by Java."""
        if self.has_end and pc.any(pc.match_substring_regex(column, _LINE_END)).as_py():
            raise EvaluationError("text that ends in a line break, and a pattern with $, are known to Spark only")
        return column

    @property
    def matches_nothing(self) -> bool:
        """Whether it matches a text of no characters."""
        return bool(pc.match_substring_regex(pa.array([""]), self.re2)[0].as_py())


def java_pattern(pattern: str, name: str) -> Pattern:
    """A pattern of Java's. Raises UnknownExpressionError naming what RE2 does not read the same."""
    parts, opened = list[str](), list[int]()
    groups, place, has_end, repeatable = 0, 0, False, False
    while place < len(pattern):
        match = _TOKEN.match(pattern, place)
        kind = None if match is None else match.lastgroup
        if match is None or (kind == "repeat" and not repeatable):
            raise UnknownExpressionError(f"{name}: {pattern[place:]!r} in the pattern {pattern!r} is not known here")
        token = match.group()
        groups += token == "("
        has_end = has_end or kind == "end"
        if kind == "open":
            opened.append(len(parts))
        parts.append(_rewritten(kind, token, pattern, name))
        repeatable = kind in ("escape", "mark", "set", "close", "dot", "plain")
        if kind == "close":
            if not opened:
                raise UnknownExpressionError(f"{name}: the pattern {pattern!r} closes a bracket that is not open")
            inner = "".join(parts[opened.pop() :])
            following = _TOKEN.match(pattern, match.end())
            if following is not None and following.lastgroup == "repeat" and Pattern(inner, 0, False).matches_nothing:
                raise UnknownExpressionError(f"{name}: {pattern!r} repeats a group that may be empty")
        place = match.end()
    rewritten = "".join(parts)
    try:
        pc.match_substring_regex(pa.array([""]), rewritten)
    except pa.ArrowInvalid as error:
        raise UnknownExpressionError(f"{name}: the pattern {pattern!r} cannot be read: {error}") from error
    return Pattern(rewritten, groups, has_end)


def _rewritten(kind: str | None, token: str, pattern: str, name: str) -> str:
    if kind == "escape":
        return _CLASSES[token]
    if kind == "dot":
        return _DOT
    if kind == "end":
        return r"\z"
    if kind == "start":
        return r"\A"
    if kind == "mark":
        return token if token[1] in "tnrf" else re.escape(token[1])
    if kind == "plain":
        return re.escape(token)
    return _set(token, pattern, name) if kind == "set" else token


def _set(token: str, pattern: str, name: str) -> str:
    negated = token.startswith("[^")
    inside, parts, place = token[2 if negated else 1 : -1], [], 0
    while place < len(inside):
        match = _IN_SET.match(inside, place)
        if match is None or match.group() in (r"\D", r"\W"):
            raise UnknownExpressionError(f"{name}: {token!r} in the pattern {pattern!r} is not known here")
        part = match.group()
        is_range = part == "-" and 0 < place < len(inside) - 1
        if part in _CLASSES:
            parts.append(_CLASSES[part][1:-1])
        elif is_range:
            parts.append("-")
        elif part[0] == "\\":
            parts.append(part if part[1] in "tnrf" else f"\\x{{{ord(part[1]):x}}}")
        else:
            parts.append(f"\\x{{{ord(part):x}}}")
        place = match.end()
    return f"[{'^' if negated else ''}{''.join(parts)}]"


def matches(arguments: Sequence[Bound]) -> Bound:
    """RLIKE: whether a pattern is found in a text."""
    expect(range(2, 3), arguments, "rlike")
    pattern = java_pattern(text_of(arguments[1], "rlike", "a pattern"), "rlike")
    return call(
        pa.bool_(),
        lambda column: pc.match_substring_regex(pattern.check(column), pattern.re2),
        text(arguments[0], "rlike"),
        can_fail=pattern.has_end,
    )


def extract(arguments: Sequence[Bound]) -> Bound:
    """`regexp_extract(text, pattern, group)`: empty where it is not found."""
    expect(range(2, 4), arguments, "regexp_extract")
    pattern = java_pattern(text_of(arguments[1], "regexp_extract", "a pattern"), "regexp_extract")
    group = integer_of(arguments[2], "regexp_extract", "the group") if len(arguments) == 3 else 1
    if not 0 <= group <= pattern.groups:
        raise UnknownExpressionError(f"regexp_extract: the pattern has no group {group}, but {pattern.groups}")
    named = f"(?P<g0>{_named(pattern.re2)})"

    def kernel(column: pa.Array) -> pa.Array:
        groups_of = pc.extract_regex(pattern.check(column), named)
        part = pc.fill_null(pc.struct_field(groups_of, f"g{group}"), "")
        return pc.if_else(pc.is_null(column), pa.scalar(None, pa.string()), part)

    return call(pa.string(), kernel, text(arguments[0], "regexp_extract"), can_fail=pattern.has_end)


def _named(pattern: str) -> str:
    """With names for its groups, g1 and so on, as Arrow asks."""
    count, parts, place = 0, [], 0
    for match in re.finditer(r"\\.|\[(?:\\.|[^\]])*\]|\((?!\?)", pattern, re.DOTALL):
        if match.group() == "(":
            count += 1
            parts.append(f"{pattern[place : match.start()]}(?P<g{count}>")
            place = match.end()
    return "".join([*parts, pattern[place:]])


def substitute(arguments: Sequence[Bound]) -> Bound:
    """`regexp_replace(text, pattern, replacement)`: all that match."""
    expect(range(3, 4), arguments, "regexp_replace")
    pattern = java_pattern(text_of(arguments[1], "regexp_replace", "a pattern"), "regexp_replace")
    _not_empty(pattern, "regexp_replace")
    template = text_of(arguments[2], "regexp_replace", "the replacement")
    parts = re.findall(r"\$\d|\\.|[^\\$]|.", template, re.DOTALL)
    if any(part in ("$", "\\") or (part[0] == "$" and int(part[1]) > pattern.groups) for part in parts):
        raise UnknownExpressionError(f"regexp_replace: the replacement {template!r} is not known here")
    if re.search(r"\$\d\d", template):
        raise UnknownExpressionError("regexp_replace: groups above $9 are not known here")
    instead = "".join(f"\\{part[1]}" if part[0] == "$" else part[-1].replace("\\", "\\\\") for part in parts)
    return call(
        pa.string(),
        lambda column: pc.replace_substring_regex(pattern.check(column), pattern.re2, instead),
        text(arguments[0], "regexp_replace"),
        can_fail=pattern.has_end,
    )


def split(arguments: Sequence[Bound]) -> Bound:
    """`split(text, pattern)`: all parts, also empty ones."""
    expect(range(2, 3), arguments, "split")
    pattern = java_pattern(text_of(arguments[1], "split", "a pattern"), "split")
    _not_empty(pattern, "split")
    return call(
        pa.list_(pa.string()),
        lambda column: pc.split_pattern_regex(pattern.check(column), pattern.re2).cast(pa.list_(pa.string())),
        text(arguments[0], "split"),
        can_fail=pattern.has_end,
    )


def _not_empty(pattern: Pattern, name: str) -> None:
    if pattern.matches_nothing:
        raise UnknownExpressionError(f"{name} with a pattern that matches nothing at all is not known here")
