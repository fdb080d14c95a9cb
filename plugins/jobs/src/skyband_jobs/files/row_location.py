"""Where in a source's files a row stands: what is wrong with it is told by its file, and its place there."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from attrs import define, evolve, field
from skyband.errors import InputError

from skyband_jobs.files.file_parts import FilePart, bundles, row_group_of

if TYPE_CHECKING:
    import pyarrow as pa
    from skyband.arrays import Int64
    from skyband.operator.bad_rows import RefuseUnreadable


_BUFFER = 1 << 25
"""Bytes of rows that wait until the file they are of has been read to its end; of a larger file none are."""
_MANY = 100_000
"""Rows of small files that come together, at most those of one more."""


@define(eq=False)
class PlacedBatches:
    """The batches of files, one after the other, which remember the file and the row of the last one given."""

    _parts: Iterable[FilePart]
    _read: "Callable[[FilePart], Iterator[pa.RecordBatch]]"
    _shape: "Callable[[pa.RecordBatch], tuple[pa.RecordBatch, Int64 | None]]"
    """What is made of a batch, and which of its rows are left, all where that is None."""
    _read_together: "Callable[[tuple[FilePart, ...]], pa.RecordBatch | None] | None" = None
    """The rows of small files at once, None where they must be read one by one; where it is None, all are so."""
    _refuse: "RefuseUnreadable | None" = field(default=None, kw_only=True)
    """What takes a file that cannot be read to its end, in the place of the error; none of its rows is given then."""
    _bundle: tuple[FilePart, ...] = field(default=(), init=False)
    """The small files whose rows the last batch has; none where it is of one file."""
    _part: FilePart | None = field(default=None, init=False)
    file: int = field(default=0, init=False)
    """The place of its file among all."""
    _first: int = field(default=0, init=False)
    _selection: "Int64 | None" = field(default=None, init=False)

    def __iter__(self) -> "Iterator[pa.RecordBatch]":
        """Raises InputError, naming the file, where one cannot be read."""
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
        """The rows of a file; none of one that is refused. Of a large file that takes reading it twice.

        A part of a file is not refused: its other parts have given their rows, or will.
        """
        if self._refuse is None or not part.is_whole:
            yield from self._alone(part)
            return
        batches: list[tuple[pa.RecordBatch, int, Int64 | None]] | None = []
        size = 0
        try:
            for batch in self._alone(part):
                size += batch.nbytes
                one = (batch, self._first, self._selection)
                batches = None if batches is None or size > _BUFFER else [*batches, one]
        except InputError as error:
            self._refuse_file(part, error)
            return
        if batches is None:
            yield from self._alone(part)
            return
        for batch, self._first, self._selection in batches:
            yield batch

    def _refuse_file(self, part: FilePart, error: InputError) -> None:
        """Hand a file that cannot be read to what takes those. Raises the error where the file is not at fault."""
        cause = error.__cause__
        part.check()
        if self._refuse is None or (isinstance(cause, OSError) and cause.errno is not None):
            raise error
        what = error.message if error.row is None else f"row {error.row}: {error.message}"
        where = error.argument.removeprefix(str(part.path)).lstrip(": ,")
        reason = f"{where}: {what}" if where else what
        refusal = InputError(str(part.path), reason)
        refusal.__cause__ = error
        self._refuse([(refusal, None)])

    def _alone(self, part: FilePart) -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        path, rows = part.path, part.first
        self._part, self._bundle = part, ()
        self._first = rows
        try:
            part.check()
            for batch in self._read(part):
                self._first = rows
                shaped, self._selection = self._shape(batch)
                yield shaped
                rows += len(batch)
        except InputError as error:
            _raise(self._within(part, error, rows), error)
        except MemoryError:  # Arrow's is one of its exceptions too
            raise
        except (OSError, ValueError, pa.ArrowException) as error:
            message = " ".join(str(error).split())
            place = f" after row {rows - 1:,}{_row_group(path, rows - 1)}" if rows > part.first else ""
            raise InputError(str(path), f"cannot be read{place}: {message}") from error

    def _at_once(self, parts: tuple[FilePart, ...]) -> "pa.RecordBatch | None":
        """The rows of small files; None where they must be read one by one, which tells what is wrong with one."""
        import pyarrow as pa

        assert self._read_together is not None
        try:
            for part in parts:
                part.check()
            whole = self._read_together(parts)
            return None if whole is None else self._shape(whole)[0]
        except MemoryError:
            raise
        except (InputError, OSError, ValueError, pa.ArrowException):
            return None

    def _one_by_one(self, parts: tuple[FilePart, ...]) -> "Iterator[pa.RecordBatch]":
        """The rows of small files, still many in a batch: what takes a batch takes its time for each."""
        batches: list[pa.RecordBatch] = []
        begun: list[FilePart] = []
        failure = None
        for part in parts:
            try:
                some = [*islice(self._whole(part), 2)]
            except InputError as error:
                failure = error
                break
            is_large = len(some) == 2  # for all its few bytes
            if some and not is_large:
                batches, begun = batches + some, [*begun, part]
            if begun and (is_large or sum(map(len, batches)) >= _MANY):
                yield from self._joined(batches, begun)
                batches, begun = [], []
            if is_large:
                yield from self._whole(part)
        yield from self._joined(batches, begun)
        if failure is not None:
            raise failure

    def _joined(self, batches: "list[pa.RecordBatch]", parts: list[FilePart]) -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa
        from skyband.columns.dictionaries import joined

        if batches:
            self._bundle = tuple(parts)
            columns = [joined([*pieces]) for pieces in zip(*(batch.columns for batch in batches), strict=True)]
            yield pa.RecordBatch.from_arrays(columns, names=batches[0].schema.names)

    @contextmanager
    def placing(self) -> "Iterator[None]":
        """What is wrong with a row of the last batch is told with its file and its place there."""
        try:
            yield
        except InputError as error:
            _raise(self.placed(error), error)

    def placed(self, error: InputError) -> InputError:
        """What is wrong with a row of the last batch, with its file and its place there; itself where it tells that."""
        if self._bundle:
            return self._placed_in_bundle(error)
        if self._part is None:
            return error
        if self._selection is not None and error.row is not None:
            error = InputError(error.argument, error.message, int(self._selection[error.row]))
        return self._within(self._part, error, self._first)

    def _placed_in_bundle(self, error: InputError) -> InputError:
        """The same of the last batch where its rows are of several files, which are read again up to that row."""
        parts, row = self._bundle, error.row
        if row is None:
            return InputError(f"{parts[0].path} to {parts[-1].path}: {error.argument}", error.message)
        for part in parts:
            for batch in self._alone(part):
                if row < len(batch):
                    return self.placed(InputError(error.argument, error.message, row))
                row -= len(batch)
        return error

    def _within(self, part: FilePart, error: InputError, first: int) -> InputError:
        if error.argument.startswith(str(part.path)):
            return error
        row = None if error.row is None else error.row + first + self._rows_before(part)
        group = "" if row is None else _row_group(part.path, row)
        return InputError(f"{part.path}{group}: {error.argument}", error.message, row)

    def _rows_before(self, part: FilePart) -> int:
        """The rows of a file before a range of it, which is read up to there."""
        if part.within is None or part.within.begin == 0:
            return 0
        before = evolve(part, within=evolve(part.within, begin=0, end=part.within.begin))
        return sum(map(len, self._read(before)))


def _raise(located: InputError, error: InputError) -> NoReturn:
    """Raise an error from the one it tells the place of. One that told it is the same, and not its own cause.

    What follows causes, as loggers do, would follow such a circle for ever.
    """
    if located is error:
        raise error
    raise located from error


def _row_group(path: Path, row: int) -> str:
    group = row_group_of(path, row)
    return "" if group is None else f", row group {group}"
