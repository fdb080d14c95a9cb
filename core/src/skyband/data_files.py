"""The files of a folder or pattern that are data, in the order Spark would take them."""

import glob
import json
from collections.abc import Iterator
from pathlib import Path

from skyband.errors import ConfigError, Problem


def is_pattern(path: Path) -> bool:
    """Whether a path stands for all that match it."""
    return any(mark in str(path) for mark in "*?[")


def data_files(path: Path) -> list[Path]:
    """Data files by time of change, then name, as Spark's file source takes them; hidden ones are not data."""
    roots = map(Path, glob.glob(str(path))) if is_pattern(path) else [path]  # noqa: PTH207 - it may be absolute
    files = [file for root in roots for file in _below(root)]
    return sorted(files, key=lambda file: (file.stat().st_mtime_ns, str(file)))


def _below(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
    elif root.is_dir():
        committed = _committed(root / "_spark_metadata")
        for entry in root.iterdir():
            if entry.name.startswith(("_", ".")):
                continue
            if entry.is_file() and (committed is None or entry.name in committed):
                yield entry
            elif entry.is_dir() and "=" in entry.name:
                yield from _below(entry)


def _committed(log: Path) -> set[str] | None:
    """The names a streaming sink has committed: a crash can leave other files beside them."""
    if not log.is_dir():
        return None
    batches = [batch for batch in log.iterdir() if batch.name.partition(".")[0].isdigit()]
    return {name for batch in batches for name in _names_in(batch)}


def _names_in(batch: Path) -> set[str]:
    """The files that a micro-batch of a streaming sink has written. Raises ConfigError where its log is damaged."""
    try:
        entries = [json.loads(line) for line in batch.read_text("utf-8").splitlines()[1:]]
        return {Path(entry["path"]).name for entry in entries if entry.get("action", "add") == "add"}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"is damaged ({' '.join(str(error).split())}), the log of the stream that wrote this folder"
        remedy = "bring it back, or read the folder as it is without _spark_metadata"
        raise ConfigError(Problem("path", f"{str(batch)!r} {message}: {remedy}")) from error
