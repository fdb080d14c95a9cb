"""A batch of other types than the first is read where each value is one of the first's type, else refused by name."""

import pandas as pd
import pyarrow as pa
import pytest
from skyband.engines import local
from skyband.engines.local import LocalRun
from skyband.errors import InputError
from skyband.operator.bind_backends import bind
from skyband.queries import make_query
from skyband_spark.frames.sharded_plan import ShardedPlan

QUERY = make_query(
    {"kind": "distinct-count", "time": "ts", "item": "who", "by": "place", "windows": ["1 hour"], "every": "1 hour"}
)


def batch(first, who, place=None):
    times = pa.array(range(first, first + len(who)), pa.timestamp("s")).cast(pa.timestamp("us"))
    return pa.record_batch({"ts": times, "who": who, "place": pa.array(["x"] * len(who)) if place is None else place})


FIRST = batch(0, pa.array([1, 2, 3], pa.int32()))


@pytest.mark.parametrize(
    "who",
    [
        pa.array([1, 2, 4], pa.int64()),
        pa.array([1, 2, 4], pa.int8()),
        pa.array([1.0, None, 4.0]),
        pa.array([1, 2, 4]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_wider_narrower_and_null_columns_are_read(who):
    run = LocalRun.start(QUERY, FIRST.schema)
    for one in (FIRST, batch(3, who), batch(6, pa.nulls(2)), batch(8, who, pa.nulls(3))):
        run.add(one)
    assert {row["place"]: row["count"] for row in run.finish().to_pylist()} == {"x": 4, None: len(who.drop_null())}


@pytest.mark.parametrize(
    ("who", "message"),
    [
        (pa.array([1, 2**40]), "who: is int64 in this batch and cannot be read as int32, its type in the first .*"),
        (pa.array([1.5]), "who: is double in this batch and cannot be read as int32, .*: Float value 1.5.* truncated"),
        (pa.array(["1"]), "who: is string in this batch .* as int32, .*: another kind of values"),
        (pa.array([True]), "who: is bool in this batch .* as int32, .*: another kind of values"),
    ],
    ids=lambda column: str(getattr(column, "type", "")),
)
def test_other_values_are_refused_by_name_and_types(who, message):
    run = LocalRun.start(QUERY, FIRST.schema)
    with pytest.raises(InputError, match=f"^{message}"):
        run.push(batch(3, who))


def test_a_batch_without_a_column_says_which():
    run = LocalRun.start(QUERY, FIRST.schema)
    with pytest.raises(InputError, match=r"^who: is missing in this batch, but is in the first batch"):
        run.push(FIRST.drop_columns(["who"]))


def test_spark_may_hand_over_large_text():
    """As it does with spark.sql.execution.arrow.useLargeVarTypes: the frames are those of the schema all the same."""
    plan = ShardedPlan(QUERY, bind(QUERY, FIRST.schema), FIRST.schema, 1)
    large = batch(0, pa.array([1, 2, 3], pa.int32()), pa.array(["x", "", None], pa.large_string()))
    usual = batch(0, pa.array([1, 2, 3], pa.int32()), pa.array(["x", "", None]))
    assert [*plan.to_shuffle_rows(iter([large.select(QUERY.columns)]))] == [
        *plan.to_shuffle_rows(iter([usual.select(QUERY.columns)]))
    ]


def test_instants_are_told_apart_to_the_nanosecond_and_are_sparks_where_they_are_whole():
    nanoseconds = pa.array([1_000, 1_001, 1_002, 2_000], pa.timestamp("ns"))
    query = {"kind": "distinct-count", "time": "ts", "item": "who", "windows": ["1 hour"], "every": "1 hour"}
    table = pa.table({"ts": pa.array(range(4), pa.timestamp("s")), "who": nanoseconds})
    assert local.apply(table, query)["count"].to_pylist() == [4]
    one, other = table.slice(0, 1), table.slice(0, 1).set_column(1, "who", nanoseconds[:1].cast(pa.timestamp("us")))
    assert local.apply(one, {**query, "emit": "state"}) == local.apply(other, {**query, "emit": "state"})


@pytest.mark.parametrize(
    "who",
    [["a", 1], [object(), object()], [2**70, 1], [1j, 2j]],
    ids=["text and number", "objects", "too large", "complex"],
)
def test_what_arrow_cannot_read_of_pandas_is_said_with_the_remedy(who):
    frame = pd.DataFrame({"ts": pd.to_datetime(["2026-01-01", "2026-01-02"]), "who": pd.Series(who, dtype=object)})
    with pytest.raises(
        InputError, match=r"^data: is a DataFrame that cannot be read as an Arrow table: .*give each such"
    ):
        local.apply(frame, QUERY)
