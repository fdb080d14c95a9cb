"""If a query's shards merge, any number of them gives the answers of one."""

from collections.abc import Iterator

import pyarrow as pa
from skyband.columns import keyed_frames
from skyband.groups.execution import execution_of
from skyband_spark.frames.sharded_plan import ShardedPlan, TaskEnds

from skyband_specs.check import expect_equal
from skyband_specs.queries.case import QueryCase, cut, random_cuts
from skyband_specs.queries.check import NotApplicable, equal_answers, holds, query_check

COUNT = 2


@query_check("shards")
def check_shards_answer_as_one_does(case: QueryCase) -> None:
    """Two, three and four shards, each with part of the rows, whose answers `merge` combines."""
    _merges(case)

    def law(rows: pa.Table) -> None:
        whole = case.answers(rows)
        for shards in (2, 3, 4):
            merged = pa.concat_tables(answers for answers, _ in _on_shards(case, rows, shards))
            equal_answers(merged, whole, f"on {shards} shards, not one")

    holds(case, law)


@query_check("shards")
def check_each_row_is_one_shards_own(case: QueryCase) -> None:
    """However many shards a row goes to, it is counted once."""
    _merges(case)

    def law(rows: pa.Table) -> None:
        for shards in (2, 4):
            counted = sum(rows_in for _, rows_in in _on_shards(case, rows, shards))
            expect_equal(counted, len(rows), f"rows in, of {shards} shards together")

    holds(case, law)


def _merges(case: QueryCase) -> None:
    one_shard = case.query().one_shard
    if one_shard is not None:
        raise NotApplicable(f"one shard: {one_shard}")
    if not case.exact:
        raise NotApplicable("guarantee: no exact backend is installed, and answers of others may depend on the shard")


def _on_shards(case: QueryCase, rows: pa.Table, shards: int) -> Iterator[tuple[pa.Table, int]]:
    """The merged answers and the number of rows, after each of a few batches and at the end."""
    query = case.query()
    plan = ShardedPlan(query, case.bindings, rows.schema, shards)
    operators, whole = [plan.operator(number) for number in range(shards)], TaskEnds(query)
    rows_read = rows.select(query.columns)
    for batch in cut(rows_read, random_cuts(shards, len(rows))[::8]):
        ends = [TaskEnds(query) for _ in operators]
        for packed in plan.to_shuffle_rows(iter([batch])):
            for row in packed.to_pylist():
                ends[row["shard"]].add(row["progress"], row["dropped"])
                whole.add(row["progress"], None)
                if row["frame"] is not None:
                    operators[row["shard"]].add(keyed_frames.from_bytes(row["frame"]))
        answers = []
        for operator, end in zip(operators, ends, strict=True):
            answers.append(operator.step(end.progress))
            operator.count_dropped(end.dropped)
        yield _merged(case, rows, answers), sum(operator.take_metrics().rows_in for operator in operators)
    latest = whole.progress.newest  # of the rows that the query can use, as in the engines
    if latest is not None:
        yield _merged(case, rows, [operator.finish(latest) for operator in operators]), 0


def _merged(case: QueryCase, rows: pa.Table, answers: list[pa.RecordBatch]) -> pa.Table:
    query = case.query()
    return execution_of(query).merge(pa.Table.from_batches(answers)).cast(query.result_schema(rows.schema))
