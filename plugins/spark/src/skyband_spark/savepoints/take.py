"""Makes a savepoint: of a stopped stream, from its checkpoint; or of history, from a batch over the past."""

from pathlib import Path
from typing import Any

from skyband.config.literals import literal
from skyband.errors import EngineError, InputError, SnapshotError
from skyband.states.since_or_last import moment_named, moment_of
from skyband_jobs.files.states_table import StatesTable
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.job_error import secrets_hidden
from skyband_jobs.job.progress import Progress
from skyband_jobs.running import checkpoint_record, savepoint
from skyband_jobs.running.savepoint import Position, Savepoint, checkpoint_of
from skyband_jobs.running.stream_lock import in_use

from skyband_spark import sink_log_check
from skyband_spark.errors import plain_errors
from skyband_spark.frames.file_rows import numbered
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.job_session import spark_session
from skyband_spark.savepoints.first_states import begin_with_states


@secrets_hidden()
def save_stream(job: CheckedJob, folder: Path, progress: Progress | None = None) -> Savepoint:
    """The savepoint of a stream that was stopped after a micro-batch.

    Raises EngineError if it runs, was stopped within a micro-batch, or has no checkpoint here, and SnapshotError
    if that is damaged or of another job.
    """
    savepoint.check_free(folder)
    checkpoint = checkpoint_of(job)
    if not checkpoint.is_dir():
        raise EngineError(f"the checkpoint {str(checkpoint)!r} does not exist: run the job first")
    with in_use(checkpoint), plain_errors(job), spark_session(job, progress or Progress()) as session:
        from skyband_spark.frames.checkpoint import read_shards
        from skyband_spark.frames.checkpoint_from_states import offset_of
        from skyband_spark.job_session import plan_for
        from skyband_spark.reading.source import source_frame

        batch = _ended(checkpoint)
        shards = read_shards(session, str(checkpoint), batch)
        if not shards or len(shards) != shards[0].head.shards:
            raise SnapshotError(f"the checkpoint {str(checkpoint)!r} lacks the state of a shard")
        checkpoint_record.check_goes_on(job, checkpoint, "spark", has_begun=True)
        plan = plan_for(job, source_frame(session, job), len(shards))
        snapshots, watermarks = [], []
        while shards:  # one at a time is in memory as an operator
            operator = shards.pop(0).restore(plan)
            snapshots.append(operator.snapshot())
            watermarks.append(operator.watermark)
        sources = [job.source, *([] if job.broadcast is None or not job.broadcast.stream else [job.broadcast])]
        positions = [
            Position(savepoint.source_facts(source), offset_of(checkpoint, batch, number), _log(checkpoint, number))
            for number, source in enumerate(sources)
        ]
        if _ended(checkpoint) != batch:
            raise EngineError(f"a stream runs on the checkpoint {str(checkpoint)!r}: stop it first")
        watermark = min((moment for moment in watermarks if moment is not None), default=None)
        return savepoint.write(folder, job.query, snapshots, watermark, _versions(session, plan), *positions)


@secrets_hidden()
def save_history(job: CheckedJob, folder: Path, until: str, progress: Progress | None = None) -> Savepoint:
    """The savepoint of a batch: the state of a stream that has had all its rows before the moment `until`.

    Raises InputError if that is not a moment, and EngineError if no row is before it.
    """
    savepoint.check_free(folder)
    with plain_errors(job), spark_session(job, progress or Progress()) as session:
        from skyband_spark.frames.states_from_history import states_before
        from skyband_spark.job_session import plan_for
        from skyband_spark.reading.source import source_frame

        source = source_frame(session, job)
        plan = plan_for(job, source, job.shards)
        moment = _moment(until, plan)
        snapshots = states_before(numbered(source, plan.query.columns), plan, moment)
        if len(snapshots) != plan.shards:
            raise EngineError(f"the source has no row before {until}")
        return savepoint.write(folder, job.query, snapshots, moment, _versions(session, plan), None)


@secrets_hidden()
def save_states(
    job: CheckedJob, folder: Path, states: Path, at: str | None = None, progress: Progress | None = None
) -> Savepoint:
    """The savepoint of a table of states: the state of a stream that has had all their rows, up to one moment.

    at: a moment of the table; None: the newest. Raises ConfigError with everything in which the job does not
    fit the states, InputError if they are not a table of states or have none of the moment.
    """
    savepoint.check_free(folder)
    table = StatesTable(str(states))
    own_moment = None if at is None else moment_named("at", at)
    with plain_errors(job), spark_session(job, progress or Progress()) as session:
        from skyband_spark.job_session import plan_for
        from skyband_spark.reading.source import source_frame

        plan = plan_for(job, source_frame(session, job), 1)
        operator = plan.operator(0)
        moment = begin_with_states(operator, table, own_moment)
        versions = _versions(session, plan)
        return savepoint.write(folder, job.query, [operator.snapshot()], moment, versions, None)


def _log(checkpoint: Path, number: int) -> Path | None:
    """Spark's log of the files read of the source of this number."""
    log = checkpoint / "sources" / str(number)
    return log if log.is_dir() else None


def _ended(checkpoint: Path) -> int:
    """The last micro-batch, which is committed. Raises EngineError if one was started since, or there is none."""
    begun, committed = (sink_log_check.latest(checkpoint / name) for name in ("offsets", "commits"))
    if committed < 0:
        raise EngineError(f"the checkpoint {str(checkpoint)!r} has no state yet: run the job first")
    if begun != committed:
        remedy = 'stop it, then let it end: run it once more with --set sink.trigger="available-now"'
        raise EngineError(
            f"micro-batch {begun} of the checkpoint {str(checkpoint)!r} was started but did not end: the stream "
            f"runs, or was stopped within it; {remedy}"
        )
    return committed


def _versions(session: Any, plan: ShardedPlan) -> dict[str, str]:
    return {"spark": session.version, **{one.distribution: one.version for one in plan.bindings.values()}}


def _moment(until: str, plan: ShardedPlan) -> int:
    try:
        return moment_named("until", until) if plan.query.rows else moment_of(until)
    except InputError:
        message = f'must be a moment such as "2026-11-22 10:30", in UTC (got {literal(until)})'
        raise InputError("until", message) from None
