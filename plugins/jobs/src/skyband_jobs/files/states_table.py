"""A table of states in Parquet files: its moments and, at one of them, each group's state.

Reading dominates the cost of `skyband ask`. So only the row groups with the requested groups' states are read, a few
rows at a time, and nothing here imports pyarrow.compute, which takes as long as everything else.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen
from skyband.arrays import Int64
from skyband.errors import InputError, SnapshotError, suggest
from skyband.states.coverage import Coverage
from skyband.states.state import State, read_state

from skyband_jobs.files.file_listing import base_of_keys, data_files, keys_of

AT = "at"
ROWS_AT_ONCE = 8
"""States decoded together: reusing memory is faster than allocating it."""


@frozen
class GroupState:
    """The state of a group."""

    group: Mapping[str, Any]
    """The value of each grouping column."""
    blob: bytes
    state: State


@frozen
class _Rows:
    """The rows of a row group: their moments, and where they are."""

    file: int
    number: int
    times: Int64


_NAN = float("nan")
_REMEDY = 'name a table that a query with emit = "state" wrote'


class StatesTable:
    """The Parquet files that a query with `emit = "state"` wrote."""

    def __init__(self, path: str, column: str = "state") -> None:
        """Raises InputError where there is none, or a column is missing."""
        self._path, self._column = path, column
        paths = [file for file in data_files(Path(path)) if file.suffix in ("", ".parquet")]
        if not paths:
            raise InputError("states", f"{path!r} has no Parquet file: {_REMEDY}")
        try:
            self._files = [pq.ParquetFile(file, pre_buffer=False, coerce_int96_timestamp_unit="us") for file in paths]
        except (OSError, pa.ArrowException) as error:
            raise InputError("states", f"{path!r} cannot be read as Parquet: {error}") from error
        self._folders = [keys_of(file, base_of_keys(Path(path))) for file in paths]
        names = [*self._files[0].schema_arrow.names, *self._folders[0]]
        for name, option in ((AT, "states"), (column, "column")):
            if name not in names:
                remedy = f": {_REMEDY}" if name == AT else f"; {suggest(name, names)}"
                raise InputError(option, f"{path!r} has no column {name!r}{remedy}")
        self.grouping = [name for name in names if name not in (AT, column)]
        for path_of_file, file, folders in zip(paths, self._files, self._folders, strict=True):
            if {*file.schema_arrow.names, *folders} != {*names}:
                columns = ", ".join([*file.schema_arrow.names, *folders])
                message = f"has the columns {columns}, but {str(paths[0])!r} has {', '.join(names)}"
                raise InputError("states", f"{str(path_of_file)!r} {message}: they must be the same")

    def as_of(self, at: int | None) -> tuple[int, list[GroupState]]:
        """The moment `at`, or the newest, and the states of all groups at that moment.

        For a table with only changed groups, it takes each group's newest. Raises InputError with the nearest moments
        where there is none for `at`, and SnapshotError with the group, where a state is damaged.
        """
        parts = list(self._row_groups())
        # A set, because np.unique imports numpy.ma.
        moments = sorted({moment for rows in parts for moment in set(rows.times.tolist())})
        if not moments:
            raise InputError("states", f"{self._path!r} has no state yet")
        at_moment = moments[-1] if at is None else at
        if not moments[0] <= at_moment <= moments[-1]:
            raise self._refusal(at_moment, moments)
        below = max(moment for moment in moments if moment <= at_moment)
        states = self._read(self._groups(parts, below, below))
        covers = states[0].state.covers
        assert covers is not None
        if covers.changed:
            return at_moment, self._read(self._groups(parts, at_moment - (covers.at - covers.since) + 1, at_moment))
        if below != at_moment:
            raise self._refusal(at_moment, moments)
        return at_moment, states

    def _refusal(self, at_moment: int, moments: Sequence[int]) -> InputError:
        near = sorted(sorted(moments, key=lambda moment: abs(moment - at_moment))[:2])
        show = Coverage(0, 0, pa.types.is_integer(self._files[0].schema_arrow.field(AT).type)).show
        message = f"there is no state at {show(at_moment)}; the nearest are at {' and '.join(map(show, near))}"
        return InputError("at", message)

    def _row_groups(self) -> Iterator[_Rows]:
        for place, file in enumerate(self._files):
            times = moments_of(file.read(columns=[AT], use_threads=False).column(AT))
            start = 0
            for number in range(file.num_row_groups):
                stop = start + file.metadata.row_group(number).num_rows
                yield _Rows(place, number, times[start:stop])
                start = stop

    def _groups(self, parts: Sequence[_Rows], first: int, last: int) -> dict[tuple[Any, ...], tuple[int, _Rows, int]]:
        """Each group's newest row from moment `first` to `last`: the moment, and where the row is."""
        newest: dict[tuple[Any, ...], tuple[int, _Rows, int]] = {}
        for rows in parts:
            places = np.flatnonzero((rows.times >= first) & (rows.times <= last)).tolist()
            if places:
                folders = self._folders[rows.file]
                inside = [name for name in self.grouping if name not in folders]
                table = self._files[rows.file].read_row_group(rows.number, columns=inside, use_threads=False)
                columns = {name: table.column(name) for name in inside}
                for row in places:  # one scalar each, because `take` imports pyarrow.compute
                    values = {**{name: column[row].as_py() for name, column in columns.items()}, **folders}
                    group = tuple(as_key(values[name]) for name in self.grouping)
                    moment = int(rows.times[row])
                    if group not in newest or newest[group][0] < moment:
                        newest[group] = moment, rows, row
        return newest

    def _read(self, newest: Mapping[tuple[Any, ...], tuple[int, _Rows, int]]) -> list[GroupState]:
        places: dict[tuple[int, int], dict[int, tuple[Any, ...]]] = {}
        for group, (_, rows, row) in newest.items():
            places.setdefault((rows.file, rows.number), {})[row] = group
        blobs: dict[tuple[Any, ...], bytes] = {}
        for (file, number), groups in places.items():
            blobs.update(self._blobs(file, number, groups))
        named = [(dict(zip(self.grouping, group, strict=True)), blobs[group]) for group in newest]
        return [GroupState(group, blob, named_state(group, blob)) for group, blob in named]

    def _blobs(
        self, file: int, number: int, groups: Mapping[int, tuple[Any, ...]]
    ) -> Iterator[tuple[tuple[Any, ...], bytes]]:
        """The states in these rows of a row group, each with its group."""
        start, last = 0, max(groups)
        for batch in self._files[file].iter_batches(ROWS_AT_ONCE, [number], columns=[self._column], use_threads=False):
            for row in range(start, min(start + len(batch), last + 1)):
                if row in groups:
                    blob = batch.column(0)[row - start].as_py()
                    if blob is None:
                        raise InputError("column", f"column {self._column!r} has a null where a state belongs")
                    yield groups[row], blob
            start += len(batch)
            if start > last:
                return


def as_key(value: Any) -> Any:
    """A value of a group, with a single NaN, because NaN does not equal itself."""
    return _NAN if isinstance(value, float) and value != value else value


def named_state(group: Mapping[str, Any], blob: Any) -> State:
    """The state of a group from its bytes. Raises SnapshotError that names the group."""
    try:
        state = read_state(blob)
    except SnapshotError as error:
        named = ", ".join(f"{name} = {value!r}" for name, value in group.items()) or "no group"
        raise SnapshotError(f"the state of {named}: {error}") from error
    if state.covers is None:
        raise SnapshotError('has no moment: a table of states comes from a query with emit = "state"')
    return state


_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def moments_of(column: pa.ChunkedArray) -> Int64:
    """The moments of a column, in microseconds or rows, from its buffers: `cast` and `to_numpy` have slow imports."""
    kind = column.type
    if column.null_count:
        raise InputError("states", f"column {AT!r} has a null where a moment belongs")
    if pa.types.is_integer(kind):
        dtype, unit = np.dtype(kind.to_pandas_dtype()), "us"
    elif pa.types.is_timestamp(kind):
        dtype, unit = np.dtype(np.int64), kind.unit
    else:
        raise InputError("states", f"column {AT!r} must be moments (got {kind})")
    chunks = [np.frombuffer(c.buffers()[1], dtype, len(c), c.offset * dtype.itemsize) for c in column.chunks]
    times = np.concatenate([np.empty(0, dtype), *chunks]).astype(np.int64)
    return times // 1_000 if unit == "ns" else times * _MICROSECONDS[unit]
