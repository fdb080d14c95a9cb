"""Window: selects the uncertain tuples that belong to a window of `size` existing ones."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import define, field

from skyband.arrays import Float64, Int64, column, first_bad_span, within
from skyband.config.parameters import integer, number
from skyband.errors import InputError
from skyband.roles.backend import Backend


@define(eq=False)
class Window(Backend):
    """Keeps the shortest suffix of an uncertain stream that holds `size` existing tuples with probability alpha.

    The whole history is kept until the stream can reach alpha. `start` never moves back. With `beta` the window
    may be shorter (uncert-evict-beta): a tuple is dropped when its presence is strictly below beta, because no
    match with it can then have probability beta or more. A tuple whose presence equals beta stays.
    """

    role: ClassVar[str] = "window"
    exact_up_to: ClassVar[int] = 128
    """Groups of at most this many tuples are summed together, without a backend, if it is exact. 0: none are."""

    size: int = integer(at_least=1, help="number of existing tuples that the window must hold")
    alpha: float = number(above=0, at_most=1, help="probability with which it must hold them")
    beta: float | None = number(None, at_least=0, below=1, help="drop matches below this probability; none: keep all")

    _start: int = field(default=0, init=False)
    _end: int = field(default=0, init=False)

    @property
    def start(self) -> int:
        """Position of the oldest tuple kept, counted from the start of the stream."""
        return self._start

    @property
    def end(self) -> int:
        """The position after the youngest tuple."""
        return self._end

    def append(self, probabilities: npt.ArrayLike) -> Int64:
        """Add tuples that exist with `probabilities` (float64[n], each in [0, 1]), youngest last.

        Returns int64[n]: `start` after each arrival. Raises InputError, the window unchanged, for a probability
        that is NaN or outside [0, 1].
        """
        chances: Float64 = column("probabilities", probabilities, np.float64)
        within("probabilities", chances, 0.0, 1.0)
        starts = self._append(chances)
        self._end += len(chances)
        if len(starts):
            self._start = int(starts[-1])
        return starts

    @abstractmethod
    def _append(self, probabilities: Float64) -> Int64: ...

    def presence(self) -> Float64:
        """float64[end − start], oldest first: P(fewer than `size` younger tuples exist)."""
        probabilities = self._kept()
        return self._presence(
            probabilities, np.arange(len(probabilities)), np.full(len(probabilities), len(probabilities))
        )

    def presence_among(self, probabilities: npt.ArrayLike, positions: npt.ArrayLike, ends: npt.ArrayLike) -> Float64:
        """float64[r]: P(fewer than `size` of the tuples after positions[i] and before ends[i] exist).

        For any stream with these `probabilities` (float64[m]), whatever this window holds; positions and ends
        (int64[r]) count from its first tuple. So a batch can query each tuple's presence at each arrival. Raises
        InputError for a probability outside [0, 1] or unless 0 <= positions[i] < ends[i] <= m.
        """
        chances: Float64 = column("probabilities", probabilities, np.float64)
        within("probabilities", chances, 0.0, 1.0)
        places: Int64 = column("positions", positions, np.int64)
        stops: Int64 = column("ends", ends, np.int64, len(places))
        row = first_bad_span(places + 1, stops, 1, len(chances))
        if row is not None:
            message = (
                f"must be after the position {int(places[row])} and at most {len(chances)} (got {int(stops[row])})"
            )
            raise InputError("ends", message, row)
        return self._presence(chances, places, stops)

    @abstractmethod
    def _presence(self, probabilities: Float64, positions: Int64, ends: Int64) -> Float64: ...

    @abstractmethod
    def _kept(self) -> Float64:
        """The existence probabilities of the tuples from `start` to `end`."""

    def __len__(self) -> int:
        return self._end - self._start
