"""Splits a JSON array, or objects over several lines, into text with one object a line."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from attrs import define
from skyband.errors import InputError

from skyband_jobs.files.text_blocks import Block, blocks
from skyband_jobs.kernels.record_boundaries import json_elements


def object_blocks(path: Path, encoding: str | None, size: int | None = None) -> Iterator[Block]:
    """A file in blocks of whole objects, each on its own line; memory is that of a block, or of one object.

    Raises InputError where its array does not end.
    """
    depth = 0
    for block in blocks(path, _Cut(), size, encoding=encoding):
        text, depth, last = _one_a_line(block.data, 0 if block.is_first else 1)
        end = last if not block.is_cut and depth > 0 else len(text)
        if text[:end].strip():
            yield Block(text[:end], block.line, block.is_first, block.is_cut, text=block.data[:end])
    if depth > 0:
        raise InputError(str(path), "its JSON array or object does not end: is the file truncated?")


def one_a_line(data: bytes, depth: int = 0) -> tuple[bytes, int]:
    """Text of the same length as `data` with one object a line, and how deep its end is inside brackets.

    depth: 1 where it starts inside the array.
    """
    text, depth, _ = _one_a_line(data, depth)
    return text, depth


def _one_a_line(data: bytes, depth: int) -> tuple[bytes, int, int]:
    """The same, and where the last element ends that another follows."""
    lines = np.frombuffer(data, np.uint8).copy()
    last, depth = json_elements(lines, depth)
    return lines.tobytes(), depth, last


@define
class _Cut:
    """Finds the last comma between elements, in text from the start of the file, then in text after such a comma."""

    _depth: int = 0

    def __call__(self, data: bytes) -> int:
        end, _ = json_elements(np.frombuffer(data, np.uint8).copy(), self._depth)
        if end:
            self._depth = 1
        return int(end)
