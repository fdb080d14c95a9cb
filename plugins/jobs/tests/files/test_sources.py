"""Sources read without Spark: files in Spark's order, text typed as Spark types it."""

import datetime
import gzip
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from skyband.errors import ConfigError, InputError
from skyband_jobs.files.file_listing import SUFFIXES, data_files, format_by_name
from skyband_jobs.files.source_files import open_files
from skyband_jobs.tables.model import Source

UTC = datetime.UTC


def at(text):
    return datetime.datetime.fromisoformat(text).replace(tzinfo=UTC)


def rows(format, path, columns=None, **keys):
    files = open_files(Source(format=format, path=str(path), **keys))
    batches = files.batches(columns or files.schema.names)
    return [row for batch in batches for row in batch.to_pylist()]


def schema(format, path, **keys):
    return open_files(Source(format=format, path=str(path), **keys)).schema


SCHEMA = "ts TIMESTAMP, who STRING, n INT, day DATE"


def test_csv_with_a_schema(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('2026-01-02 03:04:05,"x, y",7,2026-01-02\n2026-01-02T03:04:05.25Z,,,\n2026-01-02,"",1,\n')
    assert rows("csv", path, schema=SCHEMA) == [
        {"ts": at("2026-01-02T03:04:05"), "who": "x, y", "n": 7, "day": datetime.date(2026, 1, 2)},
        {"ts": at("2026-01-02T03:04:05.25"), "who": None, "n": None, "day": None},
        {"ts": at("2026-01-02"), "who": "", "n": 1, "day": None},
    ]


def test_times_with_an_offset_are_instants(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("2026-01-02 03:04:05+02:00\n2026-01-02T01:04:05Z\n")
    assert [row["ts"] for row in rows("csv", path, schema="ts TIMESTAMP")] == [at("2026-01-02T01:04:05")] * 2


def test_csv_without_a_schema_is_text_and_has_sparks_names(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("ts;n\n2026-01-02;7\n")
    assert schema("csv", path, options={"sep": ";"}).names == ["_c0", "_c1"]
    with_header = {"sep": ";", "header": True}
    assert schema("csv", path, options=with_header) == pa.schema([("ts", pa.string()), ("n", pa.string())])
    inferred = schema("csv", path, options={**with_header, "inferSchema": "true"})
    assert inferred.field("n").type == pa.int64()
    assert rows("csv", path, ["n"], options={**with_header, "inferSchema": True}) == [{"n": 7}]


def test_csv_may_be_compressed(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"who\nx\n"))
    assert rows("csv", path, options={"header": True}) == [{"who": "x"}]


def test_a_value_that_is_not_of_its_type_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("soon,x,1,2026-01-02\n")
    with pytest.raises(InputError, match=r"ts, row 0: cannot be read as timestamp.*header = true"):
        rows("csv", path, schema=SCHEMA)


def test_json_lines(tmp_path):
    path = tmp_path / "a.json"
    lines = [{"ts": "2026-01-02T03:04:05Z", "who": "x", "n": 1, "more": [1]}, {"ts": "2026-01-03 00:00:00", "n": 2}]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert schema("json", path).field("ts").type == pa.string(), "Spark does not look for times in JSON"
    assert rows("json", path, ["ts", "who", "n"], schema=SCHEMA) == [
        {"ts": at("2026-01-02T03:04:05"), "who": "x", "n": 1},
        {"ts": at("2026-01-03"), "who": None, "n": 2},
    ]


DAY, NOON = datetime.date(2026, 1, 2), "2026-01-02T12:00:00.123456789+02:00"
PARTS = "day DATE, at TIMESTAMP, hour TIMESTAMP_NTZ"
NESTED = f"rows ARRAY<STRUCT<{PARTS.replace(' ', ': ').replace(',:', ',')}>>, days ARRAY<DATE>, n INT"


def test_times_and_days_within_structs_and_lists_are_read_like_others(tmp_path):
    path = tmp_path / "a.json"
    row = {"day": "2026-01-02", "at": NOON, "hour": "2026-01-02 12:00:00 UTC"}
    lines = [
        {"rows": [row, None, {"at": "2026-01-02"}], "days": ["2026-01-02", None], **row},
        {},
        {"rows": [], "days": []},
        {"rows": [row], "days": ["2026-01-02"] * 3},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    plain = rows("json", path, schema=PARTS)[0]
    assert plain["at"] == datetime.datetime(2026, 1, 2, 10, 0, 0, 123456, datetime.UTC)
    nothing = dict.fromkeys(plain)
    assert [[row["rows"], row["days"]] for row in rows("json", path, ["rows", "days"], schema=NESTED)] == [
        [[plain, None, nothing | {"at": at("2026-01-02")}], [DAY, None]],
        [None, None],
        [[], []],
        [[plain], [DAY] * 3],
    ]


def test_times_are_not_looked_for_within_structs_and_lists_either(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"a": {"at": "2026-01-02 00:00:00", "no": null}, "b": [["2026-01-02T00:00:00Z"]], "n": null}\n')
    text = pa.string()
    assert schema("json", path) == pa.schema(
        [("a", pa.struct([("at", text), ("no", text)])), ("b", pa.list_(pa.list_(text))), ("n", text)]
    )
    path.write_text(path.read_text() + '{"a": {"at": "soon"}, "b": [["then"]]}\n')
    assert rows("json", path)[1]["a"] == {"at": "soon", "no": None}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"at": "soon"}, r"c, row 0: cannot be read as struct<at: timestamp\[us, tz=UTC\]>: .*soon"),
        ({"at": 1_760_000_400}, r"use BIGINT, and select timestamp_seconds\(c\.at\) AS at"),
    ],
)
def test_a_part_that_is_no_time_is_told(tmp_path, value, said):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"c": value}))
    with pytest.raises(InputError, match=said):
        rows("json", path, schema="c STRUCT<at: TIMESTAMP>")


def test_a_map_in_json_is_refused_with_what_reads_it(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"c": {"a": 1}, "n": 1}')
    for kind in ("MAP<STRING, INT>", "ARRAY<STRUCT<d: MAP<STRING, INT>>>"):
        keys = {"schema": f"c {kind}, n INT"}
        with pytest.raises(InputError, match=r"a\.json: c: is a MAP, .*STRUCT.*source\.reader"):
            rows("json", path, **keys)
        assert rows("json", path, ["n"], **keys) == [{"n": 1}]


def test_files_come_in_order_of_their_change(tmp_path):
    for number, name in enumerate(["c", "a", "b"]):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"n": [number]}), path)
        os.utime(path, (100 + number, 100 + number))
    assert [row["n"] for row in rows("parquet", tmp_path)] == [0, 1, 2]
    assert [row["n"] for row in rows("parquet", tmp_path / "[ab].parquet")] == [1, 2]


def test_files_of_one_instant_are_sorted_by_name_and_a_nanosecond_distinguishes_them(tmp_path):
    for number, (name, nanoseconds) in enumerate([("c", 1), ("b", 2), ("d", 2), ("a", 3)]):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"n": [number]}), path)
        os.utime(path, ns=(0, 1_700_000_000_000_000_000 + nanoseconds))
    assert [row["n"] for row in rows("parquet", tmp_path)] == [0, 1, 2, 3]


def test_files_of_one_instant_are_sorted_by_name_however_a_folder_lists_them(tmp_path):
    names = np.random.default_rng(3).permutation([f"{number:02}.parquet" for number in range(20)]).tolist()
    for name in names:
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (100, 100))
    assert [path.name for path in data_files(tmp_path)] == sorted(names)


def test_folders_named_key_value_are_columns(tmp_path):
    for day in ("1", "2"):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"n": [int(day)]}), tmp_path / f"day={day}" / "a.parquet")
    (tmp_path / "other").mkdir()
    pq.write_table(pa.table({"n": [9]}), tmp_path / "other" / "a.parquet")
    assert sorted((row["day"], row["n"]) for row in rows("parquet", tmp_path)) == [(1, 1), (2, 2)]


def test_arrow_files(tmp_path):
    table = pa.table({"n": [1, 2]})
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    assert rows("arrow", tmp_path) == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("packed", ["", ".gz", ".bz2", ".zst", ".lz4", ".xz", ".GZ"])
def test_a_suffix_gives_the_format_however_the_file_is_compressed(packed):
    for suffix, kind in SUFFIXES.items():
        for name in (f"a{suffix}{packed}", f"a.b{suffix.upper()}{packed}"):
            assert format_by_name(Path(name)) == kind
    assert format_by_name(Path(f"a{packed}")) is format_by_name(Path(f"a.b{packed}")) is None


def test_only_what_a_streaming_sink_committed_is_read(tmp_path):
    for name in ("kept", "left"):
        pq.write_table(pa.table({"name": [name]}), tmp_path / f"{name}.parquet")
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    entries = [
        {"path": f"file://{tmp_path}/{name}.parquet", "size": 1, "action": action}
        for name, action in (("kept", "add"), ("left", "delete"))
    ]
    (log / "0").write_text("\n".join(["v1", *map(json.dumps, entries)]) + "\n")
    assert rows("parquet", tmp_path) == [{"name": "kept"}]


@pytest.mark.parametrize("folder", [".", "day=1"])
@pytest.mark.parametrize("lines", [[], ["v1"], ["v1", '{"path": "file:///elsewhere/part-1.parquet", "action": "add"}']])
def test_a_log_that_lists_no_file_here_leaves_out_all_that_a_crash_left(tmp_path, folder, lines):
    """Whether the sink committed nothing yet or an empty micro-batch, and whatever a folder above lists."""
    (tmp_path / "day=1").mkdir()
    for name in ("left.parquet", "day=1/left.parquet"):
        (tmp_path / name).touch()
    log = tmp_path / folder / "_spark_metadata"
    log.mkdir()
    if lines:
        (log / "0").write_text("\n".join(lines))
    assert [path.parent.name for path in data_files(tmp_path)] == ([] if folder == "." else [tmp_path.name])


def test_hidden_files_and_folders_are_no_data(tmp_path):
    for name in ("kept", ".hidden", "_hidden", ".day=1/kept", "_day=1/kept", "other/kept"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"name": [name]}), tmp_path / f"{name}.parquet")
    assert rows("parquet", tmp_path) == [{"name": "kept"}]


def test_the_log_of_a_streaming_sink_applies_to_its_folders_too(tmp_path):
    for name in ("kept", "left"):
        folder = tmp_path / "day=1"
        folder.mkdir(exist_ok=True)
        pq.write_table(pa.table({"name": [name]}), folder / f"{name}.parquet")
    log = tmp_path / "_spark_metadata"
    log.mkdir()
    entry = json.dumps({"path": f"file://{tmp_path}/day=1/kept.parquet", "size": 1, "action": "add"})
    (log / "0").write_text(f"v1\n{entry}\n")
    assert rows("parquet", tmp_path) == [{"name": "kept", "day": 1}]


def test_a_stream_of_arrow_is_told_with_how_to_write_a_file(tmp_path):
    table = pa.table({"n": [1, 2]})
    with pa.ipc.new_stream(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ConfigError, match=r"a.arrow: is an Arrow stream, .* write it with pyarrow.ipc.new_file"):
        open_files(Source(format="arrow", path=str(tmp_path)))


@pytest.mark.parametrize("format", ["parquet", "csv", "json", "arrow"])
def test_an_empty_or_foreign_file_is_a_clear_error(tmp_path, format):
    path = tmp_path / "a"
    path.write_bytes(b"")
    with pytest.raises(ConfigError, match=r"path: cannot be read as|path: .* is empty"):
        open_files(Source(format=format, path=str(path)))


@pytest.mark.parametrize("path", ["dbfs:/bucket/x", None])
def test_what_is_elsewhere_is_left_to_spark(path):
    assert open_files(Source(format="parquet", path=path)) is None
    assert open_files(Source(format="orc", path="x")) is None


LINES = {"csv": b"2026-01-01 00:00:00,%s,1\n", "json": b'{"ts": "2026-01-01 00:00:00", "who": "%s", "n": 1}\n'}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("schema", [True, False])
@pytest.mark.parametrize("format", ["csv", "json"])
@pytest.mark.parametrize(
    ("bad", "before", "told"),
    [
        (b"Ren\xe9", 0, "0xe9"),
        (b"Ren\xe9e", 2, "0xe9"),
        (b"a\xffb", 40_000, "0xff"),
        (b"a\xed\xa0\x80b", 1, "0xed"),
        (b"\xc3", 3, "0xc3"),
    ],
)
def test_text_that_is_not_utf8_is_refused_with_its_place(tmp_path, format, schema, packed, bad, before, told):
    """Each byte that ends its line or its chunk too, in files longer than a chunk, compressed ones among them."""
    good = LINES[format] % "né".encode()
    text = good * before + LINES[format] % bad + good
    path = tmp_path / f"a.{format}{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(text, 1) if packed else text)
    keys = {"schema": "ts TIMESTAMP, who STRING, n INT"} if schema else {}
    with pytest.raises((InputError, ConfigError)) as caught:
        rows(format, path, **keys)
    place = (
        len(good) * before + (LINES[format] % bad).index(bad) + next(i for i, byte in enumerate(bad) if byte > 127) + 1
    )
    said = (
        f"{path}: line {before + 1}, byte {place} of the file is not UTF-8 (byte {told}): set source.options.encoding"
    )
    assert said in str(caught.value)


@pytest.mark.parametrize("format", ["csv", "json"])
def test_utf16_is_called_so(tmp_path, format):
    path = tmp_path / f"a.{format}"
    path.write_bytes((LINES[format] % b"x").decode().encode("utf-16"))
    with pytest.raises(ConfigError, match=r"line 1, byte 1 of the file is not UTF-8 \(it looks like UTF-16\)"):
        rows(format, path)


def test_a_cut_last_character_is_no_text(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'{"who": "x"}\n\xe2\x82')
    with pytest.raises(ConfigError, match=r"line 2, byte 14 of the file is not UTF-8 \(byte 0xe2\)"):
        rows("json", path)


@pytest.mark.parametrize("format", ["csv", "json"])
def test_all_of_unicode_is_accepted(tmp_path, format):
    """Characters of two to four bytes at every place of a chunk's end."""
    path = tmp_path / f"a.{format}"
    names = ["é" * 3, "€uro", "𝄞 clef", "naïve", "\u2028"]
    path.write_bytes(b"".join(LINES[format] % name.encode() for name in names * 20_000))
    assert [row["who"] for row in rows(format, path, schema="ts TIMESTAMP, who STRING, n INT")] == names * 20_000
