"""Encodes rows of a source as frames, alike for every query: times, groups and the columns that the query defines."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen

from skyband.arrays import Int64
from skyband.columns.dictionaries import compact, is_dictionary_of_text
from skyband.columns.hashing import hash_columns
from skyband.columns.keyed_frames import COPY, GROUP, NAME, TIME, by_column, decoded, own_count, with_one_zero
from skyband.config.calendar_lengths import ALWAYS, UTC, is_ever, zone_of
from skyband.errors import InputError, suggest
from skyband.instants import instant
from skyband.operator.bad_rows import without_bad_rows
from skyband.operator.metrics import check_sum
from skyband.queries.error_attribution import attributed
from skyband.queries.grouping_sets import GroupingSets, grouping_name, source_columns
from skyband.queries.query import BAD, FAIL, NULL_SOURCE, NULL_TIME, Query
from skyband.queries.time_columns import is_null, microseconds
from skyband.watermark import EventTimeProgress


@frozen
class Encoded:
    """A batch encoded for the operator, its dropped rows by reason, and the times it reached."""

    frame: pa.RecordBatch
    dropped: Mapping[str, int]
    progress: EventTimeProgress
    bad: pa.RecordBatch | None = None
    """The rows counted as bad, unchanged, with what is wrong with each: see `skyband.operator.bad_rows`."""
    _source: pa.RecordBatch | None = None
    _places: Int64 | None = None
    """The place of each row of the frame in the source's batch; None if all are in place."""

    def as_they_came(self) -> pa.RecordBatch:
        """The rows of the frame, as the source gave them."""
        assert self._source is not None
        return self._source if self._places is None else self._source.take(pa.array(self._places))


def encode(query: Query, batch: pa.RecordBatch) -> Encoded:
    """A source batch as a frame: time (int64), group (uint64), the query's columns, then `by.0`, `by.1`, ….

    Rows that the query drops, and those without a time or source, are not in it, but counted by reason. Stateless, so
    it runs where the rows are. Raises InputError if a row cannot be used, such as one with a time out of range, unless
    the query's `bad_rows` says to count it.
    """
    if query.bad_rows == FAIL:
        encoded = _encode(query, batch)
    else:
        encoded, bad = without_bad_rows(query, batch, _encode)
        encoded = encoded if bad is None else evolve(encoded, dropped={**encoded.dropped, BAD: len(bad)}, bad=bad)
    accounted = own_count(encoded.frame) + sum(encoded.dropped.values())
    check_sum(len(batch), accounted, f"{query.kind} encoded them")
    return encoded


def _encode(query: Query, batch: pa.RecordBatch) -> Encoded:
    with attributed(query):
        columns, masks = query.encode_columns(batch)
    when, source_column = batch.column(query.time), None if query.source is None else batch.column(query.source)
    times = microseconds(query.time, when)
    check_years(query, times)
    if query.zone_column is not None:
        from skyband.queries.zones_of_groups import check_zones  # on use, as few queries have zones

        check_zones(query.zone_column, batch.column(query.zone_column))
    sources = np.zeros(len(batch), np.int64) if source_column is None else _numbered(query, source_column)
    grouping = [batch.column(name) for name in source_columns(query.by)]
    groups = hash_columns(grouping) if grouping else np.zeros(len(batch), np.uint64)
    frame = pa.RecordBatch.from_pydict(
        {
            TIME: times,
            GROUP: groups,
            **{name: column if name == NAME else decoded(column) for name, column in columns.items()},
            **{by_column(number): _compact(column) for number, column in enumerate(grouping)},
        }
    )
    unusable = [(NULL_TIME, when), *([] if source_column is None else [(NULL_SOURCE, source_column)])]
    missing = {why: is_null(column) for why, column in unusable if column.null_count}
    excluded = np.zeros(len(batch), bool)
    dropped, places = {}, None
    for reason, mask in {**missing, **masks}.items():
        dropped[reason] = int(np.count_nonzero(mask & ~excluded))
        excluded |= mask
    if excluded.any():
        valid = ~excluded
        frame, times, sources = frame.filter(pa.array(valid)), times[valid], sources[valid]
        places = np.flatnonzero(valid)
    progress = _progress(query, times, sources)
    if isinstance(query.by, GroupingSets):
        places = np.tile(np.arange(len(batch)) if places is None else places, len(query.by.sets))
        frame = _in_all_sets(query.by, frame)
    return Encoded(frame, dropped, progress, None, batch, places)


def _in_all_sets(by: GroupingSets, frame: pa.RecordBatch) -> pa.RecordBatch:
    """Each row in its group of each set; rows in groups of the first set come before those of the next. O(n)."""
    count, columns = len(frame), source_columns(by)
    copies = np.tile(np.arange(count), len(by.sets))
    grouping = []
    for number, name in enumerate(columns):
        outside = np.repeat([name not in names for names in by.sets], count)
        grouping.append(frame.column(by_column(number)).take(pa.array(copies, mask=outside)))
    codes = np.repeat(np.arange(len(by.sets), dtype=np.int32), count)
    grouping.append(pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(map(grouping_name, by.sets))))
    named = {by_column(number): column for number, column in enumerate(grouping)}
    others = {name: frame.column(name) for name in frame.schema.names if name not in named}
    together = {name: column.take(pa.array(copies)) for name, column in others.items()}
    return pa.RecordBatch.from_pydict(
        {**together, GROUP: hash_columns(grouping), COPY: pa.array((codes > 0).astype(np.int8)), **named}
    )


def hashed_columns(query: Query) -> tuple[str, ...]:
    """The columns that are hashed: in dictionaries, each distinct value is hashed only once."""
    named = [getattr(query, key) for key in query._hashed_keys]
    columns = [name for names in named if names is not None for name in ((names,) if isinstance(names, str) else names)]
    return (*source_columns(query.by), *columns)


def check_years(query: Query, times: Int64) -> None:
    """Raise InputError for years without a known calendar of the query's zone, or beyond a window "ever"."""
    lengths = query.lengths.values()
    zoned = query.zone_column is not None or any(zone_of(length) != UTC for length in lengths)
    if not len(times) or not (zoned or any(map(is_ever, lengths))):
        return
    if zoned:
        from skyband.config.time_zone_conversion import FIRST_YEAR, LAST_YEAR, YEARS

        earliest, end = YEARS
        limits = f"a zone's calendar is known from {FIRST_YEAR} to {LAST_YEAR}"
    else:
        earliest, end = -ALWAYS, ALWAYS
        limits = 'a window "ever" begins 36,500 years before 1970, and ends 36,500 years after'
    outside = (times < earliest) | (times >= end)
    if outside.any():
        row = int(outside.argmax())
        message = f"{limits}: correct such rows or filter them"
        got = instant(int(times[row]))
        raise InputError(query.time, f"{message} (got {got})", row, rows=np.flatnonzero(outside), reason=message)


def _progress(query: Query, times: Int64, sources: Int64) -> EventTimeProgress:
    count = query.source_count
    progress = EventTimeProgress.nowhere(count)
    if len(times):
        progress.earliest = int(times.min())
        for source in range(count):
            own_times = times if count == 1 else times[sources == source]
            if len(own_times):
                progress.latest[source] = int(own_times.max())
            if len(own_times) and query.ahead is not None:
                progress.spans += _spans(np.unique(own_times), query.ahead.length, source)
    return progress


def _spans(times: Int64, ahead: int, source: int) -> list[tuple[int, int, int]]:
    """The runs of times, ascending, without a gap longer than `ahead`."""
    gaps = np.flatnonzero(times[1:] - times[:-1] > ahead)
    starts, ends = times[np.append(0, gaps + 1)], times[np.append(gaps, len(times) - 1)]
    return [(start, end, source) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _numbered(query: Query, column: pa.Array) -> Int64:
    """int64[n]: each row's source by its place in `sources`; 0 for null."""
    column = decoded(column)
    places = pc.index_in(column, value_set=pa.array(query.sources).cast(column.type))
    unknown = is_null(places) & ~is_null(column)
    if unknown.any():
        row = int(unknown.argmax())
        name = column[row].as_py()
        hint = suggest(str(name), map(str, query.sources or ()))
        message = f"{name!r} is not in sources; {hint}"
        raise InputError(str(query.source), message, row, rows=np.flatnonzero(unknown), reason="is not in sources")
    numbers: Int64 = places.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers


def _compact(column: pa.Array) -> pa.Array:
    """The column, with text as a dictionary of its distinct values in order of first use."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.dictionary_encode(column)
    return compact(column) if is_dictionary_of_text(kind) else with_one_zero(column)
