"""Parses schemas in Spark's notation ("ts TIMESTAMP, client STRING") without Spark."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from skyband.errors import suggest

if TYPE_CHECKING:
    import pyarrow as pa

ZONE = "UTC"
"""The zone of TIMESTAMP: that of the session, which `skyband.spark.session` sets."""

ZONE_SETTING = "spark.sql.session.timeZone"

_PLAIN: dict[str, Callable[[Any], Any]] = {
    "boolean": lambda pa: pa.bool_(),
    "byte": lambda pa: pa.int8(),
    "tinyint": lambda pa: pa.int8(),
    "short": lambda pa: pa.int16(),
    "smallint": lambda pa: pa.int16(),
    "int": lambda pa: pa.int32(),
    "integer": lambda pa: pa.int32(),
    "long": lambda pa: pa.int64(),
    "bigint": lambda pa: pa.int64(),
    "float": lambda pa: pa.float32(),
    "real": lambda pa: pa.float32(),
    "double": lambda pa: pa.float64(),
    "string": lambda pa: pa.string(),
    "varchar": lambda pa: pa.string(),
    "char": lambda pa: pa.string(),
    "binary": lambda pa: pa.binary(),
    "date": lambda pa: pa.date32(),
    "timestamp": lambda pa: pa.timestamp("us", ZONE),
    "timestamp_ltz": lambda pa: pa.timestamp("us", ZONE),
    "timestamp_ntz": lambda pa: pa.timestamp("us"),
}
_NESTED = ("array", "map", "struct", "decimal")
_TOKEN = re.compile(
    r"`(?P<quoted>[^`]+)`|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<word>\w+)|(?P<mark>[<>(),:])|"
    r"(?P<space>\s+)|(?P<other>.)"
)


def parse_ddl(text: str) -> "pa.Schema":
    """The Arrow schema of a Spark schema. Raises ValueError that says what is wrong."""
    import pyarrow as pa

    tokens = _Tokens(text)
    fields = _fields(pa, tokens, end="")
    if not fields:
        raise ValueError('names no column; write columns and types, such as "ts TIMESTAMP, client STRING"')
    return pa.schema(fields)


def ddl_of(schema: "pa.Schema") -> str:
    """A schema in Spark's notation, which `parse_ddl` reads as the same. Nulls without a type are text."""
    return ", ".join(f"{_name(field.name)} {_word(field.type)}" for field in schema)


def _name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else f"`{name}`"


def _word(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"ARRAY<{_word(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"MAP<{_word(kind.key_type)}, {_word(kind.item_type)}>"
    if pa.types.is_struct(kind):
        return f"STRUCT<{', '.join(f'{_name(field.name)}: {_word(field.type)}' for field in kind)}>"
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    words = {make(pa): word for word, make in reversed(_PLAIN.items())}
    return words.get(kind, "string").upper()


class _Tokens:
    def __init__(self, text: str) -> None:
        matches = [match for match in _TOKEN.finditer(text) if match.lastgroup != "space"]
        strange = [match.group() for match in matches if match.lastgroup == "other"]
        if strange:
            raise ValueError(f"cannot read {strange[0]!r} in {text!r}")
        self._words = [match.group("quoted") or match.group() for match in matches]
        self._text = text

    def peek(self) -> str:
        return self._words[0] if self._words else ""

    def take(self, expected: str = "") -> str:
        word = self.peek()
        if (expected and word != expected) or not word:
            raise ValueError(f"expected {expected or 'a word'!r}, found {word or 'the end'!r} in {self._text!r}")
        return self._words.pop(0)

    def take_text(self) -> None:
        """Skip the text of a comment."""
        word = self.take()
        if word[0] not in "'\"":
            raise ValueError(f"expected a comment in quotes, found {word!r} in {self._text!r}")

    def skip(self, word: str) -> bool:
        matches = self.peek().lower() == word
        if matches:
            self._words.pop(0)
        return matches


def _fields(pa: Any, tokens: _Tokens, end: str) -> list[Any]:
    fields: list[Any] = []
    while tokens.peek() != end:
        if fields:
            tokens.take(",")
        name = tokens.take()
        tokens.skip(":")
        kind = _type(pa, tokens)
        nullable = not (tokens.skip("not") and tokens.skip("null"))
        if tokens.skip("comment"):
            tokens.take_text()
        fields.append(pa.field(name, kind, nullable))
    return fields


def _type(pa: Any, tokens: _Tokens) -> Any:
    word = tokens.take().lower()
    if word == "array":
        tokens.take("<")
        item = _type(pa, tokens)
        tokens.take(">")
        return pa.list_(item)
    if word == "map":
        tokens.take("<")
        key = _type(pa, tokens)
        tokens.take(",")
        value = _type(pa, tokens)
        tokens.take(">")
        return pa.map_(key, value)
    if word == "struct":
        tokens.take("<")
        fields = _fields(pa, tokens, end=">")
        tokens.take(">")
        return pa.struct(fields)
    numbers = _numbers(tokens)
    if word in ("decimal", "numeric"):
        return pa.decimal128(*(numbers or (10, 0)))
    if word not in _PLAIN:
        raise ValueError(f"unknown type {word!r}; {suggest(word, [*_PLAIN, *_NESTED])}")
    return _PLAIN[word](pa)


def _numbers(tokens: _Tokens) -> tuple[int, ...]:
    if tokens.peek() != "(":
        return ()
    tokens.take("(")
    numbers = [_number(tokens)]
    while tokens.skip(","):
        numbers.append(_number(tokens))
    tokens.take(")")
    return tuple(numbers)


def _number(tokens: _Tokens) -> int:
    word = tokens.take()
    if not word.isdecimal():
        raise ValueError(f"expected a whole number, found {word!r}")
    return int(word)
