"""What the operator of one shard does in one micro-batch."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import pandas as pd
import pyarrow as pa
from skyband.columns import keyed_frames, record_batch_bytes
from skyband.errors import InputError
from skyband.operator.bad_rows import late_rows, unreadable_rows
from skyband.operator.metrics import check_sum
from skyband.operator.operator import Operator
from skyband.queries.query import BAD

from skyband_spark.frames import results_and_metrics
from skyband_spark.frames.lent_operators import NeighbourGoneError, RemoteOperator
from skyband_spark.frames.shard_keys import number_of
from skyband_spark.frames.sharded_plan import ShardedPlan, TaskEnds
from skyband_spark.frames.state_store import StateStore
from skyband_spark.frames.worker import load_and_freeze, warn_of_broken_promises


def process_micro_batch(plan: ShardedPlan, store: StateStore, key: int, rows: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Add the packed rows of the shard of this key to its operator, answer the moments they passed, and keep its state.

    Returns the rows of the shard's answers and metrics: they are few, and another Python to unpack them would cost
    each trigger more.
    """
    load_and_freeze(plan)
    shard, pieces, second, end = number_of(key, plan.shards), list[Any](), list[bytes](), TaskEnds(plan.query)
    bad = list[pa.RecordBatch]()
    for packed in rows:
        for row in packed.itertuples(index=False):
            if row.frame is not None:
                pieces.append(row)
            if row.broadcast is not None:
                second.append(row.broadcast)
            if row.bad is not None:
                bad.append(record_batch_bytes.from_bytes(row.bad))
            end.add(row.progress, row.dropped, row.rows)
    frames = [piece.frame for piece in pieces]
    alone = plan.late_rows is not None or plan.broadcast is not None or bool(second)
    remote = None if alone else store.borrow(plan, sum(map(len, frames)))
    if remote is not None:
        with suppress(NeighbourGoneError):  # then it is repeated here
            _put_bad_aside(plan, shard, bad, end)
            remote.add(frames)
            return _finished(plan, store, remote, frames, end)
    operator, late = store.load(plan, shard), list[pa.RecordBatch]()
    for piece in pieces:
        frame = keyed_frames.from_bytes(piece.frame)
        late += late_rows_of(operator, frame, piece.source)
        operator.add(frame)
    fresh = plan.broadcast is not None and not operator.has_whole(plan.broadcast)
    refused = _take_second(plan, operator, second) if fresh or second else []
    if refused:
        end.drop({BAD: len(refused)})
        bad.append(unreadable_rows(plan.query, plan.schema, refused))
    _put_bad_aside(plan, shard, bad, end)
    if plan.late_rows is not None:
        plan.late_rows(shard, pa.concat_batches(late) if late else None)
    return _finished(plan, store, operator, frames, end, late, whole=fresh or bool(second))


def _take_second(plan: ShardedPlan, operator: Operator, second: Sequence[bytes]) -> list[tuple[InputError, str]]:
    """Give the operator new rows of its second table; returns those that it refused."""
    from skyband_spark.frames import broadcast_rows  # on use, as few queries have a second table

    refused = list[tuple[InputError, str]]()
    if plan.broadcast is not None and not operator.has_whole(plan.broadcast):
        refused += broadcast_rows.take_whole(operator, plan.broadcast)
    return [*refused, *(broadcast_rows.take(operator, second) if second else [])]


def _finished(
    plan: ShardedPlan,
    store: StateStore,
    operator: Operator | RemoteOperator,
    frames: Sequence[bytes],
    end: TaskEnds,
    late: Sequence[pa.RecordBatch] = (),
    whole: bool = False,
) -> pd.DataFrame:
    """Answers and metrics of an operator that has its rows; writes its state."""
    answers = operator.step(end.progress, plan.ticking)
    operator.count_dropped(end.dropped)
    watermark, metrics = operator.watermark, operator.take_metrics()
    end.check(metrics.rows_in)
    size = store.commit(operator, frames, whole)  # comes last: until then it can be repeated here
    if plan.late_rows is not None:
        check_sum(metrics.rows_late, sum(map(len, late)), "late rows were written")
    warn_of_broken_promises(plan, metrics.dropped)
    row = results_and_metrics.metrics_row(plan, results_and_metrics.with_metrics(plan, metrics, size, watermark))
    both = [results_and_metrics.answer_rows(plan, answers), row]
    return in_pandas(pa.concat_batches(both))


def _put_bad_aside(plan: ShardedPlan, shard: int, bad: Sequence[pa.RecordBatch], end: TaskEnds) -> None:
    """Write the bad rows of a micro-batch. Raises EngineError if their number is not the counted one."""
    if plan.bad_rows is not None and shard == 0:
        check_sum(end.dropped.get(BAD, 0), sum(map(len, bad)), "bad rows were sent to the task that writes them")
        plan.bad_rows(shard, pa.concat_batches(bad) if bad else None)


def late_rows_of(operator: Operator, frame: pa.RecordBatch, source: bytes | None) -> list[pa.RecordBatch]:
    """The late rows of a frame, unchanged, if they came with it; else an empty list."""
    late = None if source is None else operator.late_rows(frame)
    if source is None or late is None:
        return []
    return [late_rows(operator.query, record_batch_bytes.from_bytes(source).filter(pa.array(late)))]


def in_pandas(rows: pa.RecordBatch) -> pd.DataFrame:
    """Rows whose columns stay Arrow's: pandas' own would lose integers next to nulls, and distant instants.

    Nested ones are objects, because Spark walks through them itself.
    """
    columns = {}
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if pa.types.is_nested(column.type):
            columns[name] = pd.Series(column.to_pylist(), dtype=object)
        else:
            columns[name] = pd.Series(column, dtype=pd.ArrowDtype(column.type))
    return pd.DataFrame(columns)
