"""Parts of files that are read at once: whole files, or some row groups, so that cores share a large one."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

from attrs import evolve, frozen
from skyband.errors import InputError

from skyband_jobs.files.text_blocks import ByteRange

_MOST = 1 << 27
"""Bytes of files that a task reads, unless one row group is larger: the same as Spark's."""
_LEAST = 1 << 22
"""Bytes below which a task costs more than its rows."""
_OPENING = 1 << 16
"""Bytes that could be read in the time it takes to open a file."""
_TASKS_A_CORE = 2
_SMALL = 1 << 16
"""Bytes below which several files are read together."""
_TOGETHER = 1 << 20
"""Bytes of small files that are read together."""
_MOST_FILES = 1 << 12
"""Small files, which may be empty, that are read together."""

Ranges: TypeAlias = Callable[[Path, int], list[tuple[int, int]]]


@frozen
class FilePart:
    """A file, row groups of a Parquet file, or a range of a text file."""

    path: Path
    row_groups: tuple[int, ...] | None = None
    """Row groups to read; None: all."""
    first: int = 0
    """The file's rows before this part, for messages; ranges count them only if needed."""
    within: ByteRange | None = None
    stamp: tuple[int, int] | None = None
    """Bytes and modification time of the file when it was listed; None where changes do not matter."""

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its file."""
        return self.row_groups is None and self.within is None

    def check(self) -> None:
        """Raise InputError where the file has changed since it was listed: its row groups may differ."""
        if self.stamp is not None and self.stamp != stamp_of(self.path):
            raise InputError(str(self.path), "has changed since the run started: run it again")


def tasks_of(
    paths: Iterable[Path], format: str, cores: int, ranges: Ranges | None = None
) -> list[tuple[FilePart, ...]]:
    """Parts of files in order, grouped by task: many small files, or parts of a large one.

    ranges: for text files that may be split, the ranges of a file with about this many bytes each.
    """
    stamps = [(path, stamp_of(path)) for path in paths]
    total = sum(stamp[0] + _OPENING for _, stamp in stamps)
    most = min(max(total // (cores * _TASKS_A_CORE), _LEAST), _MOST)
    tasks: list[tuple[FilePart, ...]] = []
    task: list[FilePart] = []
    filled = 0
    for path, stamp in stamps:
        whole = FilePart(path, stamp=stamp)
        for part, share in _parts(whole, stamp[0], most, format, ranges):
            if task and filled + share > most:
                tasks.append(tuple(task))
                task, filled = [], 0
            task.append(part)
            filled += share + _OPENING
    return [*tasks, tuple(task)] if task else tasks


def share_of(path: Path, format: str, size: int, most: int, share: int) -> list[FilePart]:
    """The parts of a file in one of its shares, which have about `most` bytes each.

    All shares together make up the file; some are empty where it has few row groups.
    """
    last = max(-(-size // most), 1) - 1
    parts = _parts(FilePart(path), size, most, format, None)
    return [part for number, (part, _) in enumerate(parts) if min(number, last) == share]


def bundles(parts: Iterable[FilePart]) -> Iterator[tuple[FilePart, ...]]:
    """Parts in order, with small files of the same folder together."""
    bundle: list[FilePart] = []
    filled = 0
    for part in parts:
        size = (part.stamp or stamp_of(part.path))[0] if part.is_whole else _SMALL
        is_full = filled + size > _TOGETHER or len(bundle) >= _MOST_FILES
        if bundle and (size >= _SMALL or is_full or part.path.parent != bundle[-1].path.parent):
            yield tuple(bundle)
            bundle, filled = [], 0
        if size >= _SMALL:
            yield (part,)
        else:
            bundle.append(part)
            filled += size
    if bundle:
        yield tuple(bundle)


def stamp_of(path: Path) -> tuple[int, int]:
    """Bytes and modification time of a file; a missing file is reported where it is read."""
    try:
        stat = path.stat()
        return stat.st_size, stat.st_mtime_ns
    except OSError:
        return 0, 0


def _parts(whole: FilePart, size: int, most: int, format: str, ranges: Ranges | None) -> Iterator[tuple[FilePart, int]]:
    """A file in parts of about `most` bytes, each with its bytes."""
    if size <= 2 * most:
        yield whole, size
    elif format == "parquet":
        yield from _row_groups(whole, size, most)
    else:
        pairs = [] if ranges is None else ranges(whole.path, most)
        parts = [(evolve(whole, within=ByteRange(whole.path, *pair)), pair[1] - pair[0]) for pair in pairs]
        yield from parts if len(parts) > 1 else [(whole, size)]


def _row_groups(whole: FilePart, size: int, most: int) -> Iterator[tuple[FilePart, int]]:
    rows = _rows_of_groups(whole.path)
    if rows is None or len(rows) < 2:
        yield whole, size
        return
    all_rows, first, begun = max(sum(rows), 1), 0, 0
    for group in range(len(rows)):
        in_part = sum(rows[begun : group + 1])
        if group + 1 == len(rows) or in_part * size >= most * all_rows:
            yield evolve(whole, row_groups=tuple(range(begun, group + 1)), first=first), in_part * size // all_rows
            first, begun = first + in_part, group + 1


def row_group_of(path: Path, row: int) -> int | None:
    """The row group of a row in a Parquet file; None where the file has at most one."""
    rows = _rows_of_groups(path) or []
    return None if len(rows) < 2 else bisect_right(list(accumulate(rows)), row)


def _rows_of_groups(path: Path) -> list[int] | None:
    """The rows of each row group; None where the file cannot be read, which its reader reports."""
    import pyarrow as pa

    from skyband_jobs.files.columnar_files import footer_of

    try:
        footer = footer_of(path)
    except (OSError, ValueError, pa.ArrowException):
        return None
    return [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
