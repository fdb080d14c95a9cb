"""Text files as Spark's format `text` has them: a row for each line, in the one column `value`."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from skyband_jobs.files.text_blocks import ByteRange, blocks, is_utf8
from skyband_jobs.files.utf8 import check_utf8

SCHEMA = pa.schema([("value", pa.string())])


def read_lines(path: Path, columns: pa.Schema, within: ByteRange | None = None) -> Iterator[pa.RecordBatch]:
    """A file's lines, or those of a range, empty ones too, without what ends them. Raises InputError."""
    for block in blocks(path, lambda data: data.rfind(b"\n") + 1, within=within):
        if not is_utf8(block.data):
            check_utf8(path)
        lines = lines_of(block.data)
        yield pa.RecordBatch.from_arrays([lines] * len(columns), schema=columns)


def lines_of(data: bytes) -> pa.Array:
    """Each line of text; a last one without an end is one too."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    text = data.removesuffix(b"\n")
    return pc.split_pattern(pa.array([text], pa.string()), "\n").flatten() if data else pa.array([], pa.string())
