"""Processes one group of top-k: feeds values to an object ranker, and returns its answers as rows."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64
from skyband.columns.gaps_in_row_numbers import sessions, without_gaps
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import RankedRows
from skyband.columns.values_by_id import ValuesById, joined_values, learn_together, values_together
from skyband.groups import state_arrays
from skyband.groups.answer_columns import AnswerColumns, ProcessorAnswers, RawAnswers, sizes_and_ranks
from skyband.groups.batched_processor import BatchedProcessor
from skyband.groups.plain_turns import AnswersOfTurns
from skyband.groups.processor import BackendProcessor
from skyband.queries.composite_ids import several
from skyband.queries.shared_keys import SMALLEST
from skyband.registry import Binding
from skyband.roles import Backend, ObjectRanker
from skyband.roles.object_ranker import REDUCTIONS

from skyband_incomplete.top_k.decayed_ranker import DecayedRanker

if TYPE_CHECKING:
    from skyband_incomplete.top_k.query import TopK


class RankingProcessor(BackendProcessor, BatchedProcessor):
    """Feeds an object ranker, and adds the names and columns of objects to its answers."""

    _backend: ObjectRanker

    no_rows: ClassVar[Rows] = Rows(
        np.empty(0, np.int64),
        {"stream": np.empty(0, np.int32), "object": np.empty(0, np.int64), "value": np.empty(0)},
    )

    def __init__(self, query: "TopK", ranker: Binding | None, answers: pa.Schema) -> None:
        """ranker: None with `half_life`, which no ranker supports."""
        self._binding = ranker
        self._lengths = query.every.length, 0 if query.half_life is None else query.half_life.length
        self._backend_parameters = query.backend_parameters("object-ranker")
        self._schema = answers
        self._repeated = 0
        self._mirrored = query.order == SMALLEST
        self._several = len(several(query.object))
        self._carry = [answers.field(name) for name in (*several(query.object), *query.carry)]
        self._which = query.row_of_object
        self._promised = query.repeats not in REDUCTIONS
        super().__init__(query.every.length, query.window.length, query.rows, query.schedule)

    def begin(self) -> None:
        self._backend = cast(ObjectRanker, self._new_ranker())
        self._names = ValuesById(pa.int64() if self._several else self._schema.field("object").type)
        self._counted = 0
        self._ranked_rows = RankedRows(self._carry, self._which)

    def _new_ranker(self) -> "Backend | DecayedRanker":
        if self._binding is None:
            return DecayedRanker(self._backend_parameters, *self._lengths)
        return self._binding.create(**self._backend_parameters)

    def begin_with(self, last: int, rows: Rows) -> "RankingProcessor":
        """Continue from the reports of a small group; moments up to the last row's time are already answered."""
        none = np.empty(0, np.int64)
        if self._rows and self._promised:
            for part in sessions(rows):  # missing reports have expired, or broke the promise
                self._backend.advance(int(part.times[0]))
                self.feed(part.times, part, none)
            self._backend.advance(last + 1)
        elif self._rows:  # a missing report was superseded by the next one of its cell
            rows, _ = without_gaps(rows)
            self._backend.advance(int(rows.times[0]))
            self.feed(rows.times, rows, none)
        else:
            self.feed(rows.times, rows, none)
        self.resume_after(last)
        return self

    @property
    def columns_suffice(self) -> bool:
        together = self._names.needed and self._binding is not None
        return not self._carry and (together or self._names.tells_itself)

    def backend_columns(self, times: Int64, rows: Rows) -> Sequence[Array]:
        return times, rows["stream"], rows["object"], 0.0 - rows["value"] if self._mirrored else rows["value"]

    def feed(self, times: Int64, rows: Rows, due: Int64) -> ProcessorAnswers | None:
        if len(times):
            self._names.update(times, rows)
            self._ranked_rows.update(times, rows, rows["value"])
        return self.feed_columns(self.backend_columns(times, rows), due)

    def feed_columns(self, columns: Sequence[Array], due: Int64) -> ProcessorAnswers | None:
        ranker, (times, streams, ids, values) = self._backend, columns
        offsets, objects, scores = ranker.answers(times, streams, ids, values, due - (ranker.by == "time"))
        self._note_repeated(ranker.repeated)
        if not len(due):
            return None
        return self._answers(due, offsets, objects, 0.0 - scores if self._mirrored else scores)

    @classmethod
    def feed_together(
        cls, processors: Sequence[Self], rows: Rows, columns: Sequence[Array], spans: Int64, due: Sequence[Int64]
    ) -> AnswersOfTurns:
        first, rankers = processors[0], [processor._backend for processor in processors]
        if first._binding is None:
            return super().feed_together(processors, rows, columns, spans, due)
        if first._names.needed:
            learn_together([processor._names for processor in processors], rows, spans)
        marks = {id(moments): moments - (first._backend.by == "time") for moments in due}  # most have the same moments
        offsets, objects, scores = type(first._backend).answers_together(
            rankers, *columns, spans=spans, moments=[marks[id(moments)] for moments in due]
        )
        for processor, ranker in zip(processors, rankers, strict=True):
            processor._note_repeated(ranker.repeated)
        ends = offsets[np.cumsum([0, *(len(moments) for moments in due)])]
        names = None
        if first._names.needed:
            names = values_together([processor._names for processor in processors], objects, ends)
            for processor, moments in zip(processors, due, strict=True):
                processor._forget_names(moments)
        parts = np.concatenate(due), offsets, objects, 0.0 - scores if first._mirrored else scores, names
        answers = RawAnswers(first._schema, _columns_of, parts, len(objects))
        return AnswersOfTurns([answers] if len(answers) else [], np.diff(ends).tolist())

    def _note_repeated(self, counted: int) -> None:
        self._repeated += counted - self._counted
        self._counted = counted

    def _answers(self, moments: Int64, offsets: Int64, objects: Int64, scores: Array) -> ProcessorAnswers:
        """Answers as rows while their names are known; ids that are names can become rows later."""
        if self.columns_suffice:
            names = self._names.values_of(objects) if self._names.needed else None
            self._forget_names(moments)
            return RawAnswers(self._schema, _columns_of, (moments, offsets, objects, scores, names), len(objects))
        sizes = np.diff(offsets)
        answer, until = np.repeat(np.arange(len(moments)), sizes), np.repeat(moments, sizes)
        carried = self._ranked_rows.lookup(answer, objects, scores, until - self._horizon, until)
        columns = [
            until,
            np.arange(1, len(objects) + 1) - np.repeat(offsets[:-1], sizes),
            *(carried[: self._several] or [self._names.for_answers(objects)]),
            scores,
            *carried[self._several :],
        ]
        self._forget_names(moments)
        self._ranked_rows.forget(int(moments[-1]) - self._horizon)
        return AnswerColumns(self._schema, columns)

    def _forget_names(self, due: Int64) -> None:
        if len(due):
            self._names.forget(int(due[-1]) - self._horizon)

    def take_dropped(self) -> Mapping[str, int]:
        dropped, self._repeated = self._repeated, 0
        return {"repeated report": dropped}

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        named = state_arrays.frame_to_array("names", self._names.frame())
        named |= state_arrays.frame_to_array("carried", self._ranked_rows.frame())
        return {"clock": self.clock()}, state_arrays.with_prefix("ranker", self._backend.dump_state()) | named

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.set_clock(header["clock"])
        self._backend.load_state(state_arrays.without_prefix("ranker", arrays))
        self._counted = self._backend.repeated
        self._names.load_state(state_arrays.frame_from_array("names", arrays, self._names.frame()))
        rows = self._ranked_rows
        rows.load_state(state_arrays.frame_from_array("carried", arrays, rows.frame()))


def _columns_of(answers: Sequence[Sequence[Any]]) -> list[Array | pa.Array]:
    """The columns at, rank, object and score of a ranker's answers, each with its moments, for all groups at once.

    The names of the objects are last, None if they follow from the ids.
    """
    moments, offsets, objects, scores, names = zip(*answers, strict=True)
    sizes, ranks = sizes_and_ranks(offsets)
    column = np.concatenate(objects) if names[0] is None else joined_values(names)
    return [np.repeat(np.concatenate(moments), sizes), ranks, column, np.concatenate(scores)]
