"""Checks on a frame out of a state: that its columns hold what a query's `encode_columns` makes, and nothing else.

Anyone may have written a state. What a processor takes as a place, or a backend as a number within bounds, is looked at
here, before compiled code follows it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from skyband.arrays import Array
from skyband.errors import InputError, SnapshotError
from skyband.state_validation import StateReader


def check_whole(frame: pa.RecordBatch, *names: str) -> None:
    """Raise SnapshotError where one of these columns has a null, or a list of it has."""
    for name in names:
        column = frame.column(name)
        nested = pa.types.is_nested(column.type)
        if column.null_count or (nested and column.flatten().null_count):
            raise SnapshotError(f"contradicts itself: {name}: must be without nulls")


def check_numbers(
    frame: pa.RecordBatch, name: str, *, at_least: float | None = None, at_most: float | None = None
) -> Array:
    """A column of numbers, all within the bounds and none null or, where there are bounds, NaN; else SnapshotError."""
    check_whole(frame, name)
    values: Array = frame.column(name).to_numpy(zero_copy_only=False)
    return StateReader({name: values}).column(name, values.dtype, at_least=at_least, at_most=at_most)


def check_finite(frame: pa.RecordBatch, name: str) -> Array:
    """As `check_numbers`, of a column without infinite ones."""
    most = float(np.finfo(np.float64).max)
    return check_numbers(frame, name, at_least=-most, at_most=most)


def check_named(frame: pa.RecordBatch) -> None:
    """Raise SnapshotError where a row has no name, or nothing that orders what it carries."""
    check_whole(frame, *(name for name in ("name", "carry.tie") if name in frame.schema.names))


@contextmanager
def refused_as_damage() -> Iterator[None]:
    """Raise SnapshotError for what a check of rows finds wrong: these come out of a state."""
    try:
        yield
    except InputError as error:
        raise SnapshotError(f"contradicts itself: it holds rows that no source gave: {error}") from error
