"""ObjectRanker: the k best objects whose attributes arrive in separate streams."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, field

from skyband.arrays import Float64, Int32, Int64, column, within
from skyband.config.literals import literal
from skyband.config.parameters import checked, integer, number
from skyband.errors import ConfigError, InputError, Problem, suggest
from skyband.roles.clock import (
    Clocked,
    check_moments_together,
    check_times_together,
    checked_moments,
    checked_spans,
    first_of,
)
from skyband.roles.thread_guard import inside_all

AGGREGATES = ("sum", "mean", "min", "max")
REDUCTIONS = ("latest", "largest", "smallest", "mean")
"""Values of `repeats` that allow any number of reports; they say which of an object's valid reports counts."""

REPEATS = (*REDUCTIONS, "never", "per-window")


def _as_weights(value: Any) -> Any:
    """Weights of any sequence type as a tuple; anything else unchanged."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return tuple(np.asarray(value).tolist())
    return value


def _check_aggregate(aggregate: Any) -> str | None:
    value = _as_weights(aggregate)
    if callable(value) or value in AGGREGATES:
        return None
    if isinstance(value, str):
        return f"unknown {value!r}: only functions that never fall when a value rises; {suggest(value, AGGREGATES)}"
    if isinstance(value, Sequence) and value and all(isinstance(w, int | float) and 0 <= w < np.inf for w in value):
        return None
    return (
        f"must be one of {', '.join(AGGREGATES)}, a list of weights >= 0, or a monotone function (got {literal(value)})"
    )


def _check_repeats(value: Any) -> str | None:
    if value in REPEATS or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return None
    if isinstance(value, str):
        return f"unknown {value!r}: {suggest(value, REPEATS)}, or a number of occurrences per window, summed"
    return f"must be one of {', '.join(REPEATS)}, or the occurrences per window, at least 1 (got {literal(value)})"


def _check_monotone(function: Callable[[Float64], float], streams: int, floor: float, ceiling: float) -> str | None:
    """How a user's aggregate is not monotone, found by raising one value at a time in fixed random samples; or None."""
    draw = np.random.default_rng(0)
    for sample in range(32 * streams):
        lower = (floor + draw.random(streams) * (ceiling - floor)) * (draw.random(streams) < 0.7)
        higher = lower.copy()
        stream = sample % streams
        higher[stream] = lower[stream] + (ceiling - lower[stream]) * draw.choice([0.01, 0.5, 1.0])
        try:
            before, after = float(function(lower.copy())), float(function(higher.copy()))
        except Exception as error:
            return f"fails on {lower.tolist()}: {type(error).__name__}: {error}"
        if not (np.isfinite(before) and np.isfinite(after)):
            return f"must return a finite number (got {before} and {after} on {lower.tolist()} and {higher.tolist()})"
        if after < before:
            fell = f"fell from {before} on {lower.tolist()} to {after} on {higher.tolist()}"
            return f"must never fall when a value rises ({fell})"
    return None


_check_monotone_once = lru_cache(maxsize=64)(_check_monotone)
"""A check takes a millisecond, and an operator of many groups makes a ranker per group with the same function."""


def _check_function(function: Callable[[Float64], float], streams: int, floor: float, ceiling: float) -> str | None:
    try:
        return _check_monotone_once(function, streams, floor, ceiling)
    except TypeError:  # an unhashable callable
        return _check_monotone(function, streams, floor, ceiling)


def aggregate_parameter() -> Any:
    """The field `aggregate`, for all classes that take one."""
    return checked(
        "sum",
        type="str | weights | function",
        check=_check_aggregate,
        bounds="sum, mean, min, max, a weight per stream, or a monotone function",
        help="score of an object from its valid values, one per stream, 0 if it has none",
        converter=_as_weights,
    )


def repeats_parameter() -> Any:
    """The field `repeats`, for all classes that take one."""
    return checked(
        "latest",
        type="str | int",
        check=_check_repeats,
        bounds=f"{', '.join(REPEATS)}, or a number",
        help="which of an object's valid reports in a stream counts: the latest, largest, smallest or mean; "
        "or a promise that it reports never again, at most once per window, or m times per window, summed",
    )


Reports: TypeAlias = tuple[Int64, Int32, Int64, Float64]
"""The times, streams, objects and values of rows."""

MOST_STREAMS = 2**16
"""The most streams: a backend keeps a cell per stream and object."""


@define(eq=False)
class ObjectRanker(Clocked):
    """Ranks objects by the values that several streams report about them, and returns the k best of a window.

    A row is a report: at a time, a stream states a value of an object. A report is valid while it is in the window. The
    score of an object is the `aggregate` of its value in each stream, 0 if it has no valid report. A ranker keeps
    only the reports that an answer, now or later, can need.

    `repeats` says which value counts if an object has several valid reports in a stream. With "latest", "largest",
    "smallest" or "mean" (a sum from the newest report to the oldest, divided) an object may report any number of times.
    Of reports at one time, the one that arrived last is the latest.

    The other settings are promises about the input, so that less must be kept. "never": an object with a valid report
    does not report to the same stream again. "per-window" (the same as 1) or a number m: it does so at most once, or m
    times, within a window, and its value is the sum of its valid reports, newest first. A report that breaks the
    promise is ignored and counted in `repeated`; the earlier reports stay.

    With a promise, values must not be negative. With "latest", "largest", "smallest" and "mean" `lower` may allow that.
    """

    role: ClassVar[str] = "object-ranker"
    k: int = integer(at_least=1, help="objects in an answer")
    window: int = integer(at_least=1, help="length of the window, in the unit of the times or in rows")
    streams: int = integer(
        at_least=1, at_most=MOST_STREAMS, help="number of streams that report attributes, numbered from 0"
    )
    aggregate: str | Sequence[float] | Callable[[Float64], float] = aggregate_parameter()
    upper: float = number(1.0, above=0, help="no value is above this")
    lower: float = number(
        0.0, at_most=0, help="no value is below this; may be below 0 if `repeats` is latest, largest, smallest or mean"
    )
    repeats: str | int = repeats_parameter()

    _repeated: int = field(default=0, init=False)

    @property
    def exact_up_to(self) -> int:
        """Groups of at most this many rows are ranked together by the query, without a backend each. 0: none are.

        A query may use a lower limit where backends would be faster.

        For a backend that is not exact this holds only if its class defines the property. It then promises that answers
        are exact until a window holds more valid reports than this, whatever preceded that window.
        """
        return 2048

    @property
    def repeated(self) -> int:
        """Reports ignored because they broke the promise `repeats`."""
        return self._repeated

    @property
    def occurrences(self) -> int:
        """The most valid reports of an object that are summed in one stream; 1 if they are not summed."""
        return int(self.repeats) if isinstance(self.repeats, int) else 1

    def __attrs_post_init__(self) -> None:
        aggregate = self.aggregate
        message = None
        if self.lower < 0 and self.repeats not in REDUCTIONS:
            problem = f"must be 0 if repeats = {self.repeats!r}: values below 0 need one of {', '.join(REDUCTIONS)}"
            raise ConfigError(Problem("lower", f"{problem} (got {self.lower})"))
        if callable(aggregate):
            message = _check_function(aggregate, self.streams, self.lower, self.upper * self.occurrences)
        elif not isinstance(aggregate, str) and len(aggregate) != self.streams:
            message = f"must have a weight for each of the {self.streams} streams (got {len(aggregate)})"
        if message:
            raise ConfigError(Problem("aggregate", message))

    def update(
        self, times: npt.ArrayLike, streams: npt.ArrayLike, objects: npt.ArrayLike, values: npt.ArrayLike
    ) -> None:
        """Take in values (float64[n], in [lower, upper]) of objects (int64[n]) from streams (int32[n]) at times.

        Times are int64[n]. Moves `now` to the last time. Raises InputError, the ranker unchanged, for unequal lengths,
        times that go back, a stream that does not exist, or a value that is NaN or outside [lower, upper].
        """
        rows = self._checked(times, streams, objects, values)
        if len(rows[0]):
            self._update(*rows)
            self._now = self._reached(rows[0])

    def answers(
        self,
        times: npt.ArrayLike,
        streams: npt.ArrayLike,
        objects: npt.ArrayLike,
        values: npt.ArrayLike,
        moments: npt.ArrayLike,
    ) -> tuple[Int64, Int64, Float64]:
        """As `update`, with the answer at each of the `moments` (int64[q], ascending) passed.

        Answer i, what `top` returns when `now` is moments[i], is objects[offsets[i]:offsets[i + 1]] with the same slice
        of scores: (offsets int64[q + 1], objects int64[m], scores float64[m]). Raises InputError as `update` does.
        """
        rows = self._checked(times, streams, objects, values)
        marks: Int64 = column("moments", moments, np.int64)
        self._check_moments(marks)
        return self._answers(*rows, marks)

    @classmethod
    def answers_together(
        cls,
        rankers: Sequence[Self],
        times: npt.ArrayLike,
        streams: npt.ArrayLike,
        objects: npt.ArrayLike,
        values: npt.ArrayLike,
        *,
        spans: npt.ArrayLike,
        moments: Sequence[npt.ArrayLike],
    ) -> tuple[Int64, Int64, Float64]:
        """As `answers` for several rankers, each with its own rows and moments; the answers are concatenated.

        rankers: at least one, of this class, with equal parameters, without duplicates. spans: int64[g, 2] that do not
        overlap: rows spans[i, 0] to spans[i, 1], exclusive, go to ranker i. moments: for each, as in `answers`.
        Raises InputError as `answers` does, all rankers unchanged.
        """
        columns = first_of(rankers)._columns(times, streams, objects, values)
        bounds = checked_spans(rankers, spans, len(columns[0]))
        marks = checked_moments(rankers, moments)
        with inside_all(rankers):
            check_times_together(rankers, columns[0], bounds)
            check_moments_together(rankers, marks)
            return cls._answers_together(rankers, columns, bounds, marks)

    def _checked(
        self, times: npt.ArrayLike, streams: npt.ArrayLike, objects: npt.ArrayLike, values: npt.ArrayLike
    ) -> Reports:
        rows = self._columns(times, streams, objects, values)
        self._check_times(rows[0])
        return rows

    # Rows that may still be unordered.
    def _columns(
        self, times: npt.ArrayLike, streams: npt.ArrayLike, objects: npt.ArrayLike, values: npt.ArrayLike
    ) -> Reports:
        moments: Int64 = column("times", times, np.int64)
        origin: Int32 = column("streams", streams, np.int32, len(moments))
        ids: Int64 = column("objects", objects, np.int64, len(moments))
        numbers: Float64 = column("values", values, np.float64, len(moments))
        unknown = (origin < 0) | (origin >= self.streams)
        if unknown.any():
            row = int(unknown.argmax())
            raise InputError("streams", f"must be from 0 to {self.streams - 1} (got {int(origin[row])})", row)
        within("values", numbers, self.lower, self.upper)
        return moments, origin, ids, numbers

    def _answers(
        self, times: Int64, streams: Int32, objects: Int64, values: Float64, moments: Int64
    ) -> tuple[Int64, Int64, Float64]:
        answers: list[tuple[Int64, Float64]] = []
        stops = np.searchsorted(times, moments, side="left" if self.by == "rows" else "right")
        start = 0
        for moment, stop in zip([*moments.tolist(), None], [*stops.tolist(), len(times)], strict=True):
            if stop > start:
                self._update(times[start:stop], streams[start:stop], objects[start:stop], values[start:stop])
                self._now = self._reached(times[start:stop])
                start = stop
            if moment is not None:
                self.advance(moment)
                answers.append(self.top())
        offsets = np.cumsum([0, *(len(ids) for ids, _ in answers)], dtype=np.int64)
        ids = np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in answers)])
        return offsets, ids, np.concatenate([np.empty(0), *(scores for _, scores in answers)])

    @classmethod
    def _answers_together(
        cls, rankers: Sequence[Self], columns: Reports, spans: Int64, moments: Sequence[Int64]
    ) -> tuple[Int64, Int64, Float64]:
        """As `_answers` of each. This default calls it once per ranker; a backend may do all at once, faster."""
        times, streams, objects, values = columns
        parts = [slice(start, stop) for start, stop in spans.tolist()]
        each = zip(rankers, parts, moments, strict=True)
        return joined([own._answers(times[at], streams[at], objects[at], values[at], marks) for own, at, marks in each])

    @abstractmethod
    def _update(self, times: Int64, streams: Int32, objects: Int64, values: Float64) -> None: ...

    @abstractmethod
    def top(self) -> tuple[Int64, Float64]:
        """The answer at `now`: (objects int64[r], scores float64[r]), r <= k, score descending, then object ascending.

        An object with at least one valid attribute is ranked.
        """


def joined(answers: Sequence[tuple[Int64, Int64, Float64]]) -> tuple[Int64, Int64, Float64]:
    """Concatenates one or more answers of `ObjectRanker.answers`."""
    offsets, objects, scores = zip(*answers, strict=True)
    sizes = np.concatenate([own[1:] - own[:-1] for own in offsets])
    return np.append(0, np.cumsum(sizes)), np.concatenate(objects), np.concatenate(scores)
