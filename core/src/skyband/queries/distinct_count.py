"""distinct-count: how many different items each window holds."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define

from skyband.arrays import Array, Int64, UInt64
from skyband.columns.hashing import THETA_SEED, hash_columns
from skyband.columns.keyed_frames import plain_type
from skyband.columns.rows import Rows
from skyband.config.calendar_lengths import SO_FAR, CalendarLength, Length, lengths
from skyband.config.durations import Duration, written
from skyband.config.parameters import choice
from skyband.errors import ConfigError, Problem
from skyband.queries import emitted_states, state_arrays
from skyband.queries.composite_ids import Columns, columns_of, identity, identity_inputs, missing
from skyband.queries.processor import GroupProcessor, WindowedProcessor
from skyband.queries.query import Input, Query
from skyband.queries.row_encoding import at_field, moments
from skyband.queries.schedule import Schedule
from skyband.queries.small_groups import SmallGroups
from skyband.queries.window_parameters import every_parameter, of_calendar, offset_parameter, problems_of, schedule_of
from skyband.registry import Binding
from skyband.roles import Backend, Sketch
from skyband.states.coverage import Coverage
from skyband.states.state import AnyState
from skyband.states.theta_sketches import HASH as THETA

_FEWEST_KEYS, _MOST_KEYS = 16, 512
"""Keys of a small group: fewer would not be worth it, and more make a walk through them slow."""
_THETA_TYPES = (
    pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view,
    pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary,
)  # fmt: skip


@define(eq=True)
class DistinctCount(Query):
    """Counts the distinct values of a column over several windows, all from one sketch.

    Result columns: at, window, count, low, high. `low` and `high` are the bound the sketch declares, equal to
    `count` where it is exact. Null items are not counted, and reported; of several columns one is enough.

    With `emit = "state"` they are at, state: one row a moment, the sketch itself, which `skyband ask` and the functions
    of `skyband.states` and `skyband.spark_states` ask for any window up to the longest of `windows`, alone or united.
    With `emit = "changed-state"` a group has one only at moments since the last of which rows came.
    """

    kind: ClassVar[str] = "distinct-count"
    roles: ClassVar[tuple[str, ...]] = ("sketch",)
    compared_by: ClassVar[tuple[str, ...]] = ("window",)
    compared_value: ClassVar[str | None] = "count"
    shard_by: ClassVar[str | None] = "key"
    drop_reasons: ClassVar[tuple[str, ...]] = ("null item",)
    whole_columns: ClassVar[Mapping[str, Any]] = {"count": pc.round, "low": pc.floor, "high": pc.ceil}

    item: Columns = identity(help="the column whose distinct values are counted; several: whose values together are")
    windows: tuple[Length, ...] = lengths(help=f"lengths of the windows, {SO_FAR}")
    every: Length = every_parameter()
    offset: Duration = offset_parameter()
    emit: str | None = choice(
        *emitted_states.KINDS, default=None, kw_only=True,
        help="give states instead of answers, to be asked later: of all groups, or of those that changed",
    )  # fmt: skip

    hash: str | None = choice(
        THETA, default=None, kw_only=True,
        help="\"theta\": hash the items as Spark's theta_sketch_agg does, so that states give theta sketches that mix "
        "with those of others",
    )  # fmt: skip

    def __attrs_post_init__(self) -> None:
        windows = {name: length for name, length in self.lengths.items() if name != "every"}
        problems = problems_of(self.every, self.offset, windows)
        if problems:
            raise ConfigError(*problems)

    @property
    def rows(self) -> bool:
        return self.windows[0].rows

    @property
    def lengths(self) -> Mapping[str, Length]:
        return {"every": self.every, **{f"windows[{place}]": window for place, window in enumerate(self.windows)}}

    @property
    def schedule(self) -> Schedule:
        """When it answers."""
        return schedule_of(self.every, self.windows, self.offset)

    @property
    def ties(self) -> tuple[str, ...]:
        return ("key",) if self.rows else ()

    def inputs(self) -> tuple[Input, ...]:
        return identity_inputs("item", self.item)

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        items = [batch.column(name) for name in columns_of(self.item)]
        masks = {"null item": missing(items)} if any(column.null_count for column in items) else {}
        return {"key": pa.array(hash_columns(items, THETA_SEED if self.hash == THETA else 0))}, masks

    def check(self, schema: pa.Schema) -> list[Problem]:
        problems = super().check(schema)
        return problems if problems or self.hash is None else self._unlike_theta(schema)

    def _unlike_theta(self, schema: pa.Schema) -> list[Problem]:
        """What Spark's theta_sketch_agg cannot take."""
        names = columns_of(self.item)
        if len(names) > 1:
            said = f"must be one column with hash = {self.hash!r}: join them to one text in the source"
            return [Problem("item", f"{said} (got {', '.join(names)})")]
        kind = plain_type(schema.field(names[0]).type)
        if any(accepts(kind) for accepts in _THETA_TYPES):
            return []
        said = f"column {names[0]!r} is {kind}, which Spark's theta_sketch_agg refuses with hash = {self.hash!r}"
        return [Problem("item", f"{said}: cast it to a whole number, a float, text or bytes")]

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        if self.emit is not None:
            return [at_field(self, schema), emitted_states.FIELD]
        numbers = [pa.field(name, pa.float64()) for name in ("count", "low", "high")]
        return [at_field(self, schema), pa.field("window", pa.string()), *numbers]

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        return {} if self.hash is None else {"hash": self.hash}

    def sketch_of(self, bindings: Mapping[str, Binding]) -> Sketch:
        """A fresh sketch."""
        return cast(Sketch, bindings["sketch"].create(**self.backend_parameters("sketch")))

    @property
    def gives_states(self) -> bool:
        return self.emit is not None

    @property
    def needs(self) -> tuple[str, ...]:
        return ("merge",) if self.gives_states else ()

    def in_whole_numbers(self, answers: pa.Table) -> pa.Table:
        return super().in_whole_numbers(answers) if self.emit is None else emitted_states.summarised(answers)

    def unsupported_by(self, backend: Backend) -> list[Problem]:
        """Moments that are not the start of a pane, where the sketch lacks `any-since`; a hash of the sketch alone."""
        if self.hash is None and backend.parameters().get("hash") == THETA:
            said = f'must be "theta" too, as hash of {backend.name} is: set it here, and leave it out there'
            return [Problem("hash", said)]
        grain = cast(Sketch, backend).grain
        if grain == 1:
            return []
        said = f"must be a multiple of {written(grain, self.rows)}, the pane of {backend.name}"
        other = f"is of the calendar, and {backend.name} lacks any-since: take a sketch that answers since any moment"

        return [
            Problem(name, f"{other if isinstance(length, CalendarLength) else said} (got {length})")
            for name, length in [*self.lengths.items(), ("offset", self.offset)]
            if isinstance(length, CalendarLength) or length.length % grain
        ]

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        made = _CountingProcessor if self.emit is None else _StateProcessor
        return made(self, bindings, answers)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> SmallGroups | None:
        """Where the sketch counts few keys exactly anyway, groups of few are held as their keys alone."""
        most = min(self.sketch_of(bindings).exact_up_to, _MOST_KEYS)
        calendar = of_calendar(self.every, *self.windows)
        if self.rows or calendar or most < _FEWEST_KEYS or self.emit is not None:
            return None

        def processor(last: int, times: Int64, keys: UInt64) -> GroupProcessor:
            return _CountingProcessor(self, bindings, answers).begin(last, times, keys)

        from skyband.queries.small_distinct_counts import SmallDistinctCounts  # on use, because it loads numba

        windows = [(window.length, str(window)) for window in self.windows]
        return SmallDistinctCounts(self.schedule, windows, most, answers, processor)

    def unmerged(self, bindings: Mapping[str, Binding]) -> str | None:
        if self.rows:
            return super().unmerged(bindings)
        info = bindings["sketch"].info
        return f"{info.name} lacks merge: {info.lacks['merge']}" if "merge" in info.lacks else None

    def state_problems(self, state: AnyState, schema: pa.Schema) -> list[Problem]:  # noqa: ARG002
        return []

    def open_keys(self, before: Query) -> tuple[str, ...]:
        """Windows may come and go below the longest, for which rows are kept."""
        same = isinstance(before, DistinctCount) and _longest(self) == _longest(before)
        return (*self.evolvable, "windows") if same else self.evolvable

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no item, so their counts add, and so do the ends of their bounds. States are united."""
        if self.emit is not None:
            return emitted_states.merged(answers)
        sums = answers.group_by([*self.by, "at", "window"]).aggregate(
            [(name, "sum") for name in ("count", "low", "high")]
        )
        return sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names]).select(
            answers.column_names
        )


class _CountingProcessor(WindowedProcessor):
    def __init__(self, query: DistinctCount, bindings: Mapping[str, Binding], answers: pa.Schema) -> None:
        self._labels = [str(window) for window in query.windows]
        schedule = query.schedule
        super().__init__(query.every.length, schedule.horizon, query.rows, schedule)
        self._new_sketch = partial(query.sketch_of, bindings)
        self._schema = answers
        self._sketch = self._new_sketch()
        self._answers: list[tuple[int, str, float, float, float]] = []

    def begin(self, last: int, times: Int64, keys: UInt64) -> "_CountingProcessor":
        """Go on from the small groups: the time of the last row, and each key with its last time, by time."""
        self.go_on_from(last)
        self._sketch.update(times, keys)
        return self

    def begin_with_state(self, state: AnyState, arrays: Mapping[str, Array], at: int) -> None:
        self._sketch.load_state(arrays)
        self.stand_at(at, state.latest)

    def update(self, times: Int64, rows: Rows) -> None:
        self._sketch.update(times, rows["key"])

    def answer(self, at: int) -> None:
        starts = self._schedule.starts(at)
        for since, name in zip(starts, self._labels, strict=True):
            self._answers.append((at, name, *self._sketch.estimate_with_bounds(since)))
        self._sketch.forget(min(starts))

    def collect(self) -> pa.RecordBatch | None:
        if not self._answers:
            return None
        at, windows, *numbers = zip(*self._answers, strict=True)
        self._answers = []
        columns = [moments(np.array(at), self._schema.field("at").type), pa.array(windows, pa.string())]
        return pa.RecordBatch.from_arrays([*columns, *map(pa.array, numbers)], schema=self._schema)

    def clear(self) -> None:
        self._sketch = self._new_sketch()

    def merge(self, other: GroupProcessor) -> None:
        theirs = cast(_CountingProcessor, other)
        self._sketch.merge(theirs._sketch)
        self.go_on_from_both(theirs)

    @property
    def retained(self) -> int:
        return len(self._sketch)

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {"clock": self.clock()}, state_arrays.with_prefix("sketch", self._sketch.dump_state())

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.set_clock(header["clock"])
        self._sketch.load_state(state_arrays.without_prefix("sketch", arrays))


class _StateProcessor(_CountingProcessor):
    """Gives the sketch itself at each moment, or at those before which rows came since the last."""

    def __init__(self, query: DistinctCount, bindings: Mapping[str, Binding], answers: pa.Schema) -> None:
        super().__init__(query, bindings, answers)
        self._changed = query.emit == emitted_states.CHANGED
        self._states: list[tuple[int, bytes]] = []

    def answer(self, at: int) -> None:
        since = min(self._schedule.starts(at))
        self._sketch.forget(since)
        if not self._changed or self._rows or (self._last is not None and self._last >= self._schedule.latest(at - 1)):
            covers = Coverage(at, since, self._rows, self._changed)
            self._states.append((at, emitted_states.state_of(self._sketch, covers)))

    def collect(self) -> pa.RecordBatch | None:
        if not self._states:
            return None
        at, states = zip(*self._states, strict=True)
        self._states = []
        columns = [moments(np.array(at), self._schema.field("at").type), pa.array(states, pa.binary())]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _longest(query: DistinctCount) -> object:
    """The longest window; all, where which is the longest changes with the calendar."""
    if of_calendar(query.every, *query.windows):
        return query.every, query.windows
    return max(window.length for window in query.windows), query.rows
