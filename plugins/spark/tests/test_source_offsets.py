"""The position of a source is the same in every notation of PySpark's versions."""

import json
from types import SimpleNamespace

import pytest
from skyband_spark.reading.vanished_files import log_entry, parse_offset, vanished_files


@pytest.mark.parametrize("offset", [None, "", "null", "None"])
def test_the_first_has_none(offset):
    assert parse_offset(offset) is None
    assert log_entry(offset) == -1


@pytest.mark.parametrize("text", [json.dumps, str])
def test_json_and_printed_python_are_the_same(text):
    assert log_entry(text({"logOffset": 3})) == 3
    assert parse_offset(text({"visits": {"0": 7, "1": None}})) == {"visits": {"0": 7, "1": None}}


def test_what_a_connector_writes_otherwise_is_refused_with_its_words():
    with pytest.raises(ValueError, match="the offset 'page 7 of 9' is not JSON"):
        parse_offset("page 7 of 9")


@pytest.mark.parametrize("text", [json.dumps, str])
def test_files_that_have_gone_are_named(tmp_path, text):
    log = tmp_path / "sources" / "0"
    log.mkdir(parents=True)
    entry = {"path": f"file://{tmp_path}/gone.parquet", "batchId": 1}
    (log / "1").write_text(f"v1\n{json.dumps(entry)}\n")
    begin, end = text({"logOffset": 0}), text({"logOffset": 1})
    source = SimpleNamespace(description="FileStreamSource[x]", startOffset=begin, endOffset=end, numInputRows=0)
    assert vanished_files(tmp_path, SimpleNamespace(sources=[source])) == [entry["path"]]


def test_deleted_files_concern_only_their_micro_batch(tmp_path):
    """Entries of several files, each third of which holds all before it as well; those read before may be archived."""
    log, entries = tmp_path / "sources" / "0", []
    log.mkdir(parents=True)
    for number in range(7):
        files = [f"file://{tmp_path}/{number} {place}.parquet" for place in range(number % 3)]
        entries.append([{"path": path, "batchId": number} for path in files])
        whole = number % 3 == 2
        lines = [json.dumps(one) for entry in (entries if whole else entries[-1:]) for one in entry]
        (log / (f"{number}.compact" if whole else f"{number}")).write_text("\n".join(["v1", *lines]))
    for start in range(-1, 7):
        for end in range(start, 7):
            begin, until = (None if number < 0 else json.dumps({"logOffset": number}) for number in (start, end))
            source = SimpleNamespace(
                description="FileStreamSource[x]", startOffset=begin, endOffset=until, numInputRows=0
            )
            expected = [one["path"] for entry in entries[start + 1 : end + 1] for one in entry]
            assert vanished_files(tmp_path, SimpleNamespace(sources=[source])) == expected
