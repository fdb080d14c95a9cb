"""What the state of a job's query will take, from how often rows come in the first ones of its source."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from skyband.config.calendar_lengths import is_ever
from skyband.job.bad_rows import unread
from skyband.job.checked_job import CheckedJob
from skyband.queries.grouping_sets import sets_of
from skyband.queries.time_columns import microseconds

_ROWS = 100_000


def state_growth(job: CheckedJob) -> str | None:
    """A sentence with what the state of a window "ever" takes after half of the first 100,000 rows, and after all.

    None where there is no such window, the source is elsewhere, or it has no rows. Raises InputError where a row cannot
    be read.
    """
    if job.rows is None or not any(map(is_ever, job.query.lengths.values())):
        return None
    parts, rows = _first_rows(job, job.query.columns)
    if not rows:
        return None
    sizes = [_state_after(job, pa.Table.from_batches(parts).slice(0, count)) for count in (rows // 2, rows)]
    return (
        f'with a window "ever" nothing is forgotten: its state takes {sizes[0]:,} bytes after the first {rows // 2:,} '
        f"rows, and {sizes[1]:,} after {rows:,}"
    )


def _state_after(job: CheckedJob, rows: pa.Table) -> int:
    """The bytes that the state takes after these rows."""
    run = job.begin_here()
    for batch in rows.to_batches():
        run.add(batch)
    run.finish()
    return len(run.operator.snapshot())


def _first_rows(job: CheckedJob, columns: Sequence[str]) -> tuple[list[pa.RecordBatch], int]:
    """The first 100,000 rows of the source, and how many there are."""
    assert job.rows is not None
    parts, rows = list[pa.RecordBatch](), 0
    for batch in job.rows.batches(columns, refuse=unread(job.query)):
        parts.append(batch.slice(0, _ROWS - rows))
        rows += len(parts[-1])
        if rows == _ROWS:
            break
    return parts, rows


def state_estimate(job: CheckedJob) -> str | None:
    """A sentence with the rows and bytes that the state will keep, as the first 100,000 rows let expect.

    None where the query does not tell, the source is elsewhere, or all these rows have one time. Each group is taken to
    have as many as another, and rows to go on at their pace. Raises InputError where a row cannot be read.
    """
    query = job.query
    if job.rows is None or query.expected_state(0.0, 1) is None:
        return None
    parts, rows = _first_rows(job, [query.time, *query.group_columns])
    sample = pa.Table.from_batches(parts) if parts else None
    times = pa.array([]) if sample is None else sample.column(query.time).combine_chunks().drop_null()
    if sample is None or not len(times):
        return None
    ends = pc.min_max(pa.array(microseconds(query.time, times))).as_py()
    groups = sum(_distinct(sample, names) for names in sets_of(query.by))
    span = ends["max"] - ends["min"]
    estimate = query.expected_state(rows / span / groups, groups) if span else None
    if estimate is None:
        return None
    retained, nbytes = estimate
    of = f" in each of {groups:,} groups" if groups > 1 else ""
    per = "" if groups == 1 else ", all together"
    return (
        f"its state will keep about {retained:,.0f} rows{of}, {nbytes:,.0f} bytes{per}, as its first {rows:,} rows come"
    )


def _distinct(sample: pa.Table, names: tuple[str, ...]) -> int:
    """How many groups by these columns its rows are in."""
    return len(sample.group_by(list(names)).aggregate([])) if names else 1
