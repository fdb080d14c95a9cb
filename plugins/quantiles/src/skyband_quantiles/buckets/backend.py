"""quantile-sketch/buckets: a history of histograms whose buckets are prefixes of the bits of a float."""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import TIME_MAX, TIME_MIN, Array, Float64, Int64, read_only
from skyband.state_validation import StateReader

from skyband_quantiles import sketch_parameters
from skyband_quantiles.buckets import kernels
from skyband_quantiles.buckets.compaction import DONE, MORE_ENTRIES, MORE_NODES, MORE_RAW
from skyband_quantiles.buckets.contents import Contents, keys_of, raw_rows, widest_shift
from skyband_quantiles.buckets.history import (
    NODE_START,
    NODES,
    RAW,
    RAW_START,
    SOME_ENTRIES,
    SOME_NODES,
    SOME_PLACES,
    STEP,
    TABLED,
    History,
    empty,
    with_entries,
    with_nodes,
    with_places,
    with_raw,
    with_windows,
)
from skyband_quantiles.buckets.history_reading import reading_of
from skyband_quantiles.buckets.reading import Reading
from skyband_quantiles.buckets.state_arrays import contents_of, history_of
from skyband_quantiles.buckets.uniting import Rules, unite
from skyband_quantiles.role import QuantileSketch, Questions
from skyband_quantiles.sketch_answers import Answers

_MOST_PANES = 512
"""The most panes whose borders nodes do not cross: with more, the additional nodes would cost more than they help."""
_MOST_PARTS = 256
_NO_TIMES, _NO_VALUES = np.empty(0, np.int64), np.empty(0)


@define(eq=False)
class Buckets(QuantileSketch):
    """Counts rows by bucket, in nodes that hold more rows the older they are; the latest rows are kept unchanged.

    A bucket is a prefix of the bits of a float: it holds the values within a relative distance `alpha` of its middle,
    or a single value while there are at most 1024. Low and high are always certain: since multiples of `every` (moved
    by `offset`), up to 512 of them, it is known which rows count, and values are off by at most `alpha`. Since other
    moments, it may be unknown for at most `epsilon` of the rows whether they count, after merges for little over three
    times as many. Exact over the latest 64 / epsilon rows, and with few values; shares above `cuts` are exact if it is
    known which rows count.

    If values are close to one another, `alpha` of the value may be many ranks: use a smaller one, or another backend.

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
    alpha : float, default 0.01
        the largest relative error of values (at least 1e-06 and below 1)
    epsilon : float, default 0.02
        the largest share of the rows for which it may be unknown whether they count (at least 0.001 and at most 0.5)

    Complexity
    ----------
    A row costs O(1) amortised, an answer of windows that begin at multiples of `every` O(buckets), since another moment
    O(entries). Memory is 20 bytes for each of 64 / epsilon raw rows and 12 for each entry, a bucket of a node: there
    are some 1.44 ln(n epsilon / 64) / epsilon nodes for n rows, and one more for each multiple of `every`.

    References
    ----------
    Datar, Gionis, Indyk and Motwani, Maintaining stream statistics over sliding windows, 2002: the nodes. Masson, Rim
    and Lee, DDSketch, VLDB 2019: the relative bound, by logarithms; here by bits, as Prometheus' native histograms.

    Examples
    --------
    >>> import skyband
    >>> sketch = skyband.create("quantile-sketch", "buckets", longest=100_000)
    >>> sketch.update(times=range(100_000), values=[2.0 ** (i % 20) for i in range(100_000)])
    >>> sketch.quantile(since=50_000, q=0.5)
    (1024.0, 512.0, 1024.0)
    """

    name: ClassVar[str] = "buckets"
    order_matters: ClassVar[bool] = True
    gives_states: ClassVar[bool] = True
    bounds_ranks: ClassVar[bool] = True

    alpha: float = sketch_parameters.alpha()
    epsilon: float = sketch_parameters.epsilon_of_rows()

    _history: History = field(init=False)
    _windows: tuple[int, ...] = field(default=(), init=False)
    _rules: Any = field(init=False)
    _panes: Int64 = field(init=False)
    """The length and offset of a pane, and whether nodes end with it."""
    _parts: list[Contents] = field(factory=list, init=False)
    """What was merged since the last row. A question unites all of them at once, and after further merges again all,
    so that no union is part of another."""
    _uniting_since: int | None = field(default=None, init=False)
    """The moment since which merged rows count, if they are not united yet: unions do not depend on questions."""

    def __attrs_post_init__(self) -> None:
        bordered = self.longest <= _MOST_PANES * self.every
        self._panes = np.array([self.every, self.offset % self.every, bordered], np.int64)
        panes = (self.every, self.offset % self.every) if bordered else None
        cuts = np.array(self.cuts, np.float64)
        self._rules = Rules(self.epsilon, raw_rows(self.epsilon), widest_shift(self.alpha), panes, cuts)
        self._history = empty(len(self.cuts))

    @property
    def exact_up_to(self) -> int:
        """The rows that are certainly still raw."""
        return min(512, self._rules.raw_most - 32)

    def _update(self, times: Int64, values: Float64) -> None:
        self._unite()
        self._parts = []
        self._run(_columns(times, values), (0, len(times)), _NO_QUESTIONS, (0, 0), Answers.room(0, 0, 0, 0))

    def _answers(
        self, times: Int64, values: Float64, moments: Int64, windows: Int64, parts: Int64, limits: Float64
    ) -> Answers:
        spans, questions = np.array([[0, len(times)]]), (windows, parts, limits)
        return self._answers_together([self], (times, values), spans, [moments], questions)

    @classmethod
    def _answers_together(
        cls,
        sketches: Sequence[Self],
        rows: tuple[Int64, Float64],
        spans: Int64,
        moments: Sequence[Int64],
        questions: Questions,
    ) -> Answers:
        ends = [0, *accumulate(map(len, moments))]
        answers = Answers.room(ends[-1], *map(len, questions))
        columns, all_moments = _columns(*rows), np.concatenate(moments)
        asking, windows = _for_kernels(all_moments, *questions), tuple(questions[0].tolist())
        for sketch, (start, stop), due in zip(sketches, spans.tolist(), pairwise(ends), strict=True):
            sketch._unite()
            if windows != sketch._windows:
                sketch._history, sketch._windows = with_windows(sketch._history, len(windows)), windows
            if stop > start:
                sketch._parts = []
            sketch._run(columns, (start, stop), asking, due, answers)
        return answers

    def _run(self, columns: Any, span: tuple[int, int], asking: Any, due: tuple[int, int], answers: Answers) -> None:
        """Add a span of rows, and answer the moments `due`, a span of those in `asking`."""
        rules, (row, stop), (moment, end) = self._rules, span, due
        while True:
            row, moment, code = kernels.run(
                self._history, self._history.values.view(np.int64), columns, row, stop, asking, moment, end,
                rules.raw_most, self.epsilon, self.longest, self._panes, rules.widest, rules.cuts, answers,
            )  # fmt: skip
            if code == DONE:
                return
            self._grow(code)

    def _grow(self, code: int) -> None:
        """Enlarge the arrays that are full."""
        history = self._history
        if code == MORE_RAW:
            most = self._rules.raw_most + 2 * STEP
            self._history = with_raw(history, min(2 * len(history.times), most))
        elif code == MORE_NODES:
            more = int(history.numbers[NODES] + history.numbers[RAW])
            self._history = with_nodes(history, max(SOME_NODES, more + len(history.first) // 4))
        elif code == MORE_ENTRIES:
            more = len(history.place) * 3 // 2 + 2 * int(history.numbers[RAW])
            self._history = with_entries(history, max(SOME_ENTRIES, more))
        else:
            self._history = with_places(history, max(SOME_PLACES, 2 * len(history.ids)))
            kernels.find_places(self._history)

    def _ask(self, since: int, parts: Int64, limits: Float64, values: Float64, shares: Float64) -> None:
        self._unite()
        ascending = np.argsort(parts, kind="stable")
        kernels.ask(self._history, since, parts, ascending, limits, self._rules.cuts, values, shares)

    def _count(self, since: int) -> tuple[float, float, float]:
        self._unite()
        rows, low, high = kernels.count(self._history, since)
        return rows, low, high

    def readings(self, since: Sequence[int]) -> list[Reading]:
        self._unite()
        return [reading_of(self._history, max(moment, self._oldest), self._rules.cuts) for moment in since]

    def _merge(self, other: Self, now: int) -> None:
        if not self._parts:
            self._parts = [self._contents()] if self._now is not None else []
        self._parts += other._parts or [other._contents()]
        self._uniting_since = _within(now - self.longest)
        if len(self._parts) > _MOST_PARTS:
            self._last = max((last for last in (self._last, other._last) if last is not None), default=None)
            self._unite()
            self._parts = []

    def _unite(self) -> None:
        """Unite what was merged."""
        if self._uniting_since is None:
            return
        whole = self._parts[0]
        if len(self._parts) > 1:
            whole = unite(self._parts, self._uniting_since, self._rules)
        self._uniting_since = None
        self._take(whole, self._last)

    @property
    def _oldest(self) -> int:
        return _within((self._now or 0) - self.longest)

    def _take(self, contents: Contents, latest: int | None) -> None:
        self._history = history_of(contents, latest, len(self._windows))
        if len(contents.ids):
            kernels.find_places(self._history)

    def _contents(self) -> Contents:
        self._unite()
        oldest = self._oldest
        if self._last is not None and self._last < oldest:
            return contents_of(empty(len(self.cuts)), oldest, len(self.cuts))
        return contents_of(self._history, oldest, len(self.cuts))

    def __len__(self) -> int:
        self._unite()
        oldest = self._oldest
        if self._last is None or self._last < oldest:
            return 0
        numbers = self._history.numbers
        raw = slice(int(numbers[RAW_START]), int(numbers[RAW_START] + numbers[RAW]))
        if not numbers[TABLED]:
            return int(numbers[RAW]) - int(np.searchsorted(self._history.times[raw], oldest))
        nodes = slice(int(numbers[NODE_START]), int(numbers[NODE_START] + numbers[NODES]))
        return int(numbers[RAW] + self._history.size[nodes].sum())

    @property
    def nbytes(self) -> int:
        """The bytes of the history, including spare room."""
        self._unite()
        return sum(column.nbytes for column in self._history)

    def _state(self) -> dict[str, Array]:
        return {**self._clock(), **self._contents().to_arrays(self.cuts)}

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._set_clock(reader.column("clock", np.int64))
        rules = self._rules
        contents = Contents.from_arrays(reader, self._last, rules.widest, rules.raw_most, self.cuts)
        self._parts, self._uniting_since = [], None
        self._take(contents, self._last)


def _columns(times: Int64, values: Float64) -> tuple[Int64, Float64, Int64]:
    """The rows for compiled code, with the keys of their values."""
    return read_only(times), read_only(values), read_only(keys_of(values))


def _for_kernels(moments: Int64, windows: Int64, parts: Int64, limits: Float64) -> kernels.Questions:
    """The questions for compiled code."""
    return kernels.Questions(read_only(moments), read_only(windows), parts, np.argsort(parts, kind="stable"), limits)


_NO_QUESTIONS = _for_kernels(_NO_TIMES, _NO_TIMES, _NO_TIMES, _NO_VALUES)


def _within(moment: int) -> int:
    return min(max(moment, TIME_MIN), TIME_MAX)
