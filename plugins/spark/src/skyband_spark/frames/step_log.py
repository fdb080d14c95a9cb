"""The log of a shard's steps in Spark's state: a step is one entry, or several pieces if it is large.

A process that copies 14 MB at a time takes new memory from the system for each copy, and Java keeps such arrays until
a full garbage collection: in pieces the same bytes take a seventh of Python's time.
arrays before it collects all its garbage: in pieces the same bytes take a seventh of Python's time.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from skyband.errors import SnapshotError

PIECE = 1024 * 1024
"""The most bytes of a step in one entry of the state."""
_MOST_PIECES = 1 << 20


class StepLog:
    """Bytes of steps, by their numbers from 1, each with its token. Large steps are stored in pieces."""

    def __init__(self, entries: Any) -> None:
        """entries: the map state, `step bigint` to `token binary, data binary`."""
        self._entries = entries

    def token(self, step: int) -> bytes:
        """The token of an existing step."""
        return bytes(self._entries.getValue((step,))[0])

    def load(self, step: int) -> bytes:
        """The bytes of an existing step."""
        data = bytes(self._entries.getValue((step,))[1])
        return data or b"".join(bytes(self._entries.getValue((key,))[1]) for key in self._pieces(step))

    def write(self, step: int, token: bytes, data: bytes) -> None:
        """Write a new step of at least one byte."""
        if len(data) <= PIECE:
            self._entries.updateValue((step,), (token, data))
            return
        self._entries.updateValue((step,), (token, b""))
        for number, start in enumerate(range(0, len(data), PIECE)):
            self._entries.updateValue((_key(step, number),), (b"", data[start : start + PIECE]))

    def remove(self, steps: Iterable[int]) -> None:
        """Remove existing steps."""
        for step in steps:
            for key in [*self._pieces(step), step]:
                self._entries.removeKey((key,))

    def _pieces(self, step: int) -> Iterable[int]:
        number = 0
        while self._entries.containsKey((_key(step, number),)):
            yield _key(step, number)
            number += 1


def bytes_of(entries: Mapping[int, bytes], step: int) -> bytes:
    """The bytes of a step from all entries of a log, by their keys. Raises SnapshotError where it is missing."""
    if step not in entries:
        raise SnapshotError(f"damaged: the log lacks step {step}")
    pieces, number = [entries[step]], 0
    while not entries[step] and _key(step, number) in entries:
        pieces.append(entries[_key(step, number)])
        number += 1
    return b"".join(pieces)


def _key(step: int, number: int) -> int:
    """The key of a piece: negative, unlike those of steps."""
    return -(step * _MOST_PIECES + number)
