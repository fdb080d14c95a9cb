"""Files that a service follows: their log, in Spark's form, and folders that change while they are listed."""

import json

import pytest
from skyband.errors import SnapshotError
from skyband_jobs.running.savepoint import Position
from skyband_jobs.tables.model import Source
from skyband_serve import files_followed
from skyband_serve.files_followed import FollowedFiles


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(6):
        (tmp_path / "in" / f"{number}.json").write_text("{}")
    return tmp_path


def followed(folder):
    return FollowedFiles(Source("json", str(folder / "in"), stream=True), None, None)


def log_of(folder, *numbers):
    """A log as Spark writes it: file `n` was planned as number n."""
    log = folder / "log"
    log.mkdir()
    for name in numbers:
        number = int(name.partition(".")[0])
        files = range(number + 1) if name.endswith(".compact") else [number]
        entries = [{"path": f"file://{folder}/in/{each}.json", "timestamp": 1, "batchId": each} for each in files]
        (log / name).write_text("\n".join(["v1", *map(json.dumps, entries)]))
    return log


def waiting(source):
    part = source.next_part() or []
    return sorted(name.rpartition("/")[2] for name, *_ in part)


def position(log, number):
    return Position({}, json.dumps({"logOffset": number}), log)


@pytest.mark.parametrize(
    ("names", "number", "left"),
    [
        (("0", "1", "2"), 2, ["3.json", "4.json", "5.json"]),
        (("0", "1", "2.compact", "3"), 3, ["4.json", "5.json"]),
        (("0", "1", "2.compact", "3"), 1, ["2.json", "3.json", "4.json", "5.json"]),
        (("0", "1", "2"), 1, ["2.json", "3.json", "4.json", "5.json"]),
        ((), -1, [f"{each}.json" for each in range(6)]),
    ],
)
def test_files_are_read_that_come_after_the_number_in_the_log(folder, names, number, left):
    source = followed(folder)
    source.resume(position(log_of(folder, *names), number))
    assert waiting(source) == left


@pytest.mark.parametrize(("names", "number"), [((), 2), (("0", "2"), 2), (("0", "1"), 2), (("1", "2"), 2)])
def test_a_log_that_lacks_files_is_an_error(folder, names, number):
    with pytest.raises(SnapshotError, match="damaged"):
        followed(folder).resume(position(log_of(folder, *names), number))


def test_a_savepoint_without_its_log_is_an_error(folder):
    with pytest.raises(SnapshotError, match="no log of the files read up to number 9"):
        followed(folder).resume(position(None, 9))


def test_a_file_that_is_gone_while_a_folder_is_listed_ends_nothing(folder, monkeypatch):
    source = followed(folder)

    def gone(_):
        raise FileNotFoundError("renamed")

    monkeypatch.setattr(files_followed, "data_files", gone)
    monkeypatch.setattr(files_followed, "_LISTED_EVERY", 0)
    assert source.next_part() is None and not source.caught_up
    monkeypatch.undo()
    assert len(waiting(source)) == 6


def test_files_that_come_meanwhile_are_not_read_by_one_that_ends(folder):
    source = followed(folder)
    source.stop_at_end()
    source.most = 4
    for number in range(3):
        (folder / "in" / f"new-{number}.json").write_text("{}")
        part = source.next_part()
        assert len(part or []) == [4, 3, 0][number], "seven files were there at first"
        source.took(part or [])
    assert source.caught_up
    following = followed(folder)
    following.took(following.next_part())
    (folder / "in" / "new.json").write_text("{}")
    assert waiting(following) == ["new.json"]


def test_a_position_is_resumed_by_the_next_stream(folder):
    first = followed(folder)
    first.took(first.next_part())
    for turn in (1, 2):
        saved = first.position(folder / f"log {turn}")
    (folder / "in" / "new.json").write_text("{}")
    second = followed(folder)
    second.resume(saved)
    assert waiting(second) == ["new.json"]
