"""Processes one group's stream of a heavy-hitters query with a total-ranker."""

from collections.abc import Iterator, Mapping, Sequence
from math import gcd
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import TIME_MIN, Array, Int64
from skyband.columns.gaps_in_row_numbers import without_gaps
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import RankedRows
from skyband.columns.values_by_id import ValuesById, learn_together, values_together
from skyband.groups import state_arrays
from skyband.groups.answer_columns import AnswerColumns, ProcessorAnswers, RawAnswers, as_batch
from skyband.groups.batched_processor import BatchedProcessor
from skyband.groups.plain_turns import AnswersOfTurns
from skyband.groups.processor import BackendProcessor, GroupProcessor
from skyband.queries.composite_ids import several
from skyband.registry import Binding
from skyband.windows.window_parameters import of_calendar

from skyband_totals.heavy_hitters.columns_of_tops import columns_of_tops
from skyband_totals.heavy_hitters.rest_rows import object_counts, rest_of, shares, spread, with_rest
from skyband_totals.heavy_hitters.state_columns import OBJECTS
from skyband_totals.ranker_lengths import SECOND, finer_before
from skyband_totals.role import TotalRanker
from skyband_totals.top import Top, Tops

if TYPE_CHECKING:
    from skyband.states.state import State

    from skyband_totals.heavy_hitters.query import HeavyHitters

_COLUMNS = {"object": np.int64, "weight": np.float64, "value": np.uint64, "meets": np.int8}
_GRANDS = 3
"""The number of columns that only a shard's answers have."""


class TotalsProcessor(BackendProcessor, BatchedProcessor):
    """Answers all windows at each moment, from one ranker."""

    _backend: TotalRanker

    _tops_alone: ClassVar[bool] = True
    """Whether the ranker's answers include all numbers, so that the answers of many groups are built at once."""

    def __init__(self, query: "HeavyHitters", ranker: Binding | None, answers: pa.Schema) -> None:
        """ranker: None if a subclass replaces it."""
        self._binding = cast(Binding, ranker)
        self._parameters = query.backend_parameters("total-ranker")
        self._labels = {"window": pa.array([str(window) for window in query.windows], pa.string())}
        self._calendar = of_calendar(query.every, *query.windows)
        self._phase = 0 if query.rows or self._calendar else query.offset.length % query.every.length
        """The ranker's times are earlier by this, so that moments are multiples of `every`."""
        self._odd_until, self._finer_before = finer_before(query.every, query.windows)
        self._schema = answers
        behind = () if query.distance else (*several(query.object), *query.carry)
        self._several = len(several(query.object))
        self._carry = [answers.field(name) for name in behind]
        self._shard = answers.names[-1] == "grand_high"
        self._rest, self._unit = query.rest, query.unit if query.total == "sum" else 1.0
        self._plain = not (self._carry or self._shard or self._rest)
        """Whether answers only have the columns of windows, objects and numbers."""
        self._carried = len(query.carry)
        self._row_columns = ("object", *query.row_columns)
        self._amounts = [f"{name}s" for name in query.row_columns]
        """The names of a ranker's arguments after objects."""
        columns = {name: np.empty(0, _COLUMNS[name]) for name in self._row_columns}
        self.no_rows = Rows(np.empty(0, np.int64), columns)  # type: ignore[misc]
        schedule = query.schedule
        super().__init__(query.every.length, schedule.horizon, query.rows, schedule)

    def begin(self) -> None:
        self._backend, self._finer = self._new_ranker(), False
        self._names = ValuesById(pa.int64() if self._several else self._object_type())
        self._ranked_rows = RankedRows(self._carry, "latest")

    def _new_ranker(self) -> TotalRanker:
        return cast(TotalRanker, self._binding.create(**self._parameters))

    def _be_finer(self) -> None:
        """Switch to a ranker that can be queried since any second, for zones with such offsets."""
        if self._backend.grain > 1:
            finer = {**self._parameters, "every": gcd(int(self._parameters["every"]), SECOND)}
            self._backend, self._finer = cast(TotalRanker, self._binding.create(**finer)), True

    @property
    def _rankers(self) -> tuple[TotalRanker, ...]:
        """All rankers that get rows."""
        return (self._backend,)

    def _object_type(self) -> pa.DataType:
        return self._schema.field("object").type

    def begin_with(self, last: int, rows: Rows) -> "TotalsProcessor":
        """Continue from the entries of a small group; moments up to the last row's time have been answered."""
        no_moments = np.empty(0, np.int64)
        if self._rows:  # a gap is a pair that the next row stands for, or its weight was added to another row
            rows, gaps = without_gaps(rows)
            if "weight" in rows:
                rows = rows.with_column("weight", np.where(gaps, 0.0, rows["weight"]))
            for ranker in self._rankers:
                ranker.advance(int(rows.times[0]))
            self.feed(rows.times, rows, no_moments)
            for ranker in self._rankers:
                ranker.advance(last + 1)
        else:
            self.feed(rows.times, rows, no_moments)
        self.resume_after(last)
        return self

    def begin_with_state(self, state: "State", arrays: Mapping[str, Array], at: int) -> None:
        """Values are kept as if all had arrived with the last row, so that none is forgotten before its object."""
        self._backend.load_state(arrays)
        names = state.names
        if names is not None and len(names) and state.latest is not None:
            last = pa.array(np.full(len(names), state.latest))
            columns = [last, names.column("id"), names.column("name")]
            self._names.load_state(pa.RecordBatch.from_arrays(columns, ["last", "id", "name"]))
        self.resume_at(at, state.latest)

    @property
    def columns_suffice(self) -> bool:
        return self._answers_alone and not self._calendar and not self._backend.order_matters

    @property
    def _answers_alone(self) -> bool:
        """Whether answers only contain what the ranker returns."""
        return self._tops_alone and self._plain and (self._names.needed or self._names.tells_itself)

    def backend_columns(self, times: Int64, rows: Rows) -> Sequence[Array]:
        return times - self._phase, *(rows[name] for name in self._row_columns)

    def feed_columns(self, columns: Sequence[Array], due: Int64) -> ProcessorAnswers | None:
        times, objects, *amounts = columns
        named = dict(zip(self._amounts, amounts, strict=True))
        tops = self._backend.answers(times, objects, **named, moments=due - self._phase)
        return self._answers(due, tops) if len(due) else None

    @classmethod
    def feed_together(
        cls, processors: Sequence[Self], rows: Rows, columns: Sequence[Array], spans: Int64, due: Sequence[Int64]
    ) -> AnswersOfTurns:
        first, (times, objects, *amounts) = processors[0], columns
        if first._names.needed:
            learn_together([processor._names for processor in processors], rows, spans)
        marks = {id(moments): moments - first._phase for moments in due}  # most have the same moments
        tops = type(first._backend).answers_together(
            [processor._backend for processor in processors],
            times,
            objects,
            **dict(zip(first._amounts, amounts, strict=True)),
            spans=spans,
            moments=[marks[id(moments)] for moments in due],
        )
        windows = len(first._labels["window"])
        ends = tops.offsets[np.cumsum([0, *(windows * len(moments) for moments in due)])]
        names = None
        if first._names.needed:
            names = values_together([processor._names for processor in processors], tops.objects, ends)
            for processor, moments in zip(processors, due, strict=True):
                processor._forget_names(moments)
        parts = np.concatenate(due), windows, tops, names
        answers = RawAnswers(first._schema, columns_of_tops, parts, len(tops.objects), first._labels)
        return AnswersOfTurns([answers] if len(answers) else [], np.diff(ends).tolist())

    def feed(self, times: Int64, rows: Rows, due: Int64) -> ProcessorAnswers | None:
        if len(times):
            self._names.update(times, rows)
            self._ranked_rows.update(times, rows, np.zeros(len(times)))
        return self._answered(times, self._in_order(times, rows), due)

    def _answered(self, times: Int64, columns: dict[str, Array], due: Int64) -> ProcessorAnswers | None:
        self._be_finer_if_needed(times)
        tops = self._tops(self._backend, times, columns, due)
        return self._answers(due, tops) if len(due) else None

    def _be_finer_if_needed(self, times: Int64) -> None:
        """Switch to a finer ranker if rows at these times need it."""
        if self._calendar and len(times) and times[0] < self._finer_before and not self._finer:
            self._be_finer()

    def _tops(self, ranker: TotalRanker, times: Int64, columns: dict[str, Array], at: Int64) -> Tops:
        """Add rows to a ranker; returns its answers at these moments."""
        if self._calendar:
            return self._since_starts(ranker, times, columns, at)
        amounts, phase = {name: column for name, column in columns.items() if name != "object"}, self._phase
        return ranker.answers(times - phase, columns["object"], **arguments_of(amounts), moments=at - phase)

    def _since_starts(self, ranker: TotalRanker, times: Int64, columns: dict[str, Array], due: Int64) -> Tops:
        """The answers over windows that differ in length, moment by moment.

        If the ranker's first row is after a zone's last odd offset, it is not queried since before the end of that.
        """
        grain, odd = ranker.grain, self._odd_until
        whole = odd if self._finer else -(-odd // grain) * grain
        tops = list[Top]()
        for at in self._moments(ranker, times, columns, due):
            starts = self._starts(at)
            tops += [ranker.since(since if since > odd or self._finer else whole) for since in starts]
        return Tops.of(tops)

    def _starts(self, at: int) -> list[int]:
        """The start of each window that is queried at a moment."""
        return self._schedule.starts(at)

    def _moments(self, ranker: TotalRanker, times: Int64, columns: dict[str, Array], due: Int64) -> Iterator[int]:
        """Feed a ranker up to each due moment, and then the rest of the rows."""
        start = 0
        stops = np.searchsorted(times, due).tolist()
        for at, stop in zip([*due.tolist(), None], [*stops, len(times)], strict=True):
            if stop > start:
                part = {name: column[start:stop] for name, column in columns.items()}
                ranker.update(times[start:stop] - self._phase, part.pop("object"), **arguments_of(part))
                start = stop
            if at is not None:
                ranker.advance(at - self._phase)
                yield at

    def _in_order(self, times: Int64, rows: Rows) -> dict[str, Array]:
        """The columns, with rows of equal times sorted if the ranker's answers depend on their order.

        All rows of a time arrive together, because they wait for the watermark together.
        """
        columns = {name: rows[name] for name in self._row_columns}
        if not self._backend.order_matters or self._backend.by == "rows" or not (times[1:] == times[:-1]).any():
            return columns
        order = np.lexsort((*reversed(columns.values()), times))
        return {name: column[order] for name, column in columns.items()}

    def _answers(self, due: Int64, tops: Tops) -> ProcessorAnswers:
        """Answers as rows, before the names that they need are forgotten."""
        windows = len(self._labels["window"])
        if self._answers_alone:
            names = self._names.values_of(tops.objects) if self._names.needed else None
            self._forget_names(due)
            parts = due, windows, tops, names
            return RawAnswers(self._schema, columns_of_tops, parts, len(tops.objects), self._labels)
        return self._answer_rows(np.repeat(due, windows), [np.tile(np.arange(windows), len(due))], tops)

    def _forget_names(self, due: Int64) -> None:
        if len(due):
            self._names.forget(int(due[-1]) - self._horizon)

    def _answer_rows(self, at: Int64, labels: Sequence[Int64], tops: Tops) -> ProcessorAnswers:
        """The rows of answers at ascending moments; labels: the places of their labels in `_labels`."""
        sizes, places = np.diff(tops.offsets), labels[0]
        until = np.repeat(at, sizes)
        entries = np.arange(len(until))
        carried = self._ranked_rows.lookup(entries, tops.objects, tops.totals, np.full(len(until), TIME_MIN), until)
        columns = [
            until,
            *(np.repeat(label, sizes) for label in labels),
            entries + 1 - np.repeat(tops.offsets[:-1], sizes),
            *(carried[: self._several] or [self._names.for_answers(tops.objects)]),
            *self._numbers(tops),
            *([np.ones(len(entries), np.int64)] if self._rest else []),
            *carried[self._several :],
        ]
        self._forget_names(at)
        self._ranked_rows.forget(int(at[-1]) - self._horizon)
        if not self._shard:
            columns = self._with_rest(columns, tops, at, places) if self._rest else columns
            return AnswerColumns(self._schema, columns, self._labels)
        has_total = (tops.grand > 0) | self._rest
        count = int(np.count_nonzero(has_total))
        nulls = [pa.nulls(count, field.type) for field in list(self._schema)[3:-_GRANDS]]
        grands = [column[has_total] for column in (tops.grand, tops.grand_low, tops.grand_high)]
        if self._rest:
            nulls[self._schema.get_field_index(OBJECTS) - 3] = object_counts(tops.objects_in_all[has_total])
        ranked = [*columns, *[pa.nulls(len(entries), pa.float64())] * (_GRANDS - 1), pa.array(tops.high)]
        totals = [at[has_total], places[has_total], np.zeros(count, np.int64), *nulls, *grands]
        parts = [AnswerColumns(self._schema, part, self._labels) for part in (ranked, totals)]
        return pa.concat_batches([as_batch([part]) for part in parts])

    def _numbers(self, tops: Tops) -> list[Array | pa.Array]:
        """The columns of numbers after the object."""
        return [tops.totals, tops.totals / np.repeat(tops.grand, np.diff(tops.offsets)), tops.low, tops.high]

    def _with_rest(self, columns: Sequence[Array | pa.Array], tops: Tops, at: Int64, places: Int64) -> list[Any]:
        """The columns of answers, each followed by a row of all other objects."""
        rest = rest_of(tops, self._unit)
        ranked = np.ones(len(tops.objects) + len(tops), bool)
        ranked[tops.offsets[1:] + np.arange(len(tops))] = False
        until, window, rank, *named, total, _, low, high, counts = columns[: len(columns) - self._carried]
        names = [name if isinstance(name, pa.Array) else self._names.lookup(tops.objects) for name in named]
        behind = columns[len(columns) - self._carried :]
        totals = with_rest(ranked, total, rest.totals)
        return [
            with_rest(ranked, until, at),
            with_rest(ranked, window, places),
            spread(ranked, pa.array(rank)),
            *(spread(ranked, name) for name in names),
            totals,
            shares(totals, np.repeat(tops.grand, np.diff(tops.offsets) + 1)),
            with_rest(ranked, low, rest.low),
            with_rest(ranked, high, rest.high),
            object_counts(with_rest(ranked, counts, rest.objects)),
            *(spread(ranked, column) for column in behind),
        ]

    def merge(self, other: GroupProcessor) -> None:
        other = cast(TotalsProcessor, other)
        if other._finer and not self._finer and not len(self._backend):
            self._be_finer()
        self._backend.merge(other._backend)
        self._names.merge(other._names)
        self._ranked_rows.merge(other._ranked_rows)
        self.resume_after_both(other)

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        names = state_arrays.frame_to_array("names", self._names.frame())
        names |= state_arrays.frame_to_array("carried", self._ranked_rows.frame())
        header = {"clock": self.clock(), **({"finer": True} if self._finer else {})}
        return header, state_arrays.with_prefix("ranker", self._backend.dump_state()) | names

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.set_clock(header["clock"])
        if header.get("finer"):
            self._be_finer()
        self._backend.load_state(state_arrays.without_prefix("ranker", arrays))
        self._names.load_state(state_arrays.frame_from_array("names", arrays, self._names.frame()))
        rows = self._ranked_rows
        rows.load_state(state_arrays.frame_from_array("carried", arrays, rows.frame()))


def arguments_of(columns: Mapping[str, Array]) -> dict[str, Array]:
    """A frame's columns as a ranker's arguments."""
    return {f"{name}s": column for name, column in columns.items()}
