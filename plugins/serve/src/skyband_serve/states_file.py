"""The newest states as a file in the checkpoint, so that questions are answered from the start on."""

import json
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
from skyband.atomic_files import replacing
from skyband.errors import SnapshotError
from skyband_jobs.files.states_table import AT
from skyband_jobs.tables.model import Job

from skyband_serve.published_states import STATE, PublishedStates
from skyband_serve.turns_of_job import answers_of

_JOB = b"skyband.job"


def save(path: Path, states: PublishedStates, schema: pa.Schema, job: Job) -> None:
    """Write the states of a job with this schema of answers, whole or not at all. O(bytes of the states).

    Raises OSError where the disk is full or fails.
    """
    columns: dict[str, list[Any]] = {
        **{name: [key[place] for key in states.groups] for place, name in enumerate(states.grouping)},
        AT: [time for time, _ in states.groups.values()],
        STATE: [bytes(blob) for _, blob in states.groups.values()],
    }
    of_job = pa.schema([schema.field(name) for name in columns], {_JOB: _text(job)})
    arrays = [pa.array(values, of_job.field(name).type) for name, values in columns.items()]
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, of_job) as stream:
        stream.write_batch(pa.record_batch(arrays, schema=of_job))
    content = out.getvalue()
    with replacing(path) as file:
        file.write(b"%08x" % crc32(content))
        file.write(content)


def load(path: Path, job: Job) -> PublishedStates | None:
    """The states that were written last; None where there are none, or of a job that answered otherwise.

    Raises SnapshotError where the file is damaged.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SnapshotError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    if content[:8] != b"%08x" % crc32(content[8:]):
        raise SnapshotError(f"damaged: {str(path)!r} has other bytes than were written")
    table = pa.ipc.open_stream(content[8:]).read_all()
    return PublishedStates.after(None, table) if table.schema.metadata[_JOB] == _text(job) and len(table) else None


def _text(job: Job) -> bytes:
    return json.dumps(answers_of(job), sort_keys=True).encode()
