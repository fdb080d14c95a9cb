"""The interface of the two ledgers of the backend `exact`, and their answers."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from skyband.arrays import Array, Int64

ALL, NONE = -1, -2
"""All windows, and no window."""


def windows_of(only: int, windows: int) -> tuple[int, int]:
    """(begin, end) of the windows to answer."""
    return {ALL: (0, windows), NONE: (0, 0)}.get(only, (only, only + 1))


class RawAnswers(NamedTuple):
    """Answers by moment and window: int64[a + 1] offsets, int64[m] objects and totals, int64[a] for the others."""

    offsets: Int64
    objects: Int64
    totals: Int64
    grand: Int64
    rest: Int64
    object_counts: Int64
    """The number of objects with a total above 0."""


def joined(answers: Sequence[RawAnswers]) -> RawAnswers:
    """The answers of one or more ledgers, one after another."""
    offsets, *columns = zip(*answers, strict=True)
    sizes = np.concatenate([np.diff(own) for own in offsets])
    return RawAnswers(np.append(0, np.cumsum(sizes)), *map(np.concatenate, columns))


class Ledger(Protocol):
    """Exact totals by pane."""

    def run(self, times: Int64, objects: Int64, amounts: Any, moments: Int64, only: int = ALL) -> RawAnswers:
        """Add rows and answer at the moments in between, for all windows or only one."""

    def since(self, pane: int) -> tuple[Int64, Int64, int, int, int]:
        """(objects, totals, grand total, largest other total, number of objects) over the panes from this number on."""

    def forget(self, now: int) -> None:
        """Drop what no window holds at this time or later."""

    @property
    def entries(self) -> int:
        """The number of entries."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""

    def columns(self) -> dict[str, Array]:
        """Its entries, in an order that does not depend on their arrival."""
