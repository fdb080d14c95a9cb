"""Folders called `key=value` are columns of the files in them, whatever their format, typed as Spark types them."""

import datetime as dt

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from skyband.errors import ConfigError, InputError
from skyband_jobs.files.source_files import open_files
from skyband_jobs.tables.model import Source

VALUES = {
    "int32": ["1", "-2", "007", "-2147483648", "2147483647"],
    "int64": ["1", "2147483648", "-9223372036854775808", "9223372036854775807"],
    "decimal128(38, 0)": ["1", "9223372036854775808", "9" * 38],
    "double": ["1", "2.5", "1e3", "9" * 39],
    "date32[day]": ["2026-01-01", "2026-12-31"],
    "timestamp[us, tz=UTC]": ["2026-01-01 10%3A00%3A00"],
    "string": ["1", "a"],
}
TEXT = {"csv": "n\n1\n", "json": '{"n": 1}\n'}


def put(folder, format):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"a.{format}"
    if format in TEXT:
        path.write_text(TEXT[format])
    elif format == "arrow":
        pa.feather.write_feather(pa.table({"n": [1]}), path)
    else:
        pq.write_table(pa.table({"n": [1]}), path)


def files_of(folder, format, **keys):
    options = {"header": True, "inferSchema": True} if format == "csv" else {}
    return open_files(Source(format=format, path=str(folder), options=options, **keys))


def rows_of(files, *names):
    return sorted((tuple(row.values()) for batch in files.batches(names) for row in batch.to_pylist()), key=str)


@pytest.mark.parametrize("kind", VALUES)
def test_a_column_has_the_narrowest_type_of_its_values(tmp_path, kind):
    for value in (*VALUES[kind], "__HIVE_DEFAULT_PARTITION__"):
        put(tmp_path / f"key={value}", "parquet")
    files = files_of(tmp_path, "parquet")
    assert str(files.schema.field("key").type) == kind
    assert len(rows_of(files, "key", "n")) == len(VALUES[kind]) + 1


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_folders_with_other_keys_are_refused(tmp_path, format):
    put(tmp_path / "day=2026-01-01", format)
    put(tmp_path / "day=2026-01-02" / "hour=3", format)
    with pytest.raises(
        ConfigError, match=r"hour=3: its folders have the columns day, hour, but those of .*=2026-01-01 have day: "
    ):
        files_of(tmp_path, format)


@pytest.mark.parametrize("format", ["parquet", "arrow", "csv", "json"])
def test_every_format_has_the_columns_of_its_folders(tmp_path, format):
    put(tmp_path / "day=2026-01-01" / "a%20b=x=y%2F", format)
    put(tmp_path / "day=2026-01-02" / "a%20b=__HIVE_DEFAULT_PARTITION__", format)
    files = files_of(tmp_path, format)
    assert files.schema.names == ["n", "day", "a b"]
    assert rows_of(files, "a b", "n", "day") == [
        ("x=y/", 1, dt.date(2026, 1, 1)),
        (None, 1, dt.date(2026, 1, 2)),
    ]
    declared = files_of(tmp_path, format, schema="n BIGINT, day STRING", where="day = '2026-01-02'")
    assert rows_of(declared, "day", "n") == [("2026-01-02", 1)]
    assert rows_of(declared, "n") == [(1,)]


@pytest.mark.parametrize("format", ["parquet", "arrow", "csv", "json"])
def test_a_schema_that_was_declared_has_the_columns_of_the_folders_besides(tmp_path, format):
    """As Spark's own reader adds them; a name in another case is that of the schema's column."""
    put(tmp_path / "day=2026-01-01" / "hour=3", format)
    put(tmp_path / "day=2026-01-02" / "hour=4", format)
    declared = files_of(tmp_path, format, schema="n BIGINT")
    assert declared.schema == pa.schema([("n", pa.int64()), ("day", pa.date32()), ("hour", pa.int32())])
    assert rows_of(declared, "hour", "n") == [(3, 1), (4, 1)]
    assert rows_of(declared, "n") == [(1,), (1,)]
    assert files_of(tmp_path, format, schema="n BIGINT, hour STRING").schema.names == ["n", "hour", "day"]
    assert files_of(tmp_path, format, schema="n BIGINT, DAY STRING").schema.names == ["n", "DAY", "hour"]
    put(tmp_path / "day=2026-01-03", format)
    assert files_of(tmp_path, format, schema="n BIGINT").schema.names == ["n"], "as before where folders differ"


@pytest.mark.parametrize(
    "value", ["-2147483649", "2147483648", "-9223372036854775809", "9223372036854775808", "1" * 39]
)
def test_a_number_beyond_a_type_has_the_next(tmp_path, value):
    put(tmp_path / f"key={value}", "parquet")
    kind = {10: "int64", 11: "int64", 19: "decimal128(38, 0)", 20: "decimal128(38, 0)", 39: "double"}[len(value)]
    assert str(files_of(tmp_path, "parquet").schema.field("key").type) == kind


@pytest.mark.parametrize("pattern", ["year*", "year 200?", "year 200[78]"])
def test_folders_below_a_pattern_are_columns(tmp_path, pattern):
    put(tmp_path / "year 2007" / "day=3", "parquet")
    assert rows_of(files_of(tmp_path / pattern, "parquet"), "day", "n") == [(3, 1)]


def test_a_folder_that_is_not_of_its_type_is_named(tmp_path):
    put(tmp_path / "day=monday", "parquet")
    with pytest.raises(InputError, match=r"day=monday: day: cannot be read as date32.*monday"):
        rows_of(files_of(tmp_path, "parquet", schema="n BIGINT, day DATE"), "day")
