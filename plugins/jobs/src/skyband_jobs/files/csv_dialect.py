"""CSV dialects: RFC 4180 unless Spark's options say otherwise, the same on both engines."""

from collections.abc import Mapping

from attrs import frozen
from skyband.errors import Problem

from skyband_jobs.files.text_encodings import ENCODING_OPTIONS, encoding_of
from skyband_jobs.files.value_formats import VALUE_OPTIONS, ValueFormats, formats_of
from skyband_jobs.tables.model import Source, option_text

OPTIONS = (
    "header", "sep", "delimiter", "quote", "escape", "comment", "multiLine", "enforceSchema", "inferSchema",
    "nullValue", "skipRows", *ENCODING_OPTIONS, *VALUE_OPTIONS,
)  # fmt: skip
"""Spark's options that are known here, in any case. `skipRows` is Databricks' own: see `ONLY_PYTHON`."""

ONLY_PYTHON = "skiprows"
"""The option, in lower case, that Spark's own reader would ignore."""
MOST_SKIPPED = 10_000

NONE = 256
"""Stands for a byte that is not used."""
_STAND_INS = (31, 30, 29, 28, *range(1, 9))
"""Control characters, one of which replaces a separator of several characters."""


@frozen
class Dialect:
    """The characters between values, and the role of the first line."""

    separator: str = ","
    quote: str = '"'
    """Surrounds values with special characters; doubled, it is part of the value. Empty: no quoting."""
    escape: str = ""
    """Precedes a special character that is part of the value; equal to `quote` or empty: no escaping."""
    multi_line: bool = True
    """Whether a quoted value may contain line breaks."""
    header: bool = False
    by_position: bool = False
    """Whether a schema's columns are matched by position although the header names them."""
    infers: bool = False
    null: str = ""
    comment: str = ""
    """A line that starts with it is not a record. Empty: no comments."""
    skipped: int = 0
    """Lines before the first record, or before the header, which are not read."""
    encoding: str | None = None
    """The encoding of the file; None: UTF-8."""
    formats: ValueFormats = ValueFormats()

    @property
    def quoting(self) -> tuple[int, int]:
        """Quote and escape; NONE where unused."""
        escape = "" if self.escape == self.quote else self.escape
        return ord(self.quote) if self.quote else NONE, ord(escape) if escape else NONE

    @property
    def comment_byte(self) -> int:
        """The comment character; NONE where unused."""
        return ord(self.comment) if self.comment else NONE

    def separator_in(self, data: bytes) -> int:
        """The byte between values, which `separated` inserts if the separator has several characters.

        It is the same for all parts of a text as for all of it, unless one part has an additional control character.
        """
        if len(self.separator) == 1:
            return ord(self.separator)
        free = next((byte for byte in _STAND_INS if byte not in data), None)
        if free is None:
            message = f"contains every control character, so none can replace {self.separator!r} while it is read"
            raise ValueError(f"{message}: write it with a separator of one character")
        return free

    def separated(self, data: bytes, times: int = 1) -> bytes:
        """Text with each separator replaced by `times` bytes of `separator_in`."""
        if len(self.separator) == 1:
            return data
        return data.replace(self.separator.encode(), bytes([self.separator_in(data)]) * times)


def dialect_of(source: Source) -> Dialect:
    """The dialect of a source whose options have no problems."""
    options = text_options(source)
    return Dialect(
        separator=_unescaped(options.get("sep", options.get("delimiter", ","))),
        quote=_unescaped(options.get("quote", '"')),
        escape=_unescaped(options.get("escape", "")),
        multi_line=options.get("multiline") != "false",
        header=options.get("header") == "true",
        by_position=options.get("enforceschema") == "true",
        infers=options.get("inferschema") == "true",
        null=options.get("nullvalue", ""),
        comment=_unescaped(options.get("comment", "")),
        skipped=int(options.get(ONLY_PYTHON, 0)),
        encoding=encoding_of(options),
        formats=formats_of(options),
    )


def dialect_problems(source: Source) -> list[Problem]:
    """What Arrow's CSV reader cannot do although Spark's can; encodings and value formats are checked elsewhere."""
    problems = []
    for name, value in source.options.items():
        key, text = name.lower(), _unescaped(option_text(value))
        message = None
        if key in ("sep", "delimiter") and not _is_separator(text):
            message = f"must be ASCII characters, without quotes and line breaks (got {text!r})"
        elif key in ("quote", "escape", "comment") and text and not _is_mark(text, '"'):
            message = f"the local engine accepts one ASCII character, or nothing (got {text!r})"
        elif key in ("header", "multiline", "enforceschema", "inferschema") and text not in ("true", "false"):
            message = f"must be true or false (got {text!r})"
        elif key == ONLY_PYTHON and not (text.isascii() and text.isdecimal() and int(text) <= MOST_SKIPPED):
            message = f"must be a whole number of lines, at most {MOST_SKIPPED:,} (got {text!r})"
        if message is not None:
            problems.append(Problem(f"options.{name}", message))
    if problems:
        return problems
    dialect = dialect_of(source)
    if any(mark and mark in dialect.separator for mark in (dialect.quote, dialect.escape)):
        problems.append(
            Problem("options", f"the separator must not contain quote or escape (got {dialect.separator!r})")
        )
    if dialect.comment and dialect.comment in (dialect.quote, dialect.escape, dialect.separator[0]):
        message = f"must differ from the separator, quote and escape (got {dialect.comment!r})"
        problems.append(Problem("options.comment", message))
    return problems


def text_options(source: Source) -> Mapping[str, str]:
    """The options in Spark's notation, their names in lower case."""
    return {name.lower(): option_text(value) for name, value in source.options.items()}


def _is_separator(text: str) -> bool:
    return 0 < len(text) <= 100 and all(_is_mark(mark) for mark in text)


def _is_mark(text: str, more: str = "") -> bool:
    return len(text) == 1 and text.isascii() and (text not in '"\r\n\0' or text in more)


def _unescaped(text: str) -> str:
    """Text with Spark's escape sequences replaced."""
    return {r"\t": "\t", r"\\": "\\", "\0": "", r"\u0000": ""}.get(text, text)
