"""The column that tells which of two streams a row belongs to."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.arrays import Int8
from skyband.columns.keyed_frames import decoded
from skyband.errors import InputError

SIDES = ("left", "right")
WHAT = "text, an integer or a boolean"


def is_side(kind: pa.DataType) -> bool:
    """Whether a column of this type can be a side."""
    return pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind)


def sides_of(column: pa.Array) -> Int8:
    """int8[n]: 0 for left, 1 for right; null is 0. Raises InputError for anything else."""
    column = decoded(column)
    if pa.types.is_string(column.type):
        numbers = pc.index_in(column, value_set=pa.array(SIDES))
        wrong = pc.and_(numbers.is_null(), column.is_valid())
    else:
        numbers = column.cast(pa.int64())
        wrong = pc.and_(pc.or_(pc.less(numbers, 0), pc.greater(numbers, 1)), column.is_valid()).fill_null(False)
    if pc.any(wrong).as_py():
        row = pc.index(wrong, True).as_py()
        message = 'must be "left" or "right", 0 or 1, false or true'
        rows = np.flatnonzero(wrong.to_numpy(zero_copy_only=False))
        raise InputError("side", f"{message} (got {column[row].as_py()!r})", row, rows=rows, reason=message)
    sides: Int8 = numbers.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int8)
    return sides
