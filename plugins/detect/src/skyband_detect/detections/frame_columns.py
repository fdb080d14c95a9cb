"""The frame columns of detections: which counters each row is in, and the hashes of its keys and values."""

from typing import Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, UInt64
from skyband.columns.hashing import hash_columns
from skyband.columns.state_frame_checks import check_named, check_whole
from skyband.errors import SnapshotError
from skyband.queries.carried_columns import carry_columns

from skyband_detect.detections.conditions import rows_by_condition
from skyband_detect.detections.counters import WORD, Counters, bits_column, key_column, value_column


def encode(counters: Counters, carry: tuple[str, ...], batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """The columns of a batch; carry: all columns that answers need of a row."""
    meets = dict(rows_by_condition(counters.wheres, batch))
    columns, whole = dict[str, pa.Array](), dict[tuple[str, ...], Array | None]()
    for name_of, groups in ((key_column, counters.keys), (value_column, counters.values)):
        for number, names in enumerate(groups):
            arrays = [batch.column(name) for name in names]
            columns[name_of(number)] = pa.array(hash_columns(arrays))
            whole[names] = _without_nulls(arrays)
    needs: list[tuple[str | None, tuple[tuple[str, ...], ...]]]
    needs = [(counter.where, (counter.key, counter.values)) for counter in counters.all]
    needs += [(None, (key,)) for key in counters.coming]
    for word in range(counters.words):
        bits: UInt64 = np.zeros(len(batch), np.uint64)
        for bit, (where, columns_without_nulls) in enumerate(needs[word * WORD : (word + 1) * WORD]):
            rows: Any = slice(None) if where is None else meets[where]
            inside = np.uint64(1 << bit)
            for names in columns_without_nulls:
                valid = whole.get(names)
                if valid is not None:
                    inside = inside * valid[rows]
            bits[rows] |= inside
        columns[bits_column(word)] = pa.array(bits)
    return columns | carry_columns(carry, batch)


def check(counters: Counters, frame: pa.RecordBatch) -> None:
    """Raise SnapshotError if a frame from a state has what `encode` never makes."""
    check_named(frame)
    check_whole(frame, *(key_column(number) for number in range(len(counters.keys))))
    check_whole(frame, *(value_column(number) for number in range(len(counters.values))))
    for word in range(counters.words):
        check_whole(frame, bits_column(word))
        used = min(WORD, counters.bits - word * WORD)
        bits = frame.column(bits_column(word)).to_numpy()
        if used < WORD and (bits >> np.uint64(used)).any():
            raise SnapshotError(f"contradicts itself: {bits_column(word)}: there are only {counters.bits} of them")


def _without_nulls(columns: list[pa.Array]) -> Array | None:
    """uint64[n]: 1 for the rows without a null in any of the columns, else 0; None if there are no nulls."""
    valid = [column.is_valid().to_numpy(zero_copy_only=False) for column in columns if column.null_count]
    return np.all(valid, axis=0).astype(np.uint64) if valid else None
