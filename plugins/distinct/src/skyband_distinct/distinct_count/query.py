"""distinct-count: the number of distinct items in each window."""

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
from skyband.config.literals import literal
from skyband.config.parameters import choice, number
from skyband.errors import ConfigError, Problem
from skyband.queries import emitted_states
from skyband.queries.composite_ids import Columns, columns_of, identity, identity_inputs, missing
from skyband.queries.query import Input
from skyband.queries.shared_keys import column_name
from skyband.queries.time_columns import at_field
from skyband.registry import Binding
from skyband.roles import Backend, Sketch
from skyband.rules.query_with_rules import (
    NO_WINDOWS,
    SOURCE_OF_RULES,
    QueryWithRules,
    limit_problems,
    longest_parameter,
)
from skyband.windows.schedule import Schedule, schedule_for_rules
from skyband.windows.window_parameters import (
    empty_parameter,
    empty_problems,
    every_parameter,
    lag_parameter,
    lag_problems,
    offset_parameter,
    previous_problems,
    problems_of,
    schedule_of,
    with_previous,
)

from skyband_distinct.distinct_count import value_sums
from skyband_distinct.distinct_count.comparable_windows import ADDED, moments_problems
from skyband_distinct.sightings import SightingSketch, seen_parameter
from skyband_distinct.sketch_parameters import THETA

_THETA_TYPES = (
    pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view,
    pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary,
)  # fmt: skip


@define(eq=True)
class DistinctCount(QueryWithRules):
    """Counts the distinct values of a column over several windows, all from one sketch.

    Result columns: at, window, count, low, high. `low` and `high` are the sketch's bounds, equal to `count` if it is
    exact. Null items are not counted, but reported; with several columns, one null is enough.

    With `seen = [1, 2, 3, 10]`, items are counted by how many rows of the window have them: those seen once, twice,
    three times, and, as the last number is open, ten times or more. The column seen, after window, says which, as "1"
    or "10+". This requires `exact` or `k-skb`, which then keep the last rows of each item, here ten. Of more items than
    it samples, `k-skb` estimates the numbers, and low and high contain each of them except for a share delta of the
    answers.

    With `value`, a column of numbers, and `ranges` of it, items are counted by their latest value in the window; the
    largest counts if several rows have that time. A range [low, high) includes low and excludes high; the column range,
    after window, has it as text. Ranges that do not overlap share no item. With `emit = "state"`, states can be queried
    for any range later. Rows whose value is null or not a number are left out and reported.

    With `value` alone, the value is added up over the items: each item counts once, with its latest value in the
    window, such as each client with the price of its plan. The columns sum, sum_low and sum_high follow the count.
    `exact` adds without rounding, and rounds once, so that a sum does not depend on the shards. `k-skb` estimates the
    sum from a sample, and low and high contain it except for a share delta of the answers; this requires that no value
    is above `upper` or below `lower` (by default 0). Rows beyond these limits, or with an infinite value, are left out
    and reported.

    A group answers from its first row until its longest window is empty. With `empty = "zero"` it continues: moments
    without rows are answered with 0, so that a chart or an alarm sees the silence. Such a group is never forgotten, and
    costs an answer at each moment.

    With `against = "previous"`, a comparison with the previous window of the same length follows: previous, difference,
    difference_low, difference_high, ratio. The difference is the increase, with its bounds; the ratio is null if the
    previous count is 0. The previous count is the answer at that window's end, so windows must be multiples of `every`.
    It is 0 if the group had no row before, as for a stream's first windows. A group answers until both windows are
    empty. With `against = "7 days"`, or another multiple of `every`, the window is compared with the one this much
    earlier, whose answer is remembered until then: 160 bytes a moment and window.

    With `longest`, the state is kept for every window up to that length. Then `windows` may be empty and may change
    between runs, and windows can arrive as rules during a run: rows of a second source `rules`. A rule has a name, a
    window, optionally a slide and phase (default `every` and `offset`), optionally a `group`, and the times `after` and
    `until` between which it is valid, as in top-k-workload. At its moments, a rule answers as if it had always existed,
    while its own window has rows. The answers' columns are then at, rule, window, …: `rule` is the rule's name, or the
    length for one of `windows`. The backend must have `any-since`.

    With `emit = "state"` the columns are at, state: one row for each moment, with the sketch itself. `skyband ask` and
    the functions of `skyband.states` and `skyband.spark.states` query it for any window up to the longest of `windows`,
    alone or united. With `emit = "changed-state"` a group emits a state only if rows arrived since the last moment.

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
    refused_keys: ClassVar[Mapping[str, str]] = {
        "rules": SOURCE_OF_RULES,
        "distance": "counts have a difference, by `against`: use heavy-hitters for the shares of items, or quantiles "
        "for numbers",
    }
    answered_by: ClassVar[str] = "skyband_distinct.distinct_count.execution:DistinctCountExecution"
    shard_by: ClassVar[str | None] = "key"
    drop_reasons: ClassVar[tuple[str, ...]] = (
        "null item", "null value", value_sums.TOO_LARGE, value_sums.BELOW, value_sums.ABOVE,
    )  # fmt: skip

    item: Columns = identity(help="the column whose distinct values are counted, or several, counted together")
    windows: tuple[Length, ...] = lengths(
        help=f"lengths of the windows, {SO_FAR}; may be empty, [], with `longest`", may_be_empty=True
    )
    every: Length = every_parameter()
    offset: Duration = offset_parameter()
    emit: str | None = choice(
        *emitted_states.KINDS, default=None, kw_only=True,
        help="emit states instead of answers, to be queried later: of all groups, or of those that changed",
    )  # fmt: skip

    empty: str | None = empty_parameter()
    value: str | None = column_name(
        None,
        kw_only=True,
        help="a column of numbers, whose latest value for each item is added up, or counted by `ranges`",
    )
    ranges: tuple[ValueRange, ...] | None = ranges_parameter(
        kw_only=True,
        help="ranges of `value`, [[0, 10], [10, 100], [100, inf]]; each includes its first number, not its second",
    )
    lower: float | None = number(
        None, kw_only=True, help="the least value that is added up; by default 0 with `upper`, otherwise no limit"
    )
    upper: float | None = number(
        None, kw_only=True, help="the largest value that is added up, required for sums of k-skb; by default no limit"
    )
    against: Any = lag_parameter()
    seen: tuple[int, ...] | None = seen_parameter()
    hash: str | None = choice(
        THETA, default=None, kw_only=True,
        help="\"theta\": hash the items as Spark's theta_sketch_agg does, so that states yield theta sketches that "
        "combine with others",
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
            return [Problem("value", "is required with `ranges`: name the column of numbers that they divide")]
        if self.value is not None and self.seen is not None:
            message = "counts items by how often they were seen, not by a value: remove it or `value`"
            return [Problem("seen", f"{message} (got {literal(list(self.seen))})")]
        if self.emit is not None and self.ranges is not None:
            return [Problem("ranges", "cannot be used with `emit`: leave them out, and query the states for them")]
        return []

    @property
    def adds(self) -> bool:
        """Whether the values of items are added up."""
        return self.value is not None and self.ranges is None and self.emit is None

    @property
    def backend_remedies(self) -> Mapping[str, str]:  # type: ignore[override]
        if self.adds:
            values = "it only counts items, without values to add up: choose exact, or k-skb with `upper`"
        else:
            values = "choose k-skb or exact; or add a column with the range in the source, and group `by` it"
        sightings = "it does not know how often an item was seen: choose k-skb or exact"
        return {"hash": "choose k-skb or exact", "values": values, "sightings": sightings}

    def _against_problems(self, windows: Mapping[str, Length]) -> list[Problem]:
        if self.against is None:
            return []
        if isinstance(self.against, Duration):
            problems = lag_problems(self.against, self.every, windows)
        else:
            problems = previous_problems(windows) or moments_problems(self.every, self.offset.length, windows)
        if self.emit is not None:
            message = "returns states instead of the answers that `against` compares"
            problems.append(Problem("emit", f"{message}: remove one of the two"))
        return problems

    @property
    def evolvable(self) -> tuple[str, ...]:  # type: ignore[override]
        """With `longest`, windows may be added and removed."""
        return () if self.longest is None else ("windows", "every", "offset")

    @property
    def schedule(self) -> Schedule:
        """The moments of answers; with rules, any moment is possible."""
        if self.longest is not None:
            return schedule_for_rules(self.longest.length)
        windows = self.windows if self.against is None else with_previous(self.windows, self.against)
        return schedule_of(self.every, windows, self.offset, self.empty)

    @property
    def ties(self) -> tuple[str, ...]:
        return ("key", *([] if self.value is None else ["value"])) if self.rows else ()

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return tuple(self.labels)

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
        """Problems with items that Spark's theta_sketch_agg cannot take."""
        names = columns_of(self.item)
        if len(names) > 1:
            message = f"must be one column with hash = {self.hash!r}: concatenate them in the source"
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
        """The columns of an answer, after its moment, that say what was counted."""
        classes = ["range"] if self.ranges else ["seen"] if self.seen is not None and self.emit is None else []
        return [*self.rule_columns, "window", *classes]

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        parameters = {
            "values": None if self.value is None else "latest",
            "hash": self.hash,
            "sightings": None if self.seen is None else self.seen[-1],
        }
        return {name: value for name, value in parameters.items() if value is not None}

    def sketch_of(self, bindings: Mapping[str, Binding]) -> Sketch:
        """A new sketch."""
        return cast(Sketch, bindings["sketch"].create(**self.backend_parameters("sketch")))

    def unsupported_by(self, backend: Backend) -> list[Problem]:
        """Problems with a hash or values set in the backend only, and, without `any-since`, moments within a pane."""
        if self.hash is None and backend.parameters().get("hash") == THETA:
            message = f'must be "theta", because hash of {backend.name} is: set it here, and leave it out there'
            return [Problem("hash", message)]
        if self.value is None and cast(Sketch, backend).keeps_values:
            message = f"is required, because {backend.name} keeps values: name the column here, and drop `values` there"
            return [Problem("value", message)]
        if self.seen is None and isinstance(backend, SightingSketch) and backend.kept_sightings is not None:
            message = f"is required, because {backend.name} keeps sightings: set it here, and drop `sightings` there"
            return [Problem("seen", message)]
        if self.adds and (problems := value_sums.unlike(self, cast(Sketch, backend))):
            return problems
        grain = cast(Sketch, backend).grain
        if grain == 1:
            return []
        message = f"must be a multiple of {length_text(grain, self.rows)}, the pane of {backend.name}"
        message += ", or backends.sketch.pane a length that divides it" if "pane" in backend.parameters() else ""
        other = f"is a calendar length, but {backend.name} lacks any-since: choose a sketch that has it"
        return [
            Problem(name, f"{other if isinstance(length, CalendarLength) else message} (got {length})")
            for name, length in [*self.lengths.items(), ("offset", self.offset)]
            if isinstance(length, CalendarLength) or length.length % grain
        ]
