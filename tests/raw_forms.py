"""Files as they come: each with the keys of its source and the rows that every engine reads of it."""

import bz2
import datetime
import gzip
import lzma
from decimal import Decimal
from typing import Any

import pyarrow as pa
from attrs import frozen


@frozen
class Form:
    """A raw form: its file, how it is read, and its rows."""

    name: str
    text: str | bytes
    keys: dict[str, Any]
    rows: list[tuple[Any, ...]]
    only_python: str = ""
    """What is said where Spark's own reader is asked, which does not know the form; empty where it does."""

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        return self.text.encode() if isinstance(self.text, str) else self.text


def instant(*parts: int) -> datetime.datetime:
    """A time in UTC."""
    return datetime.datetime(*parts, tzinfo=datetime.UTC)


def _lz4(text: bytes) -> bytes:
    return pa.compress(text, "lz4", asbytes=True)


_NINE, _TEN = instant(2026, 1, 31, 21, 5), instant(2026, 2, 1, 10)
_CSV = "ts,n\n2026-01-31 21:05:00,1\n2026-02-01 10:00:00,2\n"
_ACCENTS, _ACCENTED = "who,n\né,1\nß,2\n", [("é", 1), ("ß", 2)]
_TS = "ts TIMESTAMP, n INT"
_ROWS = [(_NINE, 1), (_TEN, 2)]
_LOG = "1066036250.603    310 10.0.0.1 TCP_MISS/200 1374\r\n\n1066036251.071  1 10.0.0.2 TCP_HIT/200 9\r\n"
_QUAKES = """{
  "type": "FeatureCollection", "metadata": {"count": 2},
  "features": [
    {"type": "Feature", "id": "a", "properties": {"mag": 1.5, "time": 1769893500000},
     "geometry": {"type": "Point", "coordinates": [-116.5, 33.25, 7.1]}},
    {"type": "Feature", "id": "b", "properties": {"mag": null, "time": 1769940000000, "felt": [1, {"x": "]},{"}]},
     "geometry": null}
  ]
}
"""


def csv(name: str, text: str | bytes, rows: list[tuple[Any, ...]], only_python: str = "", **keys: Any) -> Form:
    """A file of CSV with names in its first line; keys: a schema and options."""
    schema = {"schema": keys.pop("schema")} if "schema" in keys else {}
    return Form(name, text, {"format": "csv", **schema, "options": {"header": True, **keys}}, rows, only_python)


def json(name: str, text: str | bytes, rows: list[tuple[Any, ...]], only_python: str = "", **keys: Any) -> Form:
    """A file of JSON; keys: options, and those of a source that no option is called like."""
    own = {key: keys.pop(key) for key in ("schema", "explode", "where", "select") if key in keys}
    return Form(name, text, {"format": "json", **own, "options": keys}, rows, only_python)


FORMS = {
    "quoted line breaks": csv(
        "a.csv", 'ts,who\n2026-01-31 21:05:00,"a\nb, ""c"""\n2026-02-01,d\n',
        [(_NINE, 'a\nb, "c"'), (instant(2026, 2, 1), "d")], schema="ts TIMESTAMP, who STRING",
    ),
    "American dates": csv(
        "a.csv", "ts,day,n\n1/31/2026 9:05:00 PM,01/31/26,1\n2/1/2026 10:00:00 am,02/01/26,2\n",
        [(_NINE, datetime.date(2026, 1, 31), 1), (_TEN, datetime.date(2026, 2, 1), 2)],
        schema="ts TIMESTAMP, day DATE, n INT", timestampFormat="M/d/yyyy h:mm:ss a", dateFormat="MM/dd/yy",
    ),
    "a separator of several characters": csv(
        "a.csv", 'a||b||n\n1||"x||y"||2\n3|4||||5\n|||6"||7\n', [("1", "x||y", 2), ("3|4", None, 5), (None, '|6"', 7)],
        schema="a STRING, b STRING, n INT", sep="||",
    ),
    "comments": csv(
        "a.csv", '# made by "hand\nwho,n\n# none\n"#x\n#y",1\na#b,2\n', [("#x\n#y", 1), ("a#b", 2)],
        schema="who STRING, n INT", comment="#",
    ),
    "an escape": csv(
        "a.csv", 'who,n\n"a\\"b",1\nc,2\n', [('a"b', 1), ("c", 2)], schema="who STRING, n INT", escape="\\",
    ),
    "marks of thousands": csv(
        "a.csv", 'who,price\na,"1,234.50"\nb,7\nc,-1234\n',
        [("a", Decimal("1234.50")), ("b", Decimal("7.00")), ("c", Decimal("-1234.00"))],
        schema="who STRING, price DECIMAL(12, 2)",
    ),
    "decimal commas": csv(
        "a.csv", "who;price\na;1.234,50\nb;7\nc;-1.234\n",
        [("a", Decimal("1234.50")), ("b", Decimal("7.00")), ("c", Decimal("-1234.00"))],
        schema="who STRING, price DECIMAL(12, 2)", sep=";", locale="de-DE",
    ),
    "lines before the names": csv(
        "a.csv", 'Report "of all\nmade, by, hand\n\nwho,n\na,1\nb,2\n', [("a", 1), ("b", 2)], "skipRows",
        schema="who STRING, n INT", skipRows=3,
    ),
    "a text for null": csv(
        "a.csv", "who,n\nNA,1\nb,NA\n", [(None, 1), ("b", None)], schema="who STRING, n INT", nullValue="NA",
    ),
    "ISO-8859-1": csv("a.csv", _ACCENTS.encode("latin1"), _ACCENTED, schema="who STRING, n INT", encoding="ISO-8859-1"),
    "UTF-16": csv("a.csv", _ACCENTS.encode("utf-16"), _ACCENTED, schema="who STRING, n INT", encoding="UTF-16"),
    "gzip": csv("a.csv.gz", gzip.compress(_CSV.encode(), mtime=0), _ROWS, schema=_TS),
    "bzip2": csv("a.csv.bz2", bz2.compress(_CSV.encode()), _ROWS, schema=_TS),
    "xz": csv("a.csv.xz", lzma.compress(_CSV.encode()), _ROWS, "does not know .xz (a.csv.xz)", schema=_TS),
    "zstd": csv("a.csv.zst", pa.compress(_CSV.encode(), "zstd", asbytes=True), _ROWS, "does not know .zst", schema=_TS),
    "an array of JSON": json(
        "a.json", '[{"ts": "2026-01-31T21:05:00Z", "n": 1},\n\n {"n":\n 2, "ts": "2026-02-01 10:00:00"}]\n', _ROWS,
        schema=_TS, multiLine=True,
    ),
    "an object of JSON over lines": json(
        "a.json", '{\n"ts": "2026-01-31T21:05:00Z",\n "in": {"n": [1, 2]}}\n', [(_NINE, 2)],
        schema="ts TIMESTAMP, in STRUCT<n: ARRAY<INT>>", select=("ts", "in.n[1] AS n"), multiLine=True,
    ),
    "lists of JSON": json(
        "a.json", '{"day": 1, "rows": [{"n": 1}, {"n": 2}]}\n{"rows": []}\n{"rows": [{"n": 3}, {"n": null}]}\n',
        [(1,), (3,)],
        schema="rows ARRAY<STRUCT<n: INT>>", explode="rows", where="n <> 2",
    ),
    "GeoJSON": json(
        "a.json", _QUAKES, [(_NINE, "a", 1.5, -116.5), (_TEN, "b", None, None)],
        schema="features ARRAY<STRUCT<id: STRING, properties: STRUCT<mag: DOUBLE, time: BIGINT>,"
        " geometry: STRUCT<coordinates: ARRAY<DOUBLE>>>>",
        explode="features", multiLine=True, select=(
            "timestamp_millis(properties.time) AS ts", "id", "properties.mag AS mag", "geometry.coordinates[0] AS lon",
        ),
    ),
    "times of JSON in a format": json(
        "a.json", '{"ts": "31/Jan/2026:22:05:00 +0100", "n": 1}\n{"ts": "01/Feb/2026:10:00:00 +0000", "n": 2}\n', _ROWS,
        schema=_TS, timestampFormat="dd/MMM/yyyy:HH:mm:ss Z",
    ),
    "lines of a log": Form(
        "a.log", _LOG, {
            "format": "text", "where": "value <> ''",
            "select": (
                "timestamp_millis(CAST(replace(regexp_extract(value, '^([0-9.]+)', 1), '.', '') AS BIGINT)) AS ts",
                "regexp_extract(value, '^[^ ]+ +[0-9]+ ([^ ]+)', 1) AS client",
            ),
        },
        [
            (instant(2003, 10, 13, 9, 10, 50, 603_000), "10.0.0.1"),
            (instant(2003, 10, 13, 9, 10, 51, 71_000), "10.0.0.2"),
        ],
    ),
    "seconds since 1970": csv(
        "a.csv", "ts,n\n1769893500,1\n1769940000,2\n", _ROWS, schema="ts BIGINT, n INT",
    ),
}  # fmt: skip
FORMS["seconds since 1970"].keys["select"] = ("timestamp_seconds(ts) AS ts", "n")
