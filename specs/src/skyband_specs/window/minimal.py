"""window/mine: keeps the probabilities, and adds them up again for every decision."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Float64, Int64
from skyband.roles import Window
from skyband.state_validation import StateReader

CLOSE = 1e-9
"""If floats are this close to the threshold, fractions decide: rounding must not move a tie."""


@define(eq=False)
class MineWindow(Window):
    """The shortest window that holds `size` existing tuples with probability alpha, by definition.

    Parameters
    ----------
    size : int
        number of existing tuples that the window must hold (at least 1)
    alpha : float
        probability with which it must hold them (above 0 and at most 1)
    beta : float, default None
        drop matches below this probability; none: keep all (at least 0 and below 1)

    Complexity
    ----------
    An arrival costs O(size · kept) for each tuple that goes, and one more. Memory is 8 bytes for each tuple kept.

    References
    ----------
    The definition: the shortest suffix that holds `size` existing tuples with probability alpha.

    Examples
    --------
    >>> import skyband
    >>> window = skyband.create("window", "mine", size=2, alpha=0.75)
    >>> window.append([0.5] * 8).tolist()
    [0, 0, 0, 0, 0, 1, 2, 3]
    >>> len(window), window.presence().round(3).tolist()
    (5, [0.312, 0.5, 0.75, 1.0, 1.0])
    """

    name: ClassVar[str] = "mine"

    _held: list[float] = field(factory=list, init=False)

    def _append(self, probabilities: Float64) -> Int64:
        start, starts = self._start, []
        for probability in probabilities.tolist():
            self._held.append(probability)
            while self._oldest_may_go():
                del self._held[0]
                start += 1
            starts.append(start)
        return np.array(starts, np.int64)

    def _oldest_may_go(self) -> bool:
        """Whether the younger ones contain `size` with probability alpha, or the oldest has a presence below beta."""
        younger = self._held[1:]
        if younger.count(1.0) >= self.size:
            return True
        if len(younger) < self.size or (self.alpha == 1.0 and not self.beta):
            return False  # `size` of them may be missing, so alpha = 1 is out of reach
        beta = self.beta or 0.0
        below = fewer_than(self.size, younger)
        if min(abs(below - (1 - self.alpha)), abs(below - beta)) < CLOSE:
            below = fewer_than(self.size, map(Fraction, younger))
        return below <= 1 - Fraction(self.alpha) or below < beta

    def _presence(self, probabilities: Float64, positions: Int64, ends: Int64) -> Float64:
        given = probabilities.tolist()
        pairs = zip(positions.tolist(), ends.tolist(), strict=True)
        return np.array([fewer_than(self.size, given[position + 1 : end]) for position, end in pairs], np.float64)

    def _kept(self) -> Float64:
        return np.array(self._held, np.float64)

    @property
    def nbytes(self) -> int:
        return 8 * len(self._held)

    def _state(self) -> dict[str, Array]:
        return {"held": self._kept(), "bounds": np.array([self._start, self._end], np.int64)}

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)  # a state may come from anyone: check it before using it
        self._start, self._end = reader.ascending("bounds", 2, at_least=0, at_most=2**62).tolist()
        self._held = reader.column("held", np.float64, self._end - self._start, at_least=0, at_most=1).tolist()


def fewer_than(size: int, probabilities: Iterable[Any]) -> Any:
    """P(fewer than `size` exist), in floats or in fractions, as the probabilities are."""
    chances: list[Any] = [1] + [0] * (size - 1)  # chances[k]: exactly k of those seen so far exist
    count = 0
    for count, p in enumerate(probabilities, 1):  # noqa: B007
        chances = [(1 - p) * stay + p * rise for stay, rise in zip(chances, [0, *chances], strict=False)]
    return min(sum(chances), 1) if count >= size else 1
