"""Stores several states in one set of flat arrays, each under its own prefix."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from skyband.arrays import Array
from skyband.columns import record_batch_bytes
from skyband.state_validation import StateReader

MOST_ROWS = 2**48


def with_prefix(name: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays, renamed `name.…`."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


def without_prefix(name: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays that `with_prefix` renamed, with their own names."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}


def frame_to_array(name: str, frame: pa.RecordBatch) -> dict[str, Array]:
    """A frame as flat arrays; empty if it has no rows."""
    if not len(frame):
        return {}
    return {f"{name} rows": np.array([len(frame)]), **record_batch_bytes.to_arrays(frame, name)}


def frame_from_array(name: str, arrays: Mapping[str, Array], empty: pa.RecordBatch) -> pa.RecordBatch:
    """Inverse of `frame_to_array`; returns `empty`, which has the schema, without rows. Raises SnapshotError."""
    if f"{name} rows" not in arrays:
        return empty
    state = StateReader(arrays)
    rows = state.number(f"{name} rows", at_least=1, at_most=MOST_ROWS)
    others = {key: values for key, values in arrays.items() if key != f"{name} rows"}
    return record_batch_bytes.from_arrays(empty.schema, rows, name, others)
