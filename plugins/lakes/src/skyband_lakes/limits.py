"""Checks for names and times that tables of several formats cannot hold, before anything is written."""

from typing import TYPE_CHECKING

from skyband.errors import ConfigError, Problem
from skyband.instants import python_values

if TYPE_CHECKING:
    import pyarrow as pa

_IGNORING_CASE = ("sqlite", "duckdb", "mysql", "mariadb", "Delta")
"""Formats in which column names that differ only in case are equal."""
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""Microseconds of the first and last time of Python's datetime, which drivers use for instants."""


def name_problem(name: str, longest: int | None) -> str | None:
    """The problem with a name, or None. longest: the most bytes of a name; None: no limit."""
    if not name or "\0" in name:
        return f"{name!r} cannot be a name: choose another"
    size = len(name.encode())
    if longest is not None and size > longest:
        return f"{name!r} has {size} bytes, more than the {longest} that a name may have: choose a shorter one"
    return None


def check_columns(schema: "pa.Schema", kind: str, longest: int | None = None, place: str = "table") -> None:
    """Raise ConfigError for the key `place` if a database or table of this kind cannot have columns of these names."""
    spellings: dict[str, str] = {}
    for name in schema.names:
        if problem := name_problem(name, longest):
            raise ConfigError(Problem(place, f"column {problem}, by AS in source.select"))
        other = spellings.setdefault(name.lower() if kind in _IGNORING_CASE else name, name)
        if other != name:
            message = f"the columns {other!r} and {name!r} are one name in {kind}: rename one by AS in source.select"
            raise ConfigError(Problem(place, message))


def check_years(name: str, values: "pa.ChunkedArray") -> None:
    """Raise ConfigError if a time, in microseconds, is out of range for Python drivers. O(n)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = values.cast(pa.int64())
    beyond = values.filter(pc.or_(pc.less(numbers, _FIRST), pc.greater(numbers, _LAST)))
    if len(beyond):
        message = f"the table takes the years 1 to 9999 (column {name!r}, value {python_values(beyond)[0]})"
        raise ConfigError(Problem("table", f"{message}: leave such rows out with source.where"))
