"""Answers into a table: a batch at once, a stream's micro-batches each once."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from skyband.errors import ConfigError, Problem
from skyband.job.model import Job, Sink, local_path
from skyband.job.spark.sink_log import latest
from skyband.job.table_location import in_process, keys_of, place_key, place_of
from skyband.tables import BatchSink

if TYPE_CHECKING:
    import pyarrow as pa


def sink_of(sink: Sink) -> BatchSink:
    """The sink of a job whose format is a plugin's. Raises EngineError where its library is missing."""
    bound = in_process(sink)
    assert bound is not None, sink.format
    return bound.write(keys_of(sink))


def is_free(job: Job, sink: BatchSink) -> bool:
    """Whether a run that begins anew may write; False where `mode` says to leave what is there.

    Raises ConfigError where answers are there already and `mode` does not say what to do.
    """
    if job.sink.mode in ("append", "overwrite") or not sink.exists():
        return True
    if job.sink.mode == "ignore":
        return False
    choices = '"append"' if job.source.stream else '"overwrite" or "append"'
    key, place = place_key(job.sink), place_of(job.sink)
    message = f"{place!r} exists already: choose another {key}, or set sink.mode to {choices}"
    raise ConfigError(Problem(key, message))


def check_columns(job_sink: Sink, answers: "pa.Schema") -> None:
    """Raise ConfigError where the sink's table is there already, is to be written to, and has other columns."""
    if job_sink.mode != "ignore":
        sink_of(job_sink).check(answers)


def check_goes_on(job: Job, sink: BatchSink) -> None:
    """Raise ConfigError where a stream's checkpoint and its table do not belong together: answers would be lost, or
    there twice. What says no number is only looked at before the first micro-batch: it may have the answers of any."""
    checkpoint = local_path(job.sink.checkpoint or "") if job.sink.checkpoint else None
    if checkpoint is None:
        return
    stream = _stream_of(checkpoint)
    committed, begun = (latest(checkpoint / log) for log in ("commits", "offsets"))
    if not _says_numbers(job.sink):
        if stream is None or begun <= _before_the_first(checkpoint):
            is_free(job, sink)
        return
    last_number = None if stream is None else sink.latest(stream)
    if stream is None or (last_number is None and committed <= _before_the_first(checkpoint)):
        is_free(job, sink)
        return
    key, place = place_key(job.sink), place_of(job.sink)
    anew = f"or begin anew with another {key} and checkpoint"
    where = f"{place!r} has the answers of this stream up to micro-batch {last_number}"
    if last_number is not None and last_number > begun:
        message = f"and the checkpoint {str(checkpoint)!r} is only at {begun}: bring the newer checkpoint back"
        raise ConfigError(Problem(key, f"{where}, {message}, {anew}"))
    if last_number is None or last_number < committed:
        where = where if last_number is not None else f"{place!r} has no answers of this stream"
        message = f"and the checkpoint {str(checkpoint)!r} has written up to {committed}: bring the table back"
        raise ConfigError(Problem(key, f"{where}, {message}, {anew}"))


def _says_numbers(sink: Sink) -> bool:
    bound = in_process(sink)
    return bound is not None and "streams" in bound.info.can


def _before_the_first(checkpoint: Path) -> int:
    """The last micro-batch of a checkpoint without answers to write: a savepoint was put in by the first ones."""
    from skyband.engines.spark.checkpoint_from_states import SEEDS
    from skyband.job.savepoints.start import MARK

    return max(SEEDS) if (checkpoint / MARK).is_file() else -1


def _stream_of(checkpoint: Path) -> str | None:
    """The id that Spark gave to the stream of a checkpoint; None where it has not begun."""
    try:
        return str(json.loads((checkpoint / "metadata").read_text("utf-8"))["id"])
    except (OSError, ValueError, KeyError, TypeError):  # Spark says itself what is wrong with it
        return None


@contextmanager
def told_of_sink() -> Iterator[None]:
    """What is wrong with the table, as the sink's problem."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(*(problem.within("sink") for problem in error.problems)) from error
