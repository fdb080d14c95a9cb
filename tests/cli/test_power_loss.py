"""Answers and savepoints after a kill, a power failure or a full disk at any step: old or new, never a mixture."""

import csv
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from families import family
from power_loss import no_file_above, recorded
from skyband.errors import EngineError
from skyband_jobs.running import savepoint
from skyband_jobs.running.savepoint import Position

FORMATS = ("parquet", "json", "csv")


def answers(folder, format):
    """The files that readers of a folder see, each with its rows; those of CSV with their header."""
    found = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name.startswith(("_", ".")):
            continue
        if format == "parquet":
            found[path.name] = [str(row) for row in pq.read_table(path).to_pylist()]
        elif format == "json":
            found[path.name] = [str(json.loads(line)) for line in path.read_text("utf-8").splitlines()]
        else:
            with path.open(newline="", encoding="utf-8") as lines:
                found[path.name] = [str(row) for row in csv.reader(lines)]
        assert found[path.name], f"{path.name} is empty"
    return found


@pytest.fixture
def runs(folder):
    """A job that has run twice and would now give other answers: its sink's folder, and what runs it."""

    def prepare(format, mode):
        first = f"sink.format={format}", "sink.mode=append"
        for _ in range(2):
            assert folder.run(*first).exit_code == 0
        old = answers(folder.home / "counts", format)
        source = pq.read_table(folder.home / "requests" / "0.parquet")
        pq.write_table(
            source.set_column(1, "client", pa.array(["one"] * len(source))), folder.home / "requests" / "0.parquet"
        )
        return old, lambda: folder.run(f"sink.format={format}", f"sink.mode={mode}")

    return prepare


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_sink_after_any_step(folder, runs, format, mode, tmp_path_factory, monkeypatch):
    """Old files stay unchanged until the new one is complete; then any run continues, and none is foreign."""
    old, run = runs(format, mode)
    sink = folder.home / "counts"
    with recorded(sink, tmp_path_factory.mktemp("copies"), monkeypatch) as disk:
        assert run().exit_code == 0
    new = answers(sink, format)
    rows = next(part for name, part in new.items() if old.get(name) != part)
    kept = old if mode == "append" else {}
    assert sorted(new.values()) == sorted([*kept.values(), rows])
    assert len(disk.moments) >= 6
    noted = {line.partition("  ")[2] for line in (sink / "_skyband.sha256").read_text().splitlines()}
    assert noted == {*new}
    for moment in disk.moments:
        there = answers(moment, format)
        fresh = [part for part in there.values() if part == rows]
        others = {name: part for name, part in there.items() if part != rows}
        assert len(fresh) <= 1 and all(old[name] == part for name, part in others.items())
        if not fresh:
            assert others == old, "no old answers are gone before the new ones are there"
        shutil.rmtree(sink)
        shutil.copytree(moment, sink)
        again = folder.run(f"sink.format={format}", "sink.mode=overwrite")
        assert again.exit_code == 0, again.stderr
        assert list(answers(sink, format).values()) == [rows]
        noted = [line.partition("  ")[2] for line in (sink / "_skyband.sha256").read_text().splitlines()]
        assert noted == [*answers(sink, format)], "what `sha256sum -c` looks for is there"


@pytest.mark.parametrize("format", FORMATS)
def test_a_sink_on_a_full_disk(folder, runs, format):
    """Wherever in a file the disk ends: the error names the folder, and what readers see is as it was."""
    old, run = runs(format, "overwrite")
    sink = folder.home / "counts"
    size = max(path.stat().st_size for path in sink.iterdir())
    for most in (0, 1, 60, size // 2, size - 1):
        with no_file_above(most):
            ran = run()
        assert ran.exit_code == 1 and "cannot be written" in ran.stderr, (most, ran.stderr, ran.exception)
        assert answers(sink, format) == old
        assert not [path for path in sink.iterdir() if path.name.endswith(".partial")]
    assert run().exit_code == 0
    assert len(answers(sink, format)) == 1


STATES = [b"one" * 50, b"two and more" * 90]


def save(folder, log):
    position = Position({"format": "parquet", "path": "/somewhere"}, '{"logOffset":3}', log)
    return savepoint.write(folder, family("distinct-count"), STATES, 7, {"spark": "4"}, position)


@pytest.fixture
def log(tmp_path):
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "0").write_text("v1" * 100)
    return tmp_path / "log"


def test_a_savepoint_after_any_step(tmp_path, log, monkeypatch):
    """It does not exist, or exists with all its bytes on the disk; then another can be made."""
    (tmp_path / "home").mkdir()
    with recorded(tmp_path / "home", tmp_path / "copies", monkeypatch) as disk:
        save(tmp_path / "home" / "saved", log)
    complete = 0
    for moment in disk.moments:
        try:
            held = savepoint.read(moment / "saved")
        except EngineError as error:
            assert "does not exist" in str(error)
            held = save(moment / "saved", log)
        else:
            complete += 1
        assert held.snapshots() == STATES and (held.position.log / "0").read_text() == "v1" * 100
        assert [path.name for path in moment.iterdir() if not path.name.startswith(".")] == ["saved"]
    assert 2 <= complete < len(disk.moments)


def test_a_savepoint_on_a_full_disk(tmp_path, log):
    (tmp_path / "home").mkdir()
    for most in (0, 1, 149, 150, 1079):
        with no_file_above(most), pytest.raises(OSError):
            save(tmp_path / "home" / "saved", log)
        assert list((tmp_path / "home").iterdir()) == []
    assert save(tmp_path / "home" / "saved", log).snapshots() == STATES
