"""Keys that identify an object by one column or by several together, such as `object = ["host", "url"]`."""

from typing import Any

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64, UInt64
from skyband.columns.hashing import hash_column, hash_columns
from skyband.columns.ids import PLAIN, is_plain, to_ids
from skyband.columns.keyed_frames import plain_type
from skyband.config.literals import literal
from skyband.config.parameters import checked
from skyband.queries.query import Input

Columns = str | tuple[str, ...]
COLUMNS = "column | columns"
"""The type of such a key, in words."""


def identity(*, help: str) -> Any:
    """A field of a query that names one column, or several that identify something together."""
    return checked(type=COLUMNS, check=_check, converter=one_or_more, help=help)


def one_or_more(value: Any) -> Any:
    """A list of names as a tuple; a list of one name as that name."""
    if not isinstance(value, list | tuple):
        return value
    return value[0] if len(value) == 1 else tuple(value)


def _check(value: Any) -> str | None:
    names = value if isinstance(value, tuple) else (value,)
    if not names or not all(isinstance(name, str) and name for name in names):
        return f"must be a column name or a list of them (got {literal(value)})"
    return "names a column twice" if len(set(names)) < len(names) else None


def columns_of(named: Columns) -> tuple[str, ...]:
    """The named columns, as a tuple."""
    return named if isinstance(named, tuple) else (named,)


def several(named: Columns) -> tuple[str, ...]:
    """The columns if there are several, else none."""
    return named if isinstance(named, tuple) else ()


def identity_inputs(key: str, named: Columns) -> tuple[Input, ...]:
    """The columns as the query's inputs."""
    return tuple(Input(key, name, PLAIN, is_plain) for name in columns_of(named))


def identity_names(name: str, named: Columns) -> tuple[str, ...]:
    """Names of the object's columns in answers: this name for one column, the columns' own names for several."""
    return several(named) or (name,)


def identity_fields(name: str, named: Columns, schema: pa.Schema) -> list[pa.Field]:
    """The columns of the answers that identify the object."""
    kinds = [plain_type(schema.field(column).type) for column in columns_of(named)]
    return [pa.field(*pair) for pair in zip(identity_names(name, named), kinds, strict=True)]


def missing(columns: list[pa.Array]) -> Array:
    """bool[n]: rows where one of the columns is null."""
    null = np.zeros(len(columns[0]), bool)
    for column in columns:
        if column.null_count:
            null |= column.is_null().to_numpy(zero_copy_only=False)
    return null


def to_keys(columns: list[pa.Array]) -> tuple[Int64, UInt64, pa.Array | None]:
    """int64[n], an id for each row; uint64[n], a hash; and the values behind the ids, if one column needs them.

    The id of several columns is their combined hash: `RankedRows` restores their values.
    """
    if len(columns) == 1:
        ids, names = to_ids(columns[0])
        return ids, hash_column(columns[0]), names
    hashes = hash_columns(columns)
    return hashes.view(np.int64), hashes, None


def answer_ids(answers: pa.Table, name: str, named: Columns) -> Int64:
    """int64[n]: the ids of the objects in answers, which break ties in ranking."""
    columns = [answers.column(column).combine_chunks() for column in identity_names(name, named)]
    return to_keys(columns)[0]
