"""Several groupings of one stream at once, as SQL's GROUPING SETS: `by = [["client"], []]` is by client and in total.

Each row counts in one group of each set. A group's name has the columns of all sets, null where its set lacks one, and
`grouping`, which names its set: so a null in the source does not mix up groups of different sets.
"""

from collections.abc import Sequence
from typing import Any

from skyband.config.literals import literal

GROUPING = "grouping"
"""The column that names a group's columns: their names, or "()" for all rows together, as in SQL."""
_SEPARATOR = ", "


class GroupingSets(tuple[str, ...]):
    """The names of the columns that name a group: those of all sets, in order, and then `grouping`."""

    sets: tuple[tuple[str, ...], ...]

    def __new__(cls, sets: Sequence[Sequence[str]]) -> "GroupingSets":
        """Made from the columns of each set."""
        own = super().__new__(cls, (*dict.fromkeys(name for names in sets for name in names), GROUPING))
        own.sets = tuple(tuple(names) for names in sets)
        return own

    def __reduce__(self) -> tuple[Any, ...]:
        return GroupingSets, (self.sets,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupingSets) and self.sets == other.sets

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return repr(self.sets)


def source_columns(by: tuple[str, ...]) -> tuple[str, ...]:
    """The source columns that a query groups by."""
    return tuple(by[:-1]) if isinstance(by, GroupingSets) else by


def sets_of(by: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The columns of each grouping of a query; one grouping unless it has several."""
    return by.sets if isinstance(by, GroupingSets) else (by,)


def grouping_name(columns: Sequence[str]) -> str:
    """The value of `grouping` for groups by these columns."""
    return _SEPARATOR.join(columns) or "()"


def as_group_columns(value: Any) -> Any:
    """The converter of `by`: a name, a list of names, or a list of such lists, for `check_group_columns`."""
    if isinstance(value, GroupingSets):
        return value
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple):
        return value
    if not any(isinstance(entry, list | tuple) for entry in value):
        return tuple(value)
    sets = [(entry,) if isinstance(entry, str) else entry for entry in value]
    plain = all(isinstance(entry, list | tuple) and all(map(_is_name, entry)) for entry in sets)
    return GroupingSets(sets) if plain else value


def check_group_columns(value: Any) -> str | None:
    """The check of `by`."""
    if isinstance(value, GroupingSets):
        return _check_sets(value.sets)
    if not isinstance(value, tuple) or not all(map(_is_name, value)):
        message = 'must be a column name, a list of them, or of lists of them, such as [["client"], []]'
        return f"{message} (got {literal(value)})"
    return "names a column twice" if len(set(value)) < len(value) else None


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _check_sets(sets: tuple[tuple[str, ...], ...]) -> str | None:
    if any(len(set(names)) < len(names) for names in sets):
        return "names a column twice in one set"
    if len({frozenset(names) for names in sets}) < len(sets):
        return "lists a set of columns twice"
    if len(sets) == 1:
        return f"has one set of columns: remove the outer list, {literal(list(sets[0]))}"
    return None
