"""Spark's notation of schemas, parsed without Spark."""

import pyarrow as pa
import pytest
from skyband_jobs.tables.spark_ddl import parse_ddl

INSTANT = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("ts TIMESTAMP, client STRING", [("ts", INSTANT), ("client", pa.string())]),
        ("a int,b bigint , c double", [("a", pa.int32()), ("b", pa.int64()), ("c", pa.float64())]),
        ("`odd name` string, d date", [("odd name", pa.string()), ("d", pa.date32())]),
        ("t timestamp_ntz", [("t", pa.timestamp("us"))]),
        ("p decimal(10,2), q decimal", [("p", pa.decimal128(10, 2)), ("q", pa.decimal128(10, 0))]),
        ("v varchar(20)", [("v", pa.string())]),
        ("tokens array<array<long>>", [("tokens", pa.list_(pa.list_(pa.int64())))]),
        ("m map<string,int>", [("m", pa.map_(pa.string(), pa.int32()))]),
        ("s struct<a: int, b: array<string>>", [("s", pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]))]),
    ],
)
def test_types(text, fields):
    assert parse_ddl(text) == pa.schema(fields)


def test_not_null():
    assert not parse_ddl("a int not null, b int").field("a").nullable


def test_comments_as_spark_writes_them():
    text = "ts TIMESTAMP COMMENT 'when it\\'s sent, >', s STRUCT<a: INT COMMENT \"one\", b: INT> NOT NULL COMMENT ''"
    nested = pa.struct([("a", pa.int32()), ("b", pa.int32())])
    assert parse_ddl(text) == pa.schema([pa.field("ts", INSTANT), pa.field("s", nested, nullable=False)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no column"),
        ("a int comment b", "expected a comment in quotes, found 'b'"),
        ("a int comment 'b", 'cannot read "\'"'),
        ("ts", "expected 'a word', found 'the end'"),
        ("ts timstamp", "unknown type 'timstamp'; did you mean 'timestamp'?"),
        ("a int b int", "expected ','"),
        ("a array<int", "expected '>'"),
        ("a int; b int", "cannot read ';'"),
        ("a decimal(x)", "expected a whole number, found 'x'"),
    ],
)
def test_what_is_no_schema(text, message):
    with pytest.raises(ValueError) as caught:
        parse_ddl(text)
    assert message in str(caught.value)
