"""Estimates the size of a job's state from its first rows."""

from typing import Any

import numpy as np
import pyarrow as pa
from skyband.config.calendar_lengths import CalendarLength, Length, is_ever
from skyband.queries.grouping_sets import sets_of, source_columns
from skyband.queries.presentation import presentation_of
from skyband.queries.time_columns import microseconds
from skyband.windows.schedule import Endless
from skyband.windows.window_parameters import PREVIOUS

from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.running.sample import expected_size, first_rows, span_of

_DAY = 86_400_000_000
_WINDOW = "window's number"
"""A temporary column, with a name that no source has."""


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


def remembered_windows(job: CheckedJob) -> str | None:
    """A sentence with the bytes that `against` remembers of earlier windows, judging by the first 100,000 rows.

    None where nothing is remembered, the source is elsewhere, or it has no rows. Raises InputError where a row cannot
    be read.
    """
    query: Any = job.query
    exact = all(binding.info.guarantee == "exact" for binding in job.bindings.values())
    remembers = presentation_of(query).remembered_window(exact)
    sample = None if remembers is None or job.rows is None else first_rows(query, job.rows, query.columns)
    if remembers is None or sample is None:
        return None
    fixed, per_value, columns = remembers
    every = _usual(query.every)
    windows = [max(1, round(_usual(window if query.against == PREVIOUS else query.against) / every))
               for window in query.windows]  # fmt: skip
    nbytes = 0.0
    for names in sets_of(query.by):
        for window, count in zip(query.windows, windows, strict=True):
            values = per_value and _values_of_a_window(query, sample, names, columns, _usual(window))
            nbytes += _distinct(sample, names) * count * (fixed + per_value * values)
    groups = sum(_distinct(sample, names) for names in sets_of(query.by))
    of = f" in each of {groups:,} groups" if groups > 1 else ""
    return (
        f"against = {str(query.against)!r} remembers {sum(windows):,} windows{of}, {nbytes:,.0f} bytes in total, "
        f"judging by its first {len(sample):,} rows"
    )


def _usual(length: Length) -> int:
    """A length in microseconds or rows; of a calendar length, its usual one, up to a few days."""
    return length.length - _DAY if isinstance(length, CalendarLength) else length.length


def _values_of_a_window(
    query: Any, rows: pa.Table, by: tuple[str, ...], columns: tuple[str, ...], length: int
) -> float:
    """The distinct values of some columns in a window of a group, on average over those with rows."""
    times = rows.column(query.time).combine_chunks()
    moments = np.arange(len(rows)) if query.rows else microseconds(query.time, times)
    rows = rows.select(list(dict.fromkeys([*by, *columns]))).append_column(_WINDOW, pa.array(moments // length))
    return _distinct(rows, (*by, _WINDOW, *columns)) / _distinct(rows, (*by, _WINDOW))


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
