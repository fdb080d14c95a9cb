"""Queries of a workload that join and leave on a checkpoint: new ones answer over complete windows only."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from in_process_shards import sharded_plan
from skyband.columns.hashing import hash_column
from skyband.engines import local
from skyband.errors import SnapshotError
from skyband.groups.execution import execution_of
from skyband.operator.bind_backends import bind
from skyband.operator.operator import Operator
from skyband.operator.row_encoding import encode
from skyband.queries import make_query

SECOND = 1_000_000
SHORT = {"name": "short", "window": "10 seconds", "slide": "5 seconds", "k": 2}
LONG = {"name": "long", "window": "60 seconds", "slide": "5 seconds", "k": 3}


def query(queries, **changes):
    keys = {"time": "ts", "object": "what", "score": "points", "queries": queries}
    return make_query({"kind": "top-k-workload", **keys, **changes})


def table(rows):
    times, objects, scores = zip(*rows, strict=True)
    ts = pa.array(np.array(times) * SECOND, pa.timestamp("us"))
    return pa.table({"ts": ts, "what": objects, "points": scores, "place": [name % 2 for name in objects]})


def scattered(seed, rows=160, span=400):
    """Rows with gaps longer than the short window, each object in one place."""
    rng = np.random.default_rng(seed)
    times = np.sort(np.concatenate([rng.integers(start, start + 15, rows // 8) for start in range(0, span, span // 8)]))
    return table(zip(times.tolist(), rng.integers(0, 9, rows).tolist(), rng.random(rows).round(2), strict=True))


def encoded(asked, rows):
    return encode(asked, rows.combine_chunks().to_batches()[0]).frame


def fed(operator, rows, latest):
    if len(rows):
        operator.add(encoded(operator.query, rows))
    return operator.advance(latest)


def changed(operator, asked):
    other = Operator(asked, bind(asked, operator.schema), operator.schema)
    other.restore(operator.snapshot())
    return other


def seconds_of(rows):
    return np.asarray(rows["ts"].cast(pa.int64()))


def plain(answers, name):
    return sorted(tuple(map(str, row.values())) for row in answers.to_pylist() if row["query"] == name)


@pytest.mark.parametrize("by", [[], ["place"]])
@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_a_query_that_joins_answers_over_complete_windows_only(by, shards, seed):
    rows = scattered(seed)
    times, shard = seconds_of(rows), hash_column(rows["place" if by else "what"].combine_chunks()) % np.uint64(shards)
    cuts = np.random.default_rng(seed).choice(np.unique(times), 2, replace=False)
    plans = [[SHORT], [LONG, SHORT], [LONG]]
    pieces, joined, ended = [], None, None
    operators = [Operator(query([SHORT], by=by), bind(query([SHORT]), rows.schema), rows.schema) for _ in range(shards)]
    for plan, start, stop in zip(plans, [0, *sorted(cuts)], [*sorted(cuts), times.max() + 1], strict=True):
        asked = query(plan, by=by)
        operators = [changed(operator, asked) for operator in operators]
        if plan == plans[1]:
            joined = operators[0].watermark
        if plan == plans[2]:
            ended = operators[0].watermark
        inside = (times >= start) & (times < stop)
        latest = int(times[inside].max())
        parts = [
            fed(operator, rows.filter(pa.array(inside & (shard == number))), latest)
            for number, operator in enumerate(operators)
        ]
        given = pa.Table.from_batches(parts)
        pieces.append(given if by or shards == 1 else execution_of(asked).merge(given))
    answers = pa.concat_tables(pieces)
    whole = local.apply(rows, query([SHORT, LONG], by=by))
    at = whole["at"].cast(pa.int64()).to_numpy()
    due = whole.filter(pa.array(at <= times.max()))
    at = due["at"].cast(pa.int64()).to_numpy()
    assert plain(answers, "short") == plain(due.filter(pa.array(at <= ended)), "short")
    assert plain(answers, "long") == plain(due.filter(pa.array(at - 60 * SECOND >= joined)), "long")


def test_the_start_of_a_query_is_in_the_checkpoint():
    rows = table([(0, 1, 5.0), (31, 2, 1.0), (90, 3, 1.0)])
    operator = Operator(query([SHORT]), bind(query([SHORT]), rows.schema), rows.schema)
    fed(operator, rows.slice(0, 1), 30 * SECOND)
    assert operator.take_metrics().groups == 0
    operator = changed(operator, query([LONG]))
    operator = changed(operator, query([LONG]))
    answers = fed(operator, rows.slice(1), 95 * SECOND)
    assert answers["at"].cast(pa.int64()).to_pylist() == [90 * SECOND, 95 * SECOND]
    assert answers["object"].to_pylist() == [2, 3]


def test_windows_in_time_cannot_become_windows_in_rows():
    rows = scattered(1)
    operator = Operator(query([SHORT]), bind(query([SHORT]), rows.schema), rows.schema)
    fed(operator, rows, int(seconds_of(rows).max()))
    with pytest.raises(SnapshotError, match="windows was time, is rows"):
        changed(operator, query([{"name": "rows", "window": "10 rows", "slide": "5 rows", "k": 2}]))


def test_an_operator_is_reused_only_for_the_same_queries():
    rows = scattered(1)
    asked, other = query([SHORT]), query([SHORT, LONG])
    operator = Operator(asked, bind(asked, rows.schema), rows.schema)
    for wanted in (asked, other):
        plan = sharded_plan.ShardedPlan(wanted, bind(wanted, rows.schema), rows.schema, shards=1)
        assert pickle.loads(pickle.dumps(plan)).made(operator) == (wanted is asked)
    mintopk = sharded_plan.ShardedPlan(
        asked, bind(asked, rows.schema, {"workload-ranker": "mintopk"}), rows.schema, shards=1
    )
    assert not mintopk.made(operator)
