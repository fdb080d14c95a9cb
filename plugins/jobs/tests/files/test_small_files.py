"""Small files are read together, many in a batch: the rows, their order and their errors are the same."""

import gzip
import os
from itertools import product

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband.errors import InputError
from skyband_jobs.files import columnar_files, file_parts, row_location
from skyband_jobs.files.source_files import open_files
from skyband_jobs.tables.model import Source

SCHEMA = "n BIGINT, text STRING"
PLAIN = [f"{number},a{number}\n" for number in range(20)]
JSON = [f'{{"n": {number}, "text": "a"}}\n' for number in range(20)]


def put(folder, texts, suffix):
    for number, text in enumerate(texts):
        data = text.encode()
        path = folder / f"{number:02}.{suffix}"
        path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
        os.utime(path, (1_000_000_000 + number,) * 2)


def source(folder, format, **options):
    return Source(format=format, path=str(folder), schema=SCHEMA, options=options)


def rows(files, together):
    """All rows, in how many batches, and what was wrong."""
    batches, error = [], None
    try:
        batches += iter(files.batches(["text", "n"], together=together, dictionaries=True))
    except InputError as raised:
        error = (raised.argument, raised.message, raised.row)
    return [row for batch in batches for row in batch.to_pylist()], len(batches), error


def same(files):
    (alone, many, error), (together, few, also) = rows(files, False), rows(files, True)
    assert together == alone
    assert also == error
    return few, many


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        (PLAIN, {}),
        ([text.rstrip("\n") for text in PLAIN], {}),
        ([text.replace("\n", "\r\n") for text in PLAIN], {}),
        (["\ufeff" + text for text in PLAIN], {}),
        (["n,text\n" + text for text in PLAIN], {"header": True}),
        (["n,text\n1,a\n", "n,text", "", "\n\nn,text\n\n2,b"], {"header": True}),
        (["n,text,more\n1,a,\n", "more,n,text\n,2,b\n", "text,n\nc,3\n"], {"header": True}),
        ([f'{number},"a ""\n\n{number}"\n' for number in range(20)], {}),
        (['1,"a"', '2,"a\n', "3,c\n"], {}),
        (["1,a\\", "2,b\n"], {"escape": "\\"}),
        (["1,a\\\n", "2,b\n"], {"escape": "\\"}),
        (["1,a\n", "x,b\n", "3,c\n"], {}),
        (["1,a\n", "2,b,c\n", "3,c\n"], {}),
        (["1,a\n", "2,b\n1\n", "3,c\n"], {}),
        (["1,a\n", " 2 ,b\n", "3,\n"], {}),
    ],
)
def test_csv(tmp_path, texts, options):
    put(tmp_path, texts, "csv")
    few, many = same(open_files(source(tmp_path, "csv", **options)))
    if texts is PLAIN:
        assert (few, many) == (1, 20)


@pytest.mark.parametrize(
    "texts",
    [
        JSON,
        [text.rstrip("\n") for text in JSON],
        ["", "\n\n", *JSON],
        ['{"n": 1}', '{"text": "b", "n": 2}\n', '{"more": [1]}'],
        ['{"n": 1}', '{"n": "x"}', '{"n": 3}'],
        ['{"n": 1', '\n, "text": "a"}', '{"n": 3}'],
        ['{"n": 1}', "[2]", '{"n": 3}'],
    ],
)
def test_json(tmp_path, texts):
    put(tmp_path, texts, "json")
    few, many = same(open_files(source(tmp_path, "json")))
    if texts is JSON:
        assert (few, many) == (1, 20)


@pytest.mark.parametrize(("format", "texts"), [("csv", PLAIN), ("json", JSON)])
def test_compressed_files(tmp_path, format, texts):
    put(tmp_path, texts, f"{format}.gz")
    assert same(open_files(source(tmp_path, format))) == (1, 20)


def test_parquet_of_several_types(tmp_path):
    for number in range(20):
        texts = pa.array(["a", None, str(number)])
        table = pa.table(
            {
                "text": texts if number % 2 else texts.dictionary_encode(),
                "n": pa.array([number] * 3, pa.int32() if number % 3 else pa.int64()),
            }
        )
        pq.write_table(table if number % 5 else table.drop_columns(["text"]), tmp_path / f"{number:02}.parquet")
    assert same(open_files(source(tmp_path, "parquet"))) == (1, 20)


def test_columns_of_folders(tmp_path):
    for number in range(20):
        path = tmp_path / f"day={number // 10}" / f"{number:02}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text(PLAIN[number])
        os.utime(path, (1_000_000_000 + number,) * 2)
    files = open_files(Source(format="csv", path=str(tmp_path)))
    alone, together = ([*files.batches(["_c1", "day"], together=way)] for way in (False, True))
    assert pa.Table.from_batches(together).to_pylist() == pa.Table.from_batches(alone).to_pylist()
    assert (len(together), len(alone)) == (2, 20)


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
@pytest.mark.parametrize("where", [None, "n >= 4"])
def test_a_row_is_told_by_its_file_and_its_place_there(tmp_path, format, where):
    put(tmp_path, [text * 3 for text in (PLAIN if format == "csv" else JSON)], format)
    if format == "parquet":
        for number, path in enumerate(sorted(tmp_path.iterdir())):
            pq.write_table(pa.table({"n": [number] * 3, "text": ["a"] * 3}), path)
            os.utime(path, (1_000_000_000 + number,) * 2)
    files = open_files(Source(format=format, path=str(tmp_path), schema=SCHEMA, where=where))
    batches = files.batches(["n"], together=True)
    (whole,) = batches
    row = whole["n"].to_pylist().index(17) + 2
    with pytest.raises(InputError) as raised, batches.placing():
        raise InputError("n", "is wrong", row)
    assert (raised.value.argument, raised.value.row) == (f"{tmp_path}/17.{format}: n", 2)


def test_a_batch_is_bounded_in_files_bytes_and_rows(tmp_path, monkeypatch):
    put(tmp_path, PLAIN, "csv")
    (tmp_path / "99.csv").write_text("1,a\n" * 20_000)
    files = open_files(source(tmp_path, "csv"))
    assert [len(batch) for batch in files.batches(["n"], together=True)] == [20, 20_000]
    monkeypatch.setattr(file_parts, "_MOST_FILES", 8)
    assert [len(batch) for batch in files.batches(["n"], together=True)] == [8, 8, 4, 20_000]
    monkeypatch.setattr(file_parts, "_TOGETHER", 30)
    assert [len(batch) for batch in files.batches(["n"], together=True)] == [6, 5, 4, 4, 1, 20_000]
    for path in tmp_path.iterdir():
        path.unlink()
    monkeypatch.undo()
    monkeypatch.setattr(row_location, "_MANY", 5)
    for number in range(4):
        pq.write_table(pa.table({"n": [number] * 3, "text": ["a"] * 3}), tmp_path / f"{number}.parquet")
    pq.write_table(pa.table({"n": [9] * 250_000, "text": ["a"] * 250_000}), tmp_path / "9.parquet")
    files = open_files(source(tmp_path, "parquet"))
    assert [len(batch) for batch in files.batches(["n"], together=True)] == [6, 6, 100_000, 100_000, 50_000]


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"n.x": [1], "n": [2], "text": ["a"]}),
        pa.table({"n": [{"x": 1}], "N": [2], "text": ["a"]}),
        pa.table({"TEXT": ["a"], "N": [2]}),
        pa.table({"other": [1, 2]}),
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["n", "n"]),
        pa.table({"n": pa.array([1], pa.int8()), "text": pa.array(["a"]).dictionary_encode()}),
        pa.table({"n": ["x"], "text": ["a"]}),
        pa.table({"n": pa.array([], pa.int64()), "text": pa.array([], pa.string())}),
    ],
)
def test_a_small_parquet_file_is_read_as_a_large_one(tmp_path, monkeypatch, table):
    pq.write_table(table, tmp_path / "a.parquet")
    files = open_files(source(tmp_path, "parquet"))
    small = rows(files, False)
    monkeypatch.setattr(columnar_files, "_SMALL", 0)
    (there, _, error), (expected, _, also) = small, rows(files, False)
    assert there == expected
    assert error == also


@pytest.mark.parametrize("groups", [1, 2, 9, 40])
@pytest.mark.parametrize("most", [400, 1_500, 1_000_000])
def test_the_shares_of_a_large_file_make_it_up(tmp_path, groups, most):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": range(1_000), "text": ["a"] * 1_000}), path, row_group_size=1_000 // groups)
    size = path.stat().st_size
    shares = [file_parts.share_of(path, "parquet", size, most, share) for share in range(max(-(-size // most), 1))]
    files = open_files(source(tmp_path, "parquet"))
    read = [[row for batch in files.batches(["n"], parts) for row in batch["n"].to_pylist()] for parts in shares]
    assert sorted(row for rows in read for row in rows) == list(range(1_000))
    if groups > 1 and most < 1_000_000:
        assert sum(map(bool, read)) > 1


@pytest.mark.parametrize("header", [False, True])
def test_a_file_ends_where_it_ends_whatever_its_last_line_ends_with(tmp_path, header):
    """Of one column, where two lines that run into each other are a line again."""
    source = Source(format="csv", path=str(tmp_path), schema="n BIGINT", options={"header": header})
    for ends in product(["\n", "", "\r\n", "\r"], repeat=2):
        first = "n\n" if header else ""
        put(tmp_path, [f"{first}{number}1\n{number}2{end}" for number, end in enumerate((*ends, ""))], "csv")
        for together in (False, True):
            batches = open_files(source).batches(["n"], together=together)
            assert [row["n"] for batch in batches for row in batch.to_pylist()] == [1, 2, 11, 12, 21, 22], ends
