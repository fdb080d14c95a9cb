"""distinct-count: how many different items each window holds."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
from attrs import define

from skyband.arrays import Array, Int64, UInt64
from skyband.durations import Duration, duration, durations
from skyband.errors import ConfigError, Problem
from skyband.hashing import hash_column
from skyband.queries import states
from skyband.queries.crowd import Crowd
from skyband.queries.encoding import at_field, moments
from skyband.queries.lane import Lane, MomentLane, Rows
from skyband.queries.names import PLAIN
from skyband.queries.query import Input, Query, column_name
from skyband.registry import Binding
from skyband.roles import Backend, Sketch

_FEWEST_IN_CROWD, _MOST_IN_CROWD = 16, 512
"""Keys of a group in a crowd: fewer would not be worth it, and more make a walk through them slow."""


def _countable(kind: pa.DataType) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind))


@define(eq=True)
class DistinctCount(Query):
    """Counts the distinct values of a column over several windows, all from one sketch.

    Result columns: at, window, count, low, high. `low` and `high` are the bound the sketch declares, equal to
    `count` where it is exact. Null items are not counted, and reported.
    """

    kind: ClassVar[str] = "distinct-count"
    roles: ClassVar[tuple[str, ...]] = ("sketch",)
    shard_by: ClassVar[str | None] = "key"
    leaves_out: ClassVar[tuple[str, ...]] = ("null item",)

    item: str = column_name(help="the column whose distinct values are counted")
    windows: tuple[Duration, ...] = durations(help="lengths of the windows")
    every: Duration = duration(help="how often to answer, aligned to the epoch (or to the first row)")

    def __attrs_post_init__(self) -> None:
        if self.every.rows != self.rows:
            raise ConfigError(Problem("every", f"must be in {_unit(self.rows)}, as the windows are (got {self.every})"))

    @property
    def rows(self) -> bool:
        return self.windows[0].rows

    @property
    def order(self) -> tuple[str, ...]:
        return ("key",) if self.rows else ()

    def inputs(self) -> tuple[Input, ...]:
        return (Input("item", self.item, PLAIN, _countable),)

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        items = batch.column(self.item)
        masks = {"null item": items.is_null().to_numpy(zero_copy_only=False)} if items.null_count else {}
        return {"key": pa.array(hash_column(items))}, masks

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        numbers = [pa.field(name, pa.float64()) for name in ("count", "low", "high")]
        return [at_field(self, schema), pa.field("window", pa.string()), *numbers]

    def given(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - a sketch takes nothing from the query
        return {}

    def beyond(self, backend: Backend) -> list[Problem]:
        """Moments that are not the start of a pane, where the sketch lacks `any-since`."""
        grain = cast(Sketch, backend).grain
        said = f"must be a multiple of {grain} {'rows' if self.rows else 'microseconds'}, the pane of {backend.name}"
        named = [("every", self.every), *((f"windows[{i}]", window) for i, window in enumerate(self.windows))]
        return [Problem(name, f"{said} (got {length})") for name, length in named if length.length % grain]

    def lane(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> Lane:
        return _CountingLane(self, bindings["sketch"], answers)

    def crowd(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> Crowd | None:
        """Where the sketch counts few keys exactly anyway, groups of few are held as their keys alone."""
        most = min(cast(Sketch, bindings["sketch"].create()).exact_up_to, _MOST_IN_CROWD)
        if self.rows or most < _FEWEST_IN_CROWD:
            return None

        def lane(at: int, last: int, times: Int64, keys: UInt64) -> Lane:
            return _CountingLane(self, bindings["sketch"], answers).begin(at, last, times, keys)

        from skyband.queries.counting_crowd import CountingCrowd  # on use, because it loads numba

        windows = [(window.length, str(window)) for window in self.windows]
        return CountingCrowd(self.every.length, windows, most, answers, lane)

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no item, so their counts add, and so do the ends of their bounds."""
        sums = answers.group_by([*self.by, "at", "window"]).aggregate(
            [(name, "sum") for name in ("count", "low", "high")]
        )
        return sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names]).select(
            answers.column_names
        )


class _CountingLane(MomentLane):
    def __init__(self, query: DistinctCount, sketch: Binding, answers: pa.Schema) -> None:
        self._windows = [(window.length, str(window)) for window in query.windows]
        super().__init__(query.every.length, max(length for length, _ in self._windows), query.rows)
        self._binding = sketch
        self._schema = answers
        self._sketch = cast(Sketch, sketch.create())
        self._answers: list[tuple[int, str, float, float, float]] = []

    def begin(self, at: int, last: int, times: Int64, keys: UInt64) -> "_CountingLane":
        """Go on from a crowd: the next moment, the last time, and each key with its last time, ascending by time."""
        self.set_clock({"next": at, "last": last, "count": 0})
        self._sketch.update(times, keys)
        return self

    def update(self, times: Int64, rows: Rows) -> None:
        self._sketch.update(times, rows["key"])

    def answer(self, at: int) -> None:
        for length, name in self._windows:
            since = at - length
            self._answers.append((at, name, self._sketch.estimate(since), *self._sketch.bounds(since)))
        self._sketch.forget(at - self._horizon)

    def collect(self) -> pa.RecordBatch | None:
        if not self._answers:
            return None
        at, windows, *numbers = zip(*self._answers, strict=True)
        self._answers = []
        columns = [moments(np.array(at), self._schema.field("at").type), pa.array(windows, pa.string())]
        return pa.RecordBatch.from_arrays([*columns, *map(pa.array, numbers)], schema=self._schema)

    def clear(self) -> None:
        self._sketch = cast(Sketch, self._binding.create())

    @property
    def retained(self) -> int:
        return len(self._sketch)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {"clock": self.clock()}, states.under("sketch", self._sketch.frozen())

    def load(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.set_clock(header["clock"])
        self._sketch.thaw(states.of("sketch", arrays))


def _unit(rows: bool) -> str:
    return "rows" if rows else "time"
