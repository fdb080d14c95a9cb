"""The small groups of heavy-hitters with `part`, `against` or `half_life`.

A walk lists the entries of panes. Totals are added up, divided, subtracted or weighed in columns, by the functions that
also process the answers of a ranker.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import TIME_MIN, Array, Float64, Int64, read_only
from skyband.columns.integer_ids import integers_of, is_integer_id
from skyband.columns.rows import Rows
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.table import PassInput, PassResult
from skyband.queries.time_columns import moments
from skyband.state_validation import StateReader
from skyband.windows.half_lives import left_after

from skyband_totals.fixed_point import MOST_TOGETHER, worth
from skyband_totals.heavy_hitters.decayed_totals import ranked_totals
from skyband_totals.heavy_hitters.movers import every_other, mover_columns, movers_of
from skyband_totals.heavy_hitters.object_places import answer_of
from skyband_totals.heavy_hitters.parts import part_columns, parts_of
from skyband_totals.heavy_hitters.small_group_panes import (
    AnswerEntries,
    EntryAnswers,
    PaneEntries,
    PaneRule,
    walk_panes,
)
from skyband_totals.heavy_hitters.small_groups import SmallTotals
from skyband_totals.heavy_hitters.small_groups_kernels import least_totals
from skyband_totals.heavy_hitters.variation import TOTAL_VARIATION, distance_columns
from skyband_totals.shares import Least, least_of
from skyband_totals.top import Tops

if TYPE_CHECKING:
    from skyband_totals.heavy_hitters.query import HeavyHitters

_ONE_UNIT = least_of(None)


class Ranking(NamedTuple):
    """The objects of answers, in order, and the columns of numbers after the object."""

    tops: Tops
    columns: list[Array | pa.Array]


class SmallRankings(SmallTotals):
    """Groups of at most `most` entries, of 24 bytes each, or 32 with a condition.

    An entry is as in `SmallTotals`. With `part` it also has the weight of the rows that meet the condition, or for
    distinct values the latest time of the object and its value in such a row.
    """

    def __init__(
        self, most: int, query: "HeavyHitters", answers: pa.Schema, processor: Callable[[int, Rows], GroupProcessor]
    ) -> None:
        self.kept = {**self.kept, **({} if query.part is None else {"matching": np.int64})}  # type: ignore[misc]
        super().__init__(most, query, answers, processor)
        self._part = query.part is not None
        pairs = self._total == "distinct"
        # Rows with numbers as times have one weight each, so rows that meet the condition have separate entries.
        self._rule = PaneRule(self._pane, self._phase, pairs, self._part and query.rows, MOST_TOGETHER, most)
        self._of_query = query

    def run_pass(self, step: PassInput) -> PassResult:
        entries, since = step.entries, self.schedule.starts_at(step.moments.at)
        result, remaining = walk_panes(
            step, self._as_panes(entries), self._pane_rows(step), self._rule,
            self.schedule.slides_with_longest_window, since.min(axis=1),
            lambda entries_of: self._ranked(step, since, entries_of),
        )  # fmt: skip
        columns = zip(("object", "time", "amount", "matching"), remaining, strict=True)
        return result._replace(entries={name: column for name, column in columns if name in self.kept})

    def _as_panes(self, entries: Mapping[str, Any]) -> PaneEntries:
        others = entries["matching"] if self._part else np.zeros(len(entries["time"]), np.int64)
        columns = entries["object"], entries["time"], entries["amount"], others
        return PaneEntries(*(read_only(column) for column in columns))

    def _pane_rows(self, step: PassInput) -> PaneEntries:
        amounts = self._amounts(step.rows)
        others = np.zeros(len(amounts), np.int64)
        if self._part:
            meets = cast(Array, step.rows["meets"]) != 0
            others = np.where(meets, step.times, TIME_MIN) if self._rule.pairs else np.where(meets, amounts, 0)
        return PaneEntries(cast(Int64, step.rows["object"]), step.times, amounts, others)

    def _ranked(self, step: PassInput, since: Int64, entries_of: AnswerEntries) -> EntryAnswers:
        """The answers from entries, by session, moment, window and rank."""
        if self._of_query.distance:
            return self._distances(step, since[entries_of.moment], entries_of)
        ranking = self._ranking(step, since[entries_of.moment], entries_of)
        tops, windows = ranking.tops, len(self._labels)
        number = answer_of(tops)
        answer, window = np.divmod(number, windows)
        session, moment = entries_of.session[answer], entries_of.moment[answer]
        behind = self.columns_behind(
            step, session, moment, tops.objects, tops.totals, step.moments.at - self.schedule.horizon
        )
        objects = tops.objects
        named = integers_of(objects, self._kind) if is_integer_id(self._kind) else self.values(objects)
        columns = [
            moments(step.moments.at[moment], self.schema.field("at").type),
            self._labels.take(pa.array(window)),
            pa.array(np.arange(len(number)) + 1 - tops.offsets[number]),
            *(behind[: self._several] or [named]),
            *(column if isinstance(column, pa.Array) else pa.array(column) for column in ranking.columns),
            *behind[self._several :],
        ]
        return EntryAnswers(session, columns)

    def _distances(self, step: PassInput, since: Int64, entries_of: AnswerEntries) -> EntryAnswers:
        entries = entries_of.entries
        tops = self._totals(since, entries_of, entries.times, entries.amounts)
        places, numbers = distance_columns(every_other(tops, 0), every_other(tops, 1), self._unit)
        answer, window = np.divmod(places, len(self._labels))
        at = step.moments.at[entries_of.moment[answer]]
        names = pa.array([TOTAL_VARIATION]).take(pa.array(np.zeros(len(places), np.int64)))
        labels = [moments(at, self.schema.field("at").type), self._labels.take(pa.array(window)), names]
        return EntryAnswers(entries_of.session[answer], [*labels, *numbers])

    def _ranking(self, step: PassInput, since: Int64, entries_of: AnswerEntries) -> Ranking:  # noqa: ARG002
        """The objects in the answers; since: int64[a, w], the start of each window of each answer."""
        query, times = self._of_query, entries_of.entries.times
        units = np.ones(len(times), np.int64) if self._rule.pairs else entries_of.entries.amounts
        if query.against is not None:
            tops = self._totals(since, entries_of, times, units)
            pair = every_other(tops, 0), every_other(tops, 1)
            movers = movers_of(*pair, query.mover_rule, together=not query.remembers)
            return Ranking(movers.tops, mover_columns(movers))
        whole = self._totals(since, entries_of, times, units, self._least)
        others = entries_of.entries.others
        matching = (others, units) if self._rule.pairs else (times, others)
        parts = parts_of(whole, self._totals(since, entries_of, *matching), query.k, self._unit)
        return Ranking(parts.whole, part_columns(parts))

    def _totals(
        self, since: Int64, entries_of: AnswerEntries, times: Int64, units: Int64, least: Least = _ONE_UNIT
    ) -> Tops:
        """The totals of all objects that are large enough, window by window."""
        count, spans = since.shape
        numbers, objects, totals = [], [], []
        for span in range(spans):
            begin = since[entries_of.answer, span]
            within = times >= begin
            if self._of_query.remembers and span % 2:  # the earlier window, which ends before the other begins
                within &= times < begin + self._of_query.windows[span // 2].length
            inside = np.flatnonzero(within)
            answer, of, amount = entries_of.answer[inside], entries_of.entries.objects[inside], units[inside]
            first = np.flatnonzero(np.append(True, (answer[1:] != answer[:-1]) | (of[1:] != of[:-1]))[: len(inside)])
            numbers.append(answer[first] * spans + span)
            objects.append(of[first])
            totals.append(np.add.reduceat(amount, first) if len(first) else amount)
        number, total = np.concatenate(numbers), np.concatenate(totals)
        order = np.argsort(number, kind="stable")
        number, total, named = number[order], total[order], np.concatenate(objects)[order]
        grand = np.zeros(count * spans, np.int64)
        np.add.at(grand, number, total)
        enough = total >= least_totals(least, grand)[number]
        number, total, named = number[enough], total[enough], named[enough]
        offsets = np.searchsorted(number, np.arange(len(grand) + 1))
        values, all_ = worth(total, self._unit), worth(grand, self._unit)
        return Tops(offsets, named, values, values, values, all_, all_, all_, np.zeros(len(grand)))

    def processor(self, last: int, entries: Mapping[str, Array]) -> GroupProcessor:
        if not self._part:
            return super().processor(last, entries)
        return super().processor(last, _halves(entries, self._rule.pairs))

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        super().check_entries(state, owners)
        if self._part:
            matching = state.column("matching", np.int64, len(owners))
            most = state.column("time" if self._rule.pairs else "amount", np.int64, len(owners))
            state.require(bool((matching <= most).all()), "matching", "must be at most the whole")
            lowest = TIME_MIN if self._rule.pairs else 0
            state.require(bool((matching >= lowest).all()), "matching", f"must be at least {lowest}")


class SmallDecayedTotals(SmallRankings):
    """Groups of at most `most` entries: an object and the weight of its rows in a pane at the end of the pane."""

    def __init__(
        self, most: int, query: "HeavyHitters", answers: pa.Schema, processor: Callable[[int, Rows], GroupProcessor]
    ) -> None:
        self.kept = {**self.kept, "amount": np.float64}  # type: ignore[misc]
        super().__init__(most, query, answers, processor)
        assert query.half_life is not None
        self._half_life, self._limits = query.half_life.length, (query.k, query.at_least or 0.0)
        self._rule = self._rule._replace(together=np.inf)

    def _pane_rows(self, step: PassInput) -> PaneEntries:
        times = step.times
        weights = cast(Float64, step.rows["weight"]) if self._total == "sum" else np.ones(len(times))
        amounts = weights * left_after(self._ends(times) - times, self._half_life)
        return PaneEntries(cast(Int64, step.rows["object"]), times, amounts, np.zeros(len(times), np.int64))

    def _ends(self, times: Int64) -> Int64:
        """The end of the pane of each time."""
        ends: Int64 = ((times - self._phase) // self._pane + 1) * self._pane + self._phase
        return ends

    def _ranking(self, step: PassInput, since: Int64, entries_of: AnswerEntries) -> Ranking:
        entries, at = entries_of.entries, step.moments.at[entries_of.moment]
        age = np.maximum(at[entries_of.answer] - self._ends(entries.times), 0)
        weighed = entries.amounts * left_after(age, self._half_life)
        spans = since.shape[1]
        numbers, objects, totals = [], [], []
        for span in range(spans):
            inside = np.flatnonzero(entries.times >= since[entries_of.answer, span])
            answer, of = entries_of.answer[inside], entries.objects[inside]
            new = np.append(True, (answer[1:] != answer[:-1]) | (of[1:] != of[:-1]))[: len(inside)]
            numbers.append(answer[new] * spans + span)
            objects.append(of[new])
            # One after the other, as in a processor: pairwise sums would round differently.
            totals.append(np.bincount(np.cumsum(new) - 1, weighed[inside], int(new.sum())))
        number, object_, total = (np.concatenate(column) for column in (numbers, objects, totals))
        tops = ranked_totals(number, object_, total, len(since) * spans, *self._limits)
        return Ranking(tops, [tops.totals, tops.low, tops.high])

    def processor(self, last: int, entries: Mapping[str, Array]) -> GroupProcessor:
        columns = {name: column for name, column in entries.items() if name != "time"}
        if not is_integer_id(self._kind):
            columns["name"] = self.values(entries["object"])
        return self._processor(last, Rows(entries["time"], columns))

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        ids = state.column("object", np.int64, len(owners))
        times = state.column("time", np.int64, len(owners))
        amounts = state.column("amount", np.float64, len(owners))
        state.require(bool((np.isfinite(amounts) & (amounts > 0)).all()), "amount", "must be above 0")
        rising = (ids[1:] > ids[:-1]) | ((ids[1:] == ids[:-1]) & (times[1:] > times[:-1]))
        state.require(bool((rising | (owners[1:] != owners[:-1])).all()), "object", "must be by object")


def _halves(entries: Mapping[str, Array], pairs: bool) -> dict[str, Array]:
    """Separate entries of what meets the condition and what does not, in order of time."""
    matching, rows = entries["matching"], np.arange(len(entries["time"]))
    if pairs:
        also = (matching > TIME_MIN) & (matching < entries["time"])
        place = np.concatenate([rows[also], rows])
        times = np.concatenate([matching[also], entries["time"]])
        meets = np.concatenate([np.ones(int(also.sum()), np.int8), (matching == entries["time"]).astype(np.int8)])
        order = np.argsort(times, kind="stable")
        place, times, meets = place[order], times[order], meets[order]
        amounts = entries["amount"][place]
    else:
        amounts = np.stack([entries["amount"] - matching, matching], axis=1).reshape(-1)
        place, meets = np.repeat(rows, 2), np.tile(np.array([0, 1], np.int8), len(rows))
        positive = amounts > 0
        place, meets, amounts = place[positive], meets[positive], amounts[positive]
        times = entries["time"][place]
    columns = {
        name: column.take(pa.array(place)) if isinstance(column, pa.Array) else column[place]
        for name, column in entries.items()
        if name != "matching"
    }
    return {**columns, "time": times, "amount": amounts, "meets": meets}
