"""The groups that rules name, by values of `by` as texts: reads them and computes the groups' keys."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.arrays import UInt64
from skyband.columns.hashing import hash_columns
from skyband.columns.keyed_frames import plain_type, with_one_zero
from skyband.errors import InputError

GROUP_TYPE = pa.list_(pa.string())

GroupNames = tuple[str | None, ...]
"""The values of `by` of one group as texts, in order; None is null."""


def group_column(name: str, column: pa.Array) -> pa.Array:
    """A column of rules as lists of texts, or single texts if `by` has one column. Raises InputError."""
    kind, types = column.type, pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_list_view(kind)
    try:
        if is_list or types.is_null(kind):
            return column.cast(GROUP_TYPE)
        if not types.is_nested(kind):
            texts = column.cast(pa.string())
            return pa.ListArray.from_arrays(pa.array(range(len(texts) + 1), pa.int32()), texts, mask=texts.is_null())
    except pa.ArrowException as error:
        raise InputError(f"rules.{name}", f"must be a list of texts, the values of `by`: {error}") from error
    raise InputError(f"rules.{name}", f"must be a list of texts, the values of `by` (it is {kind})")


def group_keys(by: pa.Schema, names: Sequence[GroupNames]) -> UInt64:
    """uint64[n]: the keys of groups, equal to those of rows with these values. Raises ArrowException for bad texts."""
    if not names:
        return np.empty(0, np.uint64)
    texts = [pa.array(column, pa.string()) for column in zip(*names, strict=True)]
    return hash_columns([_typed(column, field) for column, field in zip(texts, by, strict=True)])


def group_problem(by: pa.Schema, names: GroupNames) -> str | None:
    """Why a rule's group is invalid; None if it is valid."""
    if not len(by):
        return "must be left out: the query has no `by`, and so only one group"
    if len(names) != len(by):
        columns = f"{len(by)} column{'s' if len(by) > 1 else ''} ({', '.join(by.names)})"
        return f"must have a value for each column of `by`, {columns}: one rule names one group (got {[*names]})"
    for text, field in zip(names, by, strict=True):
        try:
            _typed(pa.array([text], pa.string()), field)
        except pa.ArrowException:
            return f"must have a value of column {field.name!r}, which is {plain_type(field.type)} (got {text!r})"
    return None


def _typed(texts: pa.Array, field: pa.Field) -> pa.Array:
    kind = plain_type(field.type)
    return with_one_zero(pc.cast(texts, kind))
