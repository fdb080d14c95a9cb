"""Tables that are more than their files are read in parts, with the information of the table's log."""

import pickle

import pyarrow as pa
import pytest
import tables_beyond_files
from skyband.errors import ConfigError
from skyband_jobs.formats import open_table
from skyband_lakes.delta import parts as delta_parts
from skyband_lakes.libraries import DELTA, ICEBERG
from table_places import arguments

FORMATS = {"delta": DELTA, "iceberg": ICEBERG}


@pytest.fixture(name="format", params=FORMATS)
def _format(request):
    lacking = FORMATS[request.param].missing()
    if lacking is not None:
        pytest.skip(f"{request.param} {lacking}")
    return request.param


def make(format, folder, deletes):
    place = arguments(format, folder, "visits")
    if format == "delta":
        return place, tables_beyond_files.delta(folder / "visits", deletes)
    return place, tables_beyond_files.iceberg(folder, *place, deletes)


def in_order(rows):
    return sorted(rows, key=lambda row: (row["ts"], sorted(row)))


@pytest.mark.parametrize("deletes", [False, True])
def test_partitions_deletes_and_later_columns_are_in_the_rows(format, tmp_path, deletes):
    place, expected = make(format, tmp_path, deletes)
    table = open_table(format, *place)
    whole = pa.Table.from_batches(table.batches(table.schema.names), table.schema)
    assert in_order(whole.to_pylist()) == in_order(expected) and len(expected) == 80 - 2 * deletes
    with pytest.raises(ConfigError, match="which Spark's file reader ignores"):
        table.plain_files()


@pytest.mark.parametrize("deletes", [False, True])
def test_parts_can_be_pickled_and_have_the_rows_in_order(format, tmp_path, deletes):
    place, _ = make(format, tmp_path, deletes)
    table = open_table(format, *place)
    columns = ["who", "place", "ts"]
    whole = [row for batch in table.batches(columns) for row in batch.to_pylist()]
    parts = pickle.loads(pickle.dumps(table.parts()))
    assert len(parts) >= 4 and all(part.size > 0 for part in parts)
    assert [row for part in parts for batch in part.batches(columns) for row in batch.to_pylist()] == whole
    assert len({part.place for part in parts}) == len(parts)


@pytest.mark.parametrize("format", ["delta"], indirect=True)
@pytest.mark.parametrize("rows", [1, 2, 7])
def test_deleted_rows_are_those_of_the_file_however_many_are_read_at_once(format, tmp_path, monkeypatch, rows):
    """A file has more rows than a batch: deletes in the first do not shift the next."""
    monkeypatch.setattr(delta_parts, "_BATCH", rows)
    place, expected = make(format, tmp_path, True)
    table = open_table(format, *place)
    whole = pa.Table.from_batches(table.batches(table.schema.names), table.schema)
    assert in_order(whole.to_pylist()) == in_order(expected)


def test_the_error_of_an_unsupported_table_says_what_reads_it(tmp_path):
    if (lacking := DELTA.missing()) is not None:
        pytest.skip(lacking)
    tables_beyond_files.delta(tmp_path / "visits", False)
    tables_beyond_files.commit(tmp_path / "visits", tables_beyond_files.with_feature("typeWidening"))
    with pytest.raises(ConfigError, match=r"has typeWidening, which only Delta's connector can read: run on Spark"):
        open_table("delta", str(tmp_path / "visits")).schema  # noqa: B018
