"""Chooses how a source is followed: files here, tables and logs by their formats."""

from skyband.errors import ConfigError, Problem
from skyband_jobs.files.source_files import READABLE, Files
from skyband_jobs.files.table_source import Table, open_table
from skyband_jobs.files.where_and_select import Shape
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.local.run import files_a_step
from skyband_jobs.tables.model import Source
from skyband_jobs.tables.table_location import in_process, keys_of

from skyband_serve.files_followed import FollowedFiles
from skyband_serve.source import FollowedSource
from skyband_serve.table_followed import FollowedTable


def followed(job: CheckedJob) -> FollowedSource:
    """Follow the source of a job, with its spine if it has one."""
    spine = job.source.spine_source
    if spine is None:
        return follow(job.source, job.rows)
    from skyband_jobs.job.spine_rows import SpineRows, Union

    from skyband_serve.spine_followed import FollowedSpine

    assert job.schema is not None
    opened = (job.rows.rows, job.rows.spine) if isinstance(job.rows, SpineRows) else (None, None)
    union = Union.of(job.query, job.schema, stream=True)
    return FollowedSpine(follow(job.source, opened[0]), follow(spine, opened[1]), union)


def follow(source: Source, opened: Files | Table | None) -> FollowedSource:
    """Follow a source that was checked. opened: its files as they are now, if there are any."""
    if source.format in READABLE:
        return FollowedFiles(source, files_a_step(source), opened if isinstance(opened, Files) else None)
    bound = in_process(source)
    table = opened if isinstance(opened, Table) else open_table(source)
    if bound is None or table is None:
        raise ConfigError(Problem("source.format", f"cannot be followed without Spark (got {source.format!r})"))
    shape = Shape.of(source)
    return FollowedTable(source, table if opened is table else table.shaped(shape), bound.follow(keys_of(source)))
