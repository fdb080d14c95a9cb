"""With `bad_rows` a row that cannot be read is put aside alone, with its place: all others are read."""

import gzip
import json
import pickle
import random
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import frozen
from skyband.errors import InputError
from skyband_jobs.files import text_blocks
from skyband_jobs.files.file_parts import FilePart
from skyband_jobs.files.source_files import open_files
from skyband_jobs.files.text_blocks import ByteRange
from skyband_jobs.files.text_files import ranges
from skyband_jobs.tables.model import Source
from skyband_spark.reading.python_file_reader import PartReader

LINE_END = b"\n"
FILES, BATCHES, ROWS = 3, 3, 2
"""Of a folder; of a file; of a batch."""
TYPED = "n BIGINT, t TIMESTAMP"
TEXT = "n STRING, t STRING"
WHERE = {"schema": TEXT, "where": "CAST(n AS BIGINT) >= 0", "select": ("CAST(n AS BIGINT) AS n", "t")}
SELECT = {"schema": TEXT, "select": ("CAST(n AS BIGINT) AS n", "to_timestamp(t) AS t")}


@frozen
class Form:
    """How rows are written, how they are read, and what is not a row."""

    format: str
    bad: bytes
    keys: dict
    row: Callable[[int], bytes]
    head: bytes = b""
    between: bytes = b"\n"
    foot: bytes = b"\n"
    reason: str = ""

    def source(self, folder) -> Source:
        return Source(format=self.format, path=str(folder), **self.keys)

    def file(self, rows) -> bytes:
        return self.head + self.between.join(self.bad if row is None else self.row(row) for row in rows) + self.foot


def day(n: int) -> str:
    return f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z"


def of_csv(n: int) -> bytes:
    return f"{n},{day(n)}".encode()


def quoted(n: int) -> bytes:
    return f'"{n}","{day(n)}"'.encode()


def of_json(n: int) -> bytes:
    return json.dumps({"n": n, "t": day(n)}).encode()


def of_text(n: int) -> bytes:
    return b'{"n": "%d", "t": "%s"}' % (n, day(n).encode())


def csv(bad: bytes, row=of_csv, reason="", options=None, **keys) -> Form:
    head = b"n,t\n" if (options or {}).get("header") else b""
    return Form("csv", bad, {"schema": TYPED, "options": options or {}, **keys}, row, head, reason=reason)


def lines(bad: bytes, row=of_json, reason="", **keys) -> Form:
    return Form("json", bad, {"schema": TYPED, **keys}, row, reason=reason)


def array(bad: bytes, row=of_json, **keys) -> Form:
    keys = {"schema": TYPED, "options": {"multiLine": True}, **keys}
    return Form("json", bad, keys, row, b"[\n", b",\n", b"\n]\n")


HEADER, UNQUOTED = {"header": True}, {"multiLine": False}
FORMS = {
    "csv number": csv(b"x," + day(0).encode(), reason="n: cannot be read as int64"),
    "csv time": csv(b"7,yesterday", reason="t: cannot be read as timestamp"),
    "csv header": csv(b"x," + day(0).encode(), options=HEADER),
    "csv quoted": csv(b'"x","' + day(0).encode() + b'"', quoted, options=HEADER),
    "csv value of two lines": csv(b'"x\ny","' + day(0).encode() + b'"', quoted, options=HEADER),
    "csv comments": csv(b"x," + day(0).encode(), options={"comment": "#"}),
    "csv values": csv(b"7", reason="Expected 2 columns, got 1"),
    "csv open quote": csv(b'"7,' + day(0).encode(), options=UNQUOTED, reason="is not closed"),
    "csv bytes": csv(b"\xff7," + day(0).encode()),
    "csv select": csv(b"x," + day(0).encode(), reason="CAST", **SELECT),
    "csv where": csv(b"x," + day(0).encode(), reason="CAST", **WHERE),
    "json number": lines(b'{"n": "x", "t": "2026-01-01"}', reason="changed from number to string"),
    "json time": lines(b'{"n": 1, "t": "yesterday"}', reason="t: cannot be read as timestamp"),
    "json struct": lines(b'{"n": {"m": 1}, "t": "2026-01-01"}'),
    "json no object": lines(b"[1, 2]", reason="is not a JSON object"),
    "json cut": lines(b'{"n": 1, "t": "2026', reason="does not end in it"),
    "json bytes": lines(b'{"n": 1, "t": "2026\xff"}', reason="is not UTF-8"),
    "json of nothing known": lines(b"\x00\x01"),
    "json select": lines(b'{"n": "1", "t": "yesterday"}', of_text, reason="to_timestamp", **SELECT),
    "json where": lines(b'{"n": "x", "t": "yesterday"}', of_text, reason="CAST", **WHERE),
    "array number": array(b'{"n": "x", "t": "2026-01-01"}'),
    "array of several lines": array(b'{\n"n": "x",\n"t": "2026-01-01"}'),
    "array where": array(b'{"n": "x", "t": "yesterday"}', of_text, **WHERE),
}


def numbers_in(batches) -> Iterator[int]:
    for batch in batches:
        yield from batch["n"].to_pylist()


def numbered() -> list[list[int | None]]:
    """Rows of each file: all different, in the order of all."""
    count = BATCHES * ROWS
    return [list(range(file * count, (file + 1) * count)) for file in range(FILES)]


def write(form: Form, folder, files) -> None:
    folder.mkdir(exist_ok=True)
    for number, rows in enumerate(files):
        path = folder / f"{number}.{form.format}"
        path.write_bytes(form.file(rows))


def place(form: Form, rows: list[int | None], row: int) -> str:
    """Where a row of a file starts, as reported."""
    if "CAST" in str(form.keys):
        return f"row {row}"
    before = form.file(rows[:row])[: -len(form.foot)] + (form.between if row else b"")
    return f"line {before.count(LINE_END) + 1}"


@pytest.fixture(params=["one by one", "together"])
def together(request):
    return request.param == "together"


@pytest.mark.parametrize("name", FORMS)
def test_each_bad_row_is_put_aside_alone_wherever_it_is(name, tmp_path, monkeypatch, together):
    form = FORMS[name]
    monkeypatch.setattr(text_blocks, "SIZE", ROWS * (len(form.row(11)) + len(form.between)))
    for file in range(FILES):
        for row in range(BATCHES * ROWS):
            rows = numbered()
            rows[file][row] = None
            write(form, tmp_path / "in", rows)
            refused = []
            files = open_files(form.source(tmp_path / "in"))
            good = [*numbers_in(files.batches(["n", "t"], together=together, refuse=refused.extend))]
            assert good == [n for rows_of_file in rows for n in rows_of_file if n is not None]
            ((error, text),) = refused
            assert error.argument == f"{files.paths[file]}, {place(form, rows[file], row)}"
            assert form.reason in error.reason, error.reason
            assert text


@pytest.mark.parametrize("name", FORMS)
def test_so_do_many_of_any_density_however_the_file_is_cut(name, tmp_path, monkeypatch):
    """In blocks of some rows, and in ranges as tasks of Spark read them."""
    form, drawn = FORMS[name], random.Random(name)
    for density in (0.05, 0.5, 1.0):
        rows = [None if drawn.random() < density else n for n in range(60)]
        write(form, tmp_path / "in", [rows])
        files, source = open_files(form.source(tmp_path / "in")), form.source(tmp_path / "in")
        (path,) = files.paths
        places = [f"{path}, {place(form, rows, row)}" for row, n in enumerate(rows) if n is None]
        cuts = [ByteRange(path, *pair) for pair in ranges(path, source, 200)]
        for parts in (None, [FilePart(path, within=cut) for cut in cuts] or None):
            monkeypatch.setattr(text_blocks, "SIZE", drawn.randint(30, 900))
            refused = []
            good = [*numbers_in(files.batches(["n", "t"], parts, refuse=refused.extend))]
            assert good == [n for n in rows if n is not None]
            assert [error.argument for error, _ in refused] == places


@pytest.mark.parametrize("name", FORMS)
def test_the_first_bad_row_ends_the_reading_if_nothing_takes_it(name, tmp_path):
    write(FORMS[name], tmp_path / "in", [[1, 2, None, 4]])
    with pytest.raises(InputError, match=r"0\."):
        list(open_files(FORMS[name].source(tmp_path / "in")).batches(["n", "t"]))


def refused_of(folder, columns=("n",), **keys) -> tuple[list, list]:
    """The rows of a source, and its refused rows."""
    refused = []
    batches = open_files(Source(path=str(folder), **keys)).batches(columns, refuse=refused.extend)
    return [row for batch in batches for row in batch.to_pylist()], refused


def test_a_bad_element_of_a_list_is_put_aside_alone(tmp_path):
    rows = [["1", "x", "3"], [], ["y", "z"], ["7"]]
    (tmp_path / "a.json").write_text("".join(json.dumps({"l": [{"n": n} for n in row]}) + "\n" for row in rows))
    keys = {"schema": "l ARRAY<STRUCT<n: STRING>>", "explode": "l", "select": ("CAST(n AS BIGINT) AS n",)}
    good, refused = refused_of(tmp_path, format="json", **keys)
    assert [row["n"] for row in good] == [1, 3, 7]
    of_path = [(error.argument.removeprefix(f"{tmp_path}/a.json, "), text) for error, text in refused]
    assert of_path == [("row 0", '{"n": "x"}'), ("row 2", '{"n": "y"}'), ("row 2", '{"n": "z"}')]


TO_NUMBER = {"typed": {"schema": "n BIGINT"}, "select": {"select": ("CAST(n AS BIGINT) AS n",)}}


@pytest.mark.parametrize("format", ["parquet", "arrow"])
@pytest.mark.parametrize("keys", TO_NUMBER.values(), ids=TO_NUMBER)
def test_a_bad_row_of_a_columnar_file_is_put_aside_alone(tmp_path, format, keys):
    table = pa.table({"n": ["1", "x", "3", None, "y"]})
    if format == "parquet":
        pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    else:
        with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as file:
            file.write(table)
    good, refused = refused_of(tmp_path, format=format, **keys)
    assert [row["n"] for row in good] == [1, 3, None]
    assert [(error.argument.rpartition(", ")[2], text) for error, text in refused] == [
        ("row 1", '{"n": "x"}'),
        ("row 4", '{"n": "y"}'),
    ]


def test_a_line_of_text_that_is_not_utf8_is_put_aside_alone(tmp_path):
    (tmp_path / "a.log").write_bytes(b"one\n\ntw\xff\nthree\n")
    good, refused = refused_of(tmp_path, ["value"], format="text")
    assert [row["value"] for row in good] == ["one", "", "three"]
    assert [(error.argument.rpartition(", ")[2], text) for error, text in refused] == [("line 3", "tw\ufffd")]


def test_rows_in_folders_of_keys_are_as_others(tmp_path):
    (tmp_path / "day=3").mkdir()
    (tmp_path / "day=3" / "a.csv").write_text("n\n1\nx\n3\n")
    keys = {"schema": "n BIGINT, day INT", "options": {"header": True}}
    good, refused = refused_of(tmp_path, ["day", "n"], format="csv", **keys)
    assert good == [{"day": 3, "n": 1}, {"day": 3, "n": 3}]
    assert [error.argument for error, _ in refused] == [f"{tmp_path}/day=3/a.csv, line 3"]


ENDS = {
    "quote": ("csv", b'1\n2\n"3\n4\n', 2),
    "array": ("json", b'[{"n": 1},\n{"n": 2},\n{"n": 3', 2),
    "header": ("csv", b"m\n1\n", 0),
    "gzip": ("csv.gz", gzip.compress(b"".join(b"%d\n" % n for n in range(1, 100_000)))[:-9000], None),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_file_is_put_aside_from_where_it_cannot_be_read_with_how_much_was_read(tmp_path, name):
    ending, data, rows = ENDS[name]
    (tmp_path / f"a.{ending}").write_bytes(data)
    options = {"header": True} if name == "header" else {"multiLine": True}
    good, refused = refused_of(tmp_path, format=ending[:4].rstrip("."), schema="n BIGINT", options=options)
    ((error, text),) = refused
    assert (error.argument, text) == (f"{tmp_path}/a.{ending}", None)
    assert [row["n"] for row in good] == [*range(1, len(good) + 1)]
    assert len(good) == rows or (rows is None and len(good) > 10_000)
    extent = f"({len(good):,} rows of it were read)" if good else "(no row of it was read)"
    assert error.reason.endswith(extent), error.reason


def test_workers_of_spark_read_the_same(tmp_path):
    form = FORMS["csv number"]
    write(form, tmp_path / "in", [[1, None, 3], [None], [4]])
    files, refused = open_files(form.source(tmp_path / "in")), []
    names = pa.RecordBatch.from_pydict({"path": [path.as_uri() for path in files.paths]})
    reader = pickle.loads(pickle.dumps(PartReader(files)))
    assert [*numbers_in(reader(iter([names]), ["n", "t"], refused.extend))] == [1, 3, 4]
    assert [error.argument.rpartition("/")[2] for error, _ in refused] == ["0.csv, line 2", "1.csv, line 1"]
