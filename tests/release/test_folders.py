"""Folders and files stay small enough to read: counts of what a person meets when opening one."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_FILES, MOST_LINES = 30, 400
GENERATED = ("__pycache__", "build", "dist", "node_modules")


def files_below(folder: Path) -> Iterator[Path]:
    """The files of the project: nothing hidden, nothing that a tool left."""
    for path in folder.iterdir():
        if path.name.startswith(".") or path.name in GENERATED or path.name.endswith(".egg-info"):
            continue
        if path.is_dir():
            yield from files_below(path)
        else:
            yield path


def test_no_folder_holds_more_than_thirty_files():
    counts = Counter(path.parent.relative_to(ROOT).as_posix() for path in files_below(ROOT))
    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}


def test_no_source_file_is_longer_than_four_hundred_lines():
    sources = [*ROOT.glob("*/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")]
    lengths = {path.relative_to(ROOT).as_posix(): path.read_bytes().count(b"\n") for path in sources}
    assert len(lengths) > 500
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}
