"""Window: which uncertain tuples belong to a window of `size` existing ones."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import define, field

from skyband.arrays import Float64, Int64, column, within
from skyband.parameters import integer, number
from skyband.roles.backend import Backend


@define(eq=False)
class Window(Backend):
    """Keeps the shortest suffix of an uncertain stream that holds `size` existing tuples with probability alpha.

    Until the stream can reach alpha the whole history is kept. `start` never moves back. With `beta` the
    window may be shorter still: a tuple whose presence is below 1 − beta … can no longer be part of a match
    of probability above beta (uncert-evict-beta).
    """

    role: ClassVar[str] = "window"

    size: int = integer(at_least=1, help="existing tuples the window must hold")
    alpha: float = number(above=0, at_most=1, help="probability with which it must hold them")
    beta: float | None = number(None, at_least=0, below=1, help="matches at or below this probability are not wanted")

    _start: int = field(default=0, init=False)
    _end: int = field(default=0, init=False)

    @property
    def start(self) -> int:
        """Position, counted from the start of the stream, of the oldest tuple kept."""
        return self._start

    @property
    def end(self) -> int:
        """Position one past the youngest tuple."""
        return self._end

    def append(self, probabilities: npt.ArrayLike) -> Int64:
        """Add tuples that exist with `probabilities` (float64[n], each in [0, 1]), youngest last.

        Returns int64[n]: `start` after each arrival. Raises InputError, the window unchanged, on a probability
        that is NaN or outside [0, 1].
        """
        given: Float64 = column("probabilities", probabilities, np.float64)
        within("probabilities", given, 0.0, 1.0)
        starts = self._append(given)
        self._end += len(given)
        if len(starts):
            self._start = int(starts[-1])
        return starts

    @abstractmethod
    def _append(self, probabilities: Float64) -> Int64: ...

    @abstractmethod
    def presence(self) -> Float64:
        """float64[end − start], oldest first: P(fewer than `size` younger tuples exist)."""

    def __len__(self) -> int:
        return self._end - self._start
