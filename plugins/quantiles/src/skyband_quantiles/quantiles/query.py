"""quantiles: the values with given shares of a window's rows at or below them, and the share of rows above a limit."""

import math
from collections.abc import Mapping
from functools import reduce
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.columns.numbers import as_float64, is_number
from skyband.columns.state_frame_checks import check_numbers
from skyband.config.calendar_lengths import ALWAYS, SO_FAR, CalendarLength, Length, is_ever, lengths
from skyband.config.durations import Duration
from skyband.config.literals import literal
from skyband.config.parameters import choice
from skyband.errors import ConfigError, Problem
from skyband.queries import emitted_states
from skyband.queries.query import Input
from skyband.queries.shared_keys import column_name
from skyband.queries.time_columns import at_field
from skyband.roles import Backend
from skyband.rules.query_with_rules import (
    NO_WINDOWS,
    SOURCE_OF_RULES,
    QueryWithRules,
    limit_problems,
    longest_parameter,
)
from skyband.windows.schedule import Schedule, schedule_for_rules
from skyband.windows.window_parameters import (
    every_parameter,
    lag_parameter,
    of_calendar,
    offset_parameter,
    problems_of,
    schedule_of,
    with_previous,
)

from skyband_quantiles.asked_parameters import limits_parameter, quantiles_parameter
from skyband_quantiles.quantiles import comparing
from skyband_quantiles.role import QuantileSketch

_QUARTER = 15 * 60_000_000
"""The offsets of all time zones today are multiples of this."""


def sketch_lengths(every: Length, windows: tuple[Length, ...], offset: Duration) -> tuple[int, int, int]:
    """`longest`, `every` and `offset` of the sketch: all windows of the query start at offset + multiples of every.

    With calendar windows, `longest` is at least as long as each, and `every` divides the moments at which they start.
    """
    if all(map(is_ever, windows)):
        return 2 * ALWAYS, ALWAYS, 0
    if not of_calendar(every, *windows):
        step = reduce(math.gcd, (window.length for window in windows), every.length)
        return max(window.length for window in windows), step, offset.length % step
    clocks = [length.clock for length in (every, *windows) if isinstance(length, CalendarLength)]
    plain = [length.length for length in (every, *windows) if isinstance(length, Duration)]
    step = reduce(math.gcd, [*clocks, *plain, offset.length], _QUARTER)
    return schedule_of(every, windows, offset).horizon, step, 0


ROLE = "quantile-sketch"
_SHARES = "is called `at` here: write at = [0.5, 0.99], parts of 1"
_ABOVE = "above = [400] gives the share above 400; the share at or below is 1 minus that"
_OF_A_ROW = (
    "a quantile here is a row's value: the smallest one with at least that share of the rows at or below it; for a "
    "mean, use exact and two values of at"
)


@define(eq=True)
class Quantiles(QueryWithRules):
    """Finds the value with a given share of each window's rows at or below it, and the share of rows above a limit.

    The q-quantile of n rows sorted by value is the one of rank max(1, ceil(q n)), the smallest value with at least the
    share q of the rows at or below it: always the value of a row, like SQL's percentile_disc. q is an exact decimal, so
    that 0.07 of 100 rows is the seventh.

    Result columns: at, window, quantile (with `at`), above (with `above`), value, low, high, rows: one row for each
    quantile, then one for each limit, in which `value` is the share of the rows above it. `low` and `high` are the
    bounds of the sketch, equal to `value` if it is exact; `rows` is the number of rows in the window.

    Rows whose value is null or NaN are left out and counted; infinities are values. Whole numbers that float64 cannot
    represent, such as 2^53 + 1, are refused; decimals become the nearest float64.

    With `against`, each window is compared with an earlier one of the same length: `"previous"`, which ends where this
    one begins, or the one this much earlier, such as `"7 days"`. The columns previous, difference, difference_low and
    difference_high follow (with `at` or `above`), and against_rows, the rows of the earlier window. What is known of a
    window when it ends is remembered until then, its rows are not: some 2 KB a window for distances of many rows, and
    24 bytes for each quantile. A window without rows is answered, with nulls, if the earlier one has rows.

    With `distance` a row follows for each, named in the column distance, in which value is how far apart the values of
    both windows are. ks is the largest difference of the two distribution functions, as scipy.stats.ks_2samp's
    statistic; wasserstein the area between them, in the unit of the value, null if a value is infinite; psi the
    population stability index over `bins`, where half a row is added to each, so that empty bins have a finite index.
    Low and high are certain, so an alarm on `low` is never false; they are equal for `exact`. A distance is null if one
    of the windows has no rows. No p-value is given: it requires independent rows, which those of a stream are not.

    With `longest`, the state is kept for every window up to it, not only for `windows`, which may then be empty and may
    change freely between runs. Windows may also arrive as rules during a run: rows of a second source `rules` with a
    name, a window, optionally a slide and phase (by default `every` and `offset`) and a `group`, and the times `after`
    and `until` between which they are in force, as in top-k-workload. At its moments, a rule gives the answers that it
    would have given had it always been in force, while its own window has rows. The columns of answers are then at,
    rule, window, …: the name of the rule, or the length for one of `windows`.

    With `emit = "state"`, the columns are at, state: one row for each moment with the sketch itself, which later
    answers any quantile, share and window up to the longest, alone or united with others. With
    `emit = "changed-state"`, a group has one only at moments with rows since the previous one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> rows = pa.table({"ts": pa.array([0, 10, 20], pa.timestamp("s")), "ms": [10.0, 30.0, 20.0]})
    >>> query = Quantiles("ts", value="ms", at=[0.5], windows=["1 minute"], every="1 minute")
    >>> local.apply(rows, query).select(["quantile", "value", "rows"]).to_pylist()
    [{'quantile': 0.5, 'value': 20.0, 'rows': 3}]
    """

    kind: ClassVar[str] = "quantiles"
    answered_by: ClassVar[str] = "skyband_quantiles.quantiles.execution:QuantilesExecution"
    roles: ClassVar[tuple[str, ...]] = (ROLE,)
    drop_reasons: ClassVar[tuple[str, ...]] = ("null value",)
    refused_keys: ClassVar[Mapping[str, str]] = {
        "rules": SOURCE_OF_RULES,
        "percentiles": _SHARES,
        "percentile": _SHARES,
        "quantiles": _SHARES,
        "q": _SHARES,
        "quantile": _SHARES,
        "below": _ABOVE,
        "threshold": _ABOVE,
        "limit": _ABOVE,
        "interpolation": _OF_A_ROW,
        "method": _OF_A_ROW,
        "object": 'quantiles are of a column of numbers, value; for those of each object, by = "object"',
        "item": 'quantiles are of a column of numbers, value; for those of each item, by = "item"',
        "weight": "not offered, rows count once; heavy-hitters adds weights up",
        **comparing.REFUSED,
    }

    value: str = column_name(help="the column of numbers whose quantiles are computed")
    windows: tuple[Length, ...] = lengths(
        help=f"lengths of the windows, {SO_FAR}; may be empty ([]) with `longest`", may_be_empty=True
    )
    every: Length = every_parameter()
    at: tuple[float, ...] = quantiles_parameter(
        "list of float", "the quantiles, as shares of the rows at or below them: [0.5, 0.95, 0.99]"
    )
    above: tuple[float, ...] = limits_parameter("list of float")
    offset: Duration = offset_parameter()
    emit: str | None = choice(
        *emitted_states.KINDS, default=None, kw_only=True,
        help="give states instead of answers, to be asked later: of all groups, or of those that changed",
    )  # fmt: skip

    longest: Duration | None = longest_parameter()
    against: Any = lag_parameter()
    distance: tuple[str, ...] = comparing.distance_parameter()
    bins: Any = comparing.bins_parameter()

    def __attrs_post_init__(self) -> None:
        if not self.windows and self.longest is None:
            raise ConfigError(Problem("windows", f"{NO_WINDOWS} (got [])"))
        if self.longest is None:
            windows = {name: length for name, length in self.lengths.items() if name != "every"}
            problems = problems_of(self.every, self.offset, windows)
            problems = problems or comparing.comparing_problems(self, windows)
        else:
            others = {"emit": self.emit, "against": self.against, "distance": self.distance or None}
            problems = limit_problems(self.longest, self.lengths, self.offset, others)
            problems += comparing.bins_problems(self)
        if not (self.at or self.above or self.emit or self.distance):
            problems.append(Problem("at", "is required without `above`: set at = [0.5, 0.99], above = [400], or both"))
        if problems:
            raise ConfigError(*problems)

    @property
    def evolvable(self) -> tuple[str, ...]:  # type: ignore[override]
        """With `longest`, any window may join and leave freely."""
        return () if self.longest is None else ("windows",)

    @property
    def schedule(self) -> Schedule:
        """The schedule of answers; with rules, every moment may be due."""
        if self.longest is not None:
            return schedule_for_rules(self.longest.length)
        windows = self.windows if self.against is None else with_previous(self.windows, self.against)
        return schedule_of(self.every, windows, self.offset)

    @property
    def ties(self) -> tuple[str, ...]:
        return ("value",) if self.rows else ()

    @property
    def asked(self) -> tuple[str, ...]:
        """The columns that identify the quantile, limit or distance of an answer's row."""
        columns = {"quantile": self.at, "above": self.above, "distance": self.distance}
        return tuple(name for name, values in columns.items() if values)

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return (*self.rule_columns, "window", *self.asked)

    def inputs(self) -> tuple[Input, ...]:
        return (Input("value", self.value, "a number", is_number),)

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        values = as_float64(self.value, batch.column(self.value)).fill_null(np.nan).to_numpy(zero_copy_only=False)
        missing = np.isnan(values)
        return {"value": pa.array(values + 0.0)}, {"null value": missing} if missing.any() else {}

    def check_frame(self, frame: pa.RecordBatch) -> None:
        check_numbers(frame, "value", at_least=-np.inf, at_most=np.inf)

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        if self.emit is not None:
            return [at_field(self, schema), emitted_states.FIELD]
        names = [*self.rule_columns, "window", *self.asked, "value", "low", "high", "rows"]
        if self.against is not None:
            names += [*(comparing.ADDED if self.at or self.above else ()), "against_rows"]
        types = {"window": pa.string(), "rule": pa.string(), "distance": pa.string()}
        types |= {"rows": pa.int64(), "against_rows": pa.int64()}
        return [at_field(self, schema), *(pa.field(name, types.get(name, pa.float64())) for name in names)]

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        spans = self.windows if self.longest is None else (self.longest,)
        longest, every, offset = sketch_lengths(self.every, spans, self.offset)
        return {
            "longest": longest,
            "every": every,
            "offset": offset,
            "cuts": tuple(sorted({*self.above, *(self.bins if isinstance(self.bins, tuple) else ())})),
            "by": "rows" if self.rows else "time",
        }

    def unsupported_by(self, backend: Backend) -> list[Problem]:
        if self.distance and not cast(QuantileSketch, backend).bounds_ranks:
            message = "bounds no rank for certain, so that no distance has bounds: take buckets or exact"
            return [Problem("distance", f"does not go with {backend.role}/{backend.name}, which {message}")]
        if self.emit is None or cast(QuantileSketch, backend).gives_states:
            return []
        message = "its states answer nothing: take quantile-sketch/buckets, exact or k-skb, or drop `emit`"
        return [
            Problem("emit", f"does not go with {backend.role}/{backend.name}, {message} (got {literal(self.emit)})")
        ]
