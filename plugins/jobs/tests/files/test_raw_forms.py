"""Raw files: what options say about them, and the error if they differ."""

import lzma

import numpy as np
import pytest
from raw_forms import FORMS
from skyband.errors import ConfigError, InputError
from skyband_jobs.files import text_blocks
from skyband_jobs.files.source_files import open_files
from skyband_jobs.files.text_files import text_option_problems
from skyband_jobs.kernels.record_boundaries import csv_records, json_elements
from skyband_jobs.tables.model import Source


def rows(path, together=False, **keys):
    files = open_files(Source(path=str(path), **keys))
    batches = files.batches(files.schema.names, together=together)
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def written(folder, text, name="a.csv"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_a_raw_form_is_read_as_its_options_say(tmp_path, form):
    assert rows(written(tmp_path, form.content, form.name), **form.keys) == form.rows


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_and_so_it_is_in_small_blocks_and_among_small_files(tmp_path, monkeypatch, form):
    written(tmp_path, form.content, form.name)
    written(tmp_path, form.content, f"b{form.name}")
    assert rows(tmp_path, together=True, **form.keys) == form.rows * 2
    blocks = text_blocks.blocks
    for module in ("csv_files", "json_files", "text_files"):
        monkeypatch.setattr(
            f"skyband_jobs.files.{module}.blocks",
            lambda path, cut, size=0, *more, **keys: blocks(path, cut, min(size or 8, 8), *more, **keys),
        )
    assert rows(tmp_path / form.name, **form.keys) == form.rows


@pytest.mark.parametrize(
    ("text", "keys", "said"),
    [
        (
            "ts,n\n1/2/2026,1\n2026-01-02,1\n",
            {"schema": "ts DATE, n INT", "dateFormat": "M/d/yyyy"},
            "ts, row 1: cannot be read as date32.day.: '2026-01-02' is not a time in the format 'M/d/yyyy'",
        ),
        (
            "ts,n\n1/2/2026,1\n",
            {"schema": "ts TIMESTAMP, n INT"},
            "ts, row 0: .*'1/2/2026'; set its pattern with source.options.timestampFormat",
        ),
        (
            "ts,n\n1769893500,1\n",
            {"schema": "ts TIMESTAMP, n INT"},
            r"for numbers since 1970 use BIGINT, and select timestamp_seconds\(ts\) AS ts",
        ),
        ("ts,n\n1769893500000,1\n", {"schema": "ts TIMESTAMP, n INT"}, r"select timestamp_millis\(ts\) AS ts"),
        ('a,n\n"1,234.5",1\n', {"schema": "a DOUBLE, n INT"}, "row 0: .*'1,234.5'; .*declare it DECIMAL"),
        ("a,n\n1.2,3 4,1\n", {"schema": "a DECIMAL(9,2), n INT", "locale": "de-DE", "sep": ";"}, "the column 'a'"),
        (b"a,n\n\xe9,1\n", {}, "line 2, byte 5 of the file is not UTF-8 .*source.options.encoding, such as ISO-8859-1"),
        (b"a,n\nx\x81,1\n", {"encoding": "windows-1252"}, "byte 6 of the file is invalid in windows-1252"),
        (bytes(range(1, 9)) + b"\x1c\x1d\x1e\x1f||n\n", {"sep": "||"}, "contains every control character"),
    ],
)
def test_what_is_otherwise_is_told_by_its_place_with_a_remedy(tmp_path, text, keys, said):
    schema = {"schema": keys.pop("schema")} if "schema" in keys else {}
    with pytest.raises((InputError, ConfigError), match=said):
        rows(written(tmp_path, text), format="csv", options={"header": True, **keys}, **schema)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"n": 1},\n {"n": 2}', "does not end: is the file truncated"),
        ('[{"n": 1},\n\n {"n": "x"}]', "line 3: Column"),
        ('[{"n": 1},\n\n 3]', "line 3 is not a JSON object"),
        ('{"n": 1}\n{"n": 2}', "line 1 has more than one JSON object"),
        ('[{"n": 1}] [{"n": 2}]', "line 1 has more than one JSON object"),
        ('{"n": "[', "does not end"),
    ],
)
def test_an_array_of_json_is_told_by_its_line(tmp_path, text, said):
    path = written(tmp_path, text, "a.json")
    with pytest.raises(InputError, match=said):
        rows(path, format="json", schema="n INT", options={"multiLine": True})


def test_an_array_that_is_not_declared_as_one(tmp_path):
    with pytest.raises(InputError, match=r"line 1 is not a JSON object.*set source.options = \{ multiLine = true \}"):
        rows(written(tmp_path, '[{"n": 1}]', "a.json"), format="json", schema="n INT")


def test_seconds_of_json_that_are_declared_times(tmp_path):
    with pytest.raises(InputError, match=r"line 1: .*use BIGINT, and select timestamp_seconds\(ts\) AS ts"):
        rows(written(tmp_path, '{"ts": 1769893500}', "a.json"), format="json", schema="ts TIMESTAMP")


def test_xz_that_is_cut_short(tmp_path):
    path = written(tmp_path, lzma.compress(b"a,b\n1,2\n" * 100)[:-20], "a.csv.xz")
    with pytest.raises(ConfigError, match=r"a\.csv\.xz: is not a complete xz file"):
        rows(path, format="csv")


def test_text_has_one_column(tmp_path):
    with pytest.raises(InputError, match="text has one column, of STRING"):
        rows(written(tmp_path, "a b\n"), format="text", schema="a STRING, b STRING")


@pytest.mark.parametrize(
    ("format", "options", "said"),
    [
        ("csv", {"encoding": "rot13"}, "options.encoding: must be an encoding of text"),
        ("csv", {"sep": 'a"'}, "options.sep: must be ASCII characters"),
        ("csv", {"sep": ""}, "options.sep: must be ASCII characters"),
        ("csv", {"sep": "#|", "comment": "#"}, "options.comment: must differ"),
        ("csv", {"comment": "//"}, "options.comment: the local engine accepts one ASCII character"),
        ("csv", {"timestampFormat": "QQ yyyy"}, "options.timestampFormat: the local engine: 'QQ' in the format"),
        ("csv", {"dateFormat": "HH:mm"}, "options.dateFormat: the local engine: the format 'HH:mm' has no"),
        ("csv", {"timestampFormat": "d/M/yy h:mm"}, "needs both h and a"),
        ("csv", {"locale": "xx"}, "options.locale: the local engine knows en, .*got 'xx'"),
        ("json", {"multiLine": "yes"}, "options.multiLine: must be true or false"),
        ("json", {"charset": "x"}, "options.charset: must be an encoding of text"),
    ],
)
def test_options_that_are_not_known_here(format, options, said):
    with pytest.raises(ConfigError, match=said):
        raise ConfigError(*text_option_problems(Source(format=format, path="a", options=options)))


def test_a_value_that_is_not_a_list(tmp_path):
    path = written(tmp_path, '{"a": [1], "b": [{"n": 1}]}', "a.json")
    with pytest.raises(ConfigError, match="explode: the source has no column 'c'"):
        rows(path, format="json", explode="c")
    with pytest.raises(ConfigError, match=r'explode: must be a list of structs .*select = \["explode\(a\) AS name"\]'):
        rows(path, format="json", explode="a")


def test_comments_and_where_they_start():
    text = np.frombuffer(b'#"\na,b\n#x\n"\n#",#\n#', np.uint8)
    begins = np.full(9, -1)
    assert csv_records(text, 44, 34, 256, 35, True, 1 << 62, begins) == (17, 2, -1)
    assert begins.tolist() == [0, 7, 17, *[-1] * 6]


def test_elements_of_an_array_have_a_line_each():
    text = np.frombuffer(b'[{"a":\n[1,2]},\r\n{"]":"\\"],"}]\n', np.uint8).copy()
    assert json_elements(text, 0) == (14, 0)
    assert text.tobytes() == b' {"a": [1,2]}\n  {"]":"\\"],"}  '


def test_a_separator_of_several_characters_needs_a_control_character_that_is_free(tmp_path):
    stand_ins = [31, 30, 29, 28, *range(1, 9)]
    lines = "".join(f"x{chr(code)}||{code}\n" for code in stand_ins)
    (tmp_path / "a.csv").write_text(f"a||b\n{lines[:-7]}", newline="")
    source = Source(format="csv", path=str(tmp_path / "a.csv"), options={"header": True, "sep": "||"})
    files = open_files(source)
    assert sum(map(len, files.batches(["a", "b"]))) == len(stand_ins) - 1
    (tmp_path / "a.csv").write_text(f"a||b\n{lines}", newline="")
    with pytest.raises(
        ConfigError, match=r"contains every control character, .*: write it with a separator of one character"
    ):
        open_files(source)


def test_columns_stand_in_another_order_in_each_file(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,x\n")
    (tmp_path / "b.csv").write_text("b,c,a\ny,9,2\n")
    files = open_files(Source(format="csv", path=str(tmp_path), options={"header": True}, schema="a INT, b STRING"))
    rows = [tuple(row.values()) for batch in files.batches(["a", "b"]) for row in batch.to_pylist()]
    assert sorted(rows) == [(1, "x"), (2, "y")]
