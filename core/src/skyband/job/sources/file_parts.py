"""What of a file is read in one go: all of it, or some of its row groups, so that several cores share a large one."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import frozen

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


def tasks_of(paths: Iterable[Path], format: str, cores: int) -> list[tuple[FilePart, ...]]:
    """Parts of files in order, those that a task reads together: many small files, or row groups of a large one."""
    sizes = [(path, _size(path)) for path in paths]
    total = sum(size + _OPENING for _, size in sizes)
    most = min(max(total // (cores * _TASKS_A_CORE), _LEAST), _MOST)
    tasks: list[tuple[FilePart, ...]] = []
    task: list[FilePart] = []
    filled = 0
    for path, size in sizes:
        for part, share in _parts(path, size, most) if format == "parquet" else [(FilePart(path), size)]:
            if task and filled + share > most:
                tasks.append(tuple(task))
                task, filled = [], 0
            task.append(part)
            filled += share + _OPENING
    return [*tasks, tuple(task)] if task else tasks


def _size(path: Path) -> int:
    """That of a file; one that has gone is missed by name where it is read."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _parts(path: Path, size: int, most: int) -> Iterator[tuple[FilePart, int]]:
    """A file in parts of about `most` bytes, each with its bytes."""
    rows = _rows_of_groups(path) if size > 2 * most else None
    if rows is None or len(rows) < 2:
        yield FilePart(path), size
        return
    all_rows, first, begun = max(sum(rows), 1), 0, 0
    for group in range(len(rows)):
        in_part = sum(rows[begun : group + 1])
        if group + 1 == len(rows) or in_part * size >= most * all_rows:
            yield FilePart(path, tuple(range(begun, group + 1)), first), in_part * size // all_rows
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
