"""States in which the group of null has the key of the empty text's, as it once had: it gets the one it has now."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, UInt64
from skyband.columns import keyed_frames
from skyband.columns.hashing import hash_columns
from skyband.columns.rows_behind_answers import RankedRowsOfGroups
from skyband.kernels.sorted_arrays import among

_CARRIED = f"small_groups.carried {RankedRowsOfGroups.group_place} data"
"""Of the rows behind the answers of small groups, the column of groups."""


def with_keys_of_now(arrays: Mapping[str, Array], values: pa.RecordBatch) -> Mapping[str, Array]:
    """The arrays of an operator's groups, `values` their grouping columns in the order of the array `key`.

    A key changes in its lower bits only, those that no shard is chosen by: the group stays in its shard, and, but by a
    coincidence that the reader of the arrays refuses, at its place in their order.
    """
    keys = arrays.get("key")
    if not any(column.null_count for column in values.columns) or keys is None or len(keys) != len(values):
        return arrays
    now = _keys(values.columns)
    changed = np.flatnonzero(keys != now)
    if not len(changed):
        return arrays
    before, after = keys[changed], now[changed]
    renamed = dict(arrays)
    for name, array in arrays.items():
        if name == _CARRIED:
            renamed[name] = _renamed(array.view(np.uint64), before, after).view(np.uint8)
        elif (array.dtype == np.uint64 and name.rpartition(".")[2] == "group") or name in ("key", "processors.key"):
            renamed[name] = _renamed(array, before, after)
    return renamed


def frame_with_keys_of_now(frame: pa.RecordBatch, by: int) -> pa.RecordBatch:
    """A frame out of a state, of a query by so many columns."""
    columns = [frame.column(keyed_frames.by_column(number)) for number in range(by)]
    if not any(column.null_count for column in columns):
        return frame
    place = frame.schema.get_field_index(keyed_frames.GROUP)
    return frame.set_column(place, keyed_frames.GROUP, pa.array(_keys(columns)))


def _keys(columns: list[pa.Array]) -> UInt64:
    return hash_columns([keyed_frames.decoded(column) for column in columns])


def _renamed(keys: UInt64, before: UInt64, after: UInt64) -> UInt64:
    """The keys with each of `before` (ascending) in it as the one of `after`."""
    of_before = among(keys, before)
    renamed: UInt64 = keys.copy()
    renamed[of_before] = after[np.searchsorted(before, keys[of_before])]
    return renamed
