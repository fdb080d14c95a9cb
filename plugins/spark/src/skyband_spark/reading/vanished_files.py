"""Files that went between Spark's listing of them and their micro-batch: Spark passes them over and says nothing.

Its log of a source names the files of each micro-batch; where Python reads them, Spark counts those that were there.
"""

import json
from pathlib import Path
from typing import Any

from skyband_jobs.job.model import local_path

from skyband_spark.reading.source_offsets import log_entry


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
