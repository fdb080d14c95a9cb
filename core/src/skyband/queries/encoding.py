"""From a source's rows to frames: what every query shares of reading times, groups and ids."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.arrays import Int64
from skyband.errors import InputError
from skyband.frames import GROUP, TIME, by_column
from skyband.hashing import hash_columns
from skyband.queries.query import Encoded, Query

ONE_GROUP = np.uint64(0)
_DAY = 86_400_000_000


def encode(query: Query, batch: pa.RecordBatch) -> Encoded:
    """A source batch as a frame: time (int64), group (uint64), the query's columns, then `by.0`, `by.1`, ….

    Rows the query must leave out are not in it, and counted by reason. Stateless, so it runs where the rows are.
    Raises InputError where a time is null.
    """
    columns, masks = query.encode_columns(batch)
    times = microseconds(query.time, batch.column(query.time))
    grouping = [batch.column(name) for name in query.by]
    groups = hash_columns(grouping) if grouping else np.full(len(batch), ONE_GROUP)
    frame = pa.RecordBatch.from_pydict(
        {
            TIME: times,
            GROUP: groups,
            **columns,
            **{by_column(number): _compact(column) for number, column in enumerate(grouping)},
        }
    )
    left_out = np.zeros(len(batch), bool)
    dropped = {}
    for reason, mask in masks.items():
        dropped[reason] = int(np.count_nonzero(mask & ~left_out))
        left_out |= mask
    return Encoded(frame.filter(pa.array(~left_out)) if left_out.any() else frame, dropped)


def microseconds(name: str, column: pa.Array) -> Int64:
    """int64[n]: microseconds since the epoch (floored), days as their midnight, integers as they are."""
    if column.null_count:
        row = int(column.is_null().to_numpy(zero_copy_only=False).argmax())
        raise InputError(name, "is null; every row needs a time: filter such rows or fill them in", row)
    kind = column.type
    if pa.types.is_date(kind):
        return column.cast(pa.date32()).cast(pa.int32()).to_numpy().astype(np.int64) * _DAY
    if pa.types.is_timestamp(kind):
        values = column.cast(pa.int64()).to_numpy()
        up, down = {"s": (1_000_000, 1), "ms": (1_000, 1), "us": (1, 1), "ns": (1, 1_000)}[kind.unit]
        return values * up if up > 1 else values // down if down > 1 else values
    return column.cast(pa.int64()).to_numpy()


def at_field(query: Query, schema: pa.Schema) -> pa.Field:
    """The result's `at` column: a moment in the type of the source's time, or a row count."""
    kind = schema.field(query.time).type
    if query.rows:
        return pa.field("at", pa.int64())
    return pa.field("at", pa.timestamp("us", kind.tz if pa.types.is_timestamp(kind) else None))


def moments(at: Int64, kind: pa.DataType) -> pa.Array:
    """Microseconds (or row counts) as the type of the `at` column."""
    return pa.array(at, pa.int64()).cast(kind)


def _compact(column: pa.Array) -> pa.Array:
    kind = column.type
    return pc.dictionary_encode(column) if pa.types.is_string(kind) or pa.types.is_large_string(kind) else column
