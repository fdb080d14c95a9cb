"""A file of JSON that is one array, or one object over several lines: the same text with an object a line."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from attrs import define
from skyband.errors import InputError
from skyband.kernels.record_boundaries import json_elements

from skyband_jobs.files.text_blocks import SIZE, Block, blocks


def object_blocks(path: Path, encoding: str | None, size: int = SIZE) -> Iterator[Block]:
    """A file in blocks of whole objects, each in a line of its own; memory is that of a block, or of its one object.

    Raises InputError where its array does not end.
    """
    depth = 0
    for block in blocks(path, _Cut(), size, encoding=encoding):
        text, depth = one_a_line(block.data, 0 if block.is_first else 1)
        if not block.is_cut and depth > 0:
            break
        if text.strip():
            yield Block(text, block.line, block.is_first, block.is_cut, text=block.data)
    if depth > 0:
        raise InputError(str(path), "its array or object of JSON does not end: is the file cut short?")


def one_a_line(data: bytes, depth: int = 0) -> tuple[bytes, int]:
    """Text as long as `data` with an object of it a line, and how deep its end is within brackets.

    depth: 1 where it begins within the array.
    """
    lines = np.frombuffer(data, np.uint8).copy()
    _, depth = json_elements(lines, depth)
    return lines.tobytes(), depth


@define
class _Cut:
    """Where the last comma between elements is, in text that begins with the file, later after such a comma."""

    _depth: int = 0

    def __call__(self, data: bytes) -> int:
        end, _ = json_elements(np.frombuffer(data, np.uint8).copy(), self._depth)
        if end:
            self._depth = 1
        return int(end)
