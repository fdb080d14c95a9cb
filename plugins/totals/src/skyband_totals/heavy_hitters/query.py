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
from skyband.queries.carried_columns import (
    TIE,
    carry_inputs,
    carry_parameter,
    name_problems,
)
from skyband.queries.composite_ids import (
    Columns,
    identity,
    identity_inputs,
    identity_names,
    several,
)
from skyband.queries.query import Input
from skyband.queries.shared_keys import column_name
from skyband.roles import Backend
from skyband.rules.longest_window import NO_WINDOWS, SOURCE_OF_RULES, longest_parameter
from skyband.rules.query_with_rules import QueryWithRules
from skyband.windows.empty_windows import empty_parameter, empty_problems
from skyband.windows.half_lives import half_life_parameter
from skyband.windows.previous_windows import against_parameter, with_previous
from skyband.windows.schedule import Schedule, schedule_for_rules
from skyband.windows.window_parameters import every_parameter, offset_parameter, problems_of, schedule_of

from skyband_totals.heavy_hitters import answer_columns, frame_columns
from skyband_totals.heavy_hitters.answer_columns import COMPARED, PARTS
from skyband_totals.heavy_hitters.frame_columns import WEIGHTS
from skyband_totals.heavy_hitters.key_problems import (
    against_problems,
    amount_problems,
    decay_problems,
    part_problems,
    rest_problems,
    rule_problems,
    state_problems,
)
from skyband_totals.heavy_hitters.movers import BOTH, DIFFERENCE, DOWN, RATIO, UP, MoverRule
from skyband_totals.heavy_hitters.part_condition import columns_read, condition_problem, problem_in
from skyband_totals.heavy_hitters.state_columns import GRANDS, OBJECTS
from skyband_totals.narrow_floats import REMEDY
from skyband_totals.ranker_lengths import ranker_lengths
from skyband_totals.ranker_parameters import TOTALS, limit_problems
from skyband_totals.role import TotalRanker
from skyband_totals.shares import least_of
from skyband_totals.units import NO_MULTIPLE

_AT_LEAST = "write at_least = 20 for the objects whose total is 20 or more, share = 0.05 for a part of all"


@define(eq=True)
class HeavyHitters(QueryWithRules):
    """Ranks objects by their total over each window: rows, the sum of a weight, or distinct values of a column.

    Give `k` for the objects with the largest totals, `share` for all that have at least this part of the grand total,
    `at_least` for all whose total is at least this, or several for those that all agree on. A ranker that is not
    exact gives all that may have so much: those whose `low` has it surely do, the others perhaps. The grand total is
    the sum of all totals: of distinct values, every (object, value) pair counts once, so that shares add to 1. An
    object with a total of 0 is in no answer. The largest totals come first, always: for the smallest give a `k` above
    the number of objects, and read the last ranks.

    Result columns: at, window, rank (from 1), object, total, share, low, high, with `rest` also objects. `low` and
    `high` are the bounds that the ranker declares, equal to `total` where it is exact. Of equal totals the smaller
    object ranks first where objects are integers, otherwise (decimals too) the one of smaller hash, so that all engines
    agree.

    With `part`, a condition such as "status >= 500", objects rank by the part of their total that meets it, and `k`
    counts by that; `share` and `at_least` say, as ever, which totals are large enough. The columns after the object are
    then part, low, high, matching, total, share: `matching` is the total of the rows that meet it, `low` and `high` are
    bounds of `part`. A row for which the condition is null does not meet it. Each group has two rankers.

    With `against = "previous"` objects rank by how far their total is from that of the window just before, which is as
    long: by the `difference`, or with `rank_by = "ratio"` by how many times as large the larger total is. `direction`
    takes those that went "up" or "down" only. The columns after the object are then total, previous, difference, ratio,
    low, high, status: `low` and `high` are bounds of what objects rank by, and status is up, down or same, "new" of an
    object that the window before has no total of, "gone" of one that has none now. The ratio of a new one is null, and
    so is a bound that there is none of. `at_least` is what an object has in one of the two windows. A group answers
    until both are empty. Nothing came before the first row: until a stream is two windows long, an object may be new
    only because the stream is. Where the ranker is not exact, ranks and status follow its estimates, and an object that
    it does not keep may have moved by what the `rest` of both windows together is.

    With `half_life = "1 hour"` a row weighs half as much at a moment for each hour since it came: the total is the sum
    of 2^(-age / half-life), times the weight, of the rows of the window, equal to that but for the rounding of float64.
    Rows older than 50 half-lives weigh less than 1e-15, so that a window of so long is as good as one without an end.
    There is no share then, and no ranker: all totals are kept, one for each object and common step of `every` and the
    windows.

    With `longest` the state is kept for every window within it, and not for those there are: `windows` may then be
    none, and change between runs as they like, and windows come as rules while it runs, rows of a second source `rules`
    with a name, a window, perhaps a slide and phase, else `every` and `offset`, perhaps a `group`, and the times
    `after` which and `until` which they hold, as top-k-workload has them; with `most` also a k up to this, else `k`.
    Windows and slides are whole numbers of times `every`. A rule answers at its moments what it would have answered had
    it been there for ever, as long as its own window holds a row. The columns of answers are then at, rule, window, …:
    the name of the rule, of one of `windows` its length.

    With `rest` each answer ends with a row of all other objects together, also where there are none: their total, its
    share and bounds, no rank and no object, and in a column `objects` how many they are, null where the ranker cannot
    tell. It is 1 for the other rows, so that totals, shares and `objects` of an answer each add up to those of the
    whole window. The share is null where nothing came in the window. With `empty = "zero"` besides, a group that has
    had a row has such a row at every moment from then on, also where nothing came for longer than its longest window.

    `object` may name several columns, which tell objects apart together: the answers then have these in the place of
    `object`, and equal totals rank by the hash of all of them. `carry` gives further columns of the object's latest row
    before the moment; rows of one time come by what they weigh or count, then by a hash of what they carry.

    Rows whose object, weight or value is null are left out and counted, and so are weights that are negative, no
    number, or no multiple of `unit`: sums are of whole units, so that nothing is lost when rows leave a window.

    With `emit = "state"` the columns are at, state: one row a moment, the ranker itself with the objects' values, which
    `skyband ask` and `skyband.states.heavy_hitters` ask for the largest objects of any window up to the longest, alone
    or united. With `emit = "changed-state"` a group has one only at moments since the last of which rows came. The
    backend `k-skb` answers since any moment, `exact` since multiples of the common divisor of `every` and `windows`.

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
        "order": "heavy-hitters always has the largest totals first: drop this; for the smallest totals give a k above "
        "the number of objects, and the last ranks are those; for the smallest values, top-k has `order`",
        **dict.fromkeys(("threshold", "minimum", "min_total", "min_count", "min_rows", "having"), _AT_LEAST),
    }
    drop_reasons: ClassVar[tuple[str, ...]] = ("null object", "null value", *WEIGHTS.values())

    object: Columns = identity(help="the column that names the object a row is about, or several that do together")
    windows: tuple[Length, ...] = lengths(
        help=f"lengths of the windows, {SO_FAR}; with `longest` perhaps none, []", may_be_empty=True
    )
    every: Length = every_parameter()
    offset: Duration = offset_parameter()
    total: str = choice(*TOTALS, default="rows", help="what an object is ranked by")
    weight: str | None = column_name(None, help='the column of weights >= 0, with total = "sum"')
    value: str | None = column_name(None, help='the column whose distinct values count, with total = "distinct"')
    unit: float = number(1.0, above=0, help="weights are whole multiples of this")
    k: int | None = integer(None, at_least=1, help="objects in an answer, at most")
    share: float | None = number(None, above=0, at_most=1, help="the part of the grand total that puts an object in")
    at_least: float | None = number(None, above=0, help="the total that puts an object in, such as 20 rows")
    part: str | None = checked(
        None, type="str", check=condition_problem,
        help='a condition such as "status >= 500": objects are ranked by the part of their total that meets it',
    )  # fmt: skip
    rank_by: str = choice(
        DIFFERENCE, RATIO, default=DIFFERENCE, help="with `against`, what of the two totals objects are ranked by"
    )
    direction: str = choice(
        BOTH, UP, DOWN, default=BOTH, help="with `against`, which objects are in: all, or those with more or less now"
    )
    rest: bool = flag(
        False, help="one more row after each answer: what all other objects have, without rank and object"
    )
    carry: tuple[str, ...] = carry_parameter(help="further columns of the object's latest row to give with it")
    emit: str | None = choice(
        *emitted_states.KINDS, default=None, kw_only=True,
        help="give states instead of answers, to be asked later: of all groups, or of those that changed",
    )  # fmt: skip

    empty: str | None = empty_parameter()
    against: str | None = against_parameter()
    half_life: Duration | None = half_life_parameter("rows weigh")

    longest: Duration | None = longest_parameter()
    most: int | None = integer(
        None, at_least=1, kw_only=True, help="the largest k that rules may have, with `longest`; none: all have `k`"
    )

    def __attrs_post_init__(self) -> None:
        if not self.windows and self.longest is None:
            raise ConfigError(Problem("windows", f"{NO_WINDOWS} (got [])"))
        windows = {name: length for name, length in self.lengths.items() if name != "every"}
        problems = rule_problems(self)
        problems += [] if self.longest is not None else problems_of(self.every, self.offset, windows)
        k = self.most if self.k is None and self.longest is not None else self.k
        problems += limit_problems(k, self.share, self.at_least, self.total if self.half_life is None else "sum")
        problems += [*amount_problems(self), *self._name_problems(), *state_problems(self)]
        problems += [*part_problems(self), *against_problems(self, windows), *decay_problems(self)]
        problems += [] if self.longest is not None else empty_problems(self.empty, self.rows, self.emit)
        problems += rest_problems(self)
        if problems:
            raise ConfigError(*problems)

    def _name_problems(self) -> list[Problem]:
        """Columns of the rows that would be called as others of the answers are."""
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
            WEIGHTS[NO_MULTIPLE]: f"rows have a weight that is not a multiple of unit = {self.unit:g} and count in no "
            f"answer: take a smaller unit, such as 0.01 of prices, or round the weights{REMEDY}"
        }

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return (*self.rule_columns, "window", *identity_names("object", self.object))

    @property
    def evolvable(self) -> tuple[str, ...]:  # type: ignore[override]
        """With `longest` any window and k may join and leave as it likes."""
        return () if self.longest is None else ("windows", *(["k"] if self.most is not None else []))

    @property
    def one_shard(self) -> str | None:
        return super().one_shard if self.longest is None else "rules have a k and windows of their own"

    @property
    def schedule(self) -> Schedule:
        """When it answers; with rules any moment may be one."""
        if self.longest is not None:
            return schedule_for_rules(self.longest.length)
        return schedule_of(self.every, self.spans, self.offset, self.empty)

    @property
    def spans(self) -> tuple[Length, ...]:
        """What the ranker is asked over at each moment: the windows, with `against` each followed by two as one."""
        if self.longest is not None:
            return (self.longest,)
        return self.windows if self.against is None else with_previous(self.windows)

    @property
    def mover_rule(self) -> MoverRule:
        """How objects of two windows rank, with `against`."""
        unit = self.unit if self.total == "sum" else 1.0
        least = least_of(None, self.at_least, unit).units
        return MoverRule(self.rank_by, self.direction, self.k, least, unit)

    @property
    def ranked_by(self) -> str:
        """The column of the answers that has the largest first."""
        return "total" if self.part is None else "part"

    @property
    def ties(self) -> tuple[str, ...]:
        carried = (TIE,) if self.carry else ()
        ordered = self.rows or self.carry or self.half_life is not None
        return ("object", *self.row_columns, *carried) if ordered else ()

    @property
    def asked_roles(self) -> tuple[str, ...]:
        """None with `half_life`: no ranker's totals are of rows that lose weight."""
        return self.roles if self.half_life is None else ()

    @property
    def amounts(self) -> tuple[str, ...]:
        """The frame column of what a row adds, if there is one."""
        return {"rows": (), "sum": ("weight",), "distinct": ("value",)}[self.total]

    @property
    def row_columns(self) -> tuple[str, ...]:
        """The frame columns of a row besides its object: what it adds, and whether it meets the condition."""
        return (*self.amounts, *(["meets"] if self.part is not None else []))

    def inputs(self) -> tuple[Input, ...]:
        wanted = [*identity_inputs("object", self.object)]
        if self.weight is not None:
            wanted.append(Input("weight", self.weight, "a number", is_number))
        if self.value is not None:
            wanted.append(Input("value", self.value, PLAIN, is_plain))
        if self.part is not None:
            wanted.extend(Input("part", name, "a column", _is_any) for name in columns_read(self.part))
        return (*wanted, *carry_inputs(self.carry))

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
        if self.against is not None:  # the other window may have more of an object than this
            k, at_least = None, self.unit
        if self.part is not None:  # all objects that are large enough are looked at
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
    def gives_states(self) -> bool:
        return self.emit is not None

    @property
    def needs(self) -> tuple[str, ...]:
        return ("merge",) if self.gives_states else ()

    def unsupported_by(self, backend: Backend) -> list[Problem]:
        if self.emit is None or cast(TotalRanker, backend).gives_states:
            return []
        message = (
            "its states answer no window without it: take total-ranker/exact or total-ranker/k-skb, or drop `emit`"
        )
        return [
            Problem("emit", f"does not go with {backend.role}/{backend.name}, {message} (got {literal(self.emit)})")
        ]


def _is_any(_: pa.DataType) -> bool:
    """What a condition compares is looked at by itself."""
    return True
