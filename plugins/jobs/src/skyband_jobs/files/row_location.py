"""Locates rows in a source's files: an error names the file and the row's place in it."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from attrs import define, evolve, field, frozen
from skyband.errors import InputError

from skyband_jobs.files.file_parts import FilePart, bundles, row_group_of
from skyband_jobs.files.refused_rows import RefusedRow, RefusedRows

if TYPE_CHECKING:
    import pyarrow as pa
    from skyband.arrays import Int64
    from skyband.operator.bad_rows import RefuseUnreadable


_MANY = 100_000
"""Rows of small files in a batch, not counting those of the last one."""


@frozen(eq=False)
class _Placed:
    """A batch and its place."""

    rows: "pa.RecordBatch"
    part: FilePart
    first: int
    """Its first row's number in the file, or in its range, as read."""
    end: int
    """The first row number of the next batch."""
    selection: "Int64 | None"
    """The offset of each remaining row; None where all remain."""


@define(eq=False)
class PlacedBatches:
    """The batches of files, one after the other; it remembers the file and row of the latest batch."""

    _parts: Iterable[FilePart]
    _read: "Callable[[FilePart], Iterator[pa.RecordBatch]]"
    _shape: "Callable[[pa.RecordBatch], tuple[pa.RecordBatch, Int64 | None]]"
    """Transforms a batch; returns it with the places of the remaining rows, or None for all."""
    _read_together: "Callable[[tuple[FilePart, ...]], pa.RecordBatch | None] | None" = None
    """Reads small files at once; returns None where they must be read one by one. None: always one by one."""
    _refuse: "RefuseUnreadable | None" = field(default=None, kw_only=True)
    """Takes a file, or a part of one, that cannot be read to its end, instead of an error."""
    _refused: RefusedRows | None = field(default=None, kw_only=True)
    """Collects rows that `_read` and `_shape` refuse; None where they raise an error."""
    _bundle: tuple[FilePart, ...] = field(default=(), init=False)
    """The small files in the last batch; empty where it has one file."""
    _part: FilePart | None = field(default=None, init=False)
    file: int = field(default=0, init=False)
    """The index of its file."""
    _first: int = field(default=0, init=False)
    _selection: "Int64 | None" = field(default=None, init=False)
    _before: dict[FilePart, int] = field(factory=dict, init=False)
    """The rows before a range of a file, once counted."""

    def __iter__(self) -> "Iterator[pa.RecordBatch]":
        """Raises InputError with the file, where one cannot be read."""
        if self._read_together is None:
            for file, part in enumerate(self._parts):
                self.file = file
                yield from self._whole(part)
            return
        for parts in bundles(self._parts):
            whole = None if len(parts) == 1 else self._at_once(parts)
            if whole is None:
                yield from self._whole(parts[0]) if len(parts) == 1 else self._one_by_one(parts)
            else:
                self._bundle = parts
                yield whole

    def _whole(self, part: FilePart) -> "Iterator[pa.RecordBatch]":
        return map(self._at, self._readable(part))

    def _at(self, placed: _Placed) -> "pa.RecordBatch":
        """Make a batch the one whose rows are located."""
        self._part, self._first, self._selection = placed.part, placed.first, placed.selection
        self._bundle = ()
        return placed.rows

    def _readable(self, part: FilePart) -> Iterator[_Placed]:
        """The batches of a file, up to the place where it becomes unreadable."""
        end = part.first
        try:
            for placed in self._placed(part):
                end = placed.end
                yield placed
        except InputError as error:
            self._refuse_rest(part, error, end - part.first)

    def _refuse_rest(self, part: FilePart, error: InputError, rows: int) -> None:
        """Report that the rest of a file is unreadable. Raises the error where the file is not at fault."""
        cause = error.__cause__
        part.check()
        if self._refuse is None or (isinstance(cause, OSError) and cause.errno is not None):
            raise error
        whole = "it" if part.is_whole else "a part of it"
        extent = f"{rows:,} rows of {whole} were read" if rows else f"no row of {whole} was read"
        what = error.message if error.row is None else f"row {error.row}: {error.message}"
        where = error.argument.removeprefix(str(part.path)).lstrip(": ,")
        refusal = InputError(str(part.path), f"{where}: {what} ({extent})" if where else f"{what} ({extent})")
        refusal.__cause__ = error
        self._refuse([(refusal, None)])

    def _placed(self, part: FilePart, is_again: bool = False) -> Iterator[_Placed]:
        """The batches of a file; is_again: its refused rows were already reported. Raises InputError with the file."""
        import pyarrow as pa

        path, rows = part.path, part.first
        try:
            part.check()
            for count, shaped, selection in chain.from_iterable(map(self._shaped, self._read(part))):
                if self._refused is not None:
                    count += len(self._refused.unread)
                    selection = self._hand_on(part, rows, count, selection, is_again)
                rows += count
                yield _Placed(shaped, part, rows - count, rows, selection)
        except InputError as error:
            _raise(self._within(part, error, rows), error)
        except MemoryError:  # Arrow's is also an ArrowException
            raise
        except (OSError, ValueError, pa.ArrowException) as error:
            message = " ".join(str(error).split())
            place = f" after row {rows - 1:,}{_row_group(path, rows - 1)}" if rows > part.first else ""
            raise InputError(str(path), f"cannot be read{place}: {message}") from error

    def _shaped(self, batch: "pa.RecordBatch") -> "Iterator[tuple[int, pa.RecordBatch, Int64 | None]]":
        """The transformed rows of a batch and their number, in halves where values do not fit into an array."""
        import pyarrow as pa

        waiting = [batch]
        while waiting:
            rows = waiting.pop()
            try:
                yield len(rows), *self._shape(rows)
            except pa.ArrowCapacityError:
                half = len(rows) // 2
                if not half or (self._refused is not None and self._refused.unread):
                    raise
                waiting += [rows.slice(half), rows.slice(0, half)]

    def _hand_on(
        self, part: FilePart, first: int, count: int, selection: "Int64 | None", is_again: bool
    ) -> "Int64 | None":
        """Report a batch's refused rows; returns the places of the others in the batch."""
        import numpy as np

        assert self._refused is not None
        unread, shaped = [*self._refused.unread], [*self._refused.shaped]
        self._refused.clear()
        if unread:
            readable = np.delete(np.arange(count), [row.place for row in unread])
            shaped = [evolve(row, place=int(readable[row.place])) for row in shaped]
            selection = readable if selection is None else readable[selection]
        if (unread or shaped) and not is_again:
            in_order = sorted([*unread, *shaped], key=lambda row: row.place)
            self._refused.refuse([(self._refusal(part, first, row), row.text) for row in in_order])
        return selection

    def _refusal(self, part: FilePart, first: int, row: RefusedRow) -> InputError:
        """The error of a row, with its place as the argument."""
        where = f"row {first + row.place + self._rows_before(part)}" if row.line is None else f"line {row.line}"
        error = row.error
        is_of_file = error.argument.startswith(str(part.path))
        reason = error.message if is_of_file else f"{error.argument}: {error.message}"
        refusal = InputError(f"{part.path}, {where}", reason)
        refusal.__cause__ = error
        return refusal

    def _at_once(self, parts: tuple[FilePart, ...]) -> "pa.RecordBatch | None":
        """The rows of small files; None where they must be read one by one, which finds what is wrong."""
        import pyarrow as pa

        assert self._read_together is not None
        try:
            for part in parts:
                part.check()
            whole = self._read_together(parts)
            shaped = None if whole is None else self._shape(whole)[0]
            if self._refused is not None and self._refused.shaped:
                self._refused.clear()
                return None
            return shaped
        except MemoryError:
            raise
        except (InputError, OSError, ValueError, pa.ArrowException):
            return None

    def _one_by_one(self, parts: tuple[FilePart, ...]) -> "Iterator[pa.RecordBatch]":
        """The rows of small files, read one by one but joined into large batches, as each batch has a cost."""
        begun: list[_Placed] = []
        failure = None
        for part in parts:
            batches = self._readable(part)
            try:
                some = [*islice(batches, 2)]
            except InputError as error:
                failure = error
                break
            is_large = len(some) == 2  # despite its few bytes
            if not is_large:
                begun += some
            if begun and (is_large or sum(len(placed.rows) for placed in begun) >= _MANY):
                yield self._joined(begun)
                begun = []
            if is_large:
                yield from map(self._at, chain(some, batches))
        if begun:
            yield self._joined(begun)
        if failure is not None:
            raise failure

    def _joined(self, batches: list[_Placed]) -> "pa.RecordBatch":
        from skyband.columns.dictionaries import concatenated

        self._bundle = tuple(placed.part for placed in batches)
        return concatenated([placed.rows for placed in batches])

    @contextmanager
    def placing(self) -> "Iterator[None]":
        """Errors of a row in the last batch name its file and its place there."""
        try:
            yield
        except InputError as error:
            _raise(self.placed(error), error)

    def placed(self, error: InputError) -> InputError:
        """An error with the file and place of its row in the last batch; unchanged if it has them."""
        if self._bundle:
            return self._placed_in_bundle(error)
        if self._part is None:
            return error
        if self._selection is not None and error.row is not None:
            error = InputError(error.argument, error.message, int(self._selection[error.row]))
        return self._within(self._part, error, self._first)

    def _placed_in_bundle(self, error: InputError) -> InputError:
        """The same where the last batch is from several files, which are read again up to that row."""
        parts, row = self._bundle, error.row
        if row is None:
            return InputError(f"{parts[0].path} to {parts[-1].path}: {error.argument}", error.message)
        for part in parts:
            for placed in self._placed(part, is_again=True):
                if row < len(placed.rows):
                    self._at(placed)
                    return self.placed(InputError(error.argument, error.message, row))
                row -= len(placed.rows)
        return error

    def _within(self, part: FilePart, error: InputError, first: int) -> InputError:
        if error.argument.startswith(str(part.path)):
            return error
        row = None if error.row is None else error.row + first + self._rows_before(part)
        group = "" if row is None else _row_group(part.path, row)
        return InputError(f"{part.path}{group}: {error.argument}", error.message, row)

    def _rows_before(self, part: FilePart) -> int:
        """The rows of a file before a range, which are read to count them."""
        if part.within is None or part.within.begin == 0:
            return 0
        if part not in self._before:
            before = evolve(part, within=evolve(part.within, begin=0, end=part.within.begin))
            rows = sum(map(len, self._read(before)))
            if self._refused is not None:
                rows += len(self._refused.unread)
                self._refused.clear()
            self._before[part] = rows
        return self._before[part]


def _raise(located: InputError, error: InputError) -> NoReturn:
    """Raise a located error from the original one, unless they are the same.

    An error that is its own cause would be an endless loop for code that follows causes, as loggers do.
    """
    if located is error:
        raise error
    raise located from error


def _row_group(path: Path, row: int) -> str:
    group = row_group_of(path, row)
    return "" if group is None else f", row group {group}"
