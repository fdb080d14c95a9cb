"""The windows of queries over uncertain tuples: by number of existing tuples, by time, or by change of value."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

import attrs
import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64
from skyband.config.durations import Duration, duration, parsed
from skyband.config.parameters import integer, number
from skyband.errors import Problem
from skyband.queries.query import Query
from skyband.registry import Binding
from skyband.roles import Window
from skyband.windows.window_parameters import closed_length

from skyband_uncertain.joint_samples import EUCLIDEAN, in_order
from skyband_uncertain.time_and_change_windows import DeltaWindow, TimeWindow
from skyband_uncertain.uncertain_tuples import Samples

_TUPLE = 64
"""Bytes of a tuple, with its samples."""

W = TypeVar("W", bound=Window | TimeWindow | DeltaWindow)


def size_parameter() -> Any:
    """The key `size` of a query over uncertain tuples."""
    return integer(None, at_least=1, help="existing tuples a window must hold; or set `window`, or `delta`")


class TupleWindow(ABC, Generic[W]):
    """A window over the tuples of one stream, numbered from 0 in order of arrival.

    It wraps one that sees only what it needs of a tuple: whether it exists, its time, or its samples.
    """

    def __init__(self, window: W) -> None:
        self._window = window

    @property
    def start(self) -> int:
        """The oldest tuple kept."""
        return self._window.start

    @property
    def end(self) -> int:
        """One past the youngest tuple."""
        return self._window.end

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def nbytes(self) -> int:
        """Its size in bytes, estimated."""
        return _TUPLE * len(self)

    @abstractmethod
    def append(self, times: Int64, samples: Samples, existence: Float64) -> Int64:
        """int64[n]: the oldest tuple kept after each arrival."""

    def starts_at(self, times: Int64, starts: Int64) -> Int64:  # noqa: ARG002 - most windows move with arrivals alone
        """int64[n]: the oldest tuple in the window at each of `times`; starts: the same after the arrivals before."""
        return starts

    def advance(self, now: int) -> None:
        """Drop what is too old at `now`."""

    def presence_among(self, existence: Float64, positions: Int64, ends: Int64) -> Float64:  # noqa: ARG002
        """float64[r]: P(the tuple at each position is in the window), given that it exists."""
        return np.ones(len(positions))

    def dump_state(self) -> dict[str, Array]:
        """The window as arrays."""
        return dict(self._window.dump_state())

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what `dump_state` gave. Raises SnapshotError on anything else."""
        self._window.load_state(arrays)


class SizeWindow(TupleWindow[Window]):
    """The last `size` existing tuples, by a backend of the role `window`."""

    @property
    def nbytes(self) -> int:
        return self._window.nbytes

    def append(self, times: Int64, samples: Samples, existence: Float64) -> Int64:  # noqa: ARG002
        return self._window.append(existence)

    def presence_among(self, existence: Float64, positions: Int64, ends: Int64) -> Float64:
        return self._window.presence_among(existence, positions, ends)


class SpanWindow(TupleWindow[TimeWindow]):
    """The tuples of the last length of time."""

    def __init__(self, window: Duration) -> None:
        super().__init__(TimeWindow(closed_length(window)))

    def append(self, times: Int64, samples: Samples, existence: Float64) -> Int64:  # noqa: ARG002
        return self._window.append(times)

    def starts_at(self, times: Int64, starts: Int64) -> Int64:  # noqa: ARG002 - which are behind
        return self._window.start_at(times)

    def advance(self, now: int) -> None:
        self._window.advance(now)


class ChangeWindow(TupleWindow[DeltaWindow]):
    """The youngest tuples that are probably within delta of the oldest.

    Each tuple's samples are summed in one order, regardless of their order in the source.
    """

    def __init__(self, delta: float, alpha: float, coordinates: int, distance: str) -> None:
        super().__init__(DeltaWindow(delta, alpha, coordinates=coordinates, distance=distance))

    def append(self, times: Int64, samples: Samples, existence: Float64) -> Int64:  # noqa: ARG002
        points, shares = in_order(samples)
        return self._window.append(samples.offsets, points[0], shares, *points[1:])


def window_parameter() -> Any:
    """The key `window` of a query over uncertain tuples."""
    return duration(
        None, converter=attrs.converters.optional(parsed), kw_only=True,
        help="instead of `size`: the tuples of this length of time before each, existing or not",
    )  # fmt: skip


def delta_parameter() -> Any:
    """The key `delta` of a query over uncertain tuples."""
    return number(
        None, at_least=0, kw_only=True,
        help="instead of `size`: drops the oldest tuple once a later one is further than this from it with probability "
        "alpha",
    )  # fmt: skip


def problems_of(size: int | None, window: Duration | None, delta: float | None) -> list[Problem]:
    """Problems with the requested window, which must be of exactly one kind."""
    keys = {"size": size, "window": window, "delta": delta}
    own_keys = [key for key, value in keys.items() if value is not None]
    if not own_keys:
        return [Problem("size", "is required, or one of `window` (a length of time) and `delta` (a change of value)")]
    if len(own_keys) > 1:
        return [Problem(own_keys[1], f"excludes {own_keys[0]}: a window is of one kind; remove one of them")]
    if window is None:
        return []
    if window.rows:
        return [Problem("window", f"must be a length of time; for a number of tuples set `size` (got {window})")]
    return [Problem("window", f"must be at least 2 microseconds (got {window})")] if closed_length(window) < 1 else []


def unlike_time(window: Duration | None, query: Query, schema: pa.Schema) -> list[Problem]:
    """Problems with a length of time if rows have numbers as times."""
    if window is None or query.time not in schema.names or not pa.types.is_integer(schema.field(query.time).type):
        return []
    return [Problem("window", f"is a length of time, and column {query.time!r} holds numbers: cast it to a timestamp")]


def window_of(
    size: int | None,
    window: Duration | None,
    delta: float | None,
    alpha: float,
    bindings: Mapping[str, Binding],
    parameters: Mapping[str, Any],
    coordinates: int = 1,
    distance: str = EUCLIDEAN,
) -> TupleWindow[Any]:
    """The window of a query; parameters: of the backend, if one is used."""
    if size is not None:
        return SizeWindow(cast(Window, bindings["window"].create(**parameters)))
    if window is not None:
        return SpanWindow(window)
    return ChangeWindow(cast(float, delta), alpha, coordinates, distance)
