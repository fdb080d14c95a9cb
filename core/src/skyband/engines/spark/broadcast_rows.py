"""Rows of a query's second table, which every shard is given: of a batch with the plan, of a stream beside its rows."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from skyband.arrays import TIME_MIN
from skyband.columns import record_batch_bytes
from skyband.engines.spark.sharded_plan import SHUFFLE_SCHEMA, ShardedPlan
from skyband.engines.spark.version_checked_pickling import pickled_with_versions
from skyband.errors import ConfigError, InputError, Problem
from skyband.groups.execution import execution_of
from skyband.operator.operator import Operator
from skyband.queries.query import BAD, FAIL, Query


def check_broadcast(query: Query, schema: pa.Schema) -> None:
    """Raise ConfigError where the query takes no second table, InputError where such a table has not its columns."""
    state = execution_of(query).broadcast_state()
    if state is None:
        raise ConfigError(Problem(query.broadcast or "rules", f"{query.kind}, as it is asked, takes no second table"))
    state.take(schema.empty_table(), None)


def to_bytes(table: pa.Table) -> bytes:
    """Rows as bytes, for `take`."""
    return record_batch_bytes.to_bytes(_whole(table))


def with_broadcast(packed: Any, plan: ShardedPlan, rows: Any) -> Any:
    """Packed rows and, for every row of a second stream, a packed row for each shard.

    They say nothing of time, so that a quiet second stream holds nothing back.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if len(batch):
                same = {"first": TIME_MIN, "rows": 0, "broadcast": record_batch_bytes.to_bytes(batch)}
                each = [{**same, "shard": shard} for shard in range(plan.shards)]
                yield pa.RecordBatch.from_pylist(each, schema=SHUFFLE_SCHEMA)

    return packed.union(rows.mapInArrow(pickled_with_versions(pack, plan), from_arrow_schema(SHUFFLE_SCHEMA)))


def take(operator: Operator, pieces: Sequence[bytes]) -> dict[str, int]:
    """Give an operator the rows of a second table that came together; returns how many are bad, by reason.

    Every shard refuses the same ones, so one of them counts. Raises InputError at the first where they end the run.
    """
    refused = operator.broadcast(pa.Table.from_batches([record_batch_bytes.from_bytes(piece) for piece in pieces]))
    if refused and operator.query.bad_rows == FAIL:
        raise InputError(refused[0][0].argument, f"{refused[0][0].message}: {refused[0][1]}")
    return {BAD: len(refused)} if refused and (operator.shard is None or operator.shard.number == 0) else {}


def _whole(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
