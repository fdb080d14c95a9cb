"""Large text files in ranges of bytes: every row once, whatever is within quotes, and errors at the same place."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband.errors import InputError
from skyband_jobs.files import file_parts
from skyband_jobs.files.file_parts import tasks_of
from skyband_jobs.files.source_files import open_files
from skyband_jobs.files.text_files import ranges
from skyband_jobs.tables.model import Source

VALUES = st.text(st.sampled_from('ab,"\n\r\\ é'), max_size=6)
SIZE = 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ranges")


def in_parts(source, monkeypatch, columns=("n", "text")):
    """The batches of a source whose files are read in ranges of a few bytes, and their number."""
    monkeypatch.setattr(file_parts, "_LEAST", SIZE)
    monkeypatch.setattr(file_parts, "_MOST", SIZE)
    monkeypatch.setattr(file_parts, "_OPENING", 0)
    files = open_files(source)
    tasks = tasks_of(files.paths, source.format, 2, lambda path, size: ranges(path, source, size))
    return files.batches(columns, [part for task in tasks for part in task]), len(tasks)


def rows(batches):
    return [row for batch in batches for row in batch.to_pylist()]


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(VALUES, min_size=1, max_size=30),
    end=st.sampled_from(["\n", "\r\n"]),
    header=st.booleans(),
    mark=st.booleans(),
    options=st.sampled_from([{}, {"escape": "\\"}, {"multiLine": False}, {"quote": ""}]),
)
def test_csv_is_cut_at_the_end_of_a_record(folder, values, end, header, mark, options):
    path = folder / "a.csv"
    if options.get("quote") == "" or "multiLine" in options:
        values = [value.translate(dict.fromkeys(map(ord, ',"\n\r'))) for value in values]
    escaped = [value.replace("\\", "\\\\") if "escape" in options else value for value in values]
    quote = "" if options.get("quote") == "" else '"'
    lines = [f"{number},{quote}{value.replace(quote or '?', quote * 2)}{quote}" for number, value in enumerate(escaped)]
    text = end.join([*(["n,text"] if header else []), *lines]) + end
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + text.encode())
    source = Source(format="csv", path=str(path), schema="n BIGINT, text STRING", options={"header": header, **options})
    with pytest.MonkeyPatch.context() as patch:
        batches, _ = in_parts(source, patch)
        assert rows(batches) == rows(open_files(source).batches(["n", "text"]))


@settings(max_examples=15, deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=30), st.booleans())
def test_json_is_cut_at_the_end_of_a_line(folder, values, ends):
    path = folder / "a.json"
    lines = pa.array([f'{{"n": {number}, "text": "{len(value)}"}}' for number, value in enumerate(values)]).to_pylist()
    path.write_text("\n".join(lines) + "\n" * ends)
    source = Source(format="json", path=str(path), schema="n BIGINT, text STRING")
    with pytest.MonkeyPatch.context() as patch:
        batches, _ = in_parts(source, patch)
        assert rows(batches) == rows(open_files(source).batches(["n", "text"]))


TEXTS = {
    "csv": ['{0},"a\nb"', "x,y"],
    "json": ['{{"n": {0}, "text": "a"}}', '{"n": "x", "text": "a"}'],
}


@pytest.mark.parametrize("format", TEXTS)
def test_what_cannot_be_read_is_told_as_of_the_whole_file(tmp_path, format, monkeypatch):
    good, bad = TEXTS[format]
    lines = [good.format(number) for number in range(40)]
    (tmp_path / "a").write_text("\n".join([*lines[:31], bad, *lines[31:]]) + "\n")
    source = Source(format=format, path=str(tmp_path / "a"), schema="n BIGINT, text STRING")
    with pytest.raises(InputError) as whole:
        rows(open_files(source).batches(["n", "text"]))
    batches, tasks = in_parts(source, monkeypatch)
    assert tasks > 10
    with pytest.raises(InputError) as parts:
        rows(batches)
    assert str(parts.value) == str(whole.value)


def test_a_row_of_a_range_is_told_by_its_place_in_the_file(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("".join(f'{number},"a\nb"\n' for number in range(40)))
    source = Source(format="csv", path=str(tmp_path / "a.csv"), schema="n BIGINT, text STRING")
    batches, _ = in_parts(source, monkeypatch)
    for batch in batches:
        if batch["n"][0].as_py() > 20:
            break
    row = batch["n"][0].as_py()
    assert str(batches.placed(InputError("n", "is odd", 0))).endswith(f"a.csv: n, row {row}: is odd")


def test_a_quote_that_is_not_closed_leaves_the_file_whole(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("1,a\n" * 30 + '2,"a\n' + "3,a\n" * 30)
    source = Source(format="csv", path=str(tmp_path / "a.csv"), schema="n BIGINT, text STRING")
    batches, tasks = in_parts(source, monkeypatch)
    assert tasks == 1
    with pytest.raises(InputError, match="the quote in line 31 is not closed"):
        rows(batches)
