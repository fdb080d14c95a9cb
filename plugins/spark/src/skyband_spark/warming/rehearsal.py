"""Runs a job's first rows through its operator, only to compile its kernels and keep them on disk.

`precompile` runs this module in its own process while Spark starts.
"""

import sys
from collections.abc import Iterator

import pyarrow as pa
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.programs.parsing import read_job
from skyband_jobs.running.bad_rows import unread

from skyband_spark.warming import compiled_kernels_marker

_ROWS, _PUSHES = 5_000, 5
"""The rows that are run, in this many pieces; enough for small structures (a sketch's exact counts) to grow up."""


def rehearse(job: CheckedJob) -> bool:
    """Run a job's first rows through its operator, answer, and continue from its state, as a worker does.

    Returns whether there were enough rows for everything that starts only after some time.
    """
    if job.rows is None:
        return False
    run = job.begin_here()
    rows = 0
    for piece in _pieces(iter(job.rows.batches(job.query.columns, refuse=unread(job.query)))):
        run.push(piece)
        rows += len(piece)
    run.flush()
    job.begin_here().operator.restore(run.operator.snapshot())
    return rows >= _ROWS


def _pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    offset, size = 0, _ROWS // _PUSHES
    for batch in batches:
        for start in range(0, min(len(batch), _ROWS - offset), size):
            piece = batch.slice(start, min(size, _ROWS - offset))
            offset += len(piece)
            yield piece
        if offset >= _ROWS:
            return


if __name__ == "__main__":
    asked = read_job(sys.argv[1], sys.argv[2:], "spark")
    if rehearse(asked):
        compiled_kernels_marker.write(asked)
