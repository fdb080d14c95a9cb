"""Estimates the size of a job's state from its first rows."""

import pyarrow as pa
from skyband.config.calendar_lengths import is_ever
from skyband.queries.grouping_sets import sets_of, source_columns
from skyband.queries.presentation import presentation_of
from skyband.windows.schedule import Endless

from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.running.sample import expected_size, first_rows, span_of


def state_growth(job: CheckedJob) -> str | None:
    """A sentence with the state's size for a window "ever", after half of the first 100,000 rows and after all.

    None where there is no such window, the source is elsewhere, or it has no rows. Raises InputError where a row cannot
    be read.
    """
    if job.rows is None or not any(map(is_ever, job.query.lengths.values())):
        return None
    sample = first_rows(job.query, job.rows, job.query.columns)
    if sample is None:
        return None
    rows = len(sample)
    sizes = [_state_after(job, sample.slice(0, count)) for count in (rows // 2, rows)]
    return (
        f'a window "ever" forgets nothing: its state takes {sizes[0]:,} bytes after the first {rows // 2:,} '
        f"rows, and {sizes[1]:,} after {rows:,}"
    )


def endless_without_ahead(job: CheckedJob) -> list[str]:
    """A warning for streams whose groups answer for ever: one row from the far future requests all moments before."""
    schedule = getattr(job.query, "schedule", None)
    if not job.source.stream or job.query.ahead is not None or not isinstance(schedule, Endless):
        return []
    return [
        "groups answer at every moment for ever, so one row from a far year requests all moments up to it: set "
        'query.ahead = "1 day", or as far as clocks may be wrong; rows further ahead are then left out and counted'
    ]


def _state_after(job: CheckedJob, rows: pa.Table) -> int:
    """The bytes that the state takes after these rows."""
    run = job.begin_here()
    for batch in rows.to_batches():
        run.add(batch)
    run.finish()
    return len(run.operator.snapshot())


def _distinct(sample: pa.Table, names: tuple[str, ...]) -> int:
    """The number of groups by these columns."""
    return len(sample.group_by(list(names)).aggregate([])) if names else 1


def state_estimate(job: CheckedJob) -> str | None:
    """A sentence with the rows and bytes that the state is expected to keep, from the first 100,000 rows.

    None where the query gives no estimate and takes no rules, the source is elsewhere, or all these rows have one time.
    It assumes groups of equal size and rows at a constant rate. Raises InputError where a row cannot be read.
    """
    query, presentation = job.query, presentation_of(job.query)
    tells = presentation.expected_state(0.0, 1) is not None
    if job.rows is None or not (tells or _takes_rules(job)):
        return None
    sample = first_rows(query, job.rows, [query.time, *source_columns(query.by)] if tells else query.columns)
    span = 0 if sample is None else span_of(query, sample)
    if sample is None or not span:
        return None
    groups = sum(_distinct(sample, names) for names in sets_of(query.by))
    if tells:
        unit, expected = "rows", presentation.expected_state(len(sample) / span / groups, groups)
        assert expected is not None
        retained, nbytes = expected
    else:
        unit, measured = "items", expected_size(query, job.bindings, sample)
        retained, nbytes = measured.retained / groups, measured.nbytes
    of = f" in each of {groups:,} groups" if groups > 1 else ""
    per = "" if groups == 1 else " in total"
    return (
        f"its state will keep about {retained:,.0f} {unit}{of}, {nbytes:,.0f} bytes{per}, judging by its first "
        f"{len(sample):,} rows"
    )


def state_of_parts(job: CheckedJob) -> list[str]:
    """What each part of the query keeps, judging by the first 100,000 rows; nothing where the source is elsewhere.

    Raises InputError where a row cannot be read.
    """
    rows = job.rows
    if rows is None:
        return []
    return presentation_of(job.query).state_of_parts(lambda: first_rows(job.query, rows, job.query.columns))


def _takes_rules(job: CheckedJob) -> bool:
    from skyband.groups.execution import execution_of

    return execution_of(job.query).broadcast_state() is not None
