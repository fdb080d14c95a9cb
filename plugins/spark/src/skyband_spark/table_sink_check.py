"""Whether a stream's checkpoint and the table it writes belong together: if not, answers are lost or duplicated."""

import json
from pathlib import Path

from skyband.errors import ConfigError, Problem
from skyband_jobs.formats import BatchSink
from skyband_jobs.tables.model import Job, local_path
from skyband_jobs.tables.table_location import place_key, place_of
from skyband_jobs.tables.table_sink import is_free

from skyband_spark.frames.checkpoint_from_states import SEEDS
from skyband_spark.savepoints.start import MARK
from skyband_spark.sink_log_check import latest


def check_goes_on(job: Job, sink: BatchSink) -> None:
    """Raise ConfigError if a stream's checkpoint and its table do not belong together: answers would be lost or
    duplicated. A table without numbers is only checked before the first micro-batch: its answers may be of any."""
    checkpoint = local_path(job.sink.checkpoint or "") if job.sink.checkpoint else None
    if checkpoint is None:
        return
    stream = stream_of(checkpoint)
    committed, begun = (latest(checkpoint / log) for log in ("commits", "offsets"))
    if not sink.is_numbered:
        if stream is None or begun <= _before_the_first(checkpoint):
            is_free(job, sink)
        return
    last_number = None if stream is None else sink.latest(stream)
    if stream is None or (last_number is None and committed <= _before_the_first(checkpoint)):
        is_free(job, sink)
        return
    key, place = place_key(job.sink), place_of(job.sink)
    anew = f"or start over with another {key} and checkpoint"
    where = f"{place!r} has the answers of this stream up to micro-batch {last_number}"
    if last_number is not None and last_number > begun:
        message = f"but the checkpoint {str(checkpoint)!r} is only at {begun}: restore the newer checkpoint"
        raise ConfigError(Problem(key, f"{where}, {message}, {anew}"))
    if last_number is None or last_number < committed:
        where = where if last_number is not None else f"{place!r} has no answers of this stream"
        message = f"but the checkpoint {str(checkpoint)!r} has written up to {committed}: restore the table"
        raise ConfigError(Problem(key, f"{where}, {message}, {anew}"))


def _before_the_first(checkpoint: Path) -> int:
    """The last micro-batch of a checkpoint without answers to write: the first ones may load a savepoint."""
    return max(SEEDS) if (checkpoint / MARK).is_file() else -1


def stream_of(checkpoint: Path) -> str | None:
    """The id that Spark gave to the stream of a checkpoint; None if it has not started."""
    try:
        return str(json.loads((checkpoint / "metadata").read_bytes())["id"])
    except (OSError, ValueError, KeyError, TypeError):  # Spark itself reports what is wrong with it
        return None
