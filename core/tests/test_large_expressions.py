"""Expressions of much, on much: their memory is that of some rows, and their depth that of what is written."""

import subprocess
import sys
from bisect import bisect_right

import pyarrow as pa
import pytest
from skyband_expressions.expression import parse_column


def test_a_lambda_within_another_is_that_of_each_element():
    lists = [[(row * 7 + place * 31) % 97 for place in range(100)] for row in range(1_500)]
    rows = pa.record_batch({"l": pa.array([*lists, None, []], pa.list_(pa.int64()))})
    expression, _ = parse_column("transform(l, x -> size(filter(l, y -> y > x))) AS v")
    expected = [[100 - bisect_right(ordered, x) for x in one] for one in lists for ordered in [sorted(one)]]
    assert expression.evaluate(rows).to_pylist() == [*expected, None, []]


def test_a_lambda_within_another_has_some_lists_at_a_time():
    """The elements of 2,000 lists of 100, each with the 100 of its list, are 160 MB at once."""
    code = """
import pyarrow as pa
from skyband_expressions.expression import parse_column
rows = pa.record_batch({"l": pa.array([[*range(100)]] * 2_000)})
parse_column("transform(l, x -> size(filter(l, y -> y > x))) AS v")[0].evaluate(rows)
print(pa.default_memory_pool().max_memory())
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 80_000_000


@pytest.mark.parametrize("name", ["greatest", "least", "coalesce", "concat"])
def test_a_function_of_thousands_of_values(name):
    expression, _ = parse_column(f"{name}({', '.join(['a', 'b'] * 2_000)}) AS v")
    (value,) = expression.evaluate(pa.record_batch({"a": ["1"], "b": ["2"]})).to_pylist()
    assert value == {"greatest": "2", "least": "1", "coalesce": "1", "concat": "12" * 2_000}[name]
