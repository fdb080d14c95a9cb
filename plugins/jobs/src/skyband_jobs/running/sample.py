"""The first rows of a source, and the size of the state that a query keeps of them."""

import time
from collections.abc import Iterable, Mapping, Sequence
from math import inf, log2
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from skyband.config.calendar_lengths import is_ever
from skyband.config.durations import Duration
from skyband.queries.time_columns import microseconds

from skyband_jobs.files.source_files import Files
from skyband_jobs.files.table_source import Table
from skyband_jobs.running.bad_rows import unread
from skyband_jobs.running.limits import MOST_ROWS

if TYPE_CHECKING:
    from skyband.engines.local import LocalRun
    from skyband.queries.query import Query
    from skyband.registry import Binding

_AT_ONCE = 5_000
"""Rows after which the time is looked at."""


class TooSlowError(Exception):
    """A state was not built within the CPU seconds that it may take."""


@frozen
class StateSize:
    """What a state keeps: items, and bytes of its snapshot."""

    retained: float
    nbytes: float

    def times(self, factor: float) -> "StateSize":
        """The size of a state with this many times as much in it."""
        return StateSize(self.retained * factor, self.nbytes * factor)


def first_rows(query: "Query", source: Files | Table, columns: Sequence[str]) -> pa.Table | None:
    """The first 100,000 rows of a source; None where it has none. Raises InputError where a row cannot be read."""
    return first_of(source.batches(list(dict.fromkeys(columns)), refuse=unread(query)))


def first_of(batches: Iterable[pa.RecordBatch]) -> pa.Table | None:
    """The first 100,000 rows of batches; None where they have none."""
    parts, rows = list[pa.RecordBatch](), 0
    for batch in batches:
        parts.append(batch.slice(0, MOST_ROWS - rows))
        rows += len(parts[-1])
        if rows == MOST_ROWS:
            break
    return pa.Table.from_batches(parts) if rows else None


def span_of(query: "Query", rows: pa.Table) -> int:
    """Microseconds from the first to the last of these rows."""
    times = rows.column(query.time).combine_chunks().drop_null()
    if not len(times):
        return 0
    ends = pc.min_max(pa.array(microseconds(query.time, times))).as_py()
    return int(ends["max"] - ends["min"])


def expected_size(
    query: "Query", bindings: Mapping[str, "Binding"], rows: pa.Table, most: float | None = None
) -> StateSize:
    """The size that the state of a query on these backends is expected to have, judging by these rows.

    most: the CPU seconds that it may take. Raises TooSlowError beyond.

    If the longest window is longer than the rows, it is extrapolated by the growth in the second half of them (Heaps'
    law for values that recur). A window "ever" is not: its state has no final size.
    """
    run, ordered = begun(query, bindings, rows.schema), rows.sort_by(query.time)
    end = inf if most is None else time.process_time() + most
    half = _size_with(run, ordered.slice(0, len(ordered) // 2), end)
    whole = _size_with(run, ordered.slice(len(ordered) // 2), end)
    horizon = _longest(query)
    span = 0 if horizon is None else span_of(query, rows)
    if horizon is None or not span or span >= horizon or not half.retained or not whole.retained:
        return whole
    power = min(max(log2(whole.retained / half.retained), 0.0), 1.0)
    return whole.times((horizon / span) ** power)


def begun(query: "Query", bindings: Mapping[str, "Binding"], schema: pa.Schema) -> "LocalRun":
    """A run of a query in this process, over rows with these columns."""
    from skyband.columns.arrow_normalization import usual_schema
    from skyband.engines.reference import LocalEngine

    return LocalEngine().begin(query, bindings, usual_schema(schema))


def _longest(query: Any) -> int | None:
    """The microseconds of the longest window; None where windows are in rows, or end never."""
    schedule, window = getattr(query, "schedule", None), getattr(query, "window", None)
    if query.rows or any(map(is_ever, query.lengths.values())):
        return None
    if schedule is not None:
        return int(schedule.horizon)
    return window.length if isinstance(window, Duration) and not window.rows else None


def _size_with(run: "LocalRun", rows: pa.Table, end: float) -> StateSize:
    """The state of a run after these rows, which are later than all before."""
    for batch in rows.combine_chunks().to_batches(_AT_ONCE if end < inf else None):
        if time.process_time() > end:
            raise TooSlowError
        latest = run.add(batch).newest
        if latest is not None:
            run.operator.advance(latest + 1)
    state = run.operator.snapshot()
    run.operator.restore(state)  # in small groups, restoring drops waiting rows that need not be kept
    return StateSize(run.operator.take_metrics().retained, len(state))
