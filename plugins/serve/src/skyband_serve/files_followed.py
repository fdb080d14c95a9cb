"""Follows the files of a folder: each is read once, in the order of modification times, as by Spark's file source.

A savepoint keeps their names in Spark's log of a file source, as one compacted file, so that a job on Spark goes on.
"""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from attrs import define, evolve, field
from skyband.errors import ConfigError, EngineError, Problem, SnapshotError, problems_within
from skyband_jobs.files.file_listing import data_files, is_pattern
from skyband_jobs.files.row_location import PlacedBatches
from skyband_jobs.files.source_files import Files, open_files
from skyband_jobs.running.savepoint import Position, source_facts
from skyband_jobs.tables.model import Source, file_path
from skyband_jobs.tables.store_paths import StorePath

from skyband_serve.source import FollowedSource

if TYPE_CHECKING:
    from skyband.operator.bad_rows import RefuseUnreadable

_BYTES_A_TURN = 16 << 20
"""Bytes of files in a turn, unless one is larger, or `maxFilesPerTrigger` says how many files."""
_LISTED_EVERY, _SHARE = 1.0, 10
"""Seconds between two listings of a folder that had no new file, and at the least this many times what one takes."""
_TRIMMED_EVERY = 3600.0
"""Seconds between two looks for files that are no longer in the folder."""
_REMEMBERED = 7 * 86_400_000
"""Milliseconds before the newest file's: a file that is gone is remembered for so long, as by Spark's `maxFileAge`."""
_COMPACTED_EVERY = 10
"""Spark compacts its log at each tenth number, and reads the interval from the number of the first compacted file."""


@define(eq=False)
class FollowedFiles(FollowedSource):
    """A part is a list of files, each with its name, modification time in milliseconds, and bytes."""

    source: Source
    most: int | None
    """Files in a part; None: by bytes."""
    _files: Files | None
    """How to read them; None until the first file is there."""
    _times: dict[str, int] = field(factory=dict, init=False)
    """The modification time in milliseconds of each file read, by name: see `_forget`."""
    _waiting: list[list[Any]] = field(factory=list, init=False)
    """Files that were listed, but are in no part yet."""
    _next_listing: float = field(default=0.0, init=False)
    _next_trim: float = field(factory=lambda: time.monotonic() + _TRIMMED_EVERY, init=False)
    _gone: set[str] = field(factory=set, init=False)
    """Files read that were not in the folder when that was looked at last."""
    _ends: bool = field(default=False, init=False)
    """Whether one whole listing is all that is read."""
    _was_whole: bool = field(default=False, init=False)
    """Whether the last listing had all files; not, where one was removed meanwhile."""
    _saved: int = field(default=0, init=False)
    """How many positions were saved, also by the streams before this one."""

    def resume(self, position: Position) -> None:
        number = _number(position.offset)
        if number < 0:  # Spark had no file yet
            return
        if position.log is None:
            raise SnapshotError(f"the savepoint is damaged: it has no log of the files read up to number {number}")
        self._times = _names_read(position.log, number)
        self._saved = -(-(number + 1) // _COMPACTED_EVERY)

    def stop_at_end(self) -> None:
        self._ends = True

    def next_part(self) -> list[list[Any]] | None:
        if not self._waiting and not (self._ends and self.caught_up):
            self._waiting = self._new_files()
        if not self._waiting:
            return None
        if self.most is not None:
            return self._waiting[: self.most]
        part, total = list[list[Any]](), 0
        for entry in self._waiting:
            total += entry[2]
            if part and total > _BYTES_A_TURN:
                break
            part.append(entry)
        return part

    def _new_files(self) -> list[list[Any]]:
        begun = time.monotonic()
        if begun < self._next_listing:
            return []
        new, names, self._was_whole = list[list[Any]](), dict[str, Path](), False
        with problems_within("source"), suppress(FileNotFoundError):  # removed meanwhile: the next listing is whole
            names = {str(path): path for path in data_files(self._path)}
            for name, path in names.items():
                if name not in self._times:
                    status = path.stat()
                    new.append([name, status.st_mtime_ns // 1_000_000, status.st_size])
            self._was_whole = True
        if not self._was_whole and not self._is_there:
            self._was_whole = True  # there is nothing to list
        if self._was_whole and begun >= self._next_trim:
            self._next_trim = begun + _TRIMMED_EVERY
            self._forget(names)
        if not new and self._was_whole:
            now = time.monotonic()
            self._next_listing = now + max(_LISTED_EVERY, _SHARE * (now - begun))
        return new

    def _forget(self, names: Mapping[str, Path]) -> None:
        """Forget old files that left the folder, or the names would become ever more. O(files).

        Only those that were gone at two looks in a row and are a week older than the newest: a file that is in the
        folder is known, whatever its age, and one that arrives late is new. An empty folder may be one that is not
        mounted.
        """
        if not names:
            return
        oldest = min(max(self._times.values(), default=0), time.time_ns() // 1_000_000) - _REMEMBERED
        gone = {name for name, modified in self._times.items() if modified < oldest and name not in names}
        for name in gone & self._gone:
            del self._times[name]
        self._gone = gone

    @property
    def caught_up(self) -> bool:
        return self._was_whole

    @property
    def is_behind(self) -> bool:
        return self.most is None and bool(self._waiting)

    @property
    def _is_there(self) -> bool:
        """Whether there is anything to list, as far as this machine knows."""
        return isinstance(self._path, StorePath) or is_pattern(self._path) or self._path.exists()

    @property
    def _path(self) -> Path:
        path = file_path(self.source.path or "")
        assert path is not None  # checked with the job
        return path

    def batches(self, part: Any, columns: Sequence[str] | None, refuse: "RefuseUnreadable | None") -> PlacedBatches:
        for name, modified, size in part:
            self._check_unchanged(Path(name), modified, size)
        if self._files is None:
            with problems_within("source"):
                opened = open_files(self.source)
            if not isinstance(opened, Files):
                raise ConfigError(Problem("source", "is read only by Spark: use --engine spark"))
            self._files = opened
        files = evolve(self._files, paths=tuple(file_path(name) or Path(name) for name, _, _ in part))
        return files.batches(columns or files.schema.names, dictionaries=True, refuse=refuse)

    def _check_unchanged(self, path: Path, modified: int, size: int) -> None:
        try:
            status = (file_path(str(path)) or path).stat()
        except OSError as error:
            what = f"cannot be read: {error.strerror or error}"
        else:
            if (status.st_mtime_ns // 1_000_000, status.st_size) == (modified, size):
                return
            what = "has changed since the stream took it"
        raise EngineError(f"{str(path)!r} {what}: files must stay as they appeared; restore it, and run again")

    def took(self, part: Any) -> None:
        self._times |= {name: modified for name, modified, _ in part}
        self._waiting = self._waiting[len(part) :]

    def position(self, log: Path) -> Position:
        self._saved += 1
        number = self._saved * _COMPACTED_EVERY - 1
        entries = (
            json.dumps({"path": _as_uri(name), "timestamp": modified, "batchId": number})
            for name, modified in self._times.items()
        )
        log.mkdir(parents=True, exist_ok=True)
        (log / f"{number}.compact").write_text("\n".join(["v1", *entries]), "utf-8")
        return Position(source_facts(self.source), json.dumps({"logOffset": number}), log)

    @property
    def place(self) -> str:
        return f"{len(self._times):,} files read"


def _as_uri(name: str) -> str:
    """A file as Spark names it."""
    return name if "://" in name else f"file://{quote(name)}"


def _number(offset: str) -> int:
    try:
        return int(json.loads(offset)["logOffset"])
    except (ValueError, TypeError, KeyError) as error:
        message = f"the savepoint's position is not that of files: {offset!r:.80}"
        raise SnapshotError(f"{message}; it belongs to another source") from error


def _names_read(log: Path, last: int) -> dict[str, int]:
    """The modification time of each file in Spark's log, up to the number `last`: its newest compacted file before, and
    what follows. What Spark planned after that is not read yet.
    """
    names = dict[str, int]()
    try:
        numbers = {path: path.name.removesuffix(".compact") for path in log.iterdir()}
        files = sorted(
            (int(number), path) for path, number in numbers.items() if number.isdigit() and int(number) <= last
        )
        first = max((number for number, path in files if path.suffix == ".compact"), default=0)
        needed_numbers = [(number, path) for number, path in files if number >= first]
        if [number for number, _ in needed_numbers] != [*range(first, last + 1)]:
            raise SnapshotError(f"damaged: {str(log)!r} lacks files of its log up to number {last}; restore it")
        for _, path in needed_numbers:
            for line in path.read_text("utf-8").splitlines()[1:]:
                entry = json.loads(line)
                names[_from_uri(entry["path"])] = int(entry["timestamp"])
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise SnapshotError(f"damaged: {str(log)!r} is not a log of files ({error}); restore it") from error
    return names


def _from_uri(name: str) -> str:
    return unquote("/" + name.removeprefix("file:").lstrip("/")) if name.startswith("file:") else name
