"""Writes answers to a table: a batch in one commit, each micro-batch of a stream once."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from skyband.errors import ConfigError, Problem, problems_within

from skyband_jobs.formats import BatchSink
from skyband_jobs.tables.model import Job, Sink
from skyband_jobs.tables.table_location import in_process, keys_of, place_key, place_of

if TYPE_CHECKING:
    import pyarrow as pa


def sink_of(sink: Sink) -> BatchSink:
    """The sink of a job whose format is a plugin's. Raises EngineError where its library is missing."""
    bound = in_process(sink)
    assert bound is not None, sink.format
    return bound.write(keys_of(sink))


def is_free(job: Job, sink: BatchSink, why: str = "") -> bool:
    """Whether a new run may write; False where `mode` says to keep what is there. why: what the error adds.

    Raises ConfigError where answers exist and `mode` does not say what to do.
    """
    if job.sink.mode in ("append", "overwrite") or not sink.exists():
        return True
    if job.sink.mode == "ignore":
        return False
    choices = '"append"' if job.source.stream else '"overwrite" or "append"'
    key, place = place_key(job.sink), place_of(job.sink)
    message = f"{place!r} already exists{why}: choose another {key}, or set sink.mode to {choices}"
    raise ConfigError(Problem(key, message))


def check_columns(job_sink: Sink, answers: "pa.Schema") -> None:
    """Raise ConfigError where the sink's table exists, is to be written to, and has other columns."""
    if job_sink.mode != "ignore":
        sink_of(job_sink).check(answers)


def told_of_sink() -> AbstractContextManager[None]:
    """Turn problems of the table into problems of the sink."""
    return problems_within("sink")
