"""The small groups of heavy-hitters: the amounts of objects in panes, or (object, value) pairs and their times."""

from collections.abc import Callable, Mapping
from functools import reduce
from math import gcd
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from skyband.arrays import Array, Int64, read_only
from skyband.columns.integer_ids import integers_of, is_integer_id
from skyband.columns.rows import Rows
from skyband.config.calendar_lengths import ALWAYS, CalendarLength
from skyband.config.durations import Duration
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.passes import beginnings
from skyband.groups.small_groups.table import PassInput, PassResult, SmallGroupTable
from skyband.queries.composite_ids import several
from skyband.queries.time_columns import moments
from skyband.rules.small_groups_with_rules import SmallGroupsWithRules
from skyband.state_validation import StateReader

from skyband_totals.fixed_point import MOST, worth
from skyband_totals.heavy_hitters.rest_rows import shares, spread
from skyband_totals.heavy_hitters.small_groups_kernels import rank_totals
from skyband_totals.ranker_lengths import ever
from skyband_totals.shares import least_of, most_objects
from skyband_totals.units import to_units, weights_of

if TYPE_CHECKING:
    from skyband_totals.heavy_hitters.query import HeavyHitters

_SECOND = 1_000_000
_WHOLE = 2**48
"""Up to this many units, a weight converts back to the same number, for any unit."""


class SmallTotals(SmallGroupTable):
    """Groups of at most `most` entries, of 24 bytes each.

    An entry is an object, the time of its latest row in a pane, and the weight of the pane's rows; for distinct values,
    an object, one of its values and the latest time of both.
    """

    kept: ClassVar[Mapping[str, npt.DTypeLike]] = {"object": np.int64, "time": np.int64, "amount": np.int64}

    def __init__(
        self,
        most: int,
        query: "HeavyHitters",
        answers: pa.Schema,
        processor: Callable[[int, Rows], GroupProcessor],
    ) -> None:
        kinds = {"weight": np.float64, "value": np.uint64, "meets": np.int8}
        self.taken = {"object": np.int64, **{name: kinds[name] for name in query.row_columns}}  # type: ignore[misc]
        self._total, self._unit = query.total, query.unit if query.total == "sum" else 1.0
        self._labels = pa.array([str(window) for window in query.windows], pa.string())
        lengths = (query.every, *query.windows)
        calendar = [length.clock for length in lengths if isinstance(length, CalendarLength)]
        steps = [length.length for length in lengths if isinstance(length, Duration)]
        if calendar:  # the offsets of zones are whole seconds
            steps += [*calendar, query.offset.length, _SECOND]
        self._pane = ALWAYS if ever(query.windows) else reduce(gcd, steps)
        self._phase = 0 if calendar else query.offset.length % query.every.length
        parameters = query.backend_parameters("total-ranker")
        self._k = most if parameters["k"] is None else min(parameters["k"], most)
        self._least = least_of(parameters["share"], parameters["at_least"], self._unit)
        if parameters["share"] is not None:
            self._k = min(self._k, most_objects(parameters["share"]))
        self._processor, self._rest = processor, query.rest
        self._numbered = query.rows
        behind = () if query.distance else (*several(query.object), *query.carry)
        self._several = len(several(query.object))
        self._kind = pa.int64() if self._several or query.distance else answers.field("object").type
        named = None if is_integer_id(self._kind) else self._kind
        carry = [answers.field(name) for name in behind]
        super().__init__(query.schedule, most, answers, named, carry=carry)

    def run_pass(self, step: PassInput) -> PassResult:
        sessions = step.sessions
        room = len(step.entries["time"]) + len(step.times)
        entries = tuple(np.empty(room, np.int64) for _ in self.kept)  # numpy allocates pages only when written
        old = tuple(read_only(cast(Array, column)) for column in step.entries.values())
        sizes, grown, answers = rank_totals(
            sessions.first, sessions.size, sessions.start, sessions.stop, sessions.ended, *step.spans,
            old, entries, step.times, step.rows["object"], read_only(self._amounts(step.rows)),
            step.moments.at, self.starts(step),
            self.schedule.slides_with_longest_window, self._pane, self._phase,
            self.ks_of(step), self._least, self._total == "distinct", step.oldest, self.most, self._rest,
            self.schedule.has_gaps,
        )  # fmt: skip
        session, number, windows, ranks, objects, totals, grand = answers
        total = pa.array(worth(totals, self._unit))
        ranked = ranks > 0
        own = (session, number, objects, totals)
        if self._rest:
            own = (session[ranked], number[ranked], objects[ranked], totals[ranked])
        behind = self.columns_behind(step, *own, step.moments.at - self.schedule.horizon)
        named = integers_of(own[2], self._kind) if is_integer_id(self._kind) else self.values(own[2])
        only_ranked = [pa.array(ranks), *(behind[: self._several] or [named]), *behind[self._several :]]
        if self._rest:
            only_ranked = [pa.array(ranks, mask=~ranked), *(spread(ranked, column) for column in only_ranked[1:])]
        columns = [
            moments(step.moments.at[number], self.schema.field("at").type),
            *self.labels_of(step, number, windows),
            *only_ranked[: 1 + max(1, self._several)],
            total,
            shares(total.to_numpy(), worth(grand, self._unit)),
            total,
            total,
            *([pa.array(np.where(ranked, 1, objects))] if self._rest else []),
            *only_ranked[1 + max(1, self._several) :],
        ]
        remaining = dict(zip(self.kept, beginnings(entries, int(sizes.sum())), strict=True))
        return PassResult(sizes, remaining, grown, session, columns)

    def ks_of(self, step: PassInput) -> Int64:
        """int64[m]: the most objects in the answers of each moment."""
        return np.full(len(step.moments.at), self._k)

    def labels_of(self, step: PassInput, number: Int64, windows: Int64) -> list[pa.Array]:  # noqa: ARG002
        """The label columns of the answers at the moments of these numbers, over these windows."""
        return [self._labels.take(pa.array(windows))]

    def _amounts(self, rows: Mapping[str, Array]) -> Int64:
        """The units that each row adds, or the bits of its value."""
        if self._total == "distinct":
            values: Int64 = rows["value"].view(np.int64)
            return values
        return to_units(rows["weight"], self._unit)[0] if self._total == "sum" else np.ones_like(rows["object"])

    def processor(self, last: int, entries: Mapping[str, Array]) -> GroupProcessor:
        times, objects, amounts = entries["time"], entries["object"], entries["amount"]
        behind = {name: column for name, column in entries.items() if name not in (*self.kept, "meets")}
        columns: dict[str, Any] = {"meets": entries["meets"]} if "meets" in entries else {}
        if self._total == "distinct":
            columns["value"] = amounts.view(np.uint64)
        elif self._numbered and self._total == "sum":  # one row each, because no other numbers may be free
            columns["weight"] = weights_of(amounts, self._unit)
        else:
            largest = 1 if self._total == "rows" else _WHOLE
            rows = -(-amounts // largest)
            first = np.cumsum(rows) - rows
            units = np.full(int(rows.sum()), largest)
            units[first] = amounts - (rows - 1) * largest
            times, objects = np.repeat(times, rows), np.repeat(objects, rows)
            if self._numbered:  # all rows of a pane are present, so these are its numbers in some order
                times = np.arange(last + 1 - len(times), last + 1)
            places = pa.array(np.repeat(np.arange(len(rows)), rows))
            behind = {name: column.take(places) for name, column in behind.items()}
            columns = {name: np.repeat(column, rows) for name, column in columns.items()}
            if self._total == "sum":
                columns["weight"] = worth(units, self._unit)
        if not is_integer_id(self._kind):
            columns["name"] = self.values(objects)
        return self._processor(last, Rows(times, {"object": objects, **columns, **behind}))

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        distinct = self._total == "distinct"
        ids = state.column("object", np.int64, len(owners))
        amounts = state.column("amount", np.int64, len(owners), **{} if distinct else {"at_least": 1, "at_most": MOST})
        within = amounts if distinct else state.column("time", np.int64, len(owners))
        above = within[1:] > within[:-1] if distinct else within[1:] >= within[:-1]
        rising = (ids[1:] > ids[:-1]) | ((ids[1:] == ids[:-1]) & above)
        state.require(bool((rising | (owners[1:] != owners[:-1])).all()), "object", "must be by object")


class SmallTotalsWithRules(SmallGroupsWithRules, SmallTotals):
    """Small groups that answer rules within `longest` and `most`. Windows begin where panes do."""

    def ks_of(self, step: PassInput) -> Int64:
        """A rule without a k has all objects that are large enough."""
        return np.where(step.k > 0, np.minimum(step.k, self._k), self._k)

    def labels_of(self, step: PassInput, number: Int64, windows: Int64) -> list[pa.Array]:  # noqa: ARG002
        rule = pa.array(step.moments.query[number])
        return [self._rules.names.take(rule), self._rules.windows.take(rule)]
