"""Integers as their own ids, and back; loads no compiled code."""

from functools import lru_cache

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64

SIGN = np.uint64(1 << 63)


def is_integer_id(kind: pa.DataType) -> bool:
    """Whether ids determine values of this type and keep their order: integers."""
    return pa.types.is_integer(kind)


def integers_of(ids: Int64, kind: pa.DataType) -> pa.Array:
    """The integers for ids from `to_ids`."""
    if kind == pa.uint64():
        return numbers_column(ids.view(np.uint64) ^ SIGN)
    plain = numbers_column(ids)
    return plain if kind == pa.int64() else plain.cast(kind)


_arrow_type = lru_cache(maxsize=64)(pa.from_numpy_dtype)


def numbers_column(values: Array) -> pa.Array:
    """Numbers as a column that shares their memory: `pa.array` would import pandas if installed."""
    shared = np.ascontiguousarray(values)
    return pa.Array.from_buffers(_arrow_type(shared.dtype), len(shared), [None, pa.py_buffer(shared)])
