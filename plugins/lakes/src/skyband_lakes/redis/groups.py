"""Converts changes for Redis: for each group the members to delete, and the members to set with rows and scores."""

import base64
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attrs import field, frozen
from skyband.instants import python_values
from skyband_jobs.formats import NetChanges

if TYPE_CHECKING:
    import pyarrow as pa

_NULL = "%null"
_AT_ONCE = 1000
"""The most rows of a group in one command: a script can pass on about this many arguments."""


@frozen
class _Group:
    gone: list[str] = field(factory=list)
    rows: list[str] = field(factory=list)
    unscored: list[str] = field(factory=list)
    scores: list[str] = field(factory=list)

    def entries(self, name: str) -> Iterator[str]:
        """Its parts in JSON, each of at most `_AT_ONCE` rows."""
        step = 2 * _AT_ONCE
        for begin in range(0, max(len(self.rows), 2 * len(self.gone), 2 * len(self.unscored), 1), step):
            half, whole = slice(begin // 2, (begin + step) // 2), slice(begin, begin + step)
            yield json.dumps([name, self.gone[half], self.rows[whole], self.unscored[half], self.scores[whole]])


def entries_of(changes: NetChanges, table: str, score: str | None) -> Iterator[str]:
    """The groups of changes for the script. score: the column that sorts the rows of a group."""
    from skyband_jobs.formats.json_rows import json_rows

    groups: dict[str, _Group] = {}
    for name, member in _names(changes.gone, changes.key, table):
        group = groups.setdefault(name, _Group())
        group.gone.append(member)
        group.unscored.append(member)
    scores = [None] * len(changes.rows) if score is None else changes.rows.column(score).to_pylist()
    named = _names(changes.rows, changes.key, table)
    for (name, member), row, value in zip(named, json_rows(changes.rows), scores, strict=True):
        group = groups.setdefault(name, _Group())
        group.rows.extend((member, row))
        if value is None or value != value:
            group.unscored.append(member)
        else:
            group.scores.extend((str(value), member))
    for name, group in groups.items():
        yield from group.entries(name)


def _names(rows: "pa.Table", key: tuple[str, ...], table: str) -> Iterator[tuple[str, str]]:
    """The group of each row, named by all columns of the key but the last, and the row's name in it."""
    columns = [list(map(_text, python_values(rows.column(name)))) for name in key]
    for *parts, member in zip(*columns, strict=True):
        yield ":".join([table, *map(_part, parts)]), _member(member)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _part(text: str | None) -> str:
    """A part of a name between colons."""
    return _NULL if text is None else text.replace("%", "%25").replace(":", "%3A")


def _member(text: str | None) -> str:
    if text is None:
        return _NULL
    return f"%{text}" if text.startswith("%") else text
