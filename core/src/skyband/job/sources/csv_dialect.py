"""How CSV is written: RFC 4180 unless the options of Spark's names say otherwise, on both engines alike."""

from attrs import frozen

from skyband.errors import Problem
from skyband.job.model import Source, option_text

OPTIONS = ("header", "sep", "delimiter", "quote", "escape", "multiLine", "enforceSchema", "inferSchema", "nullValue")
"""The options of Spark that are known here; letters of any case."""

NONE = 256
"""In the place of a byte that is not used."""


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

    @property
    def bytes(self) -> tuple[int, int, int]:
        """Separator, quote and escape, NONE where it has none."""
        escape = "" if self.escape == self.quote else self.escape
        return ord(self.separator), ord(self.quote) if self.quote else NONE, ord(escape) if escape else NONE


def dialect_of(source: Source) -> Dialect:
    """That of a source whose options have no `problems`."""
    options = {name.lower(): option_text(value) for name, value in source.options.items()}
    return Dialect(
        separator=_unescaped(options.get("sep", options.get("delimiter", ","))),
        quote=_unescaped(options.get("quote", '"')),
        escape=_unescaped(options.get("escape", "")),
        multi_line=options.get("multiline") != "false",
        header=options.get("header") == "true",
        by_position=options.get("enforceschema") == "true",
        infers=options.get("inferschema") == "true",
        null=options.get("nullvalue", ""),
    )


def dialect_problems(source: Source) -> list[Problem]:
    """What Arrow's reader of CSV cannot do though Spark's can."""
    problems = []
    for name, value in source.options.items():
        key, text = name.lower(), _unescaped(option_text(value))
        message = None
        if key in ("sep", "delimiter") and not _is_mark(text):
            message = f"the local engine takes one ASCII character between values (got {text!r})"
        elif key in ("quote", "escape") and text and not _is_mark(text, '"'):
            message = f"the local engine takes one ASCII character, or nothing (got {text!r})"
        elif key in ("header", "multiline", "enforceschema", "inferschema") and text not in ("true", "false"):
            message = f"must be true or false (got {text!r})"
        if message is not None:
            problems.append(Problem(f"options.{name}", message))
    if problems:
        return problems
    dialect = dialect_of(source)
    if dialect.separator in (dialect.quote, dialect.escape):
        problems.append(Problem("options", f"values and quotes cannot have one mark (got {dialect.separator!r})"))
    return problems


def _is_mark(text: str, more: str = "") -> bool:
    return len(text) == 1 and text.isascii() and (text not in '"\r\n\0' or text in more)


def _unescaped(text: str) -> str:
    """As Spark reads it."""
    return {r"\t": "\t", r"\\": "\\", "\0": "", r"\u0000": ""}.get(text, text)
