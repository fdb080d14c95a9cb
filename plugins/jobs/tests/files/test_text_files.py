"""CSV and JSON as both engines read them: RFC 4180, columns by name, one object a line, every fault by its line."""

import csv
import datetime as dt
import json
import math
import string
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband.columns.keyed_frames import plain_type
from skyband.errors import ConfigError, InputError
from skyband_jobs.files import json_files, text_blocks
from skyband_jobs.files.csv_dialect import Dialect
from skyband_jobs.files.csv_files import CsvFile
from skyband_jobs.files.source_files import open_files
from skyband_jobs.formats.json_rows import json_rows
from skyband_jobs.kernels.record_boundaries import (
    FINE,
    GOES_ON,
    NO_OBJECT,
    SECOND_VALUE,
    TOO_DEEP,
    csv_records,
    json_lines,
)
from skyband_jobs.tables.model import Source

HEADER = {"header": True}


def rows(path, columns=None, format="csv", **keys):
    files = open_files(Source(format=format, path=str(path), **keys))
    return [tuple(row.values()) for batch in files.batches(columns or files.schema.names) for row in batch.to_pylist()]


def written(folder, text, name="a.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('ts,c\n1,"a ""q"" b"\n2,"x,y"\n', [("1", 'a "q" b'), ("2", "x,y")]),
        ('ts,c\n1,"a\nb"\n2,z\n', [("1", "a\nb"), ("2", "z")]),
        ('ts,c\n1,""\n2,\n', [("1", ""), ("2", None)]),
        ('ts,c\n1,\\"\n2,"\\"\n3,"a\\"\n', [("1", '\\"'), ("2", "\\"), ("3", "a\\")]),
        ('ts,c\n1,\\\\\n2,"\\\\"\n', [("1", "\\\\"), ("2", "\\\\")]),
        ('ts,c\n1,a "b" c\n2,a""b\n', [("1", 'a "b" c'), ("2", 'a""b')]),
        ("ts,c\r\n1,a\r\n\r\n2,b", [("1", "a"), ("2", "b")]),
        ("ts,c\r1,a\r2,b\r", [("1", "a"), ("2", "b")]),
        ('\ufeff"ts",c\n1,a\n', [("1", "a")]),
        ("ts,c\n", []),
    ],
)
def test_rfc_4180_is_what_csv_is(tmp_path, text, expected):
    assert rows(written(tmp_path, text), options=HEADER) == expected
    assert rows(written(tmp_path, text), options=HEADER, schema="ts STRING, c STRING") == expected


@pytest.mark.parametrize(
    ("options", "text", "expected"),
    [
        ({"sep": ";"}, '1;"a;b"\n', [("1", "a;b")]),
        ({"delimiter": "\t"}, "1\ta,b\n", [("1", "a,b")]),
        ({"sep": r"\t"}, "1\ta,b\n", [("1", "a,b")]),
        ({"quote": "'"}, "1,'a,''b'\n", [("1", "a,'b")]),
        ({"quote": ""}, '1,"a\n', [("1", '"a')]),
        ({"escape": "\\"}, '1,"a\\"b,c"\n', [("1", 'a"b,c')]),
        ({"escape": '"', "multiLine": True}, '1,"a""\nb"\n', [("1", 'a"\nb')]),
        ({"nullValue": "NA"}, '1,NA\n2,"NA"\n3,\n', [("1", None), ("2", "NA"), ("3", None)]),
    ],
)
def test_options_of_csv(tmp_path, options, text, expected):
    assert rows(written(tmp_path, text), options=options) == expected
    assert rows(written(tmp_path, text), options=options, schema="a STRING, b STRING") == expected


def test_a_line_is_a_row_if_values_may_not_span_lines(tmp_path):
    path = written(tmp_path, '1,a\n2,"b\nc"\n')
    with pytest.raises(
        InputError, match=r"the quote in line 2 is not closed in that line: close it, or set source.options.multiLine"
    ):
        rows(path, options={"multiLine": False}, schema="a STRING, b STRING")
    assert rows(path, schema="a STRING, b STRING") == [("1", "a"), ("2", "b\nc")]


def test_a_quote_that_is_never_closed_is_told_by_its_line(tmp_path):
    path = written(tmp_path, '1,a\n2,"b\n3,c\n4,d\n')
    with pytest.raises(InputError, match=r"a\.csv: the quote in line 2 is not closed"):
        rows(path, schema="a STRING, b STRING")


def test_columns_are_read_by_name_whatever_their_order_in_a_file(tmp_path):
    written(tmp_path, "ts,client,page\n1,c1,p1\n", "a.csv")
    written(tmp_path, "page,extra,ts,client\np2,x,2,c2\n", "b.csv")
    expected = {("1", "c1"), ("2", "c2")}
    assert set(rows(tmp_path, ["ts", "client"], options=HEADER)) == expected
    assert set(rows(tmp_path, ["ts", "client"], options={**HEADER, "inferSchema": True})) == {(1, "c1"), (2, "c2")}
    assert set(rows(tmp_path, ["ts", "client"], options=HEADER, schema="client STRING, ts STRING")) == expected


def test_a_file_without_a_column_is_refused_by_name(tmp_path):
    path = written(tmp_path, "ts,visitor\n1,c\n")
    keys = {"options": HEADER, "schema": "ts STRING, client STRING"}
    assert rows(path, ["ts"], **keys) == [("1",)]
    with pytest.raises(InputError, match=r"a\.csv: line 1 does not name the column 'client' \(it names ts, visitor\)"):
        rows(path, **keys)
    by_order = {**keys, "options": {**HEADER, "enforceSchema": True}}
    assert rows(path, **by_order) == [("1", "c")]
    written(tmp_path, "ts\n1\n")
    with pytest.raises(InputError, match=r"a\.csv: its first line has 1 column, the schema 2 \(ts, client\)"):
        rows(path, **by_order)


def test_a_column_named_twice_is_refused(tmp_path):
    path = written(tmp_path, "ts,c,c\n1,2,3\n")
    keys = {"options": HEADER, "schema": "ts STRING, c STRING"}
    assert rows(path, ["ts"], **keys) == [("1",)]
    with pytest.raises(InputError, match="line 1 names two columns 'c'"):
        rows(path, **keys)


def test_a_line_of_names_that_was_forgotten_is_told_by_the_remedy(tmp_path):
    path = written(tmp_path, "ts,n\n2026-01-02,7\n")
    with pytest.raises(InputError, match=r"n, row 0: cannot be read as int32: .*source.options = \{ header = true \}"):
        rows(path, ["n"], schema="ts TIMESTAMP, n INT")


@pytest.mark.parametrize("format", ["csv", "json"])
def test_an_empty_file_among_others_has_no_rows(tmp_path, format):
    for number, text in enumerate(["", "\n", "ts\n1\n" if format == "csv" else '{"ts": "1"}\n']):
        written(tmp_path, text, f"{number}.{format}")
    options = HEADER if format == "csv" else {}
    assert rows(tmp_path, format=format, options=options) == [("1",)]
    assert rows(tmp_path, format=format, options=options, schema="ts STRING") == [("1",)]


def test_rows_of_other_lengths_are_told_by_their_line(tmp_path):
    path = written(tmp_path, 'a,b\n1,"x\ny"\n\n2,z\n3\n')
    with pytest.raises(InputError, match=r"a\.csv: line 6: Expected 2 columns, got 1: 3"):
        rows(path, options=HEADER)


def test_values_are_told_by_their_row(tmp_path, monkeypatch):
    monkeypatch.setattr(text_blocks, "SIZE", 64)
    lines = [f"{number},x" for number in range(50)]
    lines[37] = "many,x"
    with pytest.raises(InputError, match=r"n, row 37: cannot be read as int32: .*many"):
        rows(written(tmp_path, "\n".join(lines)), schema="n INT, c STRING")


def test_a_number_in_quotes_that_is_empty_is_null(tmp_path):
    text = '"1","2026-01-02","a"\n"","",""\n'
    assert rows(written(tmp_path, text), ["n", "c"], schema="n INT, d DATE, c STRING") == [(1, "a"), (None, "")]


@pytest.mark.parametrize("format", ["csv", "json"])
def test_a_value_may_be_longer_than_any_block(tmp_path, format):
    long = "x" * 3_000_000 + '"'
    table = [{"n": "1", "c": long}, {"n": "2", "c": "b"}, {"n": "3", "c": long}]
    path = tmp_path / f"a.{format}"
    if format == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["n", "c"])
            writer.writerows(table)
    else:
        path.write_text("\n".join(map(json.dumps, table)))
    keys = {"format": format, "schema": "n STRING, c STRING"}
    assert rows(path, ["n"], **keys) == [("1",), ("2",), ("3",)]
    assert [len(c) for (c,) in rows(path, ["c"], **keys)] == [3_000_001, 1, 3_000_001]


@pytest.mark.parametrize(
    "time", ["2026-01-02T03:04:05.123456789Z", "2026-01-02 03:04:05.1234569", "2026-01-02T03:04:05.123456000000+00:00"]
)
@pytest.mark.parametrize("format", ["csv", "json"])
def test_times_are_cut_to_microseconds(tmp_path, format, time):
    path = tmp_path / f"a.{format}"
    path.write_text(time if format == "csv" else json.dumps({"ts": time}))
    ((at,),) = rows(path, format=format, schema="ts TIMESTAMP")
    assert at.isoformat() == "2026-01-02T03:04:05.123456+00:00"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("null", "line 3 is not a JSON object: write one object a line"),
        ("1", "line 3 is not a JSON object"),
        ("[{}]", "line 3 is not a JSON object"),
        ('"x"', "line 3 is not a JSON object"),
        ('{"a": 1} null', "line 3 has more than one JSON object"),
        ('{"a": 1} {"a": 2}', "line 3 has more than one JSON object"),
        ('{"a": 1}, {"a": 2}', "line 3 has more than one JSON object"),
        ('{\n"a": 1\n}', "line 3 has a JSON object that does not end in it"),
        ('{"a": "x\ny"}', "line 3 has a JSON object that does not end in it"),
        ('{"a"', "line 3 has a JSON object that does not end in it"),
        ('{"a": x}', "line 3: Invalid value"),
        ('{"a": "1"}', r"line 3: Column\(/a\) changed from number to string"),
        ('{"b": ' + "[" * 1_000 + "]" * 1_000 + "}", "line 3 has a JSON object of more than 1,000 levels"),
    ],
)
def test_lines_that_are_no_object_are_refused_by_file_and_line(tmp_path, line, said):
    path = written(tmp_path, f'{{"a": 7}}\n\n{line}\n{{"a": 8}}\n', "a.json")
    for schema in ("a INT", None):
        if "changed" in said and schema is None:
            continue
        with pytest.raises((InputError, ConfigError), match=rf"a\.json: {said}"):
            rows(path, format="json", schema=schema)


def test_no_line_ends_the_process(tmp_path):
    texts = ["null\n", '{"a": 1}\nnull\n', '{"a":' * 50_000 + "1" + "}" * 50_000]
    paths = [written(tmp_path, text, f"{number}.json") for number, text in enumerate(texts)]
    code = (
        "import sys\nfrom skyband_jobs.files.json_files import read_json\n"
        "import pyarrow as pa\nfrom pathlib import Path\n"
        "for path in sys.argv[1:]:\n    try:\n        list(read_json(Path(path), pa.schema([('a', pa.int64())])))\n"
        "    except ValueError as error:\n        print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *map(str, paths)], capture_output=True, text=True, check=True)
    assert ran.stdout.count("JSON object") == 3


TEXTS = st.text(st.sampled_from(string.ascii_letters[:3] + " ,;\"'\n\r\\é"), max_size=5)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2), min_size=1, max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_what_pythons_writer_writes_is_read_back(tmp_path_factory, table, end):
    """Whatever the values hold, and wherever blocks end."""
    path = tmp_path_factory.getbasetemp() / "written.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(table)
    wanted = pa.schema([("a", pa.string()), ("b", pa.string())])
    for size in (1, 7, 1 << 20):
        file = CsvFile(path, Dialect())
        read = [row for block in file.records(size) for row in file.parsed(block, wanted, [0, 1]).to_pylist()]
        assert [list(row.values()) for row in read] == table


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.sampled_from(['{"a": 1}', '{"b": "}{\\""}', '{"c": [[{}], null]}', "null", "3", "[]", "{", "}", "", " "])
    )
)
def test_a_line_of_json_is_valid_if_a_parser_finds_one_object(lines):
    def is_object(line):
        try:
            return isinstance(json.loads(line), dict)
        except ValueError:
            return False

    text = "\n".join(lines).encode()
    what, _ = json_lines(np.frombuffer(text, np.uint8))
    assert (what == FINE) == all(is_object(line) or not line.strip() for line in lines)


def test_what_a_line_is_instead():
    def told(text):
        return json_lines(np.frombuffer(text.encode(), np.uint8))

    assert told("{}\n[1]\n") == (NO_OBJECT, 3)
    assert told("{}\n{} {}\n") == (SECOND_VALUE, 3)
    assert told('{}\n{"a":\n1}') == (GOES_ON, 3)
    assert told("{}\n" + '{"a":' * 1001) == (TOO_DEEP, 3)
    assert told('{"a": "\\\\"}\n{"a": "\\""}') == (FINE, -1)


def test_records_of_csv():
    def scanned(text, most=99):
        return csv_records(np.frombuffer(text.encode(), np.uint8), 44, 34, 256, 256, True, most, np.empty(0, np.int64))

    assert scanned("a,b\n\nc\n") == (7, 2, -1)
    assert scanned("a,b\n\nc\n", 1) == (4, 1, -1)
    assert scanned('a,"b\nc"\nd') == (8, 1, -1)
    assert scanned('a,"b\nc') == (0, 0, 2)
    assert scanned("a\r\nb\r") == (3, 1, -1)


def test_numbers_that_json_has_not_are_written_by_their_names():
    table = pa.table({"n": [1.5, float("nan"), float("inf"), float("-inf"), None]})
    lines = list(json_rows(table))
    assert [json.loads(line, parse_constant=pytest.fail)["n"] for line in lines] == [
        1.5,
        "NaN",
        "Infinity",
        "-Infinity",
        None,
    ]


NAN, FAR = float("nan"), float("inf")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.5, NAN, FAR, -FAR, None]),
        pa.array([NAN, 1.5]).dictionary_encode(),
        pa.array([[1.5, NAN], [], None, [-FAR, None]]),
        pa.array([{"a": NAN, "b": "NaN"}, {"a": 1.5, "b": "x"}]),
    ],
)
def test_numbers_that_json_lacks_are_read_by_name_next_to_equal_texts(column):
    beside = {"text": ["NaN"] * len(column)} if column.type == pa.float64() else {}
    table = pa.table({"n": column, **beside})
    lines = [*json_rows(table)]
    rows = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    assert "NaN" in str(rows)
    plain = table.cast(pa.schema([(field.name, plain_type(field.type)) for field in table.schema]))
    read = json_files.json_rows_of("\n".join(lines).encode(), plain.schema)
    assert str(read.to_pylist()) == str(plain.to_pylist())


def test_a_text_in_place_of_a_number_is_quoted_as_written():
    with pytest.raises(pa.ArrowInvalid, match="changed from number to string in row 1"):
        json_files.json_rows_of(b'{"n": "NaN"}\n{"n": "many"}', pa.schema([("n", pa.float64())]))


def test_columns_that_are_inferred_have_types_that_every_query_can_be_asked_of(tmp_path):
    """Values without a clear type, or with one that only Arrow has, become text."""
    columns = {
        "nothing": ("", pa.string()),
        "clock": ("12:30:00", pa.string()),
        "whole": ("7", pa.int64()),
        "number": ("7.5", pa.float64()),
        "flag": ("true", pa.bool_()),
        "day": ("2026-01-31", pa.date32()),
        "text": ("a", pa.string()),
        "time": ("2026-01-31T12:30:00Z", pa.timestamp("us", "UTC")),
    }
    values = ",".join(value for value, _ in columns.values())
    path = written(tmp_path, f"{','.join(columns)}\n{values}\n{values}\n")
    files = open_files(Source(format="csv", path=str(path), options={**HEADER, "inferSchema": True}))
    assert {field.name: field.type for field in files.schema} == {name: kind for name, (_, kind) in columns.items()}
    (batch,) = files.batches(files.schema.names)
    assert len(batch) == 2 and batch["clock"].to_pylist() == ["12:30:00"] * 2 and batch["nothing"].null_count == 2


def test_json_types_come_from_all_values_not_only_the_first_block(tmp_path, monkeypatch):
    """A column that comes late, a number that has a fraction late, a value after nulls alone."""
    lines = [{"n": 1, "gap": None}] * 40 + [{"n": 1.5, "gap": "a", "late": True}] * 40
    path = written(tmp_path, "".join(f"{json.dumps(line)}\n" for line in lines), "a.json")
    cut = text_blocks.blocks
    small = lambda path, cutting, size=64, **keys: cut(path, cutting, 64, **keys)  # noqa: E731
    monkeypatch.setattr(json_files, "blocks", small)
    files = open_files(Source(format="json", path=str(path)))
    found = {field.name: field.type for field in files.schema}
    assert found == {"n": pa.float64(), "gap": pa.string(), "late": pa.bool_()}
    read = [row for batch in files.batches(files.schema.names) for row in batch.to_pylist()]
    assert read == [{"late": None, **line} for line in lines]


@pytest.mark.parametrize("kind", ["TIMESTAMP", "DATE", "BIGINT", "DOUBLE", "DECIMAL(9, 2)", "BOOLEAN"])
def test_the_named_row_contains_the_value_that_cannot_be_read(tmp_path, kind):
    """Of several: the first."""
    good = {"TIMESTAMP": "2026-01-31T12:30:00Z", "DATE": "2026-01-31", "BOOLEAN": "true"}.get(kind, "7")
    for place in (0, 3, 6):
        values = [good] * place + ["wrong one"] + [good, "another", good, "a third"]
        with pytest.raises(InputError, match=rf"c, row {place}: cannot be read as .*wrong one"):
            rows(written(tmp_path, "".join(f"{value}\n" for value in values)), schema=f"c {kind}")


def test_every_way_to_write_a_zone_is_the_same_instant(tmp_path):
    """In the ways of ISO 8601 and of Python; without a zone it is UTC, whatever the machine's own."""
    ways = {
        5.5: ["+05:30", "+0530"],
        -3.5: ["-03:30", "-0330"],
        14: ["+14:00", "+1400"],
        0: ["", "Z", "UTC", " UTC", " Z", "+00:00", "-00:00", "+0000"],
    }
    pairs = [(hours, zone) for hours, zones in ways.items() for zone in zones]
    for between in ("T", " "):
        texts = [f"2026-03-29{between}01:30:00.25{zone}" for _, zone in pairs]
        path = written(tmp_path, "".join(f"{text}\n" for text in texts))
        begin = dt.datetime(2026, 3, 29, 1, 30, 0, 250_000, tzinfo=dt.UTC)
        expected = [(begin - dt.timedelta(hours=hours),) for hours, _ in pairs]
        assert rows(path, schema="ts TIMESTAMP") == expected
        for zone in ("z", " utc"):  # null on Spark
            with pytest.raises(InputError, match="ts, row 0: cannot be read as timestamp"):
                rows(written(tmp_path, f"2026-03-29{between}01:30:00{zone}\n"), schema="ts TIMESTAMP")


@pytest.mark.parametrize(
    ("kind", "read", "refused"),
    [
        ("BIGINT", {"+5": 5, "-0": 0}, ["0x10", "0X1", "1.0", "1e3"]),
        ("DOUBLE", {"Inf": math.inf, "1e400": math.inf, "12d": 12}, ["inf", "INF", "infinity", "0x1p3"]),
        ("BOOLEAN", {"tRuE": True, "FALSE": False}, ["1", "0", "t", "yes"]),
        ("DECIMAL(10, 2)", {"1.005": Decimal("1.01"), "1,000": Decimal(1000)}, ["2147483648", "1e400"]),
        ("DECIMAL(38, 0)", {"1.5": Decimal(2)}, ["3.4e39", "nan"]),
    ],
)
def test_numbers_are_read_as_spark_reads_them(tmp_path, kind, read, refused):
    for text, value in read.items():
        assert rows(written(tmp_path, f'7,"{text}"\n'), schema=f"n INT, v {kind}") == [(7, value)]
    for text in refused:
        with pytest.raises(InputError, match="v, row 1: cannot be read as"):
            rows(written(tmp_path, f"7,\n8,{text}\n"), schema=f"n INT, v {kind}")
    with pytest.raises(InputError, match="v, row 0: cannot be read as double"):
        rows(written(tmp_path, "7,nan\n"), schema="n INT, v DOUBLE")
