"""Records a job when it starts its checkpoint, to refuse later changes that would pass unnoticed.

The state knows its query, its backends and the types of its columns, but not which rows it was given, nor in which
format its answers were written.
"""

import json
from pathlib import Path
from typing import Any

from skyband.atomic_files import replacing
from skyband.errors import ConfigError, EngineError, Problem

from skyband_jobs.running.savepoint import fact_text, source_facts
from skyband_jobs.tables.model import Job

RECORD = "skyband-job.json"
_QUERY = "query."
_BACKENDS, _ENGINE = "backends", "engine"
_ROWS = "answers would mix rows that were chosen in different ways"
_REASONS = {
    "source.explode": _ROWS,
    "source.where": _ROWS,
    "source.select": _ROWS,
    _ENGINE: "a checkpoint is resumed by the engine that made it, and a savepoint in it by any, with --from",
    "sink.format": "answers in two formats in one place cannot be read together",
}
_POSITION = "the position in the other one is meaningless in this"


def check_goes_on(job: Job, checkpoint: Path, engine: str, has_begun: bool) -> None:
    """Raise ConfigError, with every change, where the job must not resume from a checkpoint; else record the job.

    has_begun: whether there was a micro-batch; a stream that failed before its first is recorded again.
    """
    path, now = checkpoint / RECORD, {_ENGINE: engine, **_facts(job)}
    before = _read(path)
    if not has_begun and before.get(_ENGINE) in (None, engine):
        before = {}
    if _BACKENDS in before:
        now[_BACKENDS] = before[_BACKENDS]  # the state refuses another backend itself
    names = {*before, *(name for name in now if before and name.startswith(_QUERY))}
    problems = [
        Problem(name, f"was {fact_text(before.get(name))} when the checkpoint was created "
                f"(got {fact_text(now.get(name))}): {_reason(name)}; change it back, or give the changed job a new "
                "checkpoint and a new path")
        for name in sorted(names)
        if before.get(name) != now.get(name)
    ]  # fmt: skip
    if problems:
        raise ConfigError(*problems)
    if before != now:
        try:
            with replacing(path) as file:
                file.write(json.dumps(now, indent=2).encode() + b"\n")
        except OSError as error:
            raise EngineError(f"the checkpoint {str(checkpoint)!r} cannot be written: {error.strerror}") from error


def chosen_before(checkpoint: Path) -> dict[str, Any]:
    """By role, the limits and the backend that they chose when the stream of this checkpoint started."""
    backends = _read(checkpoint / RECORD).get(_BACKENDS)
    return backends if isinstance(backends, dict) else {}


def engine_of(checkpoint: Path) -> str | None:
    """The engine of the stream of this checkpoint; None where none has started."""
    engine = _read(checkpoint / RECORD).get(_ENGINE)
    return engine if isinstance(engine, str) else None


def _facts(job: Job) -> dict[str, Any]:
    source = {f"source.{name}": value for name, value in source_facts(job.source).items()}
    if job.limits:
        source[_BACKENDS] = {role: {"limits": job.limits[role], "backend": job.backends[role]} for role in job.limits}
    if job.second is not None:
        key, second = job.second
        source |= {f"{key}.{name}": value for name, value in source_facts(second).items()}
    return {**source, "sink.format": job.sink.format}


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        record = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise EngineError(f"damaged: {str(path)!r}: {type(error).__name__}: {error}; remove it") from error
    return record if isinstance(record, dict) else {}


def _reason(name: str) -> str:
    return _REASONS.get(name, _POSITION)
