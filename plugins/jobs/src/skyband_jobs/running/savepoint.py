"""A savepoint: one self-contained folder with everything that a stream resumes from.

savepoint.json   what made it, the query and source, the position in time and in the source, and the other files
states/          a snapshot of each shard
source/          Spark's log of the files read, if the source is files
rules/           the same for the stream's other source: the query's second table, or a spine
"""

import json
import os
import shutil
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen
from skyband.config.durations import Duration
from skyband.config.half_open_ranges import ValueRange
from skyband.config.literals import literal
from skyband.config.redaction import without_passwords
from skyband.errors import ConfigError, EngineError, Problem, SnapshotError
from skyband.queries import make_query
from skyband.queries.grouping_sets import GroupingSets
from skyband.queries.query import Query
from skyband.version import __version__

from skyband_jobs.tables.model import Job, Source, local_path

FORMAT = 2

MANIFEST, STATES, SOURCE, SECOND = "savepoint.json", "states", "source", "rules"
_TOPICS = ("subscribe", "subscribepattern", "assign")
"""Options that identify a source, in addition to its format and path."""


@frozen
class Position:
    """How far a stream had read its source."""

    source: Mapping[str, Any]
    """The source's format, path and topics."""
    offset: str
    """In Spark's notation."""
    log: Path | None
    """Spark's log of the files read."""


@frozen
class Savepoint:
    """The contents of a savepoint's folder."""

    folder: Path
    id: str
    made_by: Mapping[str, str]
    """Versions of Skyband, of Spark, and of the backends' distributions."""
    query: Query
    shards: int
    watermark: int | None
    position: Position | None
    """None for a savepoint from history: the stream starts where its own source does."""
    second: Position | None = None
    """How far the stream's other source was read: the query's second table, or a spine."""

    def snapshots(self) -> list[bytes]:
        """The state of each shard, by its number. Raises SnapshotError where one is missing or has another size."""
        files = _files_by_shard(_manifest(self.folder))
        return [_state(self.folder / STATES / name, size) for name, size in files]


def source_facts(source: Source) -> dict[str, Any]:
    """What identifies a source and the rows taken from it: a position is meaningless in another one.

    Without the passwords in its path, which may change: this is written to disk.
    """
    topics = {name: str(value) for name, value in source.options.items() if name.lower() in _TOPICS}
    table = {} if source.table is None else {"table": source.table}
    select = None if source.select is None else list(source.select)
    path = None if source.path is None else without_passwords(source.path)
    rows = {"explode": source.explode, "where": source.where, "select": select}
    return {"format": source.format, "path": path, **table, **topics, **rows}


def fact_text(value: Any) -> str:
    """One of these facts, for an error."""
    return "nothing" if value is None else literal(value)


def check_sources(job: Job, contents: Savepoint) -> None:
    """Raise ConfigError where a position in the savepoint's sources is meaningless in the job's."""
    problems = _moved("source", contents.position, job.source)
    if job.second is not None:
        key, second = job.second
        problems += _moved(key, contents.second, second)
    if problems:
        raise ConfigError(*problems)


def _moved(key: str, position: Position | None, source: Source) -> list[Problem]:
    """The differences of a source, under a key, from that of a savepoint."""
    if position is None:
        return []
    before, current = position.source, source_facts(source)
    return [
        Problem(
            f"{key}.{name}",
            f"was {fact_text(before.get(name))} when the savepoint was made (got {fact_text(current.get(name))}), but "
            "it resumes where that stopped: rows would be lost or read twice; change it back",
        )
        for name in sorted({*before, *current})
        if before.get(name) != current.get(name)
    ]


def checkpoint_of(job: Job) -> Path:
    """A stream's checkpoint on this machine. Raises ConfigError where it has none."""
    if job.sink.checkpoint is None:
        raise ConfigError(Problem("sink.checkpoint", "is missing: only a stream with a checkpoint has a state"))
    folder = local_path(job.sink.checkpoint)
    if folder is None:
        raise ConfigError(Problem("sink.checkpoint", f"must be on this machine (got {job.sink.checkpoint!r})"))
    return folder


def check_free(folder: Path) -> None:
    """Raise EngineError unless a savepoint can be written to a folder."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise EngineError(f"{str(folder)!r} already exists: choose another folder for the savepoint")


def write(
    folder: Path,
    query: Query,
    snapshots: Sequence[bytes],
    watermark: int | None,
    versions: Mapping[str, str],
    position: Position | None,
    second: Position | None = None,
) -> Savepoint:
    """Write a savepoint with a snapshot of each shard, by its number; second: the position in the other source.

    `folder` is complete or absent, even if this is interrupted.
    """
    check_free(folder)
    identity = uuid.uuid4().hex
    partial = folder.parent / f".{folder.name}.{identity}.partial"
    partial.mkdir(parents=True)
    try:
        (partial / STATES).mkdir()
        states = []
        for number, snapshot in enumerate(snapshots):
            name = f"{number:05}.skyband"
            (partial / STATES / name).write_bytes(snapshot)
            states.append({"file": name, "bytes": len(snapshot), "shard": number})
        sources = {}
        for name, where in ((SOURCE, position), (SECOND, second)):
            if where is not None and where.log is not None:
                shutil.copytree(where.log, partial / name)
            sources[name] = None if where is None else {**where.source, "offset": where.offset}
        manifest = {
            "format": FORMAT, "id": identity, "made_by": {"skyband": __version__, **versions},
            "query": keys_of(query), "watermark": watermark, **sources, "states": states,
        }  # fmt: skip
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
        to_disk(partial)
        partial.rename(folder)
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)  # it is gone once renamed
    return read(folder)


def read(folder: Path) -> Savepoint:
    """Raises EngineError where there is no savepoint, SnapshotError where it is damaged or of a newer Skyband."""
    manifest = _manifest(folder)
    if manifest.get("format") != FORMAT:
        made_by = manifest.get("made_by")
        by = made_by.get("skyband") if isinstance(made_by, dict) else None
        message = f"was made by skyband {by}, but this is {__version__}"
        raise SnapshotError(f"the savepoint {str(folder)!r} {message}: read it with that version, or make it again")
    try:
        position = _position(manifest["source"], folder / SOURCE)
        second = _position(manifest.get(SECOND), folder / SECOND)
        shards = len(_files_by_shard(manifest))
        return Savepoint(
            folder, str(manifest["id"]), dict(manifest["made_by"]), make_query(manifest["query"]), shards,
            manifest["watermark"], position, second,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SnapshotError(f"the savepoint {str(folder)!r} is damaged: {type(error).__name__}: {error}") from error


def _position(source: Any, log: Path) -> Position | None:
    """The position in a source, from a manifest."""
    if source is None:
        return None
    facts = {name: value for name, value in source.items() if name != "offset"}
    return Position(facts, str(source["offset"]), log if log.is_dir() else None)


def _manifest(folder: Path) -> dict[str, Any]:
    if not (folder / MANIFEST).is_file():
        message = f"has no {MANIFEST}" if folder.is_dir() else "does not exist"
        raise EngineError(f"the savepoint {str(folder)!r} {message}: `skyband savepoint JOB DIR` makes one")
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"the savepoint {str(folder)!r} is damaged: {MANIFEST}: {error}") from error
    if not isinstance(manifest, dict):
        raise SnapshotError(f"the savepoint {str(folder)!r} is damaged: {MANIFEST} has no table")
    return manifest


def _files_by_shard(manifest: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The file of each shard's state, by its number, and its size."""
    files = {}
    for entry in manifest["states"]:
        name = str(entry["file"])
        if Path(name).name != name:
            raise ValueError(f"{name!r} is not the name of a file")
        files[entry["shard"]] = (name, int(entry["bytes"]))
    if [*sorted(files)] != [*range(len(manifest["states"]))] or not files:
        raise ValueError(f"{len(manifest['states'])} states are for the shards {sorted(files)}")
    return [files[number] for number in range(len(files))]


def _state(path: Path, size: int) -> bytes:
    if not path.is_file() or path.stat().st_size != size:
        raise SnapshotError(f"the savepoint is damaged: {str(path)!r} should have {size:,} bytes")
    return path.read_bytes()


def keys_of(query: Query) -> dict[str, Any]:
    """A query's keys as data, from which `make_query` makes it, with the files that they name read.

    An object whose fields differ from the keys that users write has `to_dict`, which returns those keys.
    """
    keys = attrs.asdict(query, filter=lambda entry, value: entry.init and value is not None, value_serializer=_plain)
    return {"kind": query.kind, **keys}


def _plain(_: Any, __: Any, value: Any) -> Any:
    if isinstance(value, Duration):
        return str(value)
    if isinstance(value, ValueRange):
        return [value.low, value.high]
    if isinstance(value, GroupingSets):
        return [list(names) for names in value.sets]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return [_plain(None, None, entry) for entry in value] if isinstance(value, list | tuple) else value


def to_disk(folder: Path) -> None:
    """Flush all files of a folder to disk, and their names, before it gets its own."""
    for path in [*folder.rglob("*"), folder]:
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        else:
            sync_folder(path)


def make_folder(folder: Path) -> None:
    """Make a folder and those that it is in, with their names on disk when this returns."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to disk: without this, a rename may be gone after a power loss."""
    if sys.platform == "win32":  # cannot open a folder
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
