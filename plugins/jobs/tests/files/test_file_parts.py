"""Parts of files: distributed among tasks so that every row is read once, each with its place in its file."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband.errors import InputError
from skyband_jobs.files import file_parts
from skyband_jobs.files.file_parts import FilePart, share_of, tasks_of
from skyband_jobs.files.source_files import open_files
from skyband_jobs.tables.model import Source


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("parts")
    for name, rows, group in (("a", 1000, 70), ("b", 3, 1), ("c", 400, 400)):
        first = {"a": 0, "b": 1000, "c": 1003}[name]
        pq.write_table(pa.table({"n": range(first, first + rows)}), made / f"{name}.parquet", row_group_size=group)
    return made


@settings(max_examples=20, deadline=None)
@given(least=st.integers(1, 10_000), opening=st.integers(0, 1000), cores=st.integers(1, 8))
def test_tasks_read_every_row_once(folder, least, opening, cores):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_parts, "_LEAST", least)
        patch.setattr(file_parts, "_OPENING", opening)
        files = open_files(Source(format="parquet", path=str(folder)))
        tasks = tasks_of(files.paths, "parquet", cores)
    begins, rows = {"a": 0, "b": 1000, "c": 1003}, []
    for task in tasks:
        batches = files.batches(["n"], task)
        for batch in batches:
            rows += batch.column(0).to_pylist()
            told = str(batches.placed(InputError("n", "is odd", 0)))
            assert f"n, row {rows[-len(batch)] - begins[told.partition('.parquet')[0][-1]]}: is odd" in told
    assert sorted(rows) == list(range(1403))
    assert all(tasks)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(1, 40), st.integers(1, 9))
def test_the_shares_of_a_file_have_each_of_its_row_groups_once(rows, most, times):
    """Also those without rows, and if the file is as large as some parts."""
    size = most * times
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_parts, "_rows_of_groups", lambda _: rows)
        shares = [share_of(Path("a.parquet"), "parquet", size, most, number) for number in range(times)]
    groups = [group for share in shares for part in share for group in part.row_groups or range(len(rows))]
    assert groups == [*range(len(rows))]


def test_a_large_file_is_split_and_small_ones_are_read_together(folder, monkeypatch):
    monkeypatch.setattr(file_parts, "_LEAST", 500)
    monkeypatch.setattr(file_parts, "_OPENING", 10)
    assert len(tasks_of([folder / "a.parquet"], "parquet", 4)) > 4
    assert len(tasks_of([Path(f"{number}.csv") for number in range(100)], "csv", 4)) == 2


def test_a_row_of_a_part_is_told_by_its_place_in_the_file(folder):
    files = open_files(Source(format="parquet", path=str(folder)))
    batches = files.batches(["n"], [FilePart(folder / "a.parquet", (2, 3), 140)])
    assert next(iter(batches)).column(0)[5].as_py() == 145
    assert str(batches.placed(InputError("n", "is odd", 5))).endswith("a.parquet, row group 2: n, row 145: is odd")
    for row, place in ((0, ", row group 0"), (69, ", row group 0"), (70, ", row group 1"), (999, ", row group 14")):
        batches = files.batches(["n"], [FilePart(folder / "a.parquet")])
        next(iter(batches))
        assert str(batches.placed(InputError("n", "is odd", row))).endswith(f"a.parquet{place}: n, row {row}: is odd")


def test_a_file_that_changed_or_went_since_it_was_listed_is_named(tmp_path):
    for name in "ab":
        pq.write_table(pa.table({"n": [1]}), tmp_path / f"{name}.parquet")
    files = open_files(Source(format="parquet", path=str(tmp_path)))
    ((first, second),) = tasks_of(files.paths, "parquet", 2)
    pq.write_table(pa.table({"n": [1, 2]}), first.path)
    second.path.unlink()
    for part in (first, second):
        with pytest.raises(InputError, match=f"{part.path.name}: has changed since the run started: run it again"):
            list(files.batches(["n"], [part]))


def test_a_file_that_was_rewritten_is_named_even_with_the_same_length(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("1\n2\n")
    files = open_files(Source(format="csv", path=str(tmp_path), schema="n BIGINT"))
    ((part,),) = tasks_of(files.paths, "csv", 2)
    assert [batch.to_pylist() for batch in files.batches(["n"], [part])] == [[{"n": 1}, {"n": 2}]]
    path.write_text("3\n4\n")
    os.utime(path, ns=(part.stamp[1] + 1,) * 2)
    with pytest.raises(InputError, match=r"a\.csv: has changed since the run started"):
        list(files.batches(["n"], [part]))


def test_a_column_in_other_letters_is_that_column(tmp_path):
    """As on Spark, unless there are two of that name, which Spark does not distinguish."""
    pq.write_table(pa.table({"N": [1], "a": [2], "A": [3], "Two": [4], "TWO": [5]}), tmp_path / "a.parquet")
    schema = "n BIGINT, a BIGINT, b BIGINT, two BIGINT"
    files = open_files(Source(format="parquet", path=str(tmp_path), schema=schema))
    found = [batch.to_pylist() for batch in files.batches(["b", "a", "n", "two"])]
    assert found == [[{"b": None, "a": 2, "n": 1, "two": None}]]
