"""ObjectRanker: the k best objects whose attributes arrive in separate streams."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import define

from skyband.arrays import Float64, Int32, Int64, column, within
from skyband.errors import ConfigError, InputError, Problem, suggest
from skyband.parameters import checked, integer, number
from skyband.roles.clock import Clocked

AGGREGATES = ("sum", "mean", "min", "max")
REPEATS = ("never", "per-window")


def _check_aggregate(value: Any) -> str | None:
    if callable(value) or value in AGGREGATES:
        return None
    if isinstance(value, str):
        return f"unknown {value!r}: only functions that never fall when a value rises; {suggest(value, AGGREGATES)}"
    if isinstance(value, Sequence) and value and all(isinstance(w, int | float) and 0 <= w < np.inf for w in value):
        return None
    return f"must be one of {', '.join(AGGREGATES)}, a list of weights >= 0, or a monotone function (got {value!r})"


def _check_repeats(value: Any) -> str | None:
    if value in REPEATS or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return None
    return f"must be 'never', 'per-window', or the occurrences a window, at least 1 (got {value!r})"


@define(eq=False)
class ObjectRanker(Clocked):
    """Keeps what the top k of the window can ever need, while objects are known only in part."""

    role: ClassVar[str] = "object-ranker"

    k: int = integer(at_least=1, help="objects in an answer")
    window: int = integer(at_least=1, help="length of the window, in the unit of the times or in rows")
    streams: int = integer(at_least=1, help="how many streams, numbered from 0, report attributes")
    aggregate: str | Sequence[float] | Callable[[Float64], float] = checked(
        "sum",
        type="str | weights | function",
        check=_check_aggregate,
        bounds="sum, mean, min, max, a weight for each stream, or a monotone function",
        help="score of an object from its valid values, one a stream, 0 where it has none",
    )
    upper: float = number(1.0, above=0, help="no value is above this")
    repeats: str | int = checked(
        "never",
        type="str | int",
        check=_check_repeats,
        bounds="never, per-window, or a number",
        help="how often an object reports one attribute: once ever, once a window, or m times a window, summed",
    )

    def __attrs_post_init__(self) -> None:
        weights = self.aggregate
        if not callable(weights) and not isinstance(weights, str) and len(weights) != self.streams:
            message = f"must hold a weight for each of the {self.streams} streams (got {len(weights)})"
            raise ConfigError(Problem("aggregate", message))

    def update(
        self, times: npt.ArrayLike, streams: npt.ArrayLike, objects: npt.ArrayLike, values: npt.ArrayLike
    ) -> None:
        """Take in values (float64[n], in [0, upper]) of objects (int64[n]) from streams (int32[n]) at times (int64[n]).

        Moves `now` to the last time. Raises InputError, the ranker unchanged, on unequal lengths, times that go
        back, a stream that does not exist, or a value that is NaN or outside [0, upper].
        """
        moments: Int64 = column("times", times, np.int64)
        origin: Int32 = column("streams", streams, np.int32, len(moments))
        ids: Int64 = column("objects", objects, np.int64, len(moments))
        numbers: Float64 = column("values", values, np.float64, len(moments))
        self._check_times(moments)
        unknown = (origin < 0) | (origin >= self.streams)
        if unknown.any():
            row = int(unknown.argmax())
            raise InputError("streams", f"must be from 0 to {self.streams - 1} (got {int(origin[row])})", row)
        within("values", numbers, 0.0, self.upper)
        if len(moments):
            self._update(moments, origin, ids, numbers)
            self._now = self._reached(moments)

    @abstractmethod
    def _update(self, times: Int64, streams: Int32, objects: Int64, values: Float64) -> None: ...

    @abstractmethod
    def top(self) -> tuple[Int64, Float64]:
        """The answer at `now`: (objects int64[r], scores float64[r]), r <= k, score descending, then object ascending.

        An object is in it while it has one valid attribute.
        """
