"""Files that a service follows: their log, in Spark's form, and folders that change while they are listed."""

import json
import os
import random
import time
from pathlib import Path

import pytest
from skyband.errors import EngineError, SnapshotError
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


def test_a_folder_that_is_gone_has_no_files(folder):
    source = followed(folder)
    source.took(source.next_part())
    (folder / "in").rename(folder / "away")
    source._next_listing = 0
    assert source.next_part() is None and source.caught_up
    (folder / "away").rename(folder / "in")
    (folder / "in" / "new.json").write_text("{}")
    source._next_listing = 0
    assert waiting(source) == ["new.json"]


DAY = 86_400


def add(folder, name, day):
    path = folder / "in" / f"{name}.json"
    path.write_text("{}")
    os.utime(path, (day * DAY, day * DAY))
    return str(path)


def read(source):
    """Take all that waits; the names."""
    names = []
    while part := source.next_part():
        source.took(part)
        names += [name for name, *_ in part]
    source._next_listing = 0
    return names


def test_old_files_that_left_the_folder_are_forgotten(folder):
    source = followed(folder)
    for path in (folder / "in").iterdir():
        path.unlink()
    old, kept, young = add(folder, "old", 10), add(folder, "kept", 11), add(folder, "young", 100)
    assert read(source) == [old, kept, young]
    for path in (old, young):
        (folder / path).unlink()
    for _ in range(2):
        source._next_trim = 0
        assert {*source._times} == {old, kept, young}
        assert read(source) == []
    assert {*source._times} == {kept, young}, "one is still there, the other is not old"
    assert read(source) == [], "what is in the folder is known"
    late = add(folder, "late", 1)
    assert read(source) == [late]


def test_no_file_is_forgotten_while_the_folder_is_empty_or_was_not_listed_whole(folder, monkeypatch):
    source = followed(folder)
    paths = [add(folder, "old", 10), add(folder, "young", 100)]
    others = len(read(source)) - 2
    (folder / "in").rename(folder / "away")
    (folder / "in").mkdir()
    for _ in range(3):
        source._next_trim = 0
        assert read(source) == []
    (folder / "in").rmdir()
    (folder / "away").rename(folder / "in")

    def cut(path):
        raise FileNotFoundError("removed meanwhile")

    monkeypatch.setattr(files_followed, "data_files", cut)
    for _ in range(3):
        source._next_trim = 0
        assert read(source) == []
    monkeypatch.undo()
    assert len(source._times) == others + 2 and {*paths} <= {*source._times} and read(source) == []


@pytest.mark.parametrize("seed", range(20))
def test_each_file_is_read_once_whenever_it_arrives_and_leaves(tmp_path, seed):
    """Also late, with the time of an older file, and while names are forgotten; a stream may start again meanwhile."""
    chance = random.Random(seed)
    (tmp_path / "in").mkdir()
    add(tmp_path, "first", 1)
    source, names, all_read, most = followed(tmp_path), ["first"], [], 0
    for step in range(60):
        for _ in range(chance.randrange(4)):
            names.append(f"{len(names):04}")
            add(tmp_path, names[-1], chance.choice([step + 10, step + 10, chance.randrange(1, step + 10)]))
        all_read += read(source)
        there = [path for path in sorted((tmp_path / "in").iterdir()) if str(path) in all_read]
        for path in there[1:]:
            if chance.random() < 0.5:
                path.unlink()
        if chance.random() < 0.8:
            source._next_trim = 0
        if chance.random() < 0.1:
            saved = source.position(tmp_path / f"log {step}")
            source = followed(tmp_path)
            source.resume(saved)
        most = max(most, len(source._times))
    all_read += read(source)
    assert sorted(all_read) == sorted(str(tmp_path / "in" / f"{name}.json") for name in names)
    assert most < 60 < len(names), "names are forgotten"


@pytest.mark.parametrize("newest", [-3, 0, 1, 30, 20_000])
@pytest.mark.parametrize("age", [0, 3, 6])
def test_a_file_that_returns_within_a_week_is_known_whatever_the_newest_one_says(folder, newest, age):
    """Its folder may be moved away for a while; a file dated years ahead makes no other old."""
    today = int(time.time() / DAY)
    source, path = followed(folder), Path(add(folder, "away", today - age))
    add(folder, "newest", today + newest)
    read(source)
    path.rename(folder / "away.json")
    for _ in range(3):
        source._next_trim = 0
        assert read(source) == []
    (folder / "away.json").rename(path)
    assert read(source) == []


def test_a_position_is_resumed_by_the_next_stream(folder):
    first = followed(folder)
    first.took(first.next_part())
    for turn in (1, 2):
        saved = first.position(folder / f"log {turn}")
    (folder / "in" / "new.json").write_text("{}")
    second = followed(folder)
    second.resume(saved)
    assert waiting(second) == ["new.json"]


@pytest.mark.parametrize("number", [0, 1, 8, 9, 10, 18, 19, 20, 29])
def test_numbers_of_the_log_go_on_after_any_number_of_sparks(folder, number):
    """They ascend, each is that of a compacted file, and each log has all that was read."""
    source, numbers = followed(folder), [number]
    source.resume(position(log_of(folder, f"{number}.compact"), number))
    for turn in range(3):
        saved = source.position(folder / f"log {turn}")
        numbers.append(json.loads(saved.offset)["logOffset"])
        read_again = followed(folder)
        read_again.resume(saved)
        assert read_again._times.keys() == source._times.keys() and len(source._times) == number + 1
        source = read_again
    assert numbers == sorted(set(numbers)) and all(one % 10 == 9 for one in numbers[1:]), numbers


@pytest.mark.parametrize("change", ["shorter", "written again", "older", "gone"])
def test_a_file_that_is_not_as_it_was_listed_is_an_error(folder, change):
    source, path = followed(folder), folder / "in" / "3.json"
    part = source.next_part()
    status = path.stat()
    if change == "gone":
        path.unlink()
    else:
        path.write_text("{" if change == "shorter" else "{}")
        times = {"shorter": 0, "written again": 10**6, "older": -(10**6)}[change]
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + times))
    said = "cannot be read" if change == "gone" else "has changed since the stream took it"
    with pytest.raises(EngineError, match=rf"3\.json' {said}"):
        source.batches(part, None, None)


@pytest.mark.parametrize(("most", "behind"), [(None, [True, True, False]), (2, [False] * 3)])
def test_a_backlog_does_not_wait_for_the_trigger_unless_the_job_limits_it(folder, monkeypatch, most, behind):
    monkeypatch.setattr(files_followed, "_BYTES_A_TURN", 4)
    source = FollowedFiles(Source("json", str(folder / "in"), stream=True), most, None)
    for expected in behind:
        part = source.next_part()
        assert len(part) == 2
        source.took(part)
        assert source.is_behind == expected


@pytest.mark.parametrize("seed", range(10))
def test_parts_have_all_files_in_order_and_are_as_large_as_they_may_be(tmp_path, monkeypatch, seed):
    """A file larger than a part is one alone."""
    monkeypatch.setattr(files_followed, "_BYTES_A_TURN", 10)
    chance = random.Random(seed)
    (tmp_path / "in").mkdir()
    sizes = [chance.choice([1, 4, 5, 9, 10, 11, 30]) for _ in range(12)]
    for number, size in enumerate(sizes):
        path = tmp_path / "in" / f"{number:02}.json"
        path.write_text(" " * size)
        os.utime(path, (number, number))
    source, parts = followed(tmp_path), []
    while (part := source.next_part()) is not None:
        assert part
        source.took(part)
        parts.append([size for *_, size in part])
    assert [size for part in parts for size in part] == sizes
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        assert sum(part) <= 10 or len(part) == 1
        assert following is None or sum(part) + following[0] > 10
