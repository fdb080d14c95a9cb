"""The answers of a quantile sketch at many moments over several windows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from skyband.arrays import Float64, Int64


class Answers(NamedTuple):
    """For each moment and window: rows int64[m, w], values float64[m, w, q, 3], shares float64[m, w, a, 3].

    The last axis is the value or share itself, low and high; NaN if there are no rows.
    """

    rows: Int64
    values: Float64
    shares: Float64

    @classmethod
    def room(cls, moments: int, windows: int, quantiles: int, limits: int) -> "Answers":
        """Answers that are not written yet."""
        return cls(
            np.zeros((moments, windows), np.int64),
            np.full((moments, windows, quantiles, 3), np.nan),
            np.full((moments, windows, limits, 3), np.nan),
        )

    @classmethod
    def joined(cls, answers: "Sequence[Answers]") -> "Answers":
        """The answers of several sketches (at least one), concatenated."""
        return cls(*(np.concatenate(column) for column in zip(*answers, strict=True)))
