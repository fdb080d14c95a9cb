"""Sends rows of a query's second table to every shard: in a batch with the plan, in a stream with the rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from skyband.arrays import TIME_MIN
from skyband.columns import record_batch_bytes
from skyband.errors import InputError
from skyband.groups.broadcast_state import RefusedRows
from skyband.operator.operator import Operator
from skyband.operator.static_broadcast_table import WholeTable
from skyband.queries.query import FAIL

from skyband_spark.frames.sharded_plan import SHUFFLE_SCHEMA, ShardedPlan
from skyband_spark.frames.version_checked_pickling import pickled_with_versions


def with_broadcast(packed: Any, plan: ShardedPlan, rows: Any) -> Any:
    """Packed rows and, for every row of a second stream, a packed row for each shard.

    These rows carry no time, so that a quiet second stream does not hold back the watermark.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if len(batch):
                same = {"first": TIME_MIN, "rows": 0, "broadcast": record_batch_bytes.to_bytes(batch)}
                each = [{**same, "shard": shard} for shard in range(plan.shards)]
                yield pa.RecordBatch.from_pylist(each, schema=SHUFFLE_SCHEMA)

    return packed.union(rows.mapInArrow(pickled_with_versions(pack, plan), from_arrow_schema(SHUFFLE_SCHEMA)))


def take(operator: Operator, pieces: Sequence[bytes]) -> RefusedRows:
    """Give an operator rows of a second table that arrived together; returns those refused, which it must report.

    Every shard refuses the same rows, so only the first reports them. Raises InputError at the first where they end the
    run.
    """
    rows = pa.Table.from_batches([record_batch_bytes.from_bytes(piece) for piece in pieces])
    return _of_first_shard(operator, operator.broadcast(rows))


def take_whole(operator: Operator, table: WholeTable) -> RefusedRows:
    """As `take`, with all rows of a table that is not a stream; the operator takes the new ones."""
    return _of_first_shard(operator, operator.broadcast_whole(table))


def _of_first_shard(operator: Operator, refused: RefusedRows) -> RefusedRows:
    if refused and operator.query.bad_rows == FAIL:
        raise InputError(refused[0][0].argument, f"{refused[0][0].message}: {refused[0][1]}")
    return refused if operator.shard is None or operator.shard.number == 0 else []
