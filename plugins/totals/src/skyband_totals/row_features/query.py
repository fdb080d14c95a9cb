"""row-features: for each row, the number of rows, sums and distinct values just before it."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from attrs import define
from attrs.converters import optional
from skyband.columns.hashing import hash_columns
from skyband.columns.keyed_frames import plain_type
from skyband.columns.state_frame_checks import check_named, check_numbers
from skyband.config.durations import Duration, duration, durations, parsed
from skyband.config.literals import literal
from skyband.config.parameters import choice, flag, number
from skyband.errors import ConfigError, Problem
from skyband.groups.per_row_processor import time_field
from skyband.queries import emitted_states
from skyband.queries.carried_columns import (
    TIE,
    carry_columns,
    carry_fields,
    carry_inputs,
    name_problems,
)
from skyband.queries.query import Input, Query
from skyband.queries.shared_keys import column_name, column_names
from skyband.queries.time_columns import at_field
from skyband.registry import Binding
from skyband.windows.schedule import Schedule
from skyband.windows.window_parameters import schedule_of
from skyband_expressions.row_conditions import columns_read, problem_in

from skyband_totals.narrow_floats import REMEDY
from skyband_totals.row_aggregates.role import NUMBER, VALUE
from skyband_totals.row_aggregates.storages import REASONS, check_frame
from skyband_totals.row_features.features import Feature, feature_of, features_parameter, name_clashes
from skyband_totals.row_features.layout import ASKS, layout_of
from skyband_totals.units import NOT_A_MULTIPLE, NOT_FINITE, TOO_LARGE

NO_OFFSET = parsed("0 seconds")
_OTHERS_NAME = 'row-features calls them features: `features = [{ of = "max", column = "paid" }]`'


@define(eq=True)
class RowFeatures(Query):
    """Returns each row with counts and sums over the previous rows of its group (the `by` columns): model features.

    Result columns, for each row: time; then for each of `windows`, such as "1 hour", the number of rows count_1_hour,
    NAME_sum_1_hour for each column of `sums`, and NAME_distinct_1_hour for each of `distinct`; then those of
    `features`, each over its windows; then the columns to `carry`, such as an id or a label.

    `features` is a list of tables, such as { of = "max", column = "paid" }, which gives paid_max_1_hour:

    - `of`: an aggregate, one of the role row-aggregate: count, sum, mean, min, max, variance, std, first, last,
      since-last, distinct, quantile, share, or one that a plugin brings.
    - `column`: the column that it is of. Not for share; a count or since-last without it is of rows.
    - `where`: a condition, in SQL as in `source.where`: other rows are to this feature as if they were not there. For
      share it is the condition whose share is asked.
    - `windows`: its lengths, in place of those of the query.
    - `name`: the beginning of its columns' names, by default COLUMN_of.
    - parameters of the aggregate: `k` of last, for a list of the last k values; `q` of quantile; `unit`.

    A row at t is answered over (t - window, t]: it includes itself and all rows with its time, in any order of arrival,
    as SQL's RANGE BETWEEN ... AND CURRENT ROW does. With `before` it is [t - window, t), without the row itself and
    others with its time. All results are exact, so rows that leave the window leave no error behind. With `unit`,
    numbers to add are whole multiples of it, which may be negative. Without it integers are added as they are,
    decimals in their last digit, and floats so that each sum is the float64 nearest to the exact one. Nothing depends
    on the order of rows, on batches, or on rows before the window. Rows with equal times are ordered by a hash of what
    they carry.

    With `asks`, a column of truth values, the rows for which it is true are questions: they are answered over
    [t - window, t) whatever `before` is, and are in no window, not even their own. Other rows are not answered. So the
    moments of a second table, such as labels, get the features just before each: `with_spine` and, in a job,
    `source.spine` add them as questions.

    A null value is in no feature of its column, but its row counts. A value that cannot be added or compared, because
    it is not a number, not a multiple of `unit` or above 2^53 units, makes the features of its column null in every
    window that contains it, except for its counts. Its row is answered and counted as usual, and a warning says how
    many there are. All rows of the longest window are items, with the columns of features only.

    A stream and a table of the past yield the same rows, so a model is queried with the features it was trained on.

    With `emit = "state"` the columns are at, state: every `every`, each group's rows of the longest window before that
    moment. `skyband ask` and `skyband.states.features` answer from it for any later moment, at which older rows have
    left the windows, as a row with `before` would be. With `emit = "changed-state"` a group emits a state only if rows
    arrived since the last moment.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> rows = pa.table({"ts": pa.array([0, 20, 70], pa.timestamp("s")), "who": ["ann"] * 3, "paid": [5, 7, 2]})
    >>> query = RowFeatures("ts", by="who", windows=["1 minute"], sums="paid")
    >>> local.apply(rows, query).select(["count_1_minute", "paid_sum_1_minute"]).to_pylist()[1:]
    [{'count_1_minute': 2, 'paid_sum_1_minute': 12.0}, {'count_1_minute': 2, 'paid_sum_1_minute': 9.0}]
    """

    kind: ClassVar[str] = "row-features"
    _hashed_keys: ClassVar[tuple[str, ...]] = ("distinct",)
    roles: ClassVar[tuple[str, ...]] = ()
    answered_by: ClassVar[str] = "skyband_totals.row_features.execution:RowFeaturesExecution"
    drop_reasons: ClassVar[tuple[str, ...]] = tuple(REASONS.values())
    answered_reasons: ClassVar[tuple[str, ...]] = drop_reasons
    refused_keys: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("aggregates", "aggs", "aggregations"), _OTHERS_NAME),
        "means": 'a mean is a feature: `features = [{ of = "mean", column = "paid" }]`',
        "where": "a condition belongs to a feature, or to the whole source as `source.where`: move it there",
    }

    windows: tuple[Duration, ...] = durations(help="lengths of the windows, each before a row")
    sums: tuple[str, ...] = column_names(help="columns of numbers to add up, each separately")
    distinct: tuple[str, ...] = column_names(help="columns whose distinct values are counted, each separately")
    unit: float | None = number(
        None, above=0, help="numbers to add are whole multiples of this, such as 0.01 for prices; none: as they are"
    )
    before: bool = flag(False, help="leave out the row itself and all others with its time")
    carry: tuple[str, ...] = column_names(help="further columns of the row to return, such as its id")
    features: tuple[Feature, ...] = features_parameter(
        help="aggregates of columns, each a table with `of` and, as it needs them, column, where, windows and name"
    )
    asks: str | None = column_name(
        None, kw_only=True,
        help="a column of truth values: only rows for which it is true are answered, over what was before them, and "
        "they are in no window",
    )  # fmt: skip
    emit: str | None = choice(
        *emitted_states.KINDS, default=None, kw_only=True,
        help="emit states instead of answers, to be asked for the features of any later moment: of all groups, or of "
        "those that changed",
    )  # fmt: skip
    every: Duration | None = duration(
        None, at_least=1, kw_only=True, converter=optional(parsed),
        help='with `emit`, how often to emit the states, such as "5 minutes"; aligned to the epoch',
    )  # fmt: skip

    def __attrs_post_init__(self) -> None:
        problems = self._state_problems()
        if self.rows:
            message = "must be a length of time: a number of rows would depend on the order of rows with equal times"
            problems.append(Problem("windows[0]", f"{message} (got {self.windows[0]})"))
        if self.unit is not None and not any(hasattr(feature.aggregate(None), "unit") for feature in self.all_features):
            problems.append(Problem("unit", f"requires `sums`, or features that add: remove it (got {self.unit:g})"))
        columns = self.named_columns
        problems += name_clashes(columns)
        names = [name for name, _ in columns]
        problems += name_problems("carry", self.carry, ("time", *names, *self.by))
        problems += name_problems("by", self.by, ("time", *names))
        if problems:
            raise ConfigError(*problems)

    def _state_problems(self) -> list[Problem]:
        """Problems of `emit` and `every`."""
        if self.emit is None:
            message = f"row-features answers each row when it arrives: drop this, or set emit (got {self.every})"
            return [] if self.every is None else [Problem("every", message)]
        problems = []
        if self.asks is not None:
            message = "cannot be combined with `emit`, whose states are asked later: remove one of them"
            problems.append(Problem("asks", f"{message} (got {literal(self.asks)})"))
        if self.every is None:
            problems.append(Problem("every", 'is required with `emit`: how often states come, such as "5 minutes"'))
        elif self.every.rows:
            problems.append(Problem("every", f"must be a length of time, as the windows are (got {self.every})"))
        if self.carry:
            message = f"has no row to return columns of with `emit`: remove one of them (got {literal([*self.carry])})"
            problems.append(Problem("carry", message))
        return problems

    @property
    def promises(self) -> Mapping[str, str]:
        keeps = {feature.aggregate(self.unit).keeps for feature in self.all_features}
        if not keeps & {NUMBER, VALUE}:
            return {}
        null = "so that features over them are null"
        of_unit = "the unit" if self.unit is None else f"unit = {self.unit:g}"
        remedy = f"use a smaller unit, such as 0.01 for prices, or round the values{REMEDY}"
        sentences = {
            NOT_A_MULTIPLE: f"rows have a value that is not a multiple of {of_unit}, {null}: {remedy}",
            NOT_FINITE: f"rows have a value that is not a number, {null}: make such values null in "
            "source.select, to leave them out",
            TOO_LARGE: f"rows have a value above 2^53 times {of_unit}, {null}: use a larger unit, "
            "or make such values null",
        }
        return {REASONS[code]: sentence for code, sentence in sentences.items()}

    @property
    def rows(self) -> bool:
        return self.windows[0].rows

    @property
    def one_shard(self) -> str | None:
        """Without `by`, each row is answered over all rows before it."""
        return "each row is answered over all rows before it"

    @property
    def span(self) -> int:
        """A row does not affect others that are later by this."""
        return self.longest + self.looks_before

    @property
    def longest(self) -> int:
        """The length of the longest window, in microseconds."""
        return max(window.length for window in self.all_windows)

    @property
    def looks_before(self) -> bool:
        """Whether windows are [t - window, t) rather than (t - window, t]."""
        return self.before or self.asks is not None

    @property
    def schedule(self) -> Schedule | None:
        """The moments of states; None without `emit`, as each row is answered."""
        return None if self.every is None else schedule_of(self.every, self.all_windows, NO_OFFSET)

    @property
    def gives_states(self) -> bool:
        return self.emit is not None

    @property
    def all_windows(self) -> tuple[Duration, ...]:
        """Those of the query, then those of its features."""
        return (*self.windows, *(window for feature in self.features for window in feature.windows))

    @property
    def all_features(self) -> tuple[Feature, ...]:
        """The count, sums and distinct values as features, then `features`."""
        sums = (feature_of("sum", name, f"{name}_sum") for name in self.sums)
        distinct = (feature_of("distinct", name, f"{name}_distinct") for name in self.distinct)
        return (feature_of("count", None, "count"), *sums, *distinct, *self.features)

    @property
    def feature_order(self) -> list[tuple[int, int]]:
        """For each column of features its feature and window: short forms window by window, then feature by feature."""
        short = 1 + len(self.sums) + len(self.distinct)
        columns = [(number, window) for window in range(len(self.windows)) for number in range(short)]
        return columns + [
            (short + number, window)
            for number, feature in enumerate(self.features)
            for window in range(len(feature.windows or self.windows))
        ]

    @property
    def named_columns(self) -> list[tuple[str, str]]:
        """The name of each column of features, in order, and the key that makes it."""
        features = self.all_features
        short = len(features) - len(self.features)
        names = [feature.columns(self.windows) for feature in features]
        return [
            (names[number][window], "windows" if number < short else f"features[{number - short}]")
            for number, window in self.feature_order
        ]

    @property
    def named_backends(self) -> Mapping[str, Binding]:
        bound = ((number, feature.binding) for number, feature in enumerate(self.features))
        return {f"features[{number}]": binding for number, binding in bound if binding is not None}

    @property
    def ties(self) -> tuple[str, ...]:
        return (TIE,) if self.carry or self.emit is not None else ()

    def inputs(self) -> tuple[Input, ...]:
        short = len(self.all_features) - len(self.features)
        inputs = []
        for place, feature in enumerate(self.all_features):
            key = f"features[{place - short}]"
            if feature.column is not None:
                aggregate = feature.aggregate(self.unit)
                named = f"{key}.column" if place >= short else "sums" if feature.of == "sum" else "distinct"
                what = aggregate.problem_of(pa.null()) or "a plain value"
                inputs.append(
                    Input(named, feature.column, what, lambda kind, of=aggregate: not of.problem_of(plain_type(kind)))
                )
            if feature.where is not None:
                inputs += [Input(f"{key}.where", name, "a column", _is_any) for name in columns_read(feature.where)]
        asks = () if self.asks is None else (Input("asks", self.asks, "truth values", pa.types.is_boolean),)
        return (*inputs, *asks, *carry_inputs(self.carry))

    def check(self, schema: pa.Schema) -> list[Problem]:
        conditions = [
            (place, one.where)
            for place, one in enumerate(self.features)
            if one.where is not None and set(columns_read(one.where)) <= set(schema.names)  # others are missing columns
        ]
        wrong = [(place, problem_in(where, schema)) for place, where in conditions]
        return super().check(schema) + [
            Problem(f"features[{place}].where", problem) for place, problem in wrong if problem is not None
        ]

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        columns = layout_of(self.all_features, self.unit, batch.schema).encode(batch)
        if self.asks is not None:
            columns[ASKS] = batch.column(self.asks).fill_null(False).cast(pa.int8())
        if self.emit is None:
            return columns | carry_columns(self.carry, batch), {}
        names = dict.fromkeys(one.column for one in self.inputs())
        hashes = hash_columns([batch.column(name) for name in names]) if names else np.zeros(len(batch), np.uint64)
        return {**columns, TIE: pa.array(hashes)}, {}

    def check_frame(self, frame: pa.RecordBatch) -> None:
        check_named(frame)
        check_frame(frame)
        if self.asks is not None:
            check_numbers(frame, ASKS, at_least=0, at_most=1)

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        if self.emit is not None:
            return [at_field(self, schema), emitted_states.FIELD]
        kinds = layout_of(self.all_features, self.unit, schema).kinds
        own_types = [
            feature.aggregate(self.unit).gives(kind) for feature, kind in zip(self.all_features, kinds, strict=True)
        ]
        order = zip(self.named_columns, self.feature_order, strict=True)
        features = [pa.field(name, own_types[number]) for (name, _), (number, _) in order]
        return [time_field(self, schema), *features, *carry_fields(self.carry, schema)]

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is none
        return {}


def _is_any(_: pa.DataType) -> bool:
    """The types in a condition are checked separately."""
    return True
