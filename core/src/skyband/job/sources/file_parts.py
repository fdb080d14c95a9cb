"""What of a file is read in one go: all of it, or some of its row groups, so that several cores share a large one."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import evolve, frozen

from skyband.errors import InputError

_MOST = 1 << 27
"""Bytes of files that a task reads, unless a single row group has more: as many as Spark gives one."""
_LEAST = 1 << 22
"""Below this a task costs more than its rows."""
_OPENING = 1 << 16
"""Bytes that could be read while a file is opened."""
_TASKS_A_CORE = 2


@frozen
class FilePart:
    """A file, or row groups of a Parquet file."""

    path: Path
    row_groups: tuple[int, ...] | None = None
    """None: all."""
    first: int = 0
    """Rows of the file before it."""
    stamp: tuple[int, int] | None = None
    """Bytes and time of change of the file when it was listed; None where it is no matter that it changes."""

    def check(self) -> None:
        """Raise InputError where the file is another than was listed: its row groups may be others."""
        if self.stamp is not None and self.stamp != stamp_of(self.path):
            raise InputError(str(self.path), "has changed since the run began: run it again")


def tasks_of(paths: Iterable[Path], format: str, cores: int) -> list[tuple[FilePart, ...]]:
    """Parts of files in order, those that a task reads together: many small files, or row groups of a large one."""
    stamps = [(path, stamp_of(path)) for path in paths]
    total = sum(stamp[0] + _OPENING for _, stamp in stamps)
    most = min(max(total // (cores * _TASKS_A_CORE), _LEAST), _MOST)
    tasks: list[tuple[FilePart, ...]] = []
    task: list[FilePart] = []
    filled = 0
    for path, stamp in stamps:
        whole = FilePart(path, stamp=stamp)
        for part, share in _parts(whole, stamp[0], most) if format == "parquet" else [(whole, stamp[0])]:
            if task and filled + share > most:
                tasks.append(tuple(task))
                task, filled = [], 0
            task.append(part)
            filled += share + _OPENING
    return [*tasks, tuple(task)] if task else tasks


def stamp_of(path: Path) -> tuple[int, int]:
    """Bytes and time of change of a file; one that has gone is missed by name where it is read."""
    try:
        there = path.stat()
        return there.st_size, there.st_mtime_ns
    except OSError:
        return 0, 0


def _parts(whole: FilePart, size: int, most: int) -> Iterator[tuple[FilePart, int]]:
    """A file in parts of about `most` bytes, each with its bytes."""
    rows = _rows_of_groups(whole.path) if size > 2 * most else None
    if rows is None or len(rows) < 2:
        yield whole, size
        return
    all_rows, first, begun = max(sum(rows), 1), 0, 0
    for group in range(len(rows)):
        in_part = sum(rows[begun : group + 1])
        if group + 1 == len(rows) or in_part * size >= most * all_rows:
            yield evolve(whole, row_groups=tuple(range(begun, group + 1)), first=first), in_part * size // all_rows
            first, begun = first + in_part, group + 1


def _rows_of_groups(path: Path) -> list[int] | None:
    """None where it cannot be read, which is told where its rows are."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        footer = pq.read_metadata(path)
    except (OSError, ValueError, pa.ArrowException):
        return None
    return [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
