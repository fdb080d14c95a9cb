"""Returns answers together with rows of metrics, which Spark observes and then filters out."""

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import asdict
from skyband.errors import ConfigError, Problem
from skyband.groups.execution import execution_of
from skyband.operator.metrics import Metrics

from skyband_spark.frames.sharded_plan import ShardedPlan

METRICS = "skyband_metrics"
_LATEST = (pa.field("late_by", pa.int64()), pa.field("watermark", pa.int64()))
"""Metrics reported as the maximum over all shards."""
_COUNTS = ("rows_in", "rows_late", "retained", "groups", "state_bytes")


def metric_names(plan: ShardedPlan) -> list[str]:
    """The observed metrics: rows in, late and left out by reason, retained, groups, state bytes; then seconds."""
    return [*_COUNTS, *map(_metric, plan.query.all_drop_reasons)]


def _metric(reason: str) -> str:
    return f"rows_{reason.replace(' ', '_')}"


def metrics_type(plan: ShardedPlan) -> pa.DataType:
    """The struct with an operator's metrics; null in rows of answers."""
    counts = [pa.field(name, pa.int64()) for name in metric_names(plan)]
    return pa.struct([*counts, pa.field("seconds", pa.float64()), *_LATEST])


def unpacked_schema(plan: ShardedPlan) -> pa.Schema:
    """The result's columns, then the metrics."""
    return _with_metrics_column(plan, plan.query.result_schema(plan.schema))


def shard_schema(plan: ShardedPlan) -> pa.Schema:
    """The columns of one shard's answers, then the metrics; equal to the unpacked schema if nothing is merged."""
    return _with_metrics_column(plan, plan.answers)


def _with_metrics_column(plan: ShardedPlan, answers: pa.Schema) -> pa.Schema:
    nullable = [field.with_nullable(True) for field in answers]
    return pa.schema([*nullable, pa.field(METRICS, metrics_type(plan))])


def with_metrics(plan: ShardedPlan, metrics: Metrics, state_bytes: int, watermark: int | None) -> dict[str, Any]:
    """The metrics of one step of an operator, in the form of `metrics_type`."""
    reasons = plan.query.all_drop_reasons
    return {
        **asdict(metrics, filter=lambda entry, _: entry.name != "dropped"),
        **{_metric(reason): metrics.dropped.get(reason, 0) for reason in reasons},
        "state_bytes": state_bytes,
        "watermark": watermark,
    }


def answer_rows(plan: ShardedPlan, answers: pa.RecordBatch) -> pa.RecordBatch:
    """Answers with metrics that are null."""
    schema = _with_metrics_column(plan, answers.schema)
    nothing = pa.nulls(len(answers), schema.field(METRICS).type)
    return pa.RecordBatch.from_arrays([*answers.columns, nothing], schema=schema)


def metrics_row(plan: ShardedPlan, metrics: dict[str, Any]) -> pa.RecordBatch:
    """One row that has only metrics; the columns of a shard's answers are null."""
    schema = shard_schema(plan)
    columns = [pa.nulls(1, kind) for kind in schema.types[:-1]]
    return pa.RecordBatch.from_arrays([*columns, pa.array([metrics], schema.types[-1])], schema=schema)


def merge_shards(plan: ShardedPlan, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Merge the partial answers of all shards at each moment; metrics stay unchanged."""
    table = pa.Table.from_batches(batches, schema=shard_schema(plan))
    is_answer = table.column(METRICS).is_null()
    partial = table.filter(is_answer).drop_columns([METRICS])
    if len(partial):
        whole = execution_of(plan.query).merge(partial).combine_chunks()
        for batch in whole.cast(plan.query.result_schema(plan.schema)).to_batches():
            yield answer_rows(plan, batch)
    metrics = table.filter(pc.invert(is_answer)).select(unpacked_schema(plan).names)
    yield from metrics.to_batches()


def merge_answers(plan: ShardedPlan, answers: Any) -> Any:
    """A DataFrame of the shards' answers, merged by moment unless they stand alone."""
    from pyspark.sql.pandas.types import from_arrow_schema

    from skyband_spark.frames.version_checked_pickling import pickled_with_versions

    if not plan.merges:
        return answers

    def merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return merge_shards(plan, batches)

    whole = from_arrow_schema(unpacked_schema(plan))
    return answers.repartition(1).mapInArrow(pickled_with_versions(merge, plan), whole)


def _check_unobserved(df: Any, observe: Any) -> None:
    """Raise ConfigError where an earlier application in this DataFrame is observed under the same name."""
    java = getattr(df, "_jdf", None)  # Spark Connect has none: its server reports the problem
    if java is None or not isinstance(observe, str):
        return
    if re.search(rf"\bCollectMetrics {re.escape(observe)},", java.queryExecution().logical().toString()):
        message = f"{observe!r} is already the name of an earlier application"
        raise ConfigError(Problem("observe", f'{message}: give this one another name, such as observe="second"'))


def observed(plan: ShardedPlan, df: Any, observe: Any) -> Any:
    """The DataFrame of answers alone, its metrics observed under the name (or Observation) `observe`."""
    from pyspark.sql import functions as sql

    _check_unobserved(df, observe)
    inside = sql.col(METRICS)
    sums = [sql.sum(inside[name]).alias(name) for name in [*metric_names(plan), "seconds"]]
    latest = [sql.max(inside[field.name]).alias(field.name) for field in _LATEST]
    with_metrics = df.observe(observe, *sums, *latest)
    return with_metrics.where(inside.isNull()).drop(METRICS)
