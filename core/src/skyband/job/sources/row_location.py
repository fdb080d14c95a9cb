"""Where in a source's files a row stands: what is wrong with it is told by its file, and its place there."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from attrs import define, evolve, field

from skyband.errors import InputError
from skyband.job.sources.file_parts import FilePart, row_group_of

if TYPE_CHECKING:
    import pyarrow as pa

    from skyband.arrays import Int64


@define(eq=False)
class PlacedBatches:
    """The batches of files, one after the other, which remember the file and the row of the last one given."""

    _parts: Iterable[FilePart]
    _read: "Callable[[FilePart], Iterator[pa.RecordBatch]]"
    _shape: "Callable[[pa.RecordBatch], tuple[pa.RecordBatch, Int64 | None]]"
    """What is made of a batch, and which of its rows are left, all where that is None."""
    _part: FilePart | None = field(default=None, init=False)
    file: int = field(default=0, init=False)
    """The place of its file among all."""
    _first: int = field(default=0, init=False)
    _kept: "Int64 | None" = field(default=None, init=False)

    def __iter__(self) -> "Iterator[pa.RecordBatch]":
        """Raises InputError, naming the file, where one cannot be read."""
        import pyarrow as pa

        for file, part in enumerate(self._parts):
            path, rows = part.path, part.first
            self.file, self._part = file, part
            self._first = rows
            try:
                part.check()
                for batch in self._read(part):
                    self._first = rows
                    shaped, self._kept = self._shape(batch)
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

    @contextmanager
    def placing(self) -> "Iterator[None]":
        """What is wrong with a row of the last batch is told with its file and its place there."""
        try:
            yield
        except InputError as error:
            _raise(self.placed(error), error)

    def placed(self, error: InputError) -> InputError:
        """What is wrong with a row of the last batch, with its file and its place there; itself where it tells that."""
        if self._part is None:
            return error
        if self._kept is not None and error.row is not None:
            error = InputError(error.argument, error.message, int(self._kept[error.row]))
        return self._within(self._part, error, self._first)

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
