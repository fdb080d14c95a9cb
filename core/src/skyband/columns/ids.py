"""The int64 ids of objects of any type, which backends use, and back; loads no compiled code.

Integers are their own ids. Other values are identified by their hash: `values_by_id` keeps the values behind it.
"""

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64
from skyband.columns import keyed_frames
from skyband.columns.dictionaries import is_dictionary_of_text, with_wide_codes
from skyband.columns.hashing import hash_column, is_hashable
from skyband.columns.integer_ids import SIGN, integers_of, is_integer_id
from skyband.columns.keyed_frames import plain_type
from skyband.columns.rows import Rows

PLAIN = "a plain value such as a string or a number"
"""The types that `is_plain` accepts, in words."""


def is_plain(kind: pa.DataType) -> bool:
    """Whether values of this type are plain, so that they can name something."""
    return is_hashable(plain_type(kind))


def to_ids(column: pa.Array) -> tuple[Int64, pa.Array | None]:
    """int64[n], an id for each value (any for null), and the values themselves unless ids determine them.

    Integers are their own ids, uint64 less 2^63. Other values are identified by their hash, which is the same on
    every engine.
    """
    if not is_integer_id(plain_type(column.type)):
        names = with_wide_codes(column) if is_dictionary_of_text(column.type) else keyed_frames.decoded(column)
        return hash_column(column).view(np.int64), keyed_frames.with_one_zero(names)
    values = keyed_frames.decoded(column).fill_null(0)
    if values.type == pa.uint64():
        return (values.to_numpy(zero_copy_only=False) ^ SIGN).view(np.int64), None
    return values.cast(pa.int64()).to_numpy(zero_copy_only=False), None


def id_values(rows: Rows, kind: pa.DataType) -> pa.Array:
    """The values that name a frame's rows, from the result of `to_ids`: columns `code` and, if needed, `name`."""
    if is_integer_id(kind):
        return integers_of(rows["code"], kind)
    return values_as(rows["name"], kind)


def values_as(values: pa.Array | Array, kind: pa.DataType) -> pa.Array:
    """Values of a frame's column, where floats are numpy, in their own type."""
    return (pa.array(values) if isinstance(values, np.ndarray) else values).cast(kind)
