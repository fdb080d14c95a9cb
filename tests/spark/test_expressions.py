"""Expressions on columns have Spark's own values and types, and fail in the rows in which Spark fails."""

import pyarrow.parquet as pq
import pytest
from expressions import ROWS, random_expressions
from skyband_jobs.files.where_and_select import Shape
from spark_comparison import BATCH, differences, evaluate, not_failing

pytestmark = pytest.mark.spark


@pytest.fixture
def frame(session, tmp_path):
    """The rows that expressions are evaluated on, in one file."""
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    return session.read.parquet(str(tmp_path))


def hold(frame, expressions, most_failing):
    """Compare expressions here and on Spark; at most a few of a hundred may be refused here."""
    known = [one for one in map(evaluate, expressions) if one is not None]
    assert len(known) > 0.95 * len(expressions)
    assert list(differences(frame, known)) == []
    failing = [one for one in known if one.errors]
    assert failing
    assert list(not_failing(frame, failing[:most_failing])) == []


def test_spark_says_the_same_of_random_expressions(frame):
    hold(frame, random_expressions(42, 180), most_failing=3)


def test_every_form_can_be_chosen():
    assert len(random_expressions(7, 5_000)) == 5_000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_spark_says_the_same_of_thousands(frame, seed):
    hold(frame, random_expressions(seed, 1_000), most_failing=20)


@pytest.mark.parametrize("function", ["explode", "explode_outer"])
def test_spark_makes_the_same_rows_of_lists(frame, function):
    where, select = "row > 3 AND (i <> 7 OR xs IS NULL)", ["row", f"{function}(array_distinct(xs)) AS v", "i + 1L AS n"]
    shape = Shape.parse(where, select)
    here, _ = shape.apply(BATCH, shape.schema(ROWS.schema))
    there = frame.where(where).selectExpr(*select).toArrow()
    assert here.schema.types == there.schema.types
    assert here.to_pylist() == there.to_pylist()
