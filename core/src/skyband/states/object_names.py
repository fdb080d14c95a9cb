"""The values of objects that a backend knows by ids; a state holds them next to the backend's own arrays."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64
from skyband.columns import record_batch_bytes
from skyband.columns.integer_ids import integers_of, is_integer_id, numbers_column
from skyband.errors import SnapshotError
from skyband.state_validation import StateReader

NAMES, PHASE = "names", "phase"
_LONGEST = 2**61
"""The longest step between moments."""


def values_of(frames: Sequence[pa.RecordBatch], ids: Int64) -> pa.Array:
    """The objects' values, from the names in several states. Raises SnapshotError if no state names one."""
    kind = frames[0].schema.field("name").type
    if is_integer_id(kind):
        return integers_of(ids, kind)
    frame = together(frames)
    own_ids = _ids(frame)
    places = np.minimum(np.searchsorted(own_ids, ids), max(len(own_ids) - 1, 0))
    if len(ids) and (not len(own_ids) or (own_ids[places] != ids).any()):
        raise SnapshotError("contradicts itself: the state ranks an object without a name")
    return frame.column("name").take(numbers_column(places))


def together(frames: Sequence[pa.RecordBatch], used: Int64 | None = None) -> pa.RecordBatch:
    """The names of several states, each id once; only for `used` ids if given."""
    frame = pa.Table.from_batches(list(frames)).combine_chunks().to_batches()
    if not frame:
        return frames[0]
    ids = _ids(frame[0])
    order = np.argsort(ids, kind="stable")
    once = np.append(True, ids[order][1:] != ids[order][:-1])[: len(order)]
    places = order[once] if used is None else order[once & np.isin(ids[order], used)]
    return frame[0].take(numbers_column(places))


def extra_arrays(names: pa.RecordBatch, phase: int) -> dict[str, Array]:
    """The arrays of a ranker's state that are not the ranker's own; `skyband.restore` ignores them."""
    return {
        NAMES: np.frombuffer(record_batch_bytes.to_bytes(names), np.uint8),
        PHASE: np.array([phase] if phase else [], np.int64),
    }


_SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.int64())])
"""The names in a snapshot of a ranker outside of a query: the integer ids it was given."""


def phase_in(arrays: Mapping[str, Array]) -> int:
    """The shift between the query's times and the backend's. Raises SnapshotError if it is not a length."""
    if PHASE not in arrays:
        return 0
    phase = StateReader(arrays).column(PHASE, np.int64, at_least=0, at_most=_LONGEST).tolist()
    if len(phase) > 1:
        raise SnapshotError(f"contradicts itself: {PHASE}: must have at most one value")
    return int(phase[0]) if phase else 0


def names_in(arrays: Mapping[str, Array]) -> pa.RecordBatch:
    """id int64, ascending, and name. Raises SnapshotError if a state's names are invalid."""
    if NAMES not in arrays:
        return pa.RecordBatch.from_arrays([numbers_column(_NO_IDS)] * 2, schema=_SCHEMA)
    packed = StateReader(arrays).column(NAMES, np.uint8)
    frame = record_batch_bytes.from_bytes(packed.data)
    if frame.schema.names != ["id", "name"] or frame.schema.field("id").type != pa.int64():
        raise SnapshotError("contradicts itself: its names must be columns id and name")
    ids = _ids(frame)
    if frame.column("id").null_count or (ids[1:] <= ids[:-1]).any():
        raise SnapshotError("contradicts itself: names must be in the order of their ids, each once")
    return frame


def _ids(frame: pa.RecordBatch) -> Int64:
    """The column `id` from its buffer: `to_numpy` would import pandas if installed."""
    column = frame.column("id")
    return np.frombuffer(column.buffers()[1], np.int64, len(column), 8 * column.offset) if len(column) else _NO_IDS


_NO_IDS = np.empty(0, np.int64)
