"""Files that went between Spark's listing of them and their micro-batch: Spark passes them over and says nothing.

Its log of a source names the files of each micro-batch; where Python reads them, Spark counts those that were there.
"""

import json
from ast import literal_eval
from pathlib import Path
from typing import Any

from skyband_jobs.job.model import local_path


def parse_offset(offset: str | None) -> Any:
    """An offset as a value; None of the first, which has none. Raises ValueError of one that is neither."""
    if not offset or offset == "None":
        return None
    try:
        return json.loads(offset)
    except ValueError:
        try:
            return literal_eval(offset)
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"the offset {offset!r} is no JSON") from error


def log_entry(offset: str | None) -> int:
    """The number of an entry in the log of a source of files; -1 before the first."""
    parsed = parse_offset(offset)
    return -1 if parsed is None else int(parsed["logOffset"])


def vanished_files(checkpoint: Path, progress: Any) -> list[str]:
    """Of the micro-batch that a StreamingQueryProgress tells of, files of its log that were not there to be read."""
    names: list[str] = []
    for number, source in enumerate(progress.sources):
        if source.description.startswith("FileStreamSource"):
            log = checkpoint / "sources" / str(number)
            files = _files_between(log, log_entry(source.startOffset), log_entry(source.endOffset))
            if source.numInputRows < len(files):
                names += [name for name in files if not _is_there(name)]
    return names


def _files_between(log: Path, start: int, end: int) -> list[str]:
    """The files of entries start + 1 to end of a source's log, each tenth of which holds all before it as well."""
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
