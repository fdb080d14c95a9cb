"""A look at the first rows of a job's source: whether they keep what its query promises of them."""

from collections.abc import Iterator

from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.running.bad_rows import unread

_ROWS = 100_000


def broken_promises(job: CheckedJob) -> Iterator[str]:
    """A sentence for each promise that the first 100,000 rows break, where the files are on this machine.

    They are taken in the order of their times. Raises InputError where a row cannot be read.
    """
    if not job.query.promises or job.rows is None:
        return
    run = job.begin_here()
    batches, rows = job.rows.batches(job.query.columns, refuse=unread(job.query)), 0
    for batch in batches:
        part = batch.slice(0, _ROWS - rows)
        with batches.placing():
            run.add(part)
        rows += len(part)
        if rows == _ROWS:
            break
    run.finish()
    dropped = run.operator.take_metrics().dropped
    for reason, text in job.query.promises.items():
        if dropped.get(reason):
            yield f"{dropped[reason]:,} of the first {rows:,} {text}"
