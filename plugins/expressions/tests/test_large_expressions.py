"""Large expressions on large data: their memory is that of some rows, and their depth that of their text."""

import subprocess
import sys
from bisect import bisect_right

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband.errors import InputError
from skyband_expressions.expression import parse_column
from skyband_jobs.files.file_parts import FilePart
from skyband_jobs.files.row_location import PlacedBatches


def test_a_nested_lambda_is_evaluated_for_each_element():
    lists = [[(row * 7 + place * 31) % 97 for place in range(100)] for row in range(1_500)]
    rows = pa.record_batch({"l": pa.array([*lists, None, []], pa.list_(pa.int64()))})
    expression, _ = parse_column("transform(l, x -> size(filter(l, y -> y > x))) AS v")
    expected = [[100 - bisect_right(ordered, x) for x in one] for one in lists for ordered in [sorted(one)]]
    assert expression.evaluate(rows).to_pylist() == [*expected, None, []]


def test_a_nested_lambda_takes_some_lists_at_a_time():
    """The elements of 2,000 lists of 100, each with the 100 of its list, would be 160 MB at once."""
    code = """
import pyarrow as pa
from skyband_expressions.expression import parse_column
from skyband_jobs.files.file_parts import FilePart
from skyband_jobs.files.row_location import PlacedBatches
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


def test_a_value_over_2_gb_is_reported_with_its_expression():
    text = f"concat({', '.join(['t'] * 2_000)})"
    expression, _ = parse_column(f"{text} AS v")
    with pytest.raises(InputError, match=r"concat.*, row 0: is larger than 2 GB, the limit of a value"):
        expression.evaluate(pa.record_batch({"t": ["x" * 1_100_000]}))
    with pytest.raises(pa.ArrowCapacityError):
        expression.evaluate(pa.record_batch({"t": ["x" * 600_000] * 2}))


@pytest.mark.parametrize("most", [1, 3, 10])
def test_rows_whose_values_do_not_fit_into_an_array_are_halved(tmp_path, most):
    """With a small limit, as 2 GB would take too long."""
    pq.write_table(pa.table({"n": range(10)}), tmp_path / "a.parquet")

    def shape(batch):
        if len(batch) > most:
            raise pa.ArrowCapacityError("too much")
        if 7 in batch["n"].to_pylist():
            raise InputError("n", "is 7", batch["n"].to_pylist().index(7))
        return batch, None

    def read(part):
        yield from pq.ParquetFile(part.path).iter_batches()

    found = []
    with pytest.raises(InputError, match=r"a.parquet: n, row 7: is 7"):
        for batch in PlacedBatches([FilePart(tmp_path / "a.parquet")], read, shape):
            found += batch["n"].to_pylist()
    assert found == [*range(len(found))] and len(found) > 7 - most
