"""JSON whose values are not of the declared types: text from any value, floats by name, refusals by line."""

import json
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skyband.errors import ConfigError, InputError
from skyband_jobs.files.json_spelling import spelt
from skyband_jobs.files.source_files import open_files
from skyband_jobs.tables.model import Source


def json_file(tmp_path, *objects):
    (tmp_path / "a.json").write_text("".join(f"{one}\n" for one in objects))
    return tmp_path / "a.json"


def json_values(path, schema=None):
    files = open_files(Source(format="json", path=str(path), schema=schema))
    return [row for batch in files.batches(files.schema.names) for row in batch.to_pylist()]


@pytest.mark.parametrize(
    "value", ['{"a": [1, "x\\\\"], "b": {"c": null}}', "[1,  2.50]", "-1.50e3", "true", "[]", "{}", '"\\u00e9"']
)
def test_json_is_read_as_its_own_text_for_text_columns(tmp_path, value):
    """As on Spark: a GitHub event's payload has another form for each type of event."""
    path = json_file(
        tmp_path, f'{{"n": 1, "p": {value}, "z": {{"p": 1}}}}', '{"p": "plain", "n": 2}', '{"p": null, "n": 3}', "{}"
    )
    text = json.loads(value) if value.startswith('"') else value
    rows_of = json_values(path, "n INT, p STRING")
    assert rows_of == [{"n": 1, "p": text}, {"n": 2, "p": "plain"}, {"n": 3, "p": None}, {"n": None, "p": None}]
    (nested, *_) = json_values(
        json_file(tmp_path, f'{{"s": {{"l": [{value}, "a"], "x": {value}}}}}'), "s STRUCT<l: ARRAY<STRING>>"
    )
    assert nested == {"s": {"l": [text, "a"]}}


def test_a_float_can_be_written_by_name_next_to_the_same_text(tmp_path):
    path = json_file(
        tmp_path, '{"v": "NaN", "s": {"v": "NaN", "l": ["+INF", 1, "-Infinity"]}}', '{"v": 1.5, "s": {"v": 1}}'
    )
    (first, second) = json_values(path, "v DOUBLE, s STRUCT<v: STRING, l: ARRAY<DOUBLE>>")
    assert math.isnan(first.pop("v")) and first == {"s": {"v": "NaN", "l": [math.inf, 1, -math.inf]}}
    assert second == {"v": 1.5, "s": {"v": "1", "l": None}}
    for value in ('"nan"', '"INF"', "Inf", "-NaN"):
        with pytest.raises(InputError, match=r"line 1: Column\(/v\) .*number to string"):
            json_values(json_file(tmp_path, f'{{"v": {value}}}'), "v DOUBLE")


FLOATS = {
    "1e400": math.inf, "-1e400": -math.inf, "1e309": math.inf, "1.7976931348623159e308": math.inf,
    "17976931348623157e292": 1.7976931348623157e308, "0.0000018e314": 1.8e308, "-0": 0.0, "-0.0": -0.0,
    "0e999999999999": 0.0, "-0e400": -0.0, "1e-400": 0.0, "+INF": math.inf, "-INF": -math.inf, "Infinity": math.inf,
    "-Infinity": -math.inf, "+Infinity": math.inf, "NaN": math.nan,
}  # fmt: skip


@pytest.mark.parametrize("number", FLOATS)
def test_a_float_beyond_all_numbers_is_infinite_as_on_spark(tmp_path, number):
    """In a column and in a list; in a column that is not read, it is passed over."""
    row = f'{{"v": {number}, "x": {{"y": [{number}, "a"]}}, "l": [1, {number}], "t": "{number}"}}'
    path = json_file(tmp_path, '{"v": 1, "l": []}', row)
    for schema in ("v DOUBLE, l ARRAY<DOUBLE>, t STRING", "v DOUBLE, l ARRAY<DOUBLE>, t STRING, x STRUCT<z: INT>"):
        (_, read) = json_values(path, schema)
        assert repr(read["v"]) == repr(read["l"][1]) == repr(FLOATS[number])
        assert read["t"] == number
    assert json_values(path, "t STRING")[1] == {"t": number}


@pytest.mark.parametrize("number", ["1e400", "+INF"])
def test_without_a_schema_a_float_that_arrow_does_not_read_is_refused_by_line(tmp_path, number):
    with pytest.raises(ConfigError, match=r"a.json: line 2: "):
        json_values(json_file(tmp_path, '{"v": 1}', f'{{"v": {number}}}'))


@pytest.mark.parametrize("value", ["01", "1.", ".5", "-.5", "+1", "1e", "-", "0x10", "1.5d", "inf", "'x'", "NaNN"])
@pytest.mark.parametrize("kind", ["DOUBLE", "STRING", "DECIMAL(10, 2)", "BIGINT"])
def test_what_is_no_json_on_spark_is_refused_by_line_in_a_column_of_any_type(tmp_path, value, kind):
    with pytest.raises(InputError, match=r"a.json: line 2: "):
        json_values(json_file(tmp_path, '{"v": null}', f'{{"v": {value}}}'), f"v {kind}")


def test_without_a_schema_values_of_several_types_are_text(tmp_path):
    path = json_file(
        tmp_path, '{"v": 1, "s": {"k": 1}}', '{"v": "NaN", "s": {"k": {}}}', '{"v": 1.50, "l": [1]}', '{"l": ["a"]}'
    )
    assert [row["v"] for row in json_values(path)] == ["1", "NaN", "1.50", None]
    assert [row["s"] for row in json_values(path)] == [{"k": "1"}, {"k": "{}"}, None, None]
    assert [row["l"] for row in json_values(path)] == [None, None, ["1"], ["a"]]


@pytest.mark.parametrize("value", ["1.0", "9223372036854775808"])
def test_json_numbers_that_are_not_whole_are_reported_with_line_and_column(tmp_path, value):
    path = json_file(tmp_path, *['{"n": 1, "v": 1}'] * 37, "", f'{{"n": 1, "v": {value}}}', '{"v": 2.0}')
    with pytest.raises(InputError, match=rf"a.json: line 39: column 'v': .*{value}"):
        json_values(path, "n BIGINT, v BIGINT")


def test_json_s_decimals_are_rounded_and_have_room(tmp_path):
    path = json_file(tmp_path, '{"v": 1.005}', '{"v": "-1.5e1"}', '{"v": null}')
    assert [row["v"] for row in json_values(path, "v DECIMAL(10, 2)")] == [Decimal("1.01"), Decimal("-15.00"), None]
    with pytest.raises(InputError, match="v, row 1: cannot be read as decimal"):
        json_values(json_file(tmp_path, '{"v": 1}', '{"v": 2147483648}'), "v DECIMAL(10, 2)")


NAMES = st.sampled_from(["a", "b", "c"])
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES, lambda part: st.lists(part, max_size=3) | st.dictionaries(NAMES, part, max_size=3), max_leaves=8
)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.dictionaries(NAMES, VALUES), min_size=1, max_size=4), st.booleans(), st.sampled_from([None, 1]))
def test_json_spelt_for_text_is_the_same_but_for_its_texts(objects, ascii_only, indent):
    lines = [json.dumps(one, ensure_ascii=ascii_only, separators=None if indent else (",", ":")) for one in objects]
    spelt_lines = spelt(
        "\n".join(lines).encode(), pa.schema([("a", pa.string()), ("b", pa.list_(pa.string()))]), others=True
    ).splitlines()
    for line, there, one in zip(lines, spelt_lines, objects, strict=True):
        here = json.loads(there)
        for name in ("a", "b"):
            value = one.get(name)
            texts, values = ([here.get("a")], [value]) if name == "a" else (here.get("b"), value)
            if value is None or not isinstance(values, list):
                continue
            for text, part in zip(texts, values, strict=True):
                same = (
                    text == part if part is None or isinstance(part, str) else json.loads(text) == part and text in line
                )
                assert same, (text, part)
        assert here.get("c") == one.get("c")
