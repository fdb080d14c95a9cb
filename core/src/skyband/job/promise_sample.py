"""A look at the first rows of a job's source: whether they keep what its query promises of them."""

from collections.abc import Iterator

from skyband.errors import ConfigError, InputError
from skyband.job.model import Job

_ROWS = 100_000


def broken_promises(job: Job) -> Iterator[str]:
    """A sentence for each promise that the first 100,000 rows break, where the files are on this machine.

    They are taken in the order of their times. Raises InputError where a row cannot be read.
    """
    if not job.query.promises:
        return
    import pyarrow as pa

    from skyband.engines.local import LocalRun
    from skyband.job.sources.source_files import open_files

    try:
        files = open_files(job.source)
    except ConfigError:
        return  # SQL that only Spark knows: what else is wrong the check has said
    if files is None:
        return
    columns = list(job.query.columns)
    run = LocalRun.start(job.query, pa.schema([files.schema.field(name) for name in columns]), job.backends)
    batches, rows = files.batches(columns), 0
    for batch in batches:
        part = batch.slice(0, _ROWS - rows)
        try:
            run.add(part)
        except InputError as error:
            raise batches.placed(error) from error
        rows += len(part)
        if rows == _ROWS:
            break
    run.finish()
    dropped = run.operator.take_metrics().dropped
    for reason, text in job.query.promises.items():
        if dropped.get(reason):
            yield f"{dropped[reason]:,} of the first {rows:,} {text}"
