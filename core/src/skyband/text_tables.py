"""Tables and numbers for people: drawn on a terminal, plain aligned text everywhere else."""

import datetime
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

from skyband.instants import Instant, instant


def is_terminal(out: IO[str] | None) -> bool:
    """Whether a person is reading: a terminal that can move its cursor."""
    return out is not None and out.isatty() and os.environ.get("TERM") != "dumb"


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[Any]],
    out: IO[str] | None = None,
    styles: Mapping[str, str] | None = None,
    spare: Sequence[str] = (),
    flush: Sequence[bool] | None = None,
) -> list[str]:
    """Write a table to `out` (stdout), and return the columns that do not fit.

    styles: by column, for terminals. spare: columns to drop, in this order. flush: which columns to align right;
    None: columns of numbers. If `out` is not a terminal, all columns are written.
    """
    stream = sys.stdout if out is None else out
    cells = [list(row) for row in rows]
    headers = [visible(name) for name in headers]
    right = flush or [bool(cells) and all(_is_number(row[place]) for row in cells) for place in range(len(headers))]
    texts = [[text(value) for value in row] for row in cells]
    room = (width(), _FOLDED) if is_terminal(stream) else (sys.maxsize, sys.maxsize)
    places = fitting(headers, texts, spare, *room)
    fitted, right = [headers[place] for place in places], [right[place] for place in places]
    lines = [[row[place] for place in places] for row in texts]
    if is_terminal(stream):
        _draw(fitted, lines, right, styles or {}, stream)
    else:
        print(*aligned(fitted, lines, right), sep="\n", file=stream)
    return [name for place, name in enumerate(headers) if place not in places and any(row[place] for row in texts)]


def aligned(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """A heading and rows as lines of text, with two blanks between columns."""
    every = [list(headers), *rows]
    widths = [max(len(row[place]) for row in every) for place in range(len(headers))]
    return [
        "  ".join(
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in every
    ]


_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that a terminal interprets: control characters, and marks that change the direction of text."""


def visible(text: str, keep: str = "") -> str:
    """Untrusted text, safe to write to a terminal: characters that it would interpret are escaped as in Python.

    keep: characters that are not escaped.
    """
    return _UNSEEN.sub(lambda match: match[0] if match[0] in keep else ascii(match[0])[1:-1], text)


def text(value: Any) -> str:
    """A value in a cell: times without empty parts, counts as integers, fractions with at most four places."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    if isinstance(value, datetime.datetime):
        value = Instant(value, cycles=0)
    return value.plain() if isinstance(value, Instant) else visible(str(value))


def count(number: float | None) -> str:
    """1234567 as 1,234,567."""
    return "?" if number is None else f"{number:,.0f}"


def size(number: float) -> str:
    """Bytes in a suitable unit."""
    for unit in ("B", "KB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def moment(microseconds: int | None) -> str:
    """Microseconds since the epoch as a date and time."""
    return "none yet" if microseconds is None else instant(microseconds).isoformat(" ", "seconds")


def can_show(marks: str, out: IO[str] | None = None) -> bool:
    """Whether the encoding of `out` (stdout) has these characters."""
    try:
        marks.encode(getattr(out or sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def width() -> int:
    """Columns of the terminal, or as COLUMNS says; 80 without both."""
    return shutil.get_terminal_size((80, 24)).columns


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def fitting(
    headers: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str], width: int, folded: int
) -> list[int]:
    """The columns with content; `spare` ones are dropped in order until the rest, folded, fits `width`."""
    wide = [min(max(map(len, column)), folded) for column in zip(headers, *rows, strict=True)]
    places = [place for place, name in enumerate(headers) if name or any(row[place] for row in rows)]
    for name in spare:
        if sum(wide[place] + 2 for place in places) - 2 <= width:
            break
        places = [place for place in places if headers[place] != name]
    return places


_FOLDED = 32
"""The most characters of a cell for which a column needs room on a terminal: longer cells are folded."""


def _draw(
    head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], styles: Mapping[str, str], out: IO[str]
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, show_edge=False, header_style="bold")
    for name, flush in zip(head, right, strict=True):
        table.add_column(Text(name), justify="right" if flush else "left", style=styles.get(name, ""), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))  # Text, because a value may hold rich's markup
    Console(file=out, width=width()).print(table)
