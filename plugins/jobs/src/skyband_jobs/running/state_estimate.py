"""Estimates the size of a job's state from its first rows."""

from collections.abc import Sequence
from math import log2
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from skyband.config.calendar_lengths import is_ever
from skyband.queries.grouping_sets import sets_of
from skyband.queries.presentation import presentation_of
from skyband.queries.time_columns import microseconds
from skyband.windows.empty_windows import Endless

from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.running.bad_rows import unread

if TYPE_CHECKING:
    from skyband.engines.local import LocalRun

_ROWS = 100_000


def state_growth(job: CheckedJob) -> str | None:
    """A sentence with the state's size for a window "ever", after half of the first 100,000 rows and after all.

    None where there is no such window, the source is elsewhere, or it has no rows. Raises InputError where a row cannot
    be read.
    """
    if job.rows is None or not any(map(is_ever, job.query.lengths.values())):
        return None
    sample = _first_rows(job, job.query.columns)
    if sample is None or not len(sample):
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


def _first_rows(job: CheckedJob, columns: Sequence[str]) -> pa.Table | None:
    """The first 100,000 rows of the source; None where it has no batch."""
    assert job.rows is not None
    parts, rows = list[pa.RecordBatch](), 0
    for batch in job.rows.batches(list(dict.fromkeys(columns)), refuse=unread(job.query)):
        parts.append(batch.slice(0, _ROWS - rows))
        rows += len(parts[-1])
        if rows == _ROWS:
            break
    return pa.Table.from_batches(parts) if parts else None


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
    sample = _first_rows(job, [query.time, *query.group_columns] if tells else query.columns)
    span = 0 if sample is None else _span(job, sample)
    if sample is None or not span:
        return None
    groups = sum(_distinct(sample, names) for names in sets_of(query.by))
    if tells:
        unit, expected = "rows", presentation.expected_state(len(sample) / span / groups, groups)
        assert expected is not None
        retained, nbytes = expected
    else:
        unit, measured = "items", _measured(job, sample, span)
        retained, nbytes = measured.retained / groups, measured.nbytes
    of = f" in each of {groups:,} groups" if groups > 1 else ""
    per = "" if groups == 1 else " in total"
    return (
        f"its state will keep about {retained:,.0f} {unit}{of}, {nbytes:,.0f} bytes{per}, judging by its first "
        f"{len(sample):,} rows"
    )


def _takes_rules(job: CheckedJob) -> bool:
    from skyband.groups.execution import execution_of

    return execution_of(job.query).broadcast_state() is not None


def _span(job: CheckedJob, sample: pa.Table) -> int:
    """Microseconds from the first to the last of the rows."""
    times = sample.column(job.query.time).combine_chunks().drop_null()
    if not len(times):
        return 0
    ends = pc.min_max(pa.array(microseconds(job.query.time, times))).as_py()
    return int(ends["max"] - ends["min"])


@frozen
class _Size:
    retained: float
    nbytes: float

    def times(self, factor: float) -> "_Size":
        return _Size(self.retained * factor, self.nbytes * factor)


def _measured(job: CheckedJob, sample: pa.Table, span: int) -> _Size:
    """The state of these rows, which span this many microseconds; extrapolated to the longest window, if that is
    longer, by the growth in the second half of the rows (Heaps' law for values that recur).
    """
    run, ordered = job.begin_here(), sample.sort_by(job.query.time)
    horizon = run.operator.execution.query.schedule.horizon
    half = _taken_in(run, ordered.slice(0, len(ordered) // 2))
    whole = _taken_in(run, ordered.slice(len(ordered) // 2))
    if span >= horizon or not half.retained:
        return whole
    power = min(max(log2(whole.retained / half.retained), 0.0), 1.0) if whole.retained else 0.0
    return whole.times((horizon / span) ** power)


def _taken_in(run: "LocalRun", rows: pa.Table) -> _Size:
    """The state of a run after it has taken these rows, which are later than all before."""
    for batch in rows.combine_chunks().to_batches():
        latest = run.add(batch).newest
        if latest is not None:
            run.operator.advance(latest + 1)
    state = run.operator.snapshot()
    run.operator.restore(state)  # in small groups, restoring drops waiting rows that need not be kept
    return _Size(run.operator.take_metrics().retained, len(state))
