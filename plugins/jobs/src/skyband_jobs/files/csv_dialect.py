"""How CSV is written: RFC 4180 unless the options of Spark's names say otherwise, on both engines alike."""

from collections.abc import Mapping

from attrs import frozen
from skyband.errors import Problem

from skyband_jobs.files.text_encodings import ENCODING_OPTIONS, encoding_of
from skyband_jobs.files.value_formats import VALUE_OPTIONS, ValueFormats, formats_of
from skyband_jobs.job.model import Source, option_text

OPTIONS = (
    "header", "sep", "delimiter", "quote", "escape", "comment", "multiLine", "enforceSchema", "inferSchema",
    "nullValue", "skipRows", *ENCODING_OPTIONS, *VALUE_OPTIONS,
)  # fmt: skip
"""The options of Spark that are known here; letters of any case. `skipRows` is Databricks' own: see `ONLY_PYTHON`."""

ONLY_PYTHON = "skiprows"
"""The option, in lower case, that Spark's own reader would take no notice of."""
MOST_SKIPPED = 10_000

NONE = 256
"""In the place of a byte that is not used."""
_STAND_INS = (31, 30, 29, 28, *range(1, 9))
"""Control characters, one of which takes the place of a separator of several characters."""


@frozen
class Dialect:
    """The marks between values, and what the first line is."""

    separator: str = ","
    quote: str = '"'
    """Around values that hold marks; doubled it is one of the value. Empty: none is."""
    escape: str = ""
    """Before a mark that is of the value; the same as `quote` or empty: none is."""
    multi_line: bool = True
    """Whether a value in quotes may hold line breaks."""
    header: bool = False
    by_position: bool = False
    """Whether a schema's columns are taken in their order though the header names them."""
    infers: bool = False
    null: str = ""
    comment: str = ""
    """A line that begins with it is no record. Empty: none is."""
    skipped: int = 0
    """Lines before the first record, or before the names, which are not read."""
    encoding: str | None = None
    """That of the file; None: UTF-8."""
    formats: ValueFormats = ValueFormats()

    @property
    def quoting(self) -> tuple[int, int]:
        """Quote and escape, NONE where it has none."""
        escape = "" if self.escape == self.quote else self.escape
        return ord(self.quote) if self.quote else NONE, ord(escape) if escape else NONE

    @property
    def comment_byte(self) -> int:
        """NONE where it has none."""
        return ord(self.comment) if self.comment else NONE

    def separator_in(self, data: bytes) -> int:
        """The byte between the values, which `separated` puts there where the separator is of several characters.

        It is the same for all parts of a text as for the whole of it, unless one has a control character more.
        """
        if len(self.separator) == 1:
            return ord(self.separator)
        free = next((byte for byte in _STAND_INS if byte not in data), None)
        if free is None:
            message = f"holds each control character, none of which can stand for {self.separator!r} while it is read"
            raise ValueError(f"{message}: write it with a separator of one character")
        return free

    def separated(self, data: bytes, times: int = 1) -> bytes:
        """Text with the byte of `separator_in` so many times in the place of each separator."""
        if len(self.separator) == 1:
            return data
        return data.replace(self.separator.encode(), bytes([self.separator_in(data)]) * times)


def dialect_of(source: Source) -> Dialect:
    """That of a source whose options have no `problems`."""
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
    """What Arrow's reader of CSV cannot do though Spark's can; encodings and formats of values are looked at apart."""
    problems = []
    for name, value in source.options.items():
        key, text = name.lower(), _unescaped(option_text(value))
        message = None
        if key in ("sep", "delimiter") and not _is_separator(text):
            message = f"must be ASCII characters, without quotes and line breaks (got {text!r})"
        elif key in ("quote", "escape", "comment") and text and not _is_mark(text, '"'):
            message = f"the local engine takes one ASCII character, or nothing (got {text!r})"
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
        problems.append(Problem("options", f"values and quotes cannot have one mark (got {dialect.separator!r})"))
    if dialect.comment and dialect.comment in (dialect.quote, dialect.escape, dialect.separator[0]):
        message = f"must be another mark than those of values (got {dialect.comment!r})"
        problems.append(Problem("options.comment", message))
    return problems


def text_options(source: Source) -> Mapping[str, str]:
    """The options as Spark takes them, their names in lower case."""
    return {name.lower(): option_text(value) for name, value in source.options.items()}


def _is_separator(text: str) -> bool:
    return 0 < len(text) <= 100 and all(_is_mark(mark) for mark in text)


def _is_mark(text: str, more: str = "") -> bool:
    return len(text) == 1 and text.isascii() and (text not in '"\r\n\0' or text in more)


def _unescaped(text: str) -> str:
    """As Spark reads it."""
    return {r"\t": "\t", r"\\": "\\", "\0": "", r"\u0000": ""}.get(text, text)
