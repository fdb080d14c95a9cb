"""Matcher: finds the uncertain tuples of a window that are near a probe."""

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from attrs import define, field

from skyband.arrays import FEW, Float64, Int64, column, first_bad_span, offsets_of, whole, within
from skyband.config.parameters import number
from skyband.errors import InputError
from skyband.roles.backend import Backend


@define(eq=False)
class Matcher(Backend):
    """Holds the uncertain tuples of a window, each a set of weighted samples, and matches probes against them.

    The probability of a match is the sum of Pr(u_i)·Pr(v_j) over the pairs of samples with |u_i − v_j| <= epsilon,
    all in float64. It is summed over the probe's samples and, for each, over the tuple's, both ascending by
    (value, probability): so every matcher returns the same bits for any order of the samples.
    """

    role: ClassVar[str] = "matcher"
    exact_up_to: ClassVar[int] = 128
    """Groups of at most this many tuples are joined together, without a backend, if it is exact. 0: none are."""

    epsilon: float = number(at_least=0, help="two samples match if they differ by at most this much")

    beta: float | None = number(None, at_least=0, below=1, help="drop matches below this probability; none: keep all")

    _start: int = field(default=0, init=False)
    _end: int = field(default=0, init=False)

    @property
    def start(self) -> int:
        """Position of the oldest tuple held, counted from the start of the stream."""
        return self._start

    @property
    def end(self) -> int:
        """The position after the youngest tuple."""
        return self._end

    def append(self, offsets: npt.ArrayLike, values: npt.ArrayLike, probabilities: npt.ArrayLike) -> None:
        """Add n tuples: samples offsets[i]..offsets[i+1] (int64[n+1]) of `values` and `probabilities` (float64[m]).

        Raises InputError, the matcher unchanged, for samples and probabilities of different lengths, values that
        are not finite, probabilities outside [0, 1], or a tuple whose probabilities sum to more than 1.
        """
        cuts, samples, weights = checked_tuples(offsets, values, probabilities)
        self._append(cuts, samples, weights)
        self._end += len(cuts) - 1

    @abstractmethod
    def _append(self, offsets: Int64, values: Float64, probabilities: Float64) -> None: ...

    def evict(self, start: int) -> None:
        """Forget the tuples before position `start`. Raises InputError if `start` goes back or past the end."""
        first = whole("start", start)
        if not self._start <= first <= self._end:
            raise InputError("start", f"must be from {self._start} to {self._end} (got {first})")
        self._evict(first)
        self._start = first

    @abstractmethod
    def _evict(self, start: int) -> None: ...

    def match(self, values: npt.ArrayLike, probabilities: npt.ArrayLike) -> tuple[Int64, Float64]:
        """The tuples near a probe of s samples: (positions int64[r] ascending, probability float64[r]).

        Only tuples with a probability above 0 and at least `beta`. Raises InputError as `append` does.
        """
        samples: Float64 = column("values", values, np.float64)
        _, positions, probabilities_of_matches = self.match_all(np.array([0, len(samples)]), samples, probabilities)
        return positions, probabilities_of_matches

    def match_all(
        self,
        offsets: npt.ArrayLike,
        values: npt.ArrayLike,
        probabilities: npt.ArrayLike,
        starts: npt.ArrayLike | None = None,
        ends: npt.ArrayLike | None = None,
    ) -> tuple[Int64, Int64, Float64]:
        """Match many probes at once: (probes int64[r], positions int64[r], probability float64[r]), ascending.

        Probes have the form of the tuples of `append`. Probe i sees the tuples held from starts[i] up to, but not
        including, ends[i] (int64[n]; by default all that are held), so that a batch of arrivals can be appended
        first and each still be matched against its own window. Raises InputError as `append` does.
        """
        cuts, samples, weights = checked_tuples(offsets, values, probabilities)
        n = len(cuts) - 1
        low: Int64 = np.full(n, self._start) if starts is None else column("starts", starts, np.int64, n)
        high: Int64 = np.full(n, self._end) if ends is None else column("ends", ends, np.int64, n)
        row = first_bad_span(low, high, self._start, self._end)
        if row is not None:
            message = f"{int(low[row])} to {int(high[row])} is not within {self._start} to {self._end}, the tuples held"
            raise InputError("starts", message, row)
        return self._match(cuts, samples, weights, low, high)

    @abstractmethod
    def _match(
        self, offsets: Int64, values: Float64, probabilities: Float64, starts: Int64, ends: Int64
    ) -> tuple[Int64, Int64, Float64]: ...

    def __len__(self) -> int:
        return self._end - self._start


SUM_SLACK = 1e-9
"""How far above 1 a tuple's probabilities may sum because of rounding."""


def checked_tuples(
    offsets: npt.ArrayLike, values: npt.ArrayLike, probabilities: npt.ArrayLike
) -> tuple[Int64, Float64, Float64]:
    """The three arrays of a batch of uncertain tuples. Raises InputError naming the argument and the row."""
    samples: Float64 = column("values", values, np.float64)
    weights: Float64 = column("probabilities", probabilities, np.float64, len(samples))
    cuts: Int64 = column("offsets", offsets, np.int64)
    offsets_of("offsets", cuts, len(samples))
    if len(samples) > FEW or not all(map(math.isfinite, samples.tolist())):
        finite = np.isfinite(samples)
        if not finite.all():
            row = int((~finite).argmax())
            raise InputError("values", f"must be finite (got {samples[row].item()!r})", row)
    within("probabilities", weights, 0.0, 1.0)
    if len(weights) <= FEW and sum(weights.tolist()) <= 1.0:  # all tuples together: enough for small batches
        return cuts, samples, weights
    sums = np.add.reduceat(np.append(weights, 0.0), cuts[:-1]) if len(cuts) > 1 else np.empty(0)
    sums[cuts[1:] == cuts[:-1]] = 0.0
    if (sums > 1.0 + SUM_SLACK).any():
        row = int((sums > 1.0 + SUM_SLACK).argmax())
        raise InputError("probabilities", f"sum to {sums[row]:g}; a tuple's may sum to at most 1", row)
    return cuts, samples, weights
