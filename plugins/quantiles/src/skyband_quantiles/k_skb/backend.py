"""quantile-sketch/k-skb: a uniform sample of the rows since any moment; merges exactly."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import TIME_MAX, TIME_MIN, Array, Float64, Int64, UInt64, read_only
from skyband.kernels.mixing import salt_of
from skyband.state_validation import StateReader

from skyband_quantiles import sketch_parameters, varints
from skyband_quantiles.k_skb import kernels
from skyband_quantiles.role import QuantileSketch
from skyband_quantiles.sample_answers import kth_and_below, of_sample, of_values, smallest
from skyband_quantiles.sample_bounds import likely_count, sample_size
from skyband_quantiles.sample_in_states import EMPTY, Sample, sample_in

_BUFFERED = 8
_CHUNK = 1 << 20
_ANY = 2**62

_NO_PARTS, _NO_LIMITS = np.empty(0, np.int64), np.empty(0)


@define(eq=False)
class KSkb(QuantileSketch):
    """Quantiles of a uniform sample: the k smallest random numbers since any moment, each with its row's value.

    The rank of a value is off by at most `epsilon` of the rows, except for a share `delta` of the answers, and so are
    the bounds. Errors are in ranks, so the scale of the values does not matter, but few rows of a sample are in a tail:
    the bounds of p99 are wide. A sample does not bound extremes: the bounds of the quantiles 0 and 1 are infinite.
    Below k rows, where k is the size of the sample, answers are exact.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    longest : int
        the longest window that it answers, in units of time or in rows (at least 1 and at most 2305843009213693952)
    every : int, default 1
        most windows start at multiples of this (at least 1 and at most 2305843009213693952)
    offset : int, default 0
        how much later than multiples of `every` they start (at least 0 and at most 2305843009213693952)
    cuts : list of float, default ()
        numbers, known in advance, to get the share of rows above each (at most 60, ascending)
    epsilon : float, default 0.02
        the largest error of ranks, as a share of the rows (at least 0.001 and below 1)
    delta : float, default 0.05
        the share of answers that may be off by more than epsilon (at least 1e-09 and below 1)
    seed : int, default 0
        seed of the random numbers; only sketches with equal seeds merge (at least 0 and at most 9223372036854775807)

    Complexity
    ----------
    A row costs O(1) amortised and expected, an answer O(k). Memory is 24 bytes for each entry, of which there are k (1
    + ln(n / k)) for n rows in the longest window; k is 4,613 with epsilon 0.02 and delta 0.05.

    References
    ----------
    Zhang, Zhang, Cheema and Lin, Counting distinct objects over sliding windows, 2010, section 4. Uhlmann 1966 and
    Hoeffding 1963: tails of hypergeometric numbers.

    Examples
    --------
    >>> import skyband
    >>> sketch = skyband.create("quantile-sketch", "k-skb", longest=100)
    >>> sketch.update(times=[0, 1, 2, 3], values=[40.0, 20.0, 30.0, 10.0])
    >>> sketch.quantiles(since=1, at=[0.5])[0].tolist()
    [20.0, 20.0, 20.0]
    """

    name: ClassVar[str] = "k-skb"
    order_matters: ClassVar[bool] = True
    gives_states: ClassVar[bool] = True

    epsilon: float = sketch_parameters.epsilon()
    delta: float = sketch_parameters.delta()
    seed: int = sketch_parameters.seed()

    _size: int = field(init=False)
    _salt: Any = field(init=False)
    _kept: Sample = field(default=EMPTY, init=False)
    """The sample, by descending time."""
    _buffer: list[Sample] = field(factory=list, init=False)
    _buffered: int = field(default=0, init=False)
    _seen: int = field(default=0, init=False)
    """The number of rows with a random number."""

    def __attrs_post_init__(self) -> None:
        self._size = sample_size(self.epsilon, self.delta)
        self._salt = salt_of(self.seed)

    @property
    def exact_up_to(self) -> int:
        """One below the size of the sample, which has all of so few rows."""
        return min(512, self._size - 1)

    def _update(self, times: Int64, values: Float64) -> None:
        bits = np.ascontiguousarray(values).view(np.int64)
        scores = kernels.row_scores(read_only(times), read_only(bits), self._seen, self._salt)
        self._seen += len(times)
        self._buffer.append((times.copy(), scores, values.copy()))
        self._buffered += len(times)
        if self._buffered >= _BUFFERED * self._size:
            self._settle(int(times[-1]))

    def _settle(self, now: int | None) -> None:
        """Add buffered rows to the sample, and drop those older than the longest window."""
        if now is None:
            return
        oldest = min(max(now - self.longest, TIME_MIN), TIME_MAX)
        if not self._buffered and (not len(self._kept[0]) or self._kept[0][-1] >= oldest):
            return
        parts, self._buffer, self._buffered = self._buffer or [EMPTY], [], 0
        columns: list[Any] = [np.concatenate(column) for column in zip(*parts, strict=True)]
        for start in range(0, max(1, len(columns[0])), _CHUNK):
            part = slice(start, start + _CHUNK)
            self._sweep(columns[0][part], columns[1][part], columns[2][part], oldest)

    def _sweep(self, times: Int64, scores: UInt64, values: Float64, oldest: int) -> None:
        new = read_only(times), read_only(scores), read_only(values)
        sample = map(read_only, self._kept)
        self._kept = kernels.sweep(*new, *sample, self._size, oldest)

    def _since(self, since: int) -> tuple[UInt64, Float64]:
        """Random numbers and values of rows since a moment, the smallest among them.

        Nothing is swept: of what waits, all that came since is looked at.
        """
        times, scores, values = self._kept
        count = len(times) - int(np.searchsorted(times[::-1], since))
        if not self._buffer:
            return scores[:count], values[:count]
        if len(self._buffer) > 1:  # batches may have only a row each
            columns: Any = (np.concatenate(column) for column in zip(*self._buffer, strict=True))
            self._buffer = [tuple(columns)]
        waiting_times, waiting_scores, waiting_values = self._buffer[0]
        start = int(np.searchsorted(waiting_times, since))
        waiting_scores, waiting_values = waiting_scores[start:], waiting_values[start:]
        scores, values = smallest(scores[:count], values[:count], self._size)
        if count >= self._size:  # only buffered numbers below the k-th smallest of the rows before are in the sample
            smaller = np.flatnonzero(waiting_scores < scores.max())
            waiting_scores, waiting_values = waiting_scores[smaller], waiting_values[smaller]
        return np.concatenate([scores, waiting_scores]), np.concatenate([values, waiting_values])

    def _answer(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> int:
        """Look up the rows once, for their number and their quantiles."""
        limit, sample = kth_and_below(*self._since(since), self._size)
        values[:], shares[:] = of_values(sample, limit is None, self.delta, parts, limits)
        return len(sample) if limit is None else likely_count(self._size, limit)

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        self._answer(since, parts, limits, values, shares)

    def _count(self, since: int) -> tuple[float, float, float]:
        return of_sample(*self._since(since), self._size, self.delta, _NO_PARTS, _NO_LIMITS)[0]

    def _merge(self, other: Self, now: int) -> None:
        self._settle(self._now)
        other._settle(other._now)
        times, scores, values = other._kept
        self._sweep(times[::-1].copy(), scores[::-1].copy(), values[::-1].copy(), now - self.longest)
        self._seen += other._seen

    def __len__(self) -> int:
        self._settle(self._now)
        return len(self._kept[0])

    @property
    def nbytes(self) -> int:
        """The bytes of the sample and the buffer."""
        return 24 * (len(self._kept[0]) + self._buffered)

    def _state(self) -> dict[str, Array]:
        self._settle(self._now)
        times, scores, values = self._kept
        order = np.lexsort((values, scores, -times))
        times, scores, values = times[order], scores[order], values[order]
        return {
            **self._clock(),
            "seen": np.array([self._seen], np.int64),
            "end": times[:1].copy(),
            "times": varints.to_bytes(times[:-1] - times[1:]),
            "scores": scores,
            "values": values,
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        read = StateReader(state)
        self._set_clock(read.column("clock", np.int64))
        self._seen = read.number("seen", at_least=0, at_most=_ANY)
        times, scores, values = sample_in(read, self._last)
        if len(times):
            assert self._now is not None
            oldest = max(self._now - self.longest, TIME_MIN)
            self._sweep(times[::-1].copy(), scores[::-1].copy(), values[::-1].copy(), oldest)
