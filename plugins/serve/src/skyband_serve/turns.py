"""The log of turns: what a turn reads is written down before it is done, so that it can be done again exactly.

A turn is a micro-batch. It is a line of JSON with its checksum; a kill can leave the last line incomplete, and such a
turn was never begun.
"""

import errno
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from attrs import asdict, frozen
from skyband.errors import SnapshotError
from skyband_jobs.running.savepoint import make_folder, sync_folder

_DAMAGED = "restore it from a backup, or start the stream with a new checkpoint and a new sink"


@frozen
class Turn:
    """One turn: all that decides its answers, besides the state before it."""

    number: int
    rows: Any = None
    """The part of the source that it reads, as the source describes it; None: no rows."""
    rules: Any = None
    """The same for the query's second table."""
    tick: int | None = None
    """Microseconds since the epoch by the clock, where the stream follows it while idle."""
    started: int | None = None
    """The clock when the run started: earlier idle time does not count."""
    finish: bool = False
    """Whether it treats the input as complete."""
    job: Any = None
    """What of the job decides its answers, as `answers_of` says it; None: the same as for the turn before."""


class TurnLog:
    """A file of turns, open for more. durable: each turn is on disk before `append` returns."""

    def __init__(self, path: Path, durable: bool = True) -> None:
        self.path, self._durable = path, durable
        make_folder(path.parent)
        self._end = _parse(path)[1] if path.exists() else 0
        self._file = path.open("ab", buffering=0)
        self._file.truncate(self._end)
        if durable:
            os.fsync(self._file.fileno())
            sync_folder(path.parent)

    def append(self, turn: Turn) -> None:
        """Write a turn down, whole or not at all. Raises OSError where the disk is full or fails."""
        line = _line(turn)
        try:
            if self._file.write(line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            if self._durable:
                os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(self._end)
            raise
        self._end += len(line)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def turns_in(path: Path) -> list[Turn]:
    """The turns of a log. Raises SnapshotError where a line before the last one is damaged."""
    return _parse(path)[0]


def _parse(path: Path) -> tuple[list[Turn], int]:
    """The turns, and the bytes of the whole lines."""
    turns, end = list[Turn](), 0
    lines = path.read_bytes().splitlines(keepends=True)
    for place, line in enumerate(lines):
        turn = _parsed(line)
        if turn is None and place == len(lines) - 1:
            return turns, end
        if turn is None or (turns and turn.number != turns[-1].number + 1):
            raise SnapshotError(f"damaged: line {place + 1} of {str(path)!r} is not the next turn: {_DAMAGED}")
        turns.append(turn)
        end += len(line)
    return turns, end


def _line(turn: Turn) -> bytes:
    text = json.dumps(asdict(turn, filter=lambda _, value: value is not None and value is not False)).encode()
    return b"%08x %s\n" % (crc32(text), text)


def _parsed(line: bytes) -> Turn | None:
    sum_, _, text = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or sum_ != b"%08x" % crc32(text):
        return None
    try:
        return Turn(**json.loads(text))
    except (ValueError, TypeError, RecursionError):
        return None


def later_turns(logs: Sequence[Path], number: int, least: int = 0) -> Iterator[Turn]:
    """The turns after this number, in logs in order; a log goes on after a savepoint whose own was not begun.

    Raises SnapshotError where one is missing. least: the last turn that was surely done.
    """
    for path in logs:
        for turn in turns_in(path):
            if turn.number <= number:
                continue
            if turn.number != number + 1:
                raise SnapshotError(f"damaged: {str(path.parent)!r} has turn {turn.number} after {number}: {_DAMAGED}")
            number = turn.number
            yield turn
    if number < least:
        raise SnapshotError(f"damaged: the turns after {number} are gone, up to turn {least}: {_DAMAGED}")
