"""What the two ledgers of the backend `exact` have in common."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from skyband.arrays import Array, Int64

ALL, NONE = -1, -2
"""Every window, and no window."""


def windows_of(only: int, windows: int) -> tuple[int, int]:
    """begin, end: those windows that answers are for."""
    return {ALL: (0, windows), NONE: (0, 0)}.get(only, (only, only + 1))


class RawAnswers(NamedTuple):
    """Answers by moment and window: int64[a + 1] offsets, int64[m] objects and totals, int64[a] grand, rest and some,
    the number of objects with a total above 0.
    """

    offsets: Int64
    objects: Int64
    totals: Int64
    grand: Int64
    rest: Int64
    some: Int64


def joined(answers: Sequence[RawAnswers]) -> RawAnswers:
    """Those of several ledgers, one's after another's. At least one."""
    offsets, *columns = zip(*answers, strict=True)
    sizes = np.concatenate([np.diff(own) for own in offsets])
    return RawAnswers(np.append(0, np.cumsum(sizes)), *map(np.concatenate, columns))


class Ledger(Protocol):
    """Exact totals by pane."""

    def run(self, times: Int64, objects: Int64, amounts: Any, moments: Int64, only: int = ALL) -> RawAnswers:
        """Take in rows and answer at moments on the way, for all windows or only one."""

    def since(self, pane: int) -> tuple[Int64, Int64, int, int, int]:
        """(objects, totals, grand total, largest other total, number of objects) over the panes from this number on."""

    def forget(self, now: int) -> None:
        """Let go of what no window holds at this time or later."""

    @property
    def entries(self) -> int:
        """Items retained."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""

    def columns(self) -> dict[str, Array]:
        """What it holds in one order, however it came."""
