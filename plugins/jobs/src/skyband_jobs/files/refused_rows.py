"""Rows of a source that cannot be read: each is put aside alone, and found by halving the rows that it came with."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from attrs import define, field, frozen
from skyband.errors import InputError

from skyband_jobs.files.text_blocks import Block

if TYPE_CHECKING:
    import pyarrow as pa

    from skyband_jobs.formats import Refuse

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


def readable_records(
    block: Block,
    columns: "pa.Schema",
    parse: "Callable[[Block], pa.RecordBatch]",
    middle: Callable[[bytes], int | None],
    refused: RefusedRows | None,
) -> "pa.RecordBatch":
    """The rows of a block without those that `refused` takes. Raises InputError at the first where it is None.

    middle: where a record ends that is about the middle one of text; None of a single record.
    """
    import pyarrow as pa
    from skyband.columns.arrow_normalization import no_rows

    if refused is None:
        return parse(block)

    def halves(piece: Block) -> tuple[Block, Block] | None:
        cut = middle(piece.data)
        return None if cut is None else piece.split(cut)

    batches, row = list[pa.RecordBatch](), 0
    for piece, outcome in sifted(block, parse, halves):
        if isinstance(outcome, InputError):
            refused.unread.append(_refused(row, piece, outcome))
            row += 1
        else:
            batches.append(outcome)
            row += len(outcome)
    return batches[0] if len(batches) == 1 else pa.concat_batches([no_rows(columns), *batches])


def readable_rows(
    batch: "pa.RecordBatch", parse: "Callable[[pa.RecordBatch, int], R]", refused: list[RefusedRow]
) -> list[R]:
    """What `parse` makes of the rows of a batch, and where these begin, without those that `refused` takes."""
    import pyarrow as pa

    from skyband_jobs.formats.json_rows import json_rows

    def halves(piece: "tuple[pa.RecordBatch, int]") -> "tuple[tuple[pa.RecordBatch, int], ...] | None":
        rows, first = piece
        half = len(rows) // 2
        return ((rows.slice(0, half), first), (rows.slice(half), first + half)) if half else None

    outcomes = list[R]()
    for (rows, first), outcome in sifted((batch, 0), lambda piece: parse(*piece), halves):
        if isinstance(outcome, InputError):
            refused.append(RefusedRow(first, outcome, next(json_rows(pa.Table.from_batches([rows])))))
        else:
            outcomes.append(outcome)
    return outcomes


def _refused(row: int, record: Block, error: InputError) -> RefusedRow:
    begin = len(record.data) - len(record.data.lstrip())
    text = record.data.strip(b"\r\n").decode(errors="replace")
    return RefusedRow(row, error, text, record.line_at(begin))


def middle_line(text: bytes) -> int | None:
    """Where a line ends that is about the middle one; None where no line ends before the text does."""
    middle = len(text) // 2
    end = text.rfind(b"\n", 0, middle) + 1 or text.find(b"\n", middle) + 1
    return end if 0 < end < len(text) else None
