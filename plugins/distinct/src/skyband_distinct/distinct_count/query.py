"""distinct-count: how many different items each window holds."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.columns.hashing import THETA_SEED, hash_columns
from skyband.columns.keyed_frames import plain_type
from skyband.columns.numbers import as_float64, is_number
from skyband.columns.state_frame_checks import check_numbers, check_whole
from skyband.config.calendar_lengths import SO_FAR, CalendarLength, Length, lengths
from skyband.config.durations import Duration, length_text
from skyband.config.half_open_ranges import ValueRange, ranges_parameter
from skyband.config.parameters import choice, number
from skyband.errors import ConfigError, Problem
from skyband.queries import emitted_states
from skyband.queries.composite_ids import Columns, columns_of, identity, identity_inputs, missing
from skyband.queries.query import Input
from skyband.queries.shared_keys import column_name
from skyband.queries.time_columns import at_field
from skyband.registry import Binding
from skyband.roles import Backend, Sketch
from skyband.rules.longest_window import NO_WINDOWS, SOURCE_OF_RULES, limit_problems, longest_parameter
from skyband.rules.query_with_rules import QueryWithRules
from skyband.windows.empty_windows import empty_parameter, empty_problems
from skyband.windows.previous_windows import against_parameter, previous_problems, with_previous
from skyband.windows.schedule import Schedule, schedule_for_rules
from skyband.windows.window_parameters import every_parameter, offset_parameter, problems_of, schedule_of

from skyband_distinct.distinct_count import value_sums
from skyband_distinct.distinct_count.comparable_windows import ADDED, moments_problems
from skyband_distinct.questions.theta_sketches import HASH as THETA

_THETA_TYPES = (
    pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view,
    pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary,
)  # fmt: skip


@define(eq=True)
class DistinctCount(QueryWithRules):
    """Counts the distinct values of a column over several windows, all from one sketch.

    Result columns: at, window, count, low, high. `low` and `high` are the bound the sketch declares, equal to
    `count` where it is exact. Null items are not counted, and reported; of several columns one is enough.

    With `value`, a column of numbers, and `ranges` of it, items are counted by the value that they had last in the
    window; of several rows at that time the largest counts. A range [low, high) holds the values from low on and below
    high; it stands as such text in the column range, after window. Ranges that do not overlap share no item. With
    `emit = "state"` any range is asked later. Rows whose value is null or no number are left out, and reported.

    With `value` alone the value is added up over the items: each item counts once, with the value that it had last in
    the window, such as each client with the price of its plan. sum, sum_low and sum_high follow the count. `exact` adds
    up without rounding, and rounds once, so that a sum is the same from any shards. `k-skb` estimates it from a sample,
    and its low and high hold it but for a share delta of the answers; for that no value may be above `upper` or below
    `lower` (0 where it is not given). Rows beyond these, and those whose value is infinite, are left out, and reported.

    A group answers from its first row on until its longest window is empty. With `empty = "zero"` it goes on: a moment
    in which nothing came has an answer too, 0, so that a chart or an alarm sees the silence. Such a group is never
    forgotten, and costs an answer at each moment.

    With `against = "previous"` the count of the window just before, which is as long, follows: previous, difference,
    difference_low, difference_high, ratio. The difference is what there is more now, with its bounds; the ratio is null
    where the window before has none. It is what was answered at its end, so that windows are whole numbers of times
    `every`, and nothing where the group had no row before: the first windows of a stream are compared with nothing. A
    group answers until both windows are empty.

    With `longest` the state is kept for every window within it, and not for those there are: `windows` may then be
    none, and change between runs as they like, and windows come as rules while it runs, rows of a second source `rules`
    with a name, a window, perhaps a slide and phase, else `every` and `offset`, perhaps a `group`, and the times
    `after` which and `until` which they hold, as top-k-workload has them. A rule answers at its moments what it would
    have answered had it been there for ever, as long as its own window holds a row. The columns of answers are then at,
    rule, window, …: the name of the rule, of one of `windows` its length. The backend must have `any-since`.

    With `emit = "state"` they are at, state: one row a moment, the sketch itself, which `skyband ask` and the functions
    of `skyband.states` and `skyband.spark.states` ask for any window up to the longest of `windows`, alone or united.
    With `emit = "changed-state"` a group has one only at moments since the last of which rows came.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> rows = pa.table({"ts": pa.array([0, 20, 70], pa.timestamp("s")), "who": ["ann", "bob", "ann"]})
    >>> query = DistinctCount("ts", item="who", windows=["1 minute"], every="1 minute")
    >>> local.apply(rows, query).column("count").to_pylist()
    [2.0, 1.0]
    """

    kind: ClassVar[str] = "distinct-count"
    _hashed_keys: ClassVar[tuple[str, ...]] = ("item",)
    roles: ClassVar[tuple[str, ...]] = ("sketch",)
    refused_keys: ClassVar[Mapping[str, str]] = {"rules": SOURCE_OF_RULES}
    answered_by: ClassVar[str] = "skyband_distinct.distinct_count.execution:DistinctCountExecution"
    shard_by: ClassVar[str | None] = "key"
    drop_reasons: ClassVar[tuple[str, ...]] = (
        "null item", "null value", value_sums.TOO_LARGE, value_sums.BELOW, value_sums.ABOVE,
    )  # fmt: skip

    item: Columns = identity(help="the column whose distinct values are counted; several: whose values together are")
    windows: tuple[Length, ...] = lengths(
        help=f"lengths of the windows, {SO_FAR}; with `longest` perhaps none, []", may_be_empty=True
    )
    every: Length = every_parameter()
    offset: Duration = offset_parameter()
    emit: str | None = choice(
        *emitted_states.KINDS, default=None, kw_only=True,
        help="give states instead of answers, to be asked later: of all groups, or of those that changed",
    )  # fmt: skip

    empty: str | None = empty_parameter()
    value: str | None = column_name(
        None,
        kw_only=True,
        help="a column of numbers, of which an item has the one it had last: added up, or told apart by `ranges`",
    )
    ranges: tuple[ValueRange, ...] | None = ranges_parameter(
        kw_only=True,
        help="ranges of `value`, [[0, 10], [10, 100], [100, inf]]: each from its first number on and below its second",
    )
    lower: float | None = number(
        None, kw_only=True, help="no value that is added up is below this; none: 0 with `upper`, otherwise no limit"
    )
    upper: float | None = number(
        None, kw_only=True, help="no value that is added up is above this, which sums of k-skb need; none: no limit"
    )
    against: str | None = against_parameter()
    hash: str | None = choice(
        THETA, default=None, kw_only=True,
        help="\"theta\": hash the items as Spark's theta_sketch_agg does, so that states give theta sketches that mix "
        "with those of others",
    )  # fmt: skip

    longest: Duration | None = longest_parameter()

    def __attrs_post_init__(self) -> None:
        if not self.windows and self.longest is None:
            raise ConfigError(Problem("windows", f"{NO_WINDOWS} (got [])"))
        windows = {name: length for name, length in self.lengths.items() if name != "every"}
        problems = [*self._range_problems(), *value_sums.sum_problems(self)]
        if self.longest is None:
            problems += problems_of(self.every, self.offset, windows)
            problems += [*empty_problems(self.empty, self.rows, self.emit), *self._against_problems(windows)]
        else:
            others = {"emit": self.emit, "empty": self.empty, "against": self.against}
            problems += limit_problems(self.longest, self.lengths, self.offset, others)
        if problems:
            raise ConfigError(*problems)

    def _range_problems(self) -> list[Problem]:
        if self.value is None and self.ranges is not None:
            return [Problem("value", "is required with `ranges`: the column of numbers whose ranges they are")]
        if self.emit is not None and self.ranges is not None:
            return [Problem("ranges", "are asked of the states later: leave them out where `emit` is given")]
        return []

    @property
    def adds(self) -> bool:
        """Whether it adds up the values of items."""
        return self.value is not None and self.ranges is None and self.emit is None

    @property
    def backend_remedies(self) -> Mapping[str, str]:  # type: ignore[override]
        if self.adds:
            values = "it counts items, and keeps no values to add up: choose exact, or k-skb with `upper`"
        else:
            values = "choose k-skb or exact; or make a column of the ranges in the source, and group `by` that"
        return {"hash": "choose k-skb or exact", "values": values}

    def _against_problems(self, windows: Mapping[str, Length]) -> list[Problem]:
        if self.against is None:
            return []
        problems = previous_problems(windows) or moments_problems(self.every, self.offset.length, windows)
        if self.emit is not None:
            message = "gives states, which answer since any moment, and `against` compares answers"
            problems.append(Problem("emit", f"{message}: drop one of the two"))
        return problems

    @property
    def evolvable(self) -> tuple[str, ...]:  # type: ignore[override]
        """With `longest` any window may join and leave as it likes."""
        return () if self.longest is None else ("windows", "every", "offset")

    @property
    def schedule(self) -> Schedule:
        """When it answers; with rules any moment may be one."""
        if self.longest is not None:
            return schedule_for_rules(self.longest.length)
        windows = self.windows if self.against is None else with_previous(self.windows)
        return schedule_of(self.every, windows, self.offset, self.empty)

    @property
    def ties(self) -> tuple[str, ...]:
        return ("key", *([] if self.value is None else ["value"])) if self.rows else ()

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return (*self.rule_columns, "window", *(["range"] if self.ranges else []))

    def inputs(self) -> tuple[Input, ...]:
        value_input = [] if self.value is None else [Input("value", self.value, "a number", is_number)]
        return (*identity_inputs("item", self.item), *value_input)

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        items = [batch.column(name) for name in columns_of(self.item)]
        masks = {"null item": missing(items)} if any(column.null_count for column in items) else {}
        columns = {"key": pa.array(hash_columns(items, THETA_SEED if self.hash == THETA else 0))}
        if self.value is not None:
            numbers = as_float64(self.value, batch.column(self.value)).fill_null(np.nan).to_numpy(zero_copy_only=False)
            columns["value"] = pa.array(numbers)
            masks |= {"null value": np.isnan(numbers)} if np.isnan(numbers).any() else {}
            masks |= value_sums.left_out(self, numbers) if self.adds else {}
        return columns, masks

    def check_frame(self, frame: pa.RecordBatch) -> None:
        check_whole(frame, "key")
        if self.value is not None:
            least, most = value_sums.bounds_of(self)
            check_numbers(frame, "value", at_least=least, at_most=most)

    def check(self, schema: pa.Schema) -> list[Problem]:
        problems = super().check(schema)
        return problems if problems or self.hash is None else self._unlike_theta(schema)

    def _unlike_theta(self, schema: pa.Schema) -> list[Problem]:
        """What Spark's theta_sketch_agg cannot take."""
        names = columns_of(self.item)
        if len(names) > 1:
            message = f"must be one column with hash = {self.hash!r}: join them to one text in the source"
            return [Problem("item", f"{message} (got {', '.join(names)})")]
        kind = plain_type(schema.field(names[0]).type)
        if any(accepts(kind) for accepts in _THETA_TYPES):
            return []
        message = f"column {names[0]!r} is {kind}, which Spark's theta_sketch_agg refuses with hash = {self.hash!r}"
        return [Problem("item", f"{message}: cast it to a whole number, a float, text or bytes")]

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        if self.emit is not None:
            return [at_field(self, schema), emitted_states.FIELD]
        compared = () if self.against is None else (*ADDED, "ratio")
        sums = value_sums.SUMS if self.adds else ()
        numbers = [pa.field(name, pa.float64()) for name in ("count", "low", "high", *sums, *compared)]
        labels = [pa.field(name, pa.string()) for name in self.labels]
        return [at_field(self, schema), *labels, *numbers]

    @property
    def labels(self) -> list[str]:
        """The columns of an answer that say what was counted, after its moment."""
        return [*self.rule_columns, "window", *(["range"] if self.ranges else [])]

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        values = {} if self.value is None else {"values": "latest"}
        return values if self.hash is None else {**values, "hash": self.hash}

    def sketch_of(self, bindings: Mapping[str, Binding]) -> Sketch:
        """A fresh sketch."""
        return cast(Sketch, bindings["sketch"].create(**self.backend_parameters("sketch")))

    @property
    def gives_states(self) -> bool:
        return self.emit is not None

    @property
    def needs(self) -> tuple[str, ...]:
        if self.longest is not None:
            return ("any-since",)
        return ("merge",) if self.gives_states else ()

    def unsupported_by(self, backend: Backend) -> list[Problem]:
        """Moments that are not the start of a pane, where the sketch lacks `any-since`; a hash of the sketch alone."""
        if self.hash is None and backend.parameters().get("hash") == THETA:
            message = f'must be "theta" too, as hash of {backend.name} is: set it here, and leave it out there'
            return [Problem("hash", message)]
        if self.value is None and cast(Sketch, backend).keeps_values:
            message = f"is required, as {backend.name} is to keep values: name the column here, and drop `values` there"
            return [Problem("value", message)]
        if self.adds and (problems := value_sums.unlike(self, cast(Sketch, backend))):
            return problems
        grain = cast(Sketch, backend).grain
        if grain == 1:
            return []
        message = f"must be a multiple of {length_text(grain, self.rows)}, the pane of {backend.name}"
        message += ", or backends.sketch.pane a length that divides it" if "pane" in backend.parameters() else ""
        other = f"is of the calendar, and {backend.name} lacks any-since: take a sketch that answers since any moment"
        return [
            Problem(name, f"{other if isinstance(length, CalendarLength) else message} (got {length})")
            for name, length in [*self.lengths.items(), ("offset", self.offset)]
            if isinstance(length, CalendarLength) or length.length % grain
        ]
