"""Checks on a frame from a state: its columns hold what a query's `encode_columns` makes, and nothing else.

Anyone may have written a state. Places that a processor uses and bounded numbers of a backend are checked here,
before compiled code uses them.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from skyband.arrays import Array
from skyband.errors import InputError, SnapshotError
from skyband.state_validation import StateReader


def check_whole(frame: pa.RecordBatch, *names: str) -> None:
    """Raise SnapshotError if one of these columns, or a list in it, has a null."""
    for name in names:
        column = frame.column(name)
        nested = pa.types.is_nested(column.type)
        if column.null_count or (nested and column.flatten().null_count):
            raise SnapshotError(f"contradicts itself: {name}: must not have nulls")


def check_numbers(
    frame: pa.RecordBatch, name: str, *, at_least: float | None = None, at_most: float | None = None
) -> Array:
    """A column of numbers, within the bounds, without null or, if there are bounds, NaN; otherwise SnapshotError."""
    check_whole(frame, name)
    values: Array = frame.column(name).to_numpy(zero_copy_only=False)
    return StateReader({name: values}).column(name, values.dtype, at_least=at_least, at_most=at_most)


def check_finite(frame: pa.RecordBatch, name: str) -> Array:
    """As `check_numbers`, for a column without infinite values."""
    most = float(np.finfo(np.float64).max)
    return check_numbers(frame, name, at_least=-most, at_most=most)


def check_named(frame: pa.RecordBatch) -> None:
    """Raise SnapshotError if a row has no name, or nothing that orders its carried columns."""
    check_whole(frame, *(name for name in ("name", "carry.tie") if name in frame.schema.names))


@contextmanager
def refused_as_damage() -> Iterator[None]:
    """Convert InputErrors of row checks to SnapshotErrors, for rows from a state."""
    try:
        yield
    except InputError as error:
        raise SnapshotError(f"contradicts itself: it holds rows that no source has: {error}") from error
