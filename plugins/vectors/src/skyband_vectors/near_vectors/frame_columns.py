"""Encodes columns of vectors, lists of numbers of any type, for vector matchers."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.arrays import Array
from skyband.columns.hashing import hash_column
from skyband.columns.rows import Rows
from skyband.errors import SnapshotError

from skyband_vectors.near_vectors.ml_vectors import is_ml_vector, lists_of_ml_vectors
from skyband_vectors.role import Float32

WHAT = "a list of numbers"
NULL, LENGTH, FINITE, ZERO = "null vector", "vector of another length", "vector not finite", "vector of zeros"
REASONS = (NULL, LENGTH, FINITE, ZERO)
"""Why a row is left out; a null among the entries makes a null vector."""


def is_vector(kind: pa.DataType) -> bool:
    """Whether a column of this type can hold vectors: lists of numbers, or vectors of Spark ML."""
    if is_ml_vector(kind):
        return True
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        return False
    return bool(pa.types.is_integer(kind.value_type) or pa.types.is_floating(kind.value_type))


def encode_vectors(
    column: pa.Array, dimensions: int, directed: bool
) -> tuple[dict[str, pa.Array], dict[str, Array]]:  # fmt: skip
    """Frame columns vector (lists of float32) and tie (uint64), and masks (bool[n]) of rows to drop, by reason.

    Entries are rounded to float32; what does not fit is not finite. directed: zeros have no similarity. `tie` is a hash
    of the entries, to order vectors with equal time and id; -0.0 is 0.0. Each row has at most one reason. O(bytes).
    """
    if is_ml_vector(column.type):
        lists = lists_of_ml_vectors(column, dimensions)
    else:
        lists = column.cast(pa.large_list(column.type.value_type))
    sizes = pc.list_value_length(lists).fill_null(0).to_numpy()
    flat = pc.list_flatten(lists)
    owners = np.repeat(np.arange(len(column)), sizes)
    null = lists.is_null().to_numpy(zero_copy_only=False)
    if flat.null_count:
        null[owners[flat.is_null().to_numpy(zero_copy_only=False)]] = True
    other = (sizes != dimensions) & ~null
    with np.errstate(over="ignore"):
        numbers = flat.to_numpy(zero_copy_only=False).astype(np.float32)
    fine = ~(null | other)
    if not fine.all():
        numbers = numbers[fine[owners]]
    entries = numbers.reshape(-1, dimensions)
    infinite, zero = (np.zeros(len(column), bool) for _ in range(2))
    infinite[fine] = ~np.isfinite(entries).all(axis=1)
    zero[fine] = directed & ~entries.any(axis=1)
    offsets = np.append(0, np.cumsum(np.where(fine, dimensions, 0)))
    frame = {
        "vector": pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(entries.reshape(-1))),
        "tie": pa.array(_ties(entries, fine)),
    }
    return frame, {NULL: null, LENGTH: other, FINITE: infinite, ZERO: zero & ~infinite}


def _ties(entries: Float32, fine: Array) -> Array:
    """uint64[n]: a hash of the vector of each row where `fine`, 0 elsewhere."""
    plain = np.ascontiguousarray(entries + np.float32(0))  # -0.0 + 0.0 is 0.0
    kind = pa.binary(plain.shape[1] * plain.itemsize)
    ties = np.zeros(len(fine), np.uint64)
    if len(plain):
        ties[fine] = hash_column(pa.Array.from_buffers(kind, len(plain), [None, pa.py_buffer(plain)]))
    return ties


def vectors_of_rows(rows: Rows) -> Float32:
    """The vectors of a frame's rows, float32[n, dimensions], flattened once for all slices of a frame."""
    vectors, start, stop = rows.once(_all_vectors)
    return vectors[start:stop]


def _all_vectors(rows: Rows) -> Float32:
    return vectors_of_lists(rows["vector"], -1)


def vectors_of_lists(lists: Any, dimensions: int) -> Float32:
    """The vectors of a frame's column, float32[n, dimensions]; -1: as many as the lists have, at least one."""
    vectors: Float32 = lists.flatten().to_numpy().reshape(len(lists), dimensions)
    return vectors


def check_vectors(frame: pa.RecordBatch, dimensions: int, directed: bool) -> None:
    """Raise SnapshotError if a frame from a state has vectors that no source gives."""
    _, masks = encode_vectors(frame.column("vector"), dimensions, directed)
    for reason, mask in masks.items():
        if mask.any():
            raise SnapshotError(f"contradicts itself: vector: row {int(mask.argmax())} has a {reason}")
