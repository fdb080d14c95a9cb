"""A query on shards in this process: what each is sent, its state saved after every micro-batch, its answers merged."""

from operator import itemgetter

import pyarrow as pa
import pytest
from skyband.columns import keyed_frames
from skyband.groups.execution import execution_of
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.operator.resharding import take_over

# Tests of a plugin alone go without.
shard_keys = pytest.importorskip("skyband_spark.frames.shard_keys", reason="shards come with skyband-spark")
sharded_plan = pytest.importorskip("skyband_spark.frames.sharded_plan", reason="shards come with skyband-spark")


def on_shards(table: pa.Table, query, shards: int, batches: int = 1, backends=None) -> tuple[pa.Table, list]:
    """The answers and each shard's metrics, the rows given in so many micro-batches, the states saved between them."""
    plan = sharded_plan.ShardedPlan(query, bind(query, table.schema, backends), table.schema, shards)
    table = table.select(query.columns)
    operators, answers = [plan.operator(number) for number in range(shards)], []
    whole = sharded_plan.TaskEnds(query)
    size = max(1, -(-len(table) // batches))
    metrics = [[] for _ in range(shards)]
    for start in range(0, len(table), size):
        packed = [row for batch in plan.to_shuffle_rows(batches_of(table, start, size)) for row in batch.to_pylist()]
        for row in packed:
            whole.add(row["progress"], None)
        given = []
        for shard, operator in enumerate(operators):
            ends = sharded_plan.TaskEnds(query)
            for row in packed:
                if row["shard"] == shard:
                    ends.add(row["progress"], row["dropped"])
                    if row["frame"] is not None:
                        operator.add(keyed_frames.from_bytes(row["frame"]))
            given.append(operator.step(ends.progress))
            operator.count_dropped(ends.dropped)
            metrics[shard].append(operator.take_metrics())
            operators[shard] = plan.operator(shard)
            operators[shard].restore(operator.snapshot())
        answers.append(merged(query, given))
    latest = whole.progress.newest  # of the rows that a query can use, as the engines have it
    if latest is not None:
        given = [operator.finish(latest) for operator in operators]
        answers.append(merged(query, given))
    schema = query.result_schema(table.schema)
    return pa.concat_tables([schema.empty_table(), *(part.cast(schema) for part in answers)]), metrics


def merged(query, answers: list[pa.RecordBatch]) -> pa.Table:
    """The answers of the shards as one: side by side where each has groups of its own."""
    table = pa.Table.from_batches(answers)
    return table if query.by else execution_of(query).merge(table)


def batches_of(table: pa.Table, start: int, size: int):
    return iter(table.slice(start, size).combine_chunks().to_batches())


def rows_of(answers: pa.Table) -> list[str]:
    return sorted(map(str, answers.to_pylist()))


class ShardedStream:
    """The shards of a query in this process, as Spark has them."""

    def __init__(self, query, shards: int, schema: pa.Schema, backends=None) -> None:
        self.plan = sharded_plan.ShardedPlan(query, bind(query, schema, backends), schema, shards)
        self.operators = [self.plan.operator(number) for number in range(shards)]

    def make(self, shared):
        return Operator(self.plan.query, self.plan.bindings, self.plan.schema, shared and not self.plan.query.by)

    def begin_from(self, other):
        """The states handed over in an order that is not that of the shards' numbers, as Spark has them."""
        keys = shard_keys.keys_of(len(other.operators))
        blobs = [
            operator.snapshot() for _, operator in sorted(zip(keys, other.operators, strict=True), key=itemgetter(0))
        ]
        self.operators = take_over(blobs, other.plan.query, self.make, self.plan.shards)
        return self

    def push(self, rows):
        ends = sharded_plan.TaskEnds(self.plan.query)
        for batch in self.plan.to_shuffle_rows(iter(rows.select(self.plan.query.columns).to_batches())):
            for row in batch.to_pylist():
                if row["frame"] is not None:
                    self.operators[row["shard"]].add(keyed_frames.from_bytes(row["frame"]))
                ends.add(row["progress"], row["dropped"])
        return self.step(ends.progress)

    def step(self, progress, ticking=None):
        """Time goes on, with rows or without, and with ticks."""
        answers = pa.Table.from_batches([operator.step(progress, ticking) for operator in self.operators])
        return execution_of(self.plan.query).merge(answers) if self.plan.merges else answers

    def finish(self):
        """The input has ended."""
        operators = self.operators
        newest = max(operator.progress.newest for operator in operators)
        answers = pa.Table.from_batches([operator.finish(newest) for operator in operators])
        return execution_of(self.plan.query).merge(answers) if self.plan.merges else answers
