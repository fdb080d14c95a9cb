"""Fields and checks of keys that several queries share: column names, lists of values, `order`."""

from typing import Any

import pyarrow as pa

from skyband.config.literals import literal
from skyband.config.parameters import checked, choice
from skyband.errors import suggest

LARGEST, SMALLEST = "largest", "smallest"
"""The end of the scores that an answer begins with."""


def column_name(*args: Any, help: str, **options: Any) -> Any:
    """A field of a query that names a column of the source."""
    return checked(*args, type="column", check=is_name, help=help, **options)


def column_names(*, help: str) -> Any:
    """A field of a query that names any number of columns, without duplicates; a single one needs no list."""
    return checked((), type="columns", check=_check_columns, converter=_as_columns, kw_only=True, help=help)


def order_parameter(what: str) -> Any:
    """The field `order`, for a query that ranks `what`."""
    return choice(LARGEST, SMALLEST, default=LARGEST, help=f"which {what} rank first")


def score_order(order: str) -> str:
    """Arrow's name for this order of scores."""
    return "descending" if order == LARGEST else "ascending"


def is_name(value: Any) -> str | None:
    """The check of a field that names a column."""
    return None if isinstance(value, str) and value else f"must be a column name (got {literal(value)})"


def check_names(value: Any) -> str | None:
    """The check of a field that lists names as a column holds them: all text or all integers, without duplicates."""
    if not isinstance(value, tuple) or not value or not all(isinstance(name, str | int) for name in value):
        return f'must be a list of names, such as ["clicks", "views"] (got {literal(value)})'
    if len({type(name) for name in value}) > 1:
        return f"mixes text, numbers, true and false (got {literal(value)})"
    return "lists a name twice" if len(set(value)) < len(value) else None


def as_names(value: Any) -> Any:
    """A list of names as a tuple, for `check_names`."""
    return tuple(value) if isinstance(value, list) else value


def no_column(name: str, schema: pa.Schema) -> str:
    """The message about a missing column, with the closest existing name."""
    return f"the source has no column {name!r}; {suggest(name, schema.names)}"


def _check_columns(value: Any) -> str | None:
    if not isinstance(value, tuple) or not all(isinstance(name, str) and name for name in value):
        return f"must be a column name or a list of them (got {literal(value)})"
    return "names a column twice" if len(set(value)) < len(value) else None


def _as_columns(value: Any) -> Any:
    return (value,) if isinstance(value, str) else as_names(value)
