"""Lists the data files of a folder or pattern, in the order Spark would read them."""

import fnmatch
import glob
import json
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from skyband.errors import ConfigError, Problem

from skyband_jobs.tables.store_paths import StorePath

SUFFIXES = {
    ".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".geojson": "json",
    ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow", ".log": "text", ".txt": "text",
}  # fmt: skip
"""The format of files by their suffix, before `.gz` and similar."""
_NULL = "__HIVE_DEFAULT_PARTITION__"
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".xz")


def format_by_name(file: Path) -> str | None:
    """The format of a data file by its suffix; None where it is unknown."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def is_pattern(path: Path) -> bool:
    """Whether a path is a pattern for all paths that match it."""
    return any(mark in str(path) for mark in "*?[")


def base_of_keys(path: Path) -> Path:
    """The folder below which `key=value` folders are columns: the path without parts that are patterns."""
    fixed = [part for part in path.parts if not any(mark in part for mark in "*?[")]
    return type(path)(*fixed) if len(fixed) < len(path.parts) else path


def keys_of(file: Path, base: Path) -> dict[str, str | None]:
    """The keys and values of the folders between `base` and a file, in their order."""
    folders = file.parts[len(base.parts) : -1] if file.is_relative_to(base) else ()
    pairs = [folder.partition("=") for folder in folders if "=" in folder]
    return {unquote(key): None if value == _NULL else unquote(value) for key, _, value in pairs}


def data_files(path: Path) -> list[Path]:
    """Data files by modification time, then name, as Spark's file source orders them; hidden files are not data."""
    if isinstance(path, StorePath):
        return sorted(_in_store(path), key=lambda file: (file.stat().st_mtime_ns, str(file)))
    roots = glob.glob(str(path)) if is_pattern(path) else [str(path)]  # noqa: PTH207 - it may be absolute
    files = [(file.stat().st_mtime_ns, file.path) for root in roots for file in _below(root)]
    return [Path(name) for _, name in sorted(files)]


def _in_store(path: StorePath) -> Iterator[StorePath]:
    """The same for a store, whose names are listed at once; for a pattern those below its first wildcard."""
    if not is_pattern(path) and path.is_file():
        yield path
        return
    marks = next((at for at, part in enumerate(path.parts) if is_pattern(Path(part))), len(path.parts))
    root = StorePath(*path.parts[:marks])
    names = {file: file.parts[len(path.parts) :] for file in root.files_below() if _matches(file.parts, path.parts)}
    logs = [file for file, name in names.items() if "_spark_metadata" in name and file.name.partition(".")[0].isdigit()]
    committed = {name for log in logs for name in _names_in(log)} if logs else None
    for file, (*folders, name) in ((file, name or (file.name,)) for file, name in names.items()):
        is_data = not any(part.startswith(("_", ".")) for part in (*folders, name)) and all(
            "=" in one for one in folders
        )
        if is_data and (committed is None or name in committed):
            yield file


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether a file, or a folder that contains it, matches a pattern, part by part."""
    return len(parts) >= len(pattern) and all(map(fnmatch.fnmatchcase, parts, pattern))


class _File:
    """A file that was named directly, with the interface of a folder's entry."""

    def __init__(self, path: str) -> None:
        self.path = path

    def stat(self) -> os.stat_result:
        return os.stat(self.path)  # noqa: PTH116 - as for an entry


def _below(root: str, log_above: set[str] | None = None) -> "Iterator[os.DirEntry[str] | _File]":
    """log_above: the names in the log of a folder above; None where there is no such log."""
    if Path(root).is_file():
        yield _File(root)
    elif Path(root).is_dir():
        committed = _committed(Path(root) / "_spark_metadata")
        committed = log_above if committed is None else committed
        with os.scandir(root) as entries:  # avoids a stat for each of up to 100,000 files
            for entry in entries:
                if entry.name.startswith(("_", ".")):
                    continue
                if entry.is_file():
                    if committed is None or entry.name in committed:
                        yield entry
                elif "=" in entry.name and entry.is_dir():
                    yield from _below(entry.path, committed)


def _committed(log: Path) -> set[str] | None:
    """The names that a streaming sink has committed: a crash can leave other files next to them."""
    if not log.is_dir():
        return None
    batches = [batch for batch in log.iterdir() if batch.name.partition(".")[0].isdigit()]
    return {name for batch in batches for name in _names_in(batch)}


def _names_in(batch: Path) -> set[str]:
    """The files that a streaming sink wrote in a micro-batch. Raises ConfigError where its log is damaged."""
    try:
        entries = [json.loads(line) for line in batch.read_bytes().decode().splitlines()[1:]]
        return {Path(entry["path"]).name for entry in entries if entry.get("action", "add") == "add"}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f", the log of the stream that wrote this folder, is damaged ({' '.join(str(error).split())})"
        remedy = "restore it, or remove _spark_metadata to read all files of the folder"
        raise ConfigError(Problem("path", f"{str(batch)!r}{message}: {remedy}")) from error
