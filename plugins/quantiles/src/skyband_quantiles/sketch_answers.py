"""What a quantile sketch answers at many moments over several windows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from skyband.arrays import Float64, Int64


class Answers(NamedTuple):
    """Of each moment and window: rows int64[m, w] (0: no row), values float64[m, w, q, 3], shares float64[m, w, a, 3].

    The three are the value or share itself, and bounds of it, low and high; NaN where there is no row.
    """

    rows: Int64
    values: Float64
    shares: Float64

    @classmethod
    def room(cls, moments: int, windows: int, quantiles: int, limits: int) -> "Answers":
        """Nothing answered yet."""
        return cls(
            np.zeros((moments, windows), np.int64),
            np.full((moments, windows, quantiles, 3), np.nan),
            np.full((moments, windows, limits, 3), np.nan),
        )

    @classmethod
    def joined(cls, answers: "Sequence[Answers]") -> "Answers":
        """Those of several sketches, one's after another's. At least one."""
        return cls(*(np.concatenate(column) for column in zip(*answers, strict=True)))
