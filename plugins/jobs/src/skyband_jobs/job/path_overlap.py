"""Keeps a job's files apart: answers written over, into or around the source would be lost, or read as rows."""

import os
import posixpath
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from skyband.errors import ConfigError, Problem

from skyband_jobs.files.file_listing import data_files, is_pattern
from skyband_jobs.tables.model import Sink, Source, local_path

_REMEDY = "choose another folder"


def overlaps(source: Source, sink: Sink, job_file: Path | None = None) -> list[Problem]:
    """Problems if the sink, or a stream's checkpoint, is, contains or is inside the source, or contains the job file.

    Paths on this machine are compared by their target, following symbolic links; others by their text.
    """
    problems = []
    for key, output in (("sink.path", sink.path), ("sink.checkpoint", sink.checkpoint)):
        if output is None:
            continue
        wrong = None if source.path is None else clash(source.path, output, sink.format)
        if wrong is None and job_file is not None and key == "sink.path":
            folder = local_path(output)
            if folder is not None and _is_within(job_file, folder):
                wrong = f"contains the job's own file, {str(job_file)!r}"
        if wrong is not None:
            problems.append(Problem(key, f"{output!r} {wrong}: {_REMEDY}"))
    return problems + _catalogued(source, sink)


def _catalogued(source: Source, sink: Sink) -> list[Problem]:
    """The same for a table in a catalogue: it is the source, or its catalogue's folder is in the source."""
    if sink.table is None:
        return []
    same = all(source.catalog.get(name) == sink.catalog.get(name) for name in ("name", "uri"))
    if source.table == sink.table and same:
        return [Problem("sink.table", f"{sink.table!r} is the source: choose another table")]
    warehouse = sink.catalog.get("warehouse")
    if source.path is None or not isinstance(warehouse, str):
        return []
    wrong = clash(source.path, warehouse, sink.format)
    if wrong is None or wrong.startswith("contains"):  # each table has its own folder in it
        return []
    return [Problem("sink.catalog.warehouse", f"{warehouse!r} {wrong}: {_REMEDY}")]


def clash(source: str, output: str, format: str) -> str | None:
    """The problem with writing to `output`, as it follows its name: it is, contains or is inside the source."""
    source_path, output_path = local_path(source), local_path(output)
    if source_path is None and output_path is None:
        return _clash_elsewhere(source, output)
    if source_path is None or output_path is None:
        return None
    what = f"the source, {source!r}"
    if is_pattern(source_path):
        if _is_within(_fixed_part(source_path), output_path):
            return f"contains {what}"
        if _is_matched(source_path, output_path, format):
            return f"is inside {what}"
    elif _is_within(source_path, output_path):
        return f"is {what}" if _is_within(output_path, source_path) else f"contains {what}"
    elif _is_within(output_path, source_path):
        return f"is inside {what}"
    linked = next((path for path in _places(source_path) if _is_within(path, output_path)), None)
    return None if linked is None else f"contains {str(linked)!r} of {what}"


def _clash_elsewhere(source: str, output: str) -> str | None:
    source_folder, output_folder = (posixpath.normpath(path) + "/" for path in (source, output))
    if source_folder == output_folder:
        return f"is the source, {source!r}"
    if source_folder.startswith(output_folder):
        return f"contains the source, {source!r}"
    return f"is inside the source, {source!r}" if output_folder.startswith(source_folder) else None


def _places(source: Path) -> Iterator[Path]:
    """The folders that contain a source's files, and the files that are links to somewhere else."""
    folders = set()
    try:
        paths = data_files(source)
    except (ConfigError, OSError):
        return  # reported as the source's own problem
    for path in paths:
        if path.is_symlink():
            yield path
        if path.parent not in folders:
            folders.add(path.parent)
            yield path.parent


def _is_within(inner: Path, outer: Path) -> bool:
    """Whether `inner` is `outer` or lies in it, following links; neither needs to exist."""
    inner, outer = Path(os.path.realpath(inner)), Path(os.path.realpath(outer))
    return any(path == outer or _is_same(path, outer) for path in (inner, *inner.parents))


def _is_same(path: Path, other: Path) -> bool:
    """Whether both exist and are the same: some file systems do not distinguish `Counts` from `counts`."""
    try:
        return path.samefile(other)
    except OSError:
        return False


def _fixed_part(pattern: Path) -> Path:
    """The folder that contains all files that match."""
    return Path(*takewhile(lambda part: not is_pattern(Path(part)), pattern.parts))


def _is_matched(pattern: Path, output: Path, format: str) -> bool:
    """Whether a pattern matches a folder, one of its parents, or the answers in it, and so takes them for source."""
    base = _fixed_part(pattern)
    whole = Path(os.path.realpath(base), *pattern.parts[len(base.parts) :])
    real = Path(os.path.realpath(output))
    return any(path.match(str(whole)) for path in (real / f"part-00000.{format}", real, *real.parents))
