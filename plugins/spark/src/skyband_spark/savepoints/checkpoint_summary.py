"""A summary of the checkpoint of a job's stream: its progress, its size, and its largest groups."""

from typing import Any

from attrs import frozen
from skyband.errors import ConfigError, EngineError, Problem
from skyband.watermark import EventTimeProgress
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.job_error import secrets_hidden
from skyband_jobs.job.progress import Progress
from skyband_jobs.tables.model import local_path

from skyband_spark.errors import plain_errors
from skyband_spark.job_session import spark_session


@frozen
class Group:
    """One group: its values by grouping column, items retained and bytes of state."""

    values: dict[str, Any]
    retained: int
    nbytes: int


@frozen
class CheckpointState:
    """All shards of a checkpoint together."""

    made_by: str
    """The version of Skyband that wrote it."""
    backends: dict[str, str]
    """The backend of each role, with its parameters."""
    shards: int
    steps: int
    """The micro-batches so far."""
    groups: int
    retained: int
    nbytes: int
    waiting: int
    """Rows that wait for the watermark."""
    earliest: int | None
    latest: int | None
    watermark: int | None
    largest: tuple[Group, ...]


@secrets_hidden()
def checkpoint_state(job: CheckedJob, largest: int, progress: Progress | None = None) -> CheckpointState:
    """Reads the checkpoint of a stream, which may be running: the state is that of its last micro-batch.

    Raises ConfigError if the job has none, EngineError if it does not exist, SnapshotError if it is damaged or
    of another job.
    """
    if job.sink.checkpoint is None:
        raise ConfigError(Problem("sink.checkpoint", "is missing: only a stream with a checkpoint has a state to show"))
    where = local_path(job.sink.checkpoint)
    if where is None:
        raise ConfigError(Problem("sink.checkpoint", f"must be on this machine (got {job.sink.checkpoint!r})"))
    if not where.is_dir():
        raise EngineError(f"the checkpoint {str(where)!r} does not exist: run the job first")
    with plain_errors(job), spark_session(job, progress or Progress()) as session:
        from skyband_spark.frames.checkpoint import read_shards
        from skyband_spark.job_session import plan_for
        from skyband_spark.reading.source import source_frame

        shards = read_shards(session, str(where))
        if not shards:
            raise EngineError(f"the checkpoint {str(where)!r} has no state yet: run the job first")
        plan = plan_for(job, source_frame(session, job), shards[0].head.shards)
        operators = [shard.restore(plan) for shard in shards]
    event_time = EventTimeProgress.nowhere(job.query.source_count)
    for operator in operators:
        event_time.add(operator.progress)
    marks = [operator.watermark for operator in operators if operator.watermark is not None]
    groups = [
        Group(values, retained, nbytes)
        for operator in operators
        for values, retained, nbytes in operator.largest_groups(largest)
    ]
    header = shards[0].snapshot.header
    backends = {key: value for key, value in header["operator"].items() if key.startswith("backends.")}
    return CheckpointState(
        made_by=str(header.get("skyband")),
        backends={key.removeprefix("backends."): value for key, value in backends.items()},
        shards=shards[0].head.shards,
        steps=max(shard.head.step for shard in shards),
        groups=sum(len(operator.groups) for operator in operators),
        retained=sum(operator.groups.retained for operator in operators),
        nbytes=sum(shard.nbytes for shard in shards),
        waiting=sum(operator.waiting for operator in operators),
        earliest=None if event_time.newest is None else event_time.earliest,
        latest=event_time.newest,
        watermark=min(marks, default=None),
        largest=tuple(sorted(groups, key=lambda group: -group.nbytes)[:largest]),
    )
