"""Text becomes the values that Spark makes of it, by casts and in files, or is refused as supported by Spark only."""

import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband.errors import InputError
from skyband_expressions.expression import parse_column
from skyband_jobs.files.csv_reader import read_csv
from skyband_jobs.files.json_files import read_json
from skyband_jobs.files.source_files import open_files
from skyband_jobs.tables.model import Source
from skyband_jobs.tables.spark_ddl import parse_ddl
from skyband_spark.reading.source import spark_defaults
from text_forms import BOOLEANS, NUMBERS, TIMES, texts_near

pytestmark = pytest.mark.spark

KINDS = {
    "TIMESTAMP": TIMES,
    "DATE": TIMES,
    "TINYINT": NUMBERS,
    "SMALLINT": NUMBERS,
    "INT": NUMBERS,
    "BIGINT": NUMBERS,
    "FLOAT": NUMBERS,
    "DOUBLE": NUMBERS,
    "BOOLEAN": BOOLEANS,
    "DECIMAL(10, 2)": NUMBERS,
    "DECIMAL(38, 0)": NUMBERS,
    "DECIMAL(3, 3)": NUMBERS,
}
REFUSED = "Spark only"


def plain(kind, name="v"):
    """As numbers or text, which both sides show alike."""
    if kind == "TIMESTAMP":
        return f"unix_micros({name})"
    return (
        f"CAST({name} AS STRING)"
        if kind in ("DATE", "BOOLEAN")
        else f"CAST({name} AS DOUBLE)"
        if kind == "FLOAT"
        else name
    )


@pytest.mark.parametrize("kind", KINDS)
def test_casts_of_texts_near_each_form(session, tmp_path, kind):
    texts = texts_near(KINDS[kind], 7, 3_000)
    pq.write_table(pa.table({"n": pa.array(range(len(texts))), "t": texts}), tmp_path / "t.parquet")
    cast = plain(kind, f"TRY_CAST(t AS {kind})")
    frame = session.read.parquet(str(tmp_path)).orderBy("n")
    there = [repr(value) for value in frame.selectExpr(f"{cast} AS v").toArrow()["v"].to_pylist()]
    expression, _ = parse_column(f"{cast} AS v")
    differing, refused = {}, 0
    for text, value in zip(texts, there, strict=True):
        try:
            here = repr(*expression.evaluate(pa.RecordBatch.from_pydict({"t": [text]})).to_pylist())
        except InputError as error:
            here = error.message
        if REFUSED in here:
            refused += 1
        elif here != value:
            differing[text] = (here, value)
    assert differing == {}
    assert refused < len(texts) / 8
    assert there.count("None") < 0.99 * len(texts)


ZONES = [
    "", "Z", "z", "UTC", "utc", "UT", "GMT", "GMT0", "GMT+2", "GMT+02:00", "GMT+0200", "UTC+01:00", "UTC+1", "UTC+1:30",
    "UT-2:30", "+1:30", "+1", "+0130", "+01:30:15", "-00:00", "+18:00", "+18:01", "-1:3", "+1:3:5", "+130", "UTC+", "A",
    "[Europe/Paris]", "+01:00[Europe/Paris]", "Z[UTC]", "europe/paris", "Europe/Nowhere", "GMTEurope/Paris", "UTC +1",
    "+01:00 Europe/Paris", "EST5EDT", "posix/Europe/Paris", "PM", "UTC0", "+ 1", "SystemV/PST8PDT",
]  # fmt: skip
CLOCKS = [
    "2020-01-02 03:04:05", "2020-07-02T3:4:5.678", "2020-01-02 03:04", "2020-01-02 03", "2020-01-02", "2020",
    "T12:34:56", "12:34:56", "T12:34", "12:34", "T12", ":34", "T24:00", "T12:60", "now", "epoch",
]  # fmt: skip


def test_a_cast_of_a_time_with_any_zone_is_spark_s_or_refused_by_name(session, tmp_path):
    """No null where Spark has a time: a zone with a name and a time without a day, which is today, are refused."""
    java = sorted(session._jvm.java.time.ZoneId.getAvailableZoneIds())
    java += sorted(session._jvm.java.time.ZoneId.SHORT_IDS.keySet())
    texts = [clock + space + zone for clock in CLOCKS for zone in ZONES for space in ("", " ")]
    texts += [f"2020-01-02 03:04:05 {zone}" for zone in java]
    pq.write_table(pa.table({"n": pa.array(range(len(texts))), "t": texts}), tmp_path / "t.parquet")
    cast = "unix_micros(TRY_CAST(t AS TIMESTAMP)) AS v"
    frame = session.read.parquet(str(tmp_path)).orderBy("n").selectExpr(cast)
    expression, _ = parse_column(cast)
    differing = {}
    for text, there in zip(texts, frame.toArrow()["v"].to_pylist(), strict=True):
        try:
            (here,) = expression.evaluate(pa.RecordBatch.from_pydict({"t": [text]})).to_pylist()
        except InputError as error:
            here = there if REFUSED in error.message else error
        if here != there:
            differing[text] = (here, there)
    assert differing == {}


@pytest.mark.parametrize("kind", KINDS)
def test_texts_near_each_form_in_a_csv_file(session, tmp_path, kind):
    """What is null and corrupt on Spark is refused here; spaces around a value are passed over here alone."""
    texts = [text for text in texts_near(KINDS[kind], 11, 300) if text == text.strip()]
    with (tmp_path / "all.csv").open("w") as file:
        csv.writer(file).writerows(enumerate(texts))
    source = Source(format="csv", path=str(tmp_path / "all.csv"), schema=f"n INT, v {kind}")
    reader = session.read.options(**spark_defaults(source)).schema(f"n INT, v {kind}, _corrupt_record STRING")
    frame = (
        reader.csv(source.path).orderBy("n").selectExpr(f"{plain(kind)} AS v", "_corrupt_record IS NULL AS is_right")
    )
    there = frame.toArrow().to_pylist()
    schema, differing = parse_ddl(source.schema), {}
    for text, expected in zip(texts, there, strict=True):
        with (tmp_path / "one.csv").open("w") as file:
            csv.writer(file).writerow([0, text])
        try:
            (batch,) = read_csv(tmp_path / "one.csv", source, schema, schema)
            here = repr(*parse_column(f"{plain(kind)} AS v")[0].evaluate(batch).to_pylist())
        except InputError as error:
            here = REFUSED if REFUSED in str(error) else None
        if here != REFUSED and here != (repr(expected["v"]) if expected["is_right"] else None):
            differing[text] = (here, expected)
    assert differing == {}


def test_json_of_any_form_for_text_columns(session, tmp_path):
    """Each value is its own text, as it is written: of several types in one column, within lists and structs too."""
    values = [
        '{"a": [1, "x\\\\"],  "b": {}}',
        "[1,  2.50]",
        "-1.50e3",
        "0.10",
        "true",
        "[]",
        "{ }",
        '"\\u00e9\\n"',
        "null",
    ]
    numbers = ["1", "1.005", "-2.5e1", '"NaN"', "null", "1.5", "0", "3", "1e2"]
    lines = [
        f'{{"t": {one}, "l": [{one}, {two}], "s": {{"v": {one}}}, "v": {number}, "d": {number.replace("NaN", "7.5")}}}'
        for one in values
        for two, number in zip(values, numbers, strict=True)
    ]
    (tmp_path / "a.json").write_text("\n".join(lines))
    schema = "t STRING, l ARRAY<STRING>, s STRUCT<v: STRING>, v DOUBLE, d DECIMAL(10, 2)"
    there = session.read.schema(schema).json(str(tmp_path)).toArrow()
    here = pa.Table.from_batches(read_json(tmp_path / "a.json", parse_ddl(schema)))
    for name in there.column_names:
        assert repr(here[name].to_pylist()) == repr(there[name].to_pylist()), name


NAMES_OF_FLOATS = ["NaN", "INF", "+INF", "-INF", "Infinity", "+Infinity", "-Infinity", "1.7976931348623158e308", "-0"]


@pytest.mark.parametrize("quoted", [False, True], ids=["bare", "text"])
@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT", "STRING", "DECIMAL(10, 2)", "BIGINT", "BOOLEAN"])
def test_values_near_each_form_of_a_number_in_json(session, tmp_path, kind, quoted):
    """What is corrupt on Spark is refused here by line, and nothing else."""
    forms = [*NUMBERS, *NAMES_OF_FLOATS, "true", "null"]
    texts = [text for text in texts_near(forms, 13, 400) if text and not set(text) & set(', "')]
    lines = [f'{{"n": {n}, "v": {json.dumps(text) if quoted else text}}}' for n, text in enumerate(texts)]
    (tmp_path / "all.json").write_text("\n".join(lines))
    source = Source(format="json", path=str(tmp_path / "all.json"), schema=f"n INT, v {kind}")
    reader = session.read.options(**spark_defaults(source)).schema(f"{source.schema}, _corrupt_record STRING")
    there = reader.json(source.path).cache().select("v", "_corrupt_record").toArrow().to_pylist()
    schema, differing = parse_ddl(source.schema), {}
    for text, line, expected in zip(texts, lines, there, strict=True):
        (tmp_path / "one.json").write_text(line)
        right = expected["_corrupt_record"] is None
        try:
            here = repr(*pa.Table.from_batches(read_json(tmp_path / "one.json", schema))["v"].to_pylist())
        except InputError as error:
            here = None
            assert "line 1: " in str(error) or error.row == 0, error
        if here != (repr(expected["v"]) if right else None):
            differing[text] = (here, expected)
    assert differing == {}


def test_times_of_int96_in_all_years(session, tmp_path):
    micros = [-62_135_596_800_000_000, -30_610_224_000_000_001, 0, -1, 9_300_000_000_000_000, 253_402_300_799_999_999]
    rows = session.createDataFrame([(one,) for one in micros], "n LONG").selectExpr("n", "timestamp_micros(n) AS ts")
    setting = "spark.sql.parquet.outputTimestampType"
    before = session.conf.get(setting)
    session.conf.set(setting, "INT96")
    try:
        rows.coalesce(1).write.parquet(str(tmp_path / "old"))
    finally:
        session.conf.set(setting, before)
    files = open_files(Source(format="parquet", path=str(tmp_path / "old")))
    here = pa.Table.from_batches(files.batches(["n", "ts"]))
    assert here["ts"].cast(pa.int64()).to_pylist() == here["n"].to_pylist() == micros
