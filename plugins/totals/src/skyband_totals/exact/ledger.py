"""The answers of the two ledgers of the backend `exact`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from skyband.arrays import Int64

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
