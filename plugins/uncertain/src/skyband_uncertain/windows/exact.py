"""window/exact: the Poisson-binomial window, maintained by two stacks."""

from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Float64, Int64

from skyband_uncertain.poisson_binomial import presence
from skyband_uncertain.windows import exact_kernels as kernels
from skyband_uncertain.windows.window_base import KeptWindow

_FEWEST = 1e-290


@define(eq=False)
class ExactWindow(KeptWindow):
    """The shortest window that holds `size` existing tuples with probability alpha, decided exactly.

    Each tuple of the stream exists with its own probability, so the number of existing tuples in a window has a
    Poisson-binomial distribution. Two stacks of partial products of that distribution are kept, one growing with
    arrivals and one shrinking with evictions, so that no decision starts from scratch. Decisions equal the definition:
    if floats are too close to decide, whole numbers do.

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
    An arrival costs O(sqrt(v)) amortised, where v is the variance of the number of existing tuples (about size/8 for
    probabilities with standard deviation 0.1). Memory is O(sqrt(size·v)), plus 8 bytes for each tuple kept.

    References
    ----------
    Dallachiesa, Jacques-Silva, Gedik, Wu and Palpanas, Sliding windows over uncertain data streams, KAIS 2015:
    equations 4 and 28 define the windows (uncert-evict and uncert-evict-beta). The two stacks are Skyband's own.

    Examples
    --------
    >>> import skyband
    >>> window = skyband.create("window", "exact", size=2, alpha=0.75)
    >>> window.append([0.5] * 8).tolist()
    [0, 0, 0, 0, 0, 1, 2, 3]
    >>> len(window), window.presence().round(3).tolist()
    (5, [0.312, 0.5, 0.75, 1.0, 1.0])
    """

    name: ClassVar[str] = "exact"

    _cursor: Int64 = field(factory=lambda: np.zeros(kernels.FIELDS, np.int64), init=False)
    _back: Float64 = field(factory=lambda: np.zeros(1), init=False)
    _rows: Float64 = field(factory=lambda: np.empty(0), init=False)
    _bands: Int64 = field(factory=lambda: np.empty(0, np.int64), init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._cursor[[kernels.MID, kernels.BLOCK]] = 1
        self._cursor[[kernels.ONE, kernels.ZERO]] = self.size
        self._cursor[kernels.SEGMENT] = -1

    @property
    def _limit(self) -> tuple[float, float]:
        limit = float(self._threshold.limit)
        return limit, max(limit * 1e-17, _FEWEST)

    def _decide(self, first: int) -> Int64:
        limit, trim = self._limit
        history, cursor = self._history, self._cursor
        stop = history.count
        starts = np.empty(stop - first, np.int64)
        self._deepen(stop - first)
        cursor[kernels.NEXT] = first
        while True:
            p = history.buffer
            reason = kernels.advance(
                p, stop, cursor, self._back, self._rows, self._bands, starts, first, self.size, limit, trim
            )
            if reason == kernels.DONE:
                return starts
            if reason == kernels.GROW:
                self._widen()
            else:
                suffix = p[cursor[kernels.START] + 1 : cursor[kernels.NEXT] + 1]
                reached = self._threshold.reached(suffix, self.size)
                cursor[kernels.VERDICT] = kernels.EVICT if reached else kernels.KEEP

    def _presence(self, probabilities: Float64, positions: Int64, ends: Int64) -> Float64:
        return presence(probabilities, positions, ends, self.size)

    def _shift(self, forgotten: int) -> None:
        self._cursor[[kernels.START, kernels.MID, kernels.TIE_START, kernels.TIE_STOP]] -= forgotten
        if self._cursor[kernels.TIE_START] < 0:
            self._cursor[kernels.TIE_VERDICT] = kernels.UNKNOWN

    def _deepen(self, arrivals: int) -> None:
        """Make room in the back for `arrivals` more counts; it is never deeper than `size`."""
        depth = min(self.size, self.size - int(self._cursor[kernels.ONE]) + arrivals)
        if depth >= len(self._back):
            back = np.zeros(min(self.size, 2 * depth) + 1)
            back[len(back) - len(self._back) :] = self._back
            self._back = back

    def _widen(self) -> None:
        needed, stride = self._cursor[[kernels.NEEDED, kernels.STRIDE]]
        self._rows = np.empty(needed * stride * 5 // 4)
        self._bands = np.empty(needed * 15 // 4, np.int64)

    def _taken_over(self) -> None:
        _, trim = self._limit
        cursor, count = self._cursor, self._history.count
        cursor[kernels.START] = 0
        while not kernels.front_of(
            self._history.buffer, min(1, count), count, self.size, trim, self._back, self._rows, self._bands, cursor
        ):
            self._widen()
        cursor[kernels.MID] = max(count, 1)

    @property
    def nbytes(self) -> int:
        """Bytes of the probabilities kept, the two stacks and the cursor."""
        stacks = (self._cursor, self._back, self._rows, self._bands)
        return 8 * len(self) + sum(array.nbytes for array in stacks)
