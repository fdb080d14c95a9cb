"""heavy-hitters: the objects with the most rows, the largest sum or the most distinct values of each window."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import pyarrow as pa
from attrs import define
from skyband.columns.ids import PLAIN, is_plain
from skyband.columns.numbers import is_number
from skyband.config.calendar_lengths import SO_FAR, Length, lengths
from skyband.config.durations import Duration
from skyband.config.literals import literal
from skyband.config.parameters import checked, choice, flag, integer, number
from skyband.errors import ConfigError, Problem
from skyband.queries import emitted_states
from skyband.queries.carried_columns import TIE, carry_inputs, name_problems
from skyband.queries.composite_ids import Columns, identity, identity_inputs, identity_names, several
from skyband.queries.query import Input
from skyband.queries.shared_keys import column_name, column_names
from skyband.roles import Backend
from skyband.rules.query_with_rules import NO_WINDOWS, SOURCE_OF_RULES, QueryWithRules, longest_parameter
from skyband.windows.half_lives import half_life_parameter
from skyband.windows.schedule import Schedule, schedule_for_rules
from skyband.windows.window_parameters import (
    PREVIOUS,
    empty_parameter,
    empty_problems,
    every_parameter,
    lag_parameter,
    offset_parameter,
    problems_of,
    schedule_of,
    with_previous,
)
from skyband_expressions.row_conditions import columns_read, condition_problem, problem_in

from skyband_totals.heavy_hitters import answer_columns, frame_columns
from skyband_totals.heavy_hitters.answer_columns import COMPARED, PARTS
from skyband_totals.heavy_hitters.frame_columns import WEIGHTS
from skyband_totals.heavy_hitters.key_problems import (
    against_problems,
    amount_problems,
    decay_problems,
    distance_parameter,
    part_problems,
    rest_problems,
    rule_problems,
    state_problems,
)
from skyband_totals.heavy_hitters.movers import BOTH, DIFFERENCE, DOWN, RATIO, UP, MoverRule
from skyband_totals.heavy_hitters.state_columns import GRANDS, OBJECTS
from skyband_totals.narrow_floats import REMEDY
from skyband_totals.ranker_lengths import ranker_lengths
from skyband_totals.ranker_parameters import TOTALS, limit_problems
from skyband_totals.role import TotalRanker
from skyband_totals.shares import least_of
from skyband_totals.units import NOT_A_MULTIPLE

_AT_LEAST = "set at_least = 20 for objects with a total of 20 or more, or share = 0.05 for a part of the grand total"


@define(eq=True)
class HeavyHitters(QueryWithRules):
    """Ranks objects by their total over each window: rows, the sum of a weight, or distinct values of a column.

    Set `k` for the objects with the largest totals, `share` for all with at least this part of the grand total,
    `at_least` for all with at least this total, or several for the objects that meet them all. A ranker that is not
    exact returns all objects that might reach the limit: those whose `low` reaches it surely do. The grand total is the
    sum of all totals; with distinct values, every (object, value) pair counts once, so that shares add up to 1. Objects
    with a total of 0 are left out. The largest totals are always first: for the smallest, set a `k` above the number of
    objects, and read the last ranks.

    Result columns: at, window, rank (from 1), object, total, share, low, high, and objects with `rest`. `low` and
    `high` are the ranker's bounds, equal to `total` if it is exact. If totals are equal, the smaller integer ranks
    first; objects of other types, including decimals, rank by their hash, so that all engines agree.

    With `part`, a condition such as "status >= 500", objects rank by the part of their total that meets it, and `k`
    counts by that; `share` and `at_least` still limit totals. The columns after the object are then part, low, high,
    matching, total, share: `matching` is the total of the rows that meet the condition, and `low` and `high` are bounds
    of `part`. A row for which the condition is null does not meet it. Each group has two rankers.

    With `against = "previous"`, objects rank by the change of their total since the previous window of the same length:
    by the `difference`, or with `rank_by = "ratio"` by the larger total divided by the smaller. `direction` selects
    those that went "up" or "down". The columns after the object are then total, previous, difference, ratio, low, high,
    status. `low` and `high` are bounds of what objects rank by, and status is up, down or same, "new" for an object
    without a previous total, or "gone" for one without a current total. The ratio of a new object is null, and so is a
    missing bound. `at_least` applies to the larger of both totals. A group answers until both windows are empty. Until
    a stream is two windows long, objects may be new only because the stream is. If the ranker is not exact, ranks and
    status follow its estimates, and an object that it does not keep may have changed by the `rest` of both windows.

    With `against = "7 days"`, or another multiple of `every`, the window is compared with the one this much earlier.
    The totals of a window are remembered when it ends, its rows are not: 16 bytes an object, 32 if the ranker is not
    exact.

    With `distance = ["total-variation"]` as well, there is one row for each window, with the columns window, distance,
    value, low, high, total, previous: how far apart the shares of all objects are in both windows, half the sum of
    their differences, from 0 to 1. `total` and `previous` are the grand totals. The true distance is from `low` to
    `high`, as certainly as the bounds of the ranker hold, and both equal the value if the ranker is exact. They are
    null if one of the windows has no total.

    With `half_life = "1 hour"`, the weight of a row halves with each hour since its arrival: the total is the sum of
    2^(-age / half-life) times the weight over the rows of the window, except for the rounding of float64. Rows older
    than 50 half-lives weigh less than 1e-15, so a window of that length is practically unlimited. There is no share
    then, and no ranker: all totals are kept, one for each object and common step of `every` and the windows.

    With `longest`, the state is kept for every window up to that length. Then `windows` may be empty and may change
    between runs, and windows can arrive as rules during a run: rows of a second source `rules`. A rule has a name, a
    window, optionally a slide and phase (default `every` and `offset`), optionally a `group`, the times `after` and
    `until` between which it is valid, as in top-k-workload, and with `most` also a k up to this (default `k`). Windows
    and slides are multiples of `every`. At its moments, a rule answers as if it had always existed, while its own
    window has rows. The answers' columns are then at, rule, window, …: `rule` is the rule's name, or the length for one
    of `windows`.

    With `rest`, each answer ends with a row of all other objects together, even if there are none: their total, its
    share and bounds, no rank and no object, and their number in the column `objects`, null if the ranker does not know
    it. It is 1 in the other rows, so that totals, shares and `objects` of an answer add up to those of the window. The
    share is null in an empty window. With `empty = "zero"` too, a group has such a row at every moment after its first
    row, even if its longest window is empty.

    `object` may name several columns, which identify an object together: the answers have these instead of `object`,
    and equal totals rank by the hash of all of them. `carry` adds columns of the object's latest row before the moment;
    rows with equal times are ordered by their weight or value, then by a hash of the carried columns.

    Rows whose object, weight or value is null are left out and reported, and so are weights that are negative, not a
    number, or not a multiple of `unit`: sums are of whole units, so that they stay exact when rows leave a window.

    With `emit = "state"` the columns are at, state: one row for each moment, with the ranker itself and the objects'
    values. `skyband ask` and `skyband.states.heavy_hitters` query it for the largest objects of any window up to the
    longest, alone or united. With `emit = "changed-state"` a group emits a state only if rows arrived since the last
    moment. The backend `k-skb` answers since any moment, `exact` since multiples of the common divisor of `every` and
    `windows`.


    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> rows = pa.table({"ts": pa.array([0, 20, 40, 50], pa.timestamp("s")), "path": ["/a", "/b", "/a", "/a"]})
    >>> query = HeavyHitters("ts", object="path", k=1, windows=["1 minute"], every="1 minute")
    >>> local.apply(rows, query).select(["object", "total", "share"]).to_pylist()
    [{'object': '/a', 'total': 3.0, 'share': 0.75}]
    """

    kind: ClassVar[str] = "heavy-hitters"
    _hashed_keys: ClassVar[tuple[str, ...]] = ("object", "value")
    roles: ClassVar[tuple[str, ...]] = ("total-ranker",)
    answered_by: ClassVar[str] = "skyband_totals.heavy_hitters.execution:HeavyHittersExecution"
    shard_by: ClassVar[str | None] = "key"
    refused_keys: ClassVar[Mapping[str, str]] = {
        "rules": SOURCE_OF_RULES,
        "order": "heavy-hitters always has the largest totals first: drop this; for the smallest totals, set a k above "
        "the number of objects and read the last ranks; for the smallest values, top-k has `order`",
        **dict.fromkeys(("threshold", "minimum", "min_total", "min_count", "min_rows", "having"), _AT_LEAST),
    }
    drop_reasons: ClassVar[tuple[str, ...]] = ("null object", "null value", *WEIGHTS.values())

    object: Columns = identity(help="the column that names the object of a row, or several that identify it together")
    windows: tuple[Length, ...] = lengths(
        help=f"lengths of the windows, {SO_FAR}; may be empty, [], with `longest`", may_be_empty=True
    )
    every: Length = every_parameter()
    offset: Duration = offset_parameter()
    total: str = choice(*TOTALS, default="rows", help="the total that objects are ranked by")
    weight: str | None = column_name(None, help='the column of weights >= 0, with total = "sum"')
    value: str | None = column_name(None, help='the column whose distinct values count, with total = "distinct"')
    unit: float = number(1.0, above=0, help="weights are whole multiples of this")
    k: int | None = integer(None, at_least=1, help="the most objects in an answer")
    share: float | None = number(
        None, above=0, at_most=1, help="the least part of the grand total that an object of an answer has"
    )
    at_least: float | None = number(None, above=0, help="the least total of an object of an answer, such as 20 rows")
    part: str | None = checked(
        None, type="str", check=condition_problem,
        help='a condition such as "status >= 500": objects are ranked by the part of their total that meets it',
    )  # fmt: skip
    rank_by: str = choice(
        DIFFERENCE, RATIO, default=DIFFERENCE, help="with `against`, how the two totals of an object are compared"
    )
    direction: str = choice(
        BOTH, UP, DOWN, default=BOTH, help="with `against`, the objects to return: all, or those with more or less now"
    )
    rest: bool = flag(False, help="add a row to each answer for all other objects together, without rank and object")
    carry: tuple[str, ...] = column_names(help="further columns of the object's latest row to return")
    emit: str | None = choice(
        *emitted_states.KINDS, default=None, kw_only=True,
        help="emit states instead of answers, to be queried later: of all groups, or of those that changed",
    )  # fmt: skip

    empty: str | None = empty_parameter()
    against: Any = lag_parameter()
    distance: tuple[str, ...] = distance_parameter()
    half_life: Duration | None = half_life_parameter("rows weigh")

    longest: Duration | None = longest_parameter()
    most: int | None = integer(
        None, at_least=1, kw_only=True, help="the largest k of a rule, with `longest`; by default all rules have `k`"
    )

    def __attrs_post_init__(self) -> None:
        if not self.windows and self.longest is None:
            raise ConfigError(Problem("windows", f"{NO_WINDOWS} (got [])"))
        windows = {name: length for name, length in self.lengths.items() if name != "every"}
        problems = rule_problems(self)
        problems += [] if self.longest is not None else problems_of(self.every, self.offset, windows)
        k = self.most if self.k is None and self.longest is not None else self.k
        if not self.distance:
            problems += limit_problems(k, self.share, self.at_least, self.total if self.half_life is None else "sum")
        problems += [*amount_problems(self), *self._name_problems(), *state_problems(self)]
        problems += [*part_problems(self), *against_problems(self, windows), *decay_problems(self)]
        problems += [] if self.longest is not None else empty_problems(self.empty, self.rows, self.emit)
        problems += rest_problems(self)
        if problems:
            raise ConfigError(*problems)

    def _name_problems(self) -> list[Problem]:
        """Problems of columns whose names would clash with others of the answers."""
        others = [*self.rule_columns, *([OBJECTS] if self.rest else []), *(PARTS if self.part is not None else [])]
        others += [] if self.against is None else [*COMPARED, "status"]
        reserved = ("at", "window", "rank", "total", "share", "low", "high", *others, *GRANDS, *self.by)
        problems = name_problems("object", several(self.object), reserved)
        return problems + name_problems("carry", self.carry, (*reserved, *identity_names("object", self.object)))

    @property
    def promises(self) -> Mapping[str, str]:
        if self.total != "sum":
            return {}
        return {
            WEIGHTS[NOT_A_MULTIPLE]: f"rows have a weight that is not a multiple of unit = {self.unit:g} and are not "
            f"counted: use a smaller unit, such as 0.01 for prices, or round the weights{REMEDY}"
        }

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return (
            *self.rule_columns,
            "window",
            *(("distance",) if self.distance else identity_names("object", self.object)),
        )

    @property
    def evolvable(self) -> tuple[str, ...]:  # type: ignore[override]
        """With `longest`, windows may be added and removed, and `k` may change."""
        return () if self.longest is None else ("windows", *(["k"] if self.most is not None else []))

    @property
    def one_shard(self) -> str | None:
        if self.distance:
            return "a distance needs the totals of all objects"
        return super().one_shard if self.longest is None else "rules have their own k and windows"

    @property
    def schedule(self) -> Schedule:
        """The moments of answers; with rules, any moment is possible."""
        if self.longest is not None:
            return schedule_for_rules(self.longest.length)
        windows = self.windows if self.against is None else with_previous(self.windows, self.against)
        return schedule_of(self.every, windows, self.offset, self.empty)

    @property
    def remembers(self) -> bool:
        """Whether the totals of a window are remembered when it ends, to be compared with those of a later one."""
        return self.against is not None and (self.against != PREVIOUS or bool(self.distance))

    @property
    def spans(self) -> tuple[Length, ...]:
        """The spans to query at each moment: the windows, each followed by twice its length if that is subtracted."""
        if self.longest is not None:
            return (self.longest,)
        return self.windows if self.against is None or self.remembers else with_previous(self.windows)

    @property
    def mover_rule(self) -> MoverRule:
        """How objects are ranked with `against`."""
        unit = self.unit if self.total == "sum" else 1.0
        least = least_of(None, self.at_least, unit).units
        return MoverRule(self.rank_by, self.direction, self.k, least, unit)

    @property
    def ranked_by(self) -> str:
        """The column that answers are sorted by, largest first."""
        return "total" if self.part is None else "part"

    @property
    def ties(self) -> tuple[str, ...]:
        carried = (TIE,) if self.carry else ()
        ordered = self.rows or self.carry or self.half_life is not None
        return ("object", *self.row_columns, *carried) if ordered else ()

    @property
    def asked_roles(self) -> tuple[str, ...]:
        """None with `half_life`, because no ranker has decayed totals."""
        return self.roles if self.half_life is None else ()

    @property
    def amounts(self) -> tuple[str, ...]:
        """The frame column of what a row adds, if any."""
        return {"rows": (), "sum": ("weight",), "distinct": ("value",)}[self.total]

    @property
    def row_columns(self) -> tuple[str, ...]:
        """The frame columns of a row after its object: what it adds, and whether it meets the condition."""
        return (*self.amounts, *(["meets"] if self.part is not None else []))

    def inputs(self) -> tuple[Input, ...]:
        inputs = [*identity_inputs("object", self.object)]
        if self.weight is not None:
            inputs.append(Input("weight", self.weight, "a number", is_number))
        if self.value is not None:
            inputs.append(Input("value", self.value, PLAIN, is_plain))
        if self.part is not None:
            inputs.extend(Input("part", name, "a column", _is_any) for name in columns_read(self.part))
        return (*inputs, *carry_inputs(self.carry))

    def check(self, schema: pa.Schema) -> list[Problem]:
        problems = super().check(schema)
        wrong = None if problems or self.part is None else problem_in(self.part, schema)
        return problems if wrong is None else [Problem("part", wrong)]

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        return frame_columns.encode(self, batch)

    def check_frame(self, frame: pa.RecordBatch) -> None:
        frame_columns.check(self, frame)

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        return answer_columns.answer_fields(self, schema)

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        every, windows = ranker_lengths(self.every, self.spans, self.offset)
        k, at_least = self.k, self.at_least
        if self.against is not None:  # an object may reach the limit in the other window
            k, at_least = None, self.unit
        if self.part is not None:  # all objects that are large enough are compared
            k = None
            at_least = self.unit if at_least is None and self.share is None else at_least
        return {
            "windows": windows,
            "every": every,
            "k": k if self.most is None else self.most,
            "share": self.share,
            "at_least": at_least,
            "total": self.total,
            "unit": self.unit,
            "by": "rows" if self.rows else "time",
        }

    @property
    def needs(self) -> tuple[str, ...]:
        return ("merge",) if self.gives_states else ()

    def unsupported_by(self, backend: Backend) -> list[Problem]:
        if self.emit is None or cast(TotalRanker, backend).gives_states:
            return []
        message = f"cannot be used with {backend.role}/{backend.name}, whose states cannot be queried without it"
        remedy = "use total-ranker/exact or total-ranker/k-skb, or drop `emit`"
        return [Problem("emit", f"{message}: {remedy} (got {literal(self.emit)})")]


def _is_any(_: pa.DataType) -> bool:
    """The types in a condition are checked separately."""
    return True
