"""Rows of a source that cannot be read: each is put aside alone, and found by halving the rows that it came with."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define, field, frozen
from skyband.errors import InputError

from skyband_jobs.files.text_blocks import Block

if TYPE_CHECKING:
    import pyarrow as pa

    from skyband_jobs.formats import Refuse

    Parsed = tuple[pa.RecordBatch, list[InputError]]
    """Rows, and what is wrong with each of the others, ascending, by their places among all."""

P = TypeVar("P")
R = TypeVar("R")


@frozen
class RefusedRow:
    """A row that cannot be read."""

    place: int
    """Where it stands in the batch that was read, the refused rows counted too."""
    error: InputError
    text: str
    """The row itself."""
    line: int | None = None
    """The line of the file that it begins in, of text."""


@define
class RefusedRows:
    """Takes the rows that are refused while a batch is made, until the batch is there."""

    refuse: "Refuse"
    """What takes them then, each with its file and its place there."""
    unread: list[RefusedRow] = field(factory=list, init=False)
    """Those that are not in the batch because they cannot be read."""
    shaped: list[RefusedRow] = field(factory=list, init=False)
    """Those that are, and for which `where` or `select` fails."""

    def clear(self) -> None:
        """Forget them."""
        self.unread.clear()
        self.shaped.clear()


def sifted(
    whole: P, parse: Callable[[P], R], halves: Callable[[P], tuple[P, ...] | None]
) -> Iterator[tuple[P, R | InputError]]:
    """What `parse` makes of all that it can read, in pieces as large as they can be, and the error of each single row.

    halves: cuts a piece in two; None of a piece that is one row. O(log rows) readings of fewer and fewer rows for each
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
    """How the text of a block is cut into records."""

    middle: Callable[[bytes], int | None]
    """Where a record ends that is about the middle one of text; None of a single record."""
    bounds: Callable[[bytes, Sequence[int]], list[tuple[int, int]]]
    """Where the records of these numbers, ascending, begin and end."""


def readable_records(
    block: Block, columns: "pa.Schema", parse: "Callable[[Block], Parsed]", records: Records, refused: RefusedRows
) -> "pa.RecordBatch":
    """The rows of a block without those that `refused` takes: those that `parse` tells of, and those it fails for."""
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
    """What is wrong with a piece of text as what is wrong with its only row."""
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
    """The rows of a batch without those that have an error, which go to `refused`; places: where each stood."""
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
    """Where a line ends that is about the middle one; None where no line ends before the text does."""
    middle = len(text) // 2
    end = text.rfind(b"\n", 0, middle) + 1 or text.find(b"\n", middle) + 1
    return end if 0 < end < len(text) else None


def line_bounds(text: bytes, rows: Sequence[int] | None = None) -> list[tuple[int, int]]:
    """Where lines that are not blank begin and end, all or those of these numbers. O(bytes)."""
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
