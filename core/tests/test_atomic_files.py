"""Files are complete and on disk before they get their name, and links at that name are not followed."""

import os
import secrets
from pathlib import Path

import pytest
from skyband.atomic_files import new_file, replacing


def test_a_file_is_on_the_disk_as_a_whole_before_it_has_its_name(tmp_path, monkeypatch):
    path, steps = tmp_path / "answers", []
    path.write_bytes(b"old")

    def synced(number, plain=os.fsync):
        plain(number)
        steps.append((os.fstat(number).st_size, path.read_bytes()))

    monkeypatch.setattr(os, "fsync", synced)
    with replacing(path) as file:
        for _ in range(3):
            file.write(b"new")
        assert path.read_bytes() == b"old"
    assert steps == [(9, b"old")]
    assert path.read_bytes() == b"new" * 3
    assert [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("fault", ["the block", "fsync", "replace"])
@pytest.mark.parametrize("there", [False, True])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, fault, there):
    path = tmp_path / "answers"
    if there:
        path.write_bytes(b"old")

    def fails(*_):
        raise OSError("no room")

    if fault == "fsync":
        monkeypatch.setattr(os, "fsync", fails)
    if fault == "replace":
        monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="no room"), replacing(path) as file:
        file.write(b"new")
        if fault == "the block":
            fails()
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"old"] * there


@pytest.mark.parametrize("link", [False, True])
def test_what_somebody_put_at_the_name_of_a_new_file_is_not_written_to(tmp_path, monkeypatch, link):
    """Even if he knew that random name."""
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    other.write_bytes(b"of another")
    monkeypatch.setattr(secrets, "token_hex", lambda size: "0" * 2 * size)
    trap = folder / f"_answers.{'0' * 16}.partial"
    trap.symlink_to(other) if link else trap.write_bytes(b"of another")
    with pytest.raises(FileExistsError):
        new_file(folder, "answers")
    assert trap.read_bytes() == other.read_bytes() == b"of another"


def test_no_two_new_files_of_a_name_are_one_and_readers_pass_over_them(tmp_path):
    made = [new_file(tmp_path, "answers") for _ in range(50)]
    for _, file in made:
        file.close()
    names = {path.name for path, _ in made}
    assert len(names) == 50 and all(name.startswith("_") and len(name) > 30 for name in names)
