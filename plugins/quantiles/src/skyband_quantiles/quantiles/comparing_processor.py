"""quantiles with `against`: each window beside an earlier one, remembered as it was known when it ended.

A sketch forgets the rows of a window long before it is compared. Its answers, and for distances how many rows had
which values, take some 2 KB, and are known best when the window ends.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64
from skyband.columns.rows import Rows
from skyband.config.durations import Duration
from skyband.groups import state_arrays
from skyband.groups.answer_columns import AnswerColumns, ProcessorAnswers
from skyband.registry import Binding

from skyband_quantiles.distances import Steps, kolmogorov_smirnov, population_stability, steps_of, wasserstein
from skyband_quantiles.quantiles.comparing import ADDED, KS, PSI
from skyband_quantiles.quantiles.earlier_windows import EarlierWindows, Ended
from skyband_quantiles.quantiles.processor import QuantilesProcessor
from skyband_quantiles.ranks import BILLION
from skyband_quantiles.steps_in_bytes import from_bytes, to_bytes

if TYPE_CHECKING:
    from skyband_quantiles.quantiles.query import Quantiles

_NO_BYTES = np.empty(0, np.uint8)
_NONE = (None, None, None)
_NUMBERS = ("value", "low", "high", *ADDED)


class _Window(NamedTuple):
    """What is known of a window with rows."""

    rows: int
    answers: Float64
    """float64[q + a, 3]: quantiles and shares."""
    ends: Float64
    """The upper ends of bins between its quantiles, if such are asked for."""
    steps: Steps | None
    """If distances are asked for."""


class ComparingProcessor(QuantilesProcessor):
    """Answers moment by moment. A window without rows is answered if the one that it is compared with has rows."""

    def __init__(self, query: "Quantiles", sketch: Binding, answers: pa.Schema) -> None:
        self._lag = query.against.length if isinstance(query.against, Duration) else None
        """How much earlier the other window ends; None: where this one begins."""
        self._distances, bins = query.distance, query.bins
        self._ends = None if isinstance(bins, int) else np.array(bins, np.float64)
        """The upper ends of the bins; None: of each earlier window, those between its quantiles."""
        self._of_bins = [number * BILLION // bins / BILLION for number in range(1, bins)] if self._ends is None else []
        self._past = EarlierWindows(len(query.windows))
        super().__init__(query, sketch, answers)
        self._names = [name for name in answers.names if name not in query.by]

    def begin(self) -> None:
        super().begin()
        self._past.clear()

    @property
    def columns_suffice(self) -> bool:
        return False

    def feed(self, times: Int64, rows: Rows, due: Int64) -> ProcessorAnswers | None:
        times, values = self._in_order(times, rows["value"])
        answers: list[tuple[Any, ...]] = []
        for at in self._moments(times, values, due):
            answers += self._answered(at)
        return self._columns(answers) if answers else None

    def _answered(self, at: int) -> list[tuple[Any, ...]]:
        """Remember what is known of the windows that end at a moment; returns the rows of their answers."""
        answers = []
        for window, since in enumerate(self._schedule.starts(at)[::2]):
            before = self._past.find(window, since if self._lag is None else at - self._lag)
            now = self._window(since)
            if now is not None:
                self._past.add(window, self._ended(at, now))
            if self.needs_answers and (now is not None or before is not None):
                answers += self._rows_of(at, window, now, None if before is None else self._window_of(before))
        return answers

    def _window(self, since: int) -> _Window | None:
        rows = int(self._backend.count(since)[0])
        if not rows:
            return None
        answers = [self._backend.quantiles(since, self._at), self._backend.shares(since, self._above)]
        ends = self._backend.quantiles(since, self._of_bins)[:, 0]
        steps = steps_of(self._backend.readings([since])[0], self._backend.cuts) if self._distances else None
        return _Window(rows, np.concatenate(answers), ends, steps)

    def _ended(self, at: int, window: _Window) -> Ended:
        values, encoded = np.empty(0), _NO_BYTES
        if window.steps is not None:
            values, encoded = to_bytes(window.steps, self._backend.cuts, self._backend.keeps_rows)
        return Ended(at, window.rows, np.concatenate([window.answers.ravel(), window.ends, values]), encoded)

    def _window_of(self, ended: Ended) -> _Window:
        """The inverse of `_ended`. Raises SnapshotError for what cannot have been a window."""
        count = len(self._at) + len(self._above)
        answers, ends, values = np.split(ended.numbers, [3 * count, 3 * count + len(self._of_bins)])
        steps = from_bytes(values, ended.encoded, self._backend.cuts) if self._distances else None
        return _Window(ended.rows, answers.reshape(-1, 3), ends, steps)

    def _rows_of(self, at: int, window: int, now: _Window | None, before: _Window | None) -> list[tuple[Any, ...]]:
        """A row for each quantile and limit, then for each distance: its numbers are those of _NUMBERS."""
        counts = 0 if now is None else now.rows, 0 if before is None else before.rows
        rows = []
        for place in range(len(self._at) + len(self._above)):
            ours, theirs = (None if one is None else one.answers[place].tolist() for one in (now, before))
            difference = _NONE if ours is None or theirs is None else _difference(ours, theirs)
            rows.append((*(ours or _NONE), (theirs or _NONE)[0], *difference))
        for distance in self._distances:
            bounds = None if now is None or before is None else self._distance(distance, now, before)
            rows.append((*(bounds or _NONE), *[None] * len(ADDED)))
        return [(at, window, place, *numbers, *counts) for place, numbers in enumerate(rows)]

    def _distance(self, distance: str, now: _Window, before: _Window) -> tuple[float, float, float] | None:
        if now.steps is None or before.steps is None:
            return None
        if distance == PSI:
            ends = np.unique(before.ends) if self._ends is None else self._ends
            return population_stability(now.steps, before.steps, ends)
        return (kolmogorov_smirnov if distance == KS else wasserstein)(now.steps, before.steps)

    def _columns(self, answers: list[tuple[Any, ...]]) -> AnswerColumns:
        at, window, place, *numbers, rows, against_rows = zip(*answers, strict=True)
        columns: dict[str, Array | pa.Array] = {name: np.array(place) for name in self._labels}
        columns |= {"at": np.array(at), "window": np.array(window)}
        columns |= {name: pa.array(column, pa.float64()) for name, column in zip(_NUMBERS, numbers, strict=True)}
        columns |= {"rows": np.array(rows), "against_rows": np.array(against_rows)}
        return AnswerColumns(self._schema, [columns[name] for name in self._names], self._labels)

    @property
    def retained(self) -> int:
        return super().retained + len(self._past)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._past.nbytes

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        header, arrays = super().dump_state()
        return header, arrays | state_arrays.with_prefix("earlier", self._past.to_arrays())

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        super().load_state(header, arrays)
        least = 3 * (len(self._at) + len(self._above)) + len(self._of_bins)
        self._past.load(state_arrays.without_prefix("earlier", arrays), self._next, least)


def _difference(ours: list[float], theirs: list[float]) -> tuple[float | None, ...]:
    """The difference with its bounds, None where it is that of two infinities."""
    value, low, high = ours
    previous, previous_low, previous_high = theirs
    differences = value - previous, low - previous_high, high - previous_low
    return tuple(None if math.isnan(difference) else difference for difference in differences)
