"""Text with a collation is refused on Spark by key and column: here it is compared by its bytes."""

import pytest
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType, TimestampType
from skyband.queries import make_query
from skyband_spark.frames.collations import collation_problems

QUERY = make_query(
    {"kind": "distinct-count", "time": "ts", "item": "who", "by": ["place"], "windows": ["1 hour"], "every": "1 hour"}
)


def schema(who, place):
    return StructType([StructField(*pair) for pair in (("ts", TimestampType()), ("who", who), ("place", place))])


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UTF8_BINARY_RTRIM", "UNICODE_CI"])
def test_each_column_with_a_collation_is_named(collation):
    said = f"has the collation {collation}, but Skyband compares bytes: select a column"
    problems = collation_problems(QUERY, schema(ArrayType(StringType(collation)), StringType(collation)))
    assert [str(problem).partition(": ")[0] for problem in problems] == ["by", "item"]
    assert all(said in str(problem) for problem in problems)


def test_other_columns_have_none():
    assert collation_problems(QUERY, schema(StringType(), IntegerType())) == []
