"""The functions of Spark's SQL that `source.select` knows without Spark: of one column, with Spark's own answers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from skyband.columns.keyed_frames import decoded, plain_type
from skyband.errors import InputError
from skyband.job.sources.spark_ddl import ZONE


@frozen
class ColumnFunction:
    """What a column may be, what comes of it, and how: of a name for errors and a column, the new column."""

    of: str
    accepts: Callable[[pa.DataType], bool]
    type: pa.DataType
    evaluate: Callable[[str, pa.Array], pa.Array]


def _is_whole(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) and plain_type(kind) != pa.uint64()


def _instants(microseconds: int, name: str, column: pa.Array) -> pa.Array:
    """Whole numbers since 1970 as times. Raises InputError with the first that is no time."""
    numbers = decoded(column).cast(pa.int64())
    most = (2**63 - 1) // microseconds
    beyond = pc.or_(pc.greater(numbers, most), pc.less(numbers, -most)).fill_null(False)
    if pc.any(beyond).as_py():
        rows = np.flatnonzero(beyond.to_numpy(zero_copy_only=False))
        row = int(rows[0])
        message = f"{numbers[row].as_py()} is too far from 1970: is it in a smaller unit?"
        raise InputError(name, message, row)
    return pc.multiply(numbers, pa.scalar(microseconds, pa.int64())).cast(pa.timestamp("us", ZONE))


def _since_1970(microseconds: int) -> ColumnFunction:
    return ColumnFunction("whole numbers", _is_whole, pa.timestamp("us", ZONE), partial(_instants, microseconds))


COLUMN_FUNCTIONS = {
    "timestamp_seconds": _since_1970(1_000_000),
    "timestamp_millis": _since_1970(1_000),
    "timestamp_micros": _since_1970(1),
}
"""By name, in lower case."""


def problem_of(function: str, column: str, kind: Any) -> str | None:
    """What is wrong with a column of this type, for a function of `COLUMN_FUNCTIONS`."""
    entry = COLUMN_FUNCTIONS[function]
    return None if entry.accepts(kind) else f"{function} is of {entry.of} here, and column {column!r} is {kind}"
