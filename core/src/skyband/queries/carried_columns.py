"""The key `carry`: more columns of the rows behind an answer, returned with it."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.arrays import UInt64
from skyband.columns.hashing import hash_column, hash_columns
from skyband.columns.ids import PLAIN, is_plain
from skyband.columns.keyed_frames import plain_type
from skyband.columns.rows_behind_answers import carried
from skyband.errors import Problem
from skyband.queries.query import Input

TIE = "carry.tie"
"""The frame column that orders rows which differ only in carried values: a hash of those."""


def name_problems(key: str, columns: tuple[str, ...], others: Iterable[str]) -> list[Problem]:
    """Problems of source columns, named by `key`, which have the name of other columns of the answers."""
    names = set(others)
    message = "is also the name of another column of the answers: rename it in the source"
    return [Problem(key, f"{name!r} {message}") for name in columns if name in names]


def carry_inputs(carry: tuple[str, ...], key: str = "carry") -> tuple[Input, ...]:
    """The carried columns, named by `key`, as the query's inputs."""
    return tuple(Input(key, name, f"{PLAIN}, or a list of such", _is_carried) for name in carry)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _is_carried(kind: pa.DataType) -> bool:
    return is_plain(kind.value_type if _is_list(kind) else kind)


def carry_columns(carry: tuple[str, ...], batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """The frame columns of carried values; empty if nothing is carried."""
    carried_arrays = [batch.column(name) for name in carry]
    columns = {carried(number): column.cast(carry_type(column.type)) if _is_list(column.type) else column
               for number, column in enumerate(carried_arrays)}  # fmt: skip
    hashes = [pa.array(_hash_lists(column)) if _is_list(column.type) else column for column in columns.values()]
    return {**columns, TIE: pa.array(hash_columns(hashes))} if columns else {}


def _hash_lists(lists: pa.Array) -> UInt64:
    """uint64[n]: a hash of each list, by its values in order."""
    values = pc.list_flatten(lists)
    offsets = np.append(0, np.cumsum(pc.list_value_length(lists).fill_null(0).to_numpy()))
    places = np.arange(len(values)) - np.repeat(offsets[:-1], np.diff(offsets))
    sums = np.append(np.uint64(0), np.cumsum(hash_columns([pa.array(hash_column(values)), pa.array(places)])))
    hashes: UInt64 = sums[offsets[1:]] - sums[offsets[:-1]]
    hashes[lists.is_null().to_numpy(zero_copy_only=False)] = 1  # an empty list has hash 0
    return hashes


def carry_type(kind: pa.DataType) -> pa.DataType:
    """The type in which answers return values of this type."""
    return pa.list_(plain_type(kind.value_type)) if _is_list(kind) else plain_type(kind)


def carry_fields(carry: tuple[str, ...], schema: pa.Schema) -> list[pa.Field]:
    """The carried columns of the answers."""
    return [pa.field(name, carry_type(schema.field(name).type)) for name in carry]
