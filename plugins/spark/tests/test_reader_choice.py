"""Who reads a source's files on Spark, and the reason shown."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband.errors import ConfigError
from skyband_jobs.tables.model import Source
from skyband_spark.reading.python_file_reader import as_spark, choose_reader

PYTHON = "Python, where rows are packed"
MASTER = "spark.master"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    pq.write_table(pa.table({"n": [1], "text": ["a"]}), folder / "a.parquet")
    return folder


@pytest.mark.parametrize(
    ("keys", "settings", "reader"),
    [
        ({}, {}, PYTHON),
        ({}, {MASTER: "local[2]"}, PYTHON),
        ({"where": "n > 0 AND text = 'a'", "select": ("n", "text AS t")}, {}, PYTHON),
        ({"options": {"maxFilesPerTrigger": 1}, "stream": True}, {}, PYTHON),
        ({}, {MASTER: "spark://there:7077"}, "Spark (executors might not reach the path; if all do, set"),
        ({"reader": "files"}, {MASTER: "spark://there:7077"}, PYTHON),
        ({"reader": "spark"}, {}, 'Spark (source.reader = "spark")'),
        ({"where": "soundex(text) = 'A'"}, {}, "Spark (only Spark knows where or select)"),
        ({"where": "soundex(text) = 'A'", "reader": "files"}, {}, "Python, but where by Spark's SQL"),
        (
            {"where": "n > 0"},
            {"spark.sql.session.timeZone": "Asia/Tokyo"},
            "Spark (where and select are in the zone Asia/",
        ),
        ({"where": "n > 0"}, {"spark.sql.ansi.enabled": "false"}, "Spark (spark.sql.ansi.enabled is not set)"),
        ({}, {"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "Asia/Tokyo"}, PYTHON),
        ({"options": {"mergeSchema": True}}, {}, "Spark (only Spark knows source.options.mergeSchema)"),
        ({}, {"spark.sql.files.ignoreCorruptFiles": "true"}, "Spark (spark.sql.files.ignoreCorruptFiles is set)"),
        ({"schema": "n STRING"}, {}, "Spark (its files have other types than source.schema)"),
        ({"path": "dbfs:/bucket/a"}, {}, "Spark (the path is not on this machine)"),
        ({"format": "orc"}, {}, "Spark (Python does not read orc)"),
    ],
)
def test_the_choice_is_told_with_its_reason(folder, keys, settings, reader):
    source = Source(**{"format": "parquet", "path": str(folder), **keys})
    assert str(choose_reader(source, settings, ["n"])).startswith(reader)


def test_only_columns_that_are_read_count(tmp_path):
    pq.write_table(pa.table({"n": [1], "small": pa.array([1], pa.uint8())}), tmp_path / "a.parquet")
    source = Source(format="parquet", path=str(tmp_path))
    assert str(choose_reader(source, {}, ["n"])) == PYTHON
    assert str(choose_reader(source, {}, ["small"])).startswith("Spark (column 'small' is uint8")
    with pytest.raises(ConfigError, match="files cannot be read in Python: column 'small' is uint8"):
        choose_reader(Source(format="parquet", path=str(tmp_path), reader="files"), {}, ["small"])


def test_a_map_in_json_is_read_by_spark_if_needed(tmp_path):
    (tmp_path / "a.json").write_text('{"n": 1, "tags": {"a": "b"}, "in": {"tags": {}}}')
    schema = "n INT, tags MAP<STRING, STRING>, `in` STRUCT<tags: MAP<STRING, INT>>"
    plain = {"format": "json", "path": str(tmp_path), "schema": schema}
    assert str(choose_reader(Source(**plain), {}, ["n"])) == PYTHON
    for select in (None, ("n", "tags['a'] AS a", "`in` AS b")):
        for name in ("tags", "in") if select is None else ("a", "b"):
            choice = str(choose_reader(Source(**plain, select=select), {}, [name]))
            assert "is a MAP, which Python cannot read from JSON" in choice
            assert choice.startswith("Spark (column '")
        assert str(choose_reader(Source(**plain, select=select), {}, ["n"])) == PYTHON


def test_the_last_file_may_be_of_other_types_as_well_as_the_first(tmp_path):
    for name, kind in (("a", pa.int64()), ("b", pa.int32())):
        pq.write_table(pa.table({"n": pa.array([1], kind)}), tmp_path / f"{name}.parquet")
    for schema in ("n BIGINT", "n INT"):
        choice = choose_reader(Source(format="parquet", path=str(tmp_path), schema=schema), {}, ["n"])
        assert str(choice) == "Spark (its files have other types than source.schema)"


@pytest.mark.parametrize(
    ("kinds", "same"),
    [
        ([pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_(), pa.date32()], None),
        ([pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], pa.string()),
        ([pa.binary(), pa.large_binary(), pa.binary_view()], pa.binary()),
        ([pa.timestamp(unit) for unit in ("s", "ms", "us")], pa.timestamp("us")),
        ([pa.timestamp(unit, "Asia/Tokyo") for unit in ("s", "ms", "us")], pa.timestamp("us", "Asia/Tokyo")),
        ([pa.decimal128(38, 0), pa.decimal128(5, 2)], None),
        ([pa.list_(pa.int64())], None),
        ([pa.list_(pa.large_string()), pa.large_list(pa.string())], pa.list_(pa.string())),
    ],
)
def test_types_are_named_as_in_spark(kinds, same):
    for kind in kinds:
        assert as_spark(kind) == (kind if same is None else same)


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.timestamp("ns", zone) for zone in (None, "UTC")),
        pa.uint8(),
        pa.uint64(),
        pa.float16(),
        pa.date64(),
        pa.time64("us"),
        pa.duration("us"),
        pa.decimal256(40, 0),
        pa.decimal128(3, -2),
        pa.binary(3),
        pa.null(),
        pa.list_(pa.uint8()),
        pa.list_(pa.timestamp("ns")),
        pa.struct([("n", pa.int64())]),
        pa.list_(pa.int8(), 2),
    ],
    ids=str,
)
def test_types_specific_to_spark_are_left_to_it(kind):
    assert as_spark(kind) is None


def test_text_with_times_of_another_zone_is_read_by_spark(tmp_path):
    (tmp_path / "a.csv").write_text("n\n1\n")
    source = Source(format="csv", path=str(tmp_path), options={"header": True})
    assert str(choose_reader(source, {"spark.sql.session.timeZone": "UTC"}, ["n"])) == PYTHON
    assert "the zone Asia/Tokyo" in str(choose_reader(source, {"spark.sql.session.timeZone": "Asia/Tokyo"}, ["n"]))
