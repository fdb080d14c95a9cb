"""Finds files that disappeared between Spark's listing and their micro-batch, which Spark silently skips.

Spark's log of a source names the files of each micro-batch; if Python reads them, Spark counts the existing ones.
"""

import json
from ast import literal_eval
from pathlib import Path
from typing import Any

from skyband_jobs.tables.model import local_path


def parse_offset(offset: str | None) -> Any:
    """An offset as a value; None for the first, which is empty. Raises ValueError where it cannot be parsed."""
    if not offset or offset == "None":
        return None
    try:
        return json.loads(offset)
    except ValueError:
        try:
            return literal_eval(offset)
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"the offset {offset!r} is not JSON") from error


def log_entry(offset: str | None) -> int:
    """The number of an entry in the log of a file source; -1 before the first."""
    parsed = parse_offset(offset)
    return -1 if parsed is None else int(parsed["logOffset"])


def vanished_files(checkpoint: Path, progress: Any) -> list[str]:
    """Files in the log of a StreamingQueryProgress' micro-batch that no longer existed when it was read."""
    names: list[str] = []
    for number, source in enumerate(progress.sources):
        if source.description.startswith("FileStreamSource"):
            log = checkpoint / "sources" / str(number)
            files = _files_between(log, log_entry(source.startOffset), log_entry(source.endOffset))
            if source.numInputRows < len(files):
                names += [name for name in files if not _is_there(name)]
    return names


def _files_between(log: Path, start: int, end: int) -> list[str]:
    """The files of entries start + 1 to end of a source's log; each tenth also contains all earlier ones."""
    files = []
    for number in range(start + 1, end + 1):
        path = next((path for path in (log / str(number), log / f"{number}.compact") if path.exists()), None)
        lines = [] if path is None else path.read_text("utf-8").splitlines()[1:]
        entries = [json.loads(line) for line in lines]
        files += [entry["path"] for entry in entries if entry.get("batchId", number) == number]
    return files


def _is_there(name: str) -> bool:
    path = local_path(name)
    return path is None or path.exists()
