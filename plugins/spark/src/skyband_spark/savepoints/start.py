"""Starts a stream from a savepoint: creates its checkpoint, from which it then resumes as usual."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import evolve
from skyband.errors import EngineError, SnapshotError
from skyband.operator.resharding import take_over
from skyband.version import __version__
from skyband_jobs.running import savepoint
from skyband_jobs.running.savepoint import Savepoint, check_sources, checkpoint_of
from skyband_jobs.running.stream_lock import in_use
from skyband_jobs.tables.model import Job, Source, local_path

from skyband_spark import program as spark
from skyband_spark import sink_log_check
from skyband_spark.errors import python_was_late
from skyband_spark.frames.sharded_plan import ShardedPlan

_STARTS = 3
"""The number of attempts if Spark gives up waiting for Python, as it may on a busy machine."""

MARK = "from-savepoint.json"
_PREFIX, _SUFFIX = ".skyband-", ".partial"
_OWN = "skyband-partial.json"
"""Marks a folder as ours, with its checkpoint: no other folder is removed."""


def begin_from(session: Any, job: Job, plan: ShardedPlan, folder: Path) -> None:
    """Create the checkpoint of a job with this plan, which resumes from the savepoint in `folder`.

    Nothing is done if that was done before. The checkpoint is complete or absent, even if this is interrupted.
    Raises ConfigError and SnapshotError with the reason where the job cannot resume from it.
    """
    from skyband_spark.frames.checkpoint_from_states import SEEDS

    contents = savepoint.read(folder)
    checkpoint = checkpoint_of(job)
    if _is_begun(checkpoint, contents):
        return
    check_sources(job, contents)
    sink = local_path(job.sink.path) if job.sink.of_files and job.sink.path is not None else None
    if sink is not None and not sink_log_check.is_seeded(sink, SEEDS):
        sink_log_check.check_belong(checkpoint, sink)
    ticking = spark.ticking_of(job.source.idle_after, False if job.source.finish else None)
    plan = evolve(plan, ticking=ticking)
    states = take_over(contents.snapshots(), contents.query, lambda shared: _operator(plan, shared), plan.shards)
    with _partial_folder(checkpoint) as partial:
        snapshots, second = [operator.snapshot() for operator in states], _second(job) is not None
        path = _write(session, plan, snapshots, contents, partial, checkpoint, second)
        if sink is not None:
            sink_log_check.seed(sink, SEEDS)
        if checkpoint.exists():
            checkpoint.rmdir()  # it is empty
        path.rename(checkpoint)


@contextmanager
def _partial_folder(checkpoint: Path) -> Iterator[Path]:
    """A folder next to the future checkpoint, removed afterwards, as are those left by starts that were killed."""
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    whose = json.dumps({"checkpoint": checkpoint.name})
    for mark in checkpoint.parent.glob(f"{_PREFIX}*{_SUFFIX}/{_OWN}"):
        if not mark.parent.is_symlink() and mark.is_file() and mark.read_text("utf-8") == whose:
            with suppress(EngineError), in_use(mark.parent):  # another start uses it
                shutil.rmtree(mark.parent)
    partial = Path(tempfile.mkdtemp(_SUFFIX, _PREFIX, checkpoint.parent))
    with in_use(partial):
        (partial / _OWN).write_text(whose, "utf-8")
        try:
            yield partial
        finally:
            shutil.rmtree(partial)


def _write(
    session: Any,
    plan: ShardedPlan,
    snapshots: list[bytes],
    savepoint: Savepoint,
    partial: Path,
    checkpoint: Path,
    second: bool,
) -> Path:
    """The checkpoint, complete except for its place; second: whether the stream has a second source, of rules."""
    from skyband_spark.frames.checkpoint_from_states import set_place, set_position, write_checkpoint

    for starts in range(1, _STARTS + 1):
        folder = partial / str(starts)
        folder.mkdir()
        try:
            path = write_checkpoint(session, plan, snapshots, folder, second)
            break
        except Exception as error:
            if starts == _STARTS or not python_was_late(error):
                raise
    set_place(path, checkpoint)
    positions = [savepoint.position, *([savepoint.second] if second else [])]
    for number, position in enumerate(positions):
        if position is None:
            set_position(path, number=number)
        else:
            set_position(path, position.offset, position.log, number)
    mark = {"savepoint": savepoint.id, "skyband": __version__}
    (path / MARK).write_text(json.dumps(mark), "utf-8")
    return path


def _operator(plan: ShardedPlan, shared: bool) -> Any:
    from skyband.operator.operator import Operator

    return Operator(plan.query, plan.bindings, plan.schema, shared and not plan.query.by)


def _is_begun(checkpoint: Path, savepoint: Savepoint) -> bool:
    """Whether the checkpoint started from this savepoint. Raises EngineError where it started otherwise."""
    if not checkpoint.exists() or (checkpoint.is_dir() and not any(checkpoint.iterdir())):
        return False
    mark = _mark(checkpoint)
    if mark is not None and mark.get("savepoint") == savepoint.id:
        return True
    raise EngineError(
        f"the checkpoint {str(checkpoint)!r} is from a stream that started otherwise: run the job without --from to "
        "resume it, or choose another sink.checkpoint and sink.path"
    )


def _mark(checkpoint: Path) -> dict[str, Any] | None:
    """The record of the savepoint that a checkpoint started from; None where it started otherwise."""
    path = checkpoint / MARK
    if not path.is_file():
        return None
    try:
        mark = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"damaged: {str(path)!r}: {type(error).__name__}: {error}") from error
    return mark if isinstance(mark, dict) else {}


def _second(job: Job) -> Source | None:
    """The query's second table, if it is a stream."""
    return job.broadcast if job.broadcast is not None and job.broadcast.stream else None
