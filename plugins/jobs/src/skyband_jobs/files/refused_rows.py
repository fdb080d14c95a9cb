"""Puts aside rows of a source that cannot be read, one by one, found by halving the rows read with them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define, field, frozen
from skyband.errors import InputError

from skyband_jobs.files.text_blocks import Block

if TYPE_CHECKING:
    import pyarrow as pa

    from skyband_jobs.formats import Refuse

    Parsed = tuple[pa.RecordBatch, list[InputError]]
    """Rows, and the errors of the others, in ascending order of their places among all."""

P = TypeVar("P")
R = TypeVar("R")


@frozen
class RefusedRow:
    """A row that cannot be read."""

    place: int
    """Its place in the batch that was read, counting refused rows."""
    error: InputError
    text: str
    """The row itself."""
    line: int | None = None
    """The line of the text file where it starts."""


@define
class RefusedRows:
    """Collects the rows that are refused while a batch is built."""

    refuse: "Refuse"
    """Takes them once the batch is complete, each with its file and its place there."""
    unread: list[RefusedRow] = field(factory=list, init=False)
    """Rows that are not in the batch because they cannot be read."""
    shaped: list[RefusedRow] = field(factory=list, init=False)
    """Rows that are in the batch, but for which `where` or `select` fails."""

    def clear(self) -> None:
        """Drop the collected rows."""
        self.unread.clear()
        self.shaped.clear()


def sifted(
    whole: P, parse: Callable[[P], R], halves: Callable[[P], tuple[P, ...] | None]
) -> Iterator[tuple[P, R | InputError]]:
    """The results of `parse` for all that it can read, in pieces as large as possible, and the error of each other row.

    halves: cuts a piece in two, or returns None for a single row. O(log rows) ever smaller reads for each row that
    cannot be read.
    row that cannot be read.
    """
    waiting = [whole]
    while waiting:
        piece = waiting.pop()
        try:
            outcome: R | InputError = parse(piece)
        except InputError as error:
            parts = halves(piece)
            if parts is not None:
                waiting += reversed(parts)
                continue
            outcome = error
        yield piece, outcome


@frozen
class Records:
    """How to cut the text of a block into records."""

    middle: Callable[[bytes], int | None]
    """Where a record near the middle of the text ends; None for a single record."""
    bounds: Callable[[bytes, Sequence[int]], list[tuple[int, int]]]
    """Where the records with these numbers, ascending, start and end."""


def readable_records(
    block: Block, columns: "pa.Schema", parse: "Callable[[Block], Parsed]", records: Records, refused: RefusedRows
) -> "pa.RecordBatch":
    """The rows of a block; `refused` takes those that `parse` reports or fails for."""
    import pyarrow as pa
    from skyband.columns.arrow_normalization import no_rows

    def halves(piece: Block) -> tuple[Block, Block] | None:
        cut = records.middle(piece.data)
        return None if cut is None else piece.split(cut)

    batches, row = list[pa.RecordBatch](), 0
    for piece, outcome in sifted(block, parse, halves):
        batch, errors = (no_rows(columns), [_of_row(outcome)]) if isinstance(outcome, InputError) else outcome
        batches.append(batch)
        refused.unread += _refused(row, piece, errors, records)
        row += len(batch) + len(errors)
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _of_row(error: InputError) -> InputError:
    """The error of a piece of text as the error of its only row."""
    return error if error.row is not None else InputError(error.argument, error.message, 0)


def _refused(first: int, piece: Block, errors: "list[InputError]", records: Records) -> Iterator[RefusedRow]:
    rows = [error.row or 0 for error in errors]
    line, counted = 0, 0
    for (begin, end), row, error in zip(records.bounds(piece.data, rows) if rows else (), rows, errors, strict=True):
        text = piece.data[begin:end]
        begin += len(text) - len(text.lstrip())
        line = piece.line_at(begin) if line == 0 else line + piece.source.count(b"\n", counted, begin)
        counted = begin
        yield RefusedRow(first + row, error, text.strip(b"\r\n").decode(errors="replace"), line)


def without_rows(
    batch: "pa.RecordBatch", errors: Mapping[int, InputError], refused: list[RefusedRow], places: Any = None
) -> "pa.RecordBatch":
    """The rows of a batch without an error; the others go to `refused`. places: where each was."""
    import numpy as np
    import pyarrow as pa

    from skyband_jobs.formats.json_rows import json_rows

    rows = sorted(errors)
    texts = json_rows(pa.Table.from_batches([batch.take(pa.array(rows, pa.int64()))]))
    for row, text in zip(rows, texts, strict=True):
        error = errors[row]
        place = row if places is None else int(places[row])
        refused.append(RefusedRow(place, InputError(error.argument, error.message), text))
    return batch.take(pa.array(np.delete(np.arange(len(batch)), rows)))


def middle_line(text: bytes) -> int | None:
    """Where a line near the middle ends; None where no line ends before the text does."""
    middle = len(text) // 2
    end = text.rfind(b"\n", 0, middle) + 1 or text.find(b"\n", middle) + 1
    return end if 0 < end < len(text) else None


def line_bounds(text: bytes, rows: Sequence[int] | None = None) -> list[tuple[int, int]]:
    """Where non-blank lines start and end, all or those with these numbers. O(bytes)."""
    import numpy as np

    marks = np.frombuffer(text, np.uint8)
    ends = np.append(np.flatnonzero(marks == _BREAK) + 1, len(text))
    begins = np.append(0, ends[:-1])
    is_blank = (marks == 32) | (marks == 9) | (marks == 13) | (marks == _BREAK)
    signs = np.append(0, np.cumsum(~is_blank))
    filled = np.flatnonzero(signs[ends] > signs[begins])
    filled = filled if rows is None else filled[rows]
    return [*zip(begins[filled].tolist(), ends[filled].tolist(), strict=True)]


_BREAK = 10
LINES = Records(middle_line, line_bounds)
