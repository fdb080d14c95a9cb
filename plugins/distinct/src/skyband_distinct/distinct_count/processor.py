"""Processors of one group's stream in distinct-count: they answer from its sketch, or emit the sketch as a state."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64, UInt64, read_only
from skyband.columns.rows import Rows
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.answer_columns import AnswerColumns, ProcessorAnswers, RawAnswers
from skyband.groups.plain_turns import AnswersOfTurns, PlainTurn
from skyband.groups.processor import BackendProcessor, GroupProcessor
from skyband.groups.windowed_processor import WindowedProcessor
from skyband.registry import Binding

from skyband_distinct.distinct_count.value_sums import TERMS, left_out, limits_of
from skyband_distinct.sightings import SightingSketch, texts

if TYPE_CHECKING:
    from skyband.roles import Sketch
    from skyband.states.state import State

    from skyband_distinct.distinct_count.query import DistinctCount

_NO_KEYS = np.empty(0, np.uint64)


class CountingProcessor(BackendProcessor, WindowedProcessor):
    """Queries one group's sketch for every window and range at each moment."""

    _backend: "Sketch"

    def __init__(self, query: "DistinctCount", bindings: Mapping[str, Binding], answers: pa.Schema) -> None:
        self._ranges, self._valued, self._query = query.ranges, query.value is not None, query
        self._classes = query.seen
        self._limits = limits_of(query) if query.adds else None
        """The limits of values that are added up; None if none are."""
        self._terms: list[list[float]] | None = [] if TERMS in answers.names else None
        """The terms of the sum of each answer of a shard."""
        self._labels = {
            "window": pa.array([str(window) for window in query.windows]),
            "range": pa.array([str(within) for within in query.ranges or ()], pa.string()),
            "seen": pa.array(texts(query.seen) if query.seen else [], pa.string()),
        }
        schedule = query.schedule
        super().__init__(query.every.length, schedule.horizon, query.rows, schedule)
        self._new_sketch = partial(query.sketch_of, bindings)
        self._schema = answers
        self._backend = self._new_sketch()
        self._answers: list[tuple[float, ...]] = []
        """The moment, the places of the window and of any range, and the numbers."""

    def begin(self, last: int, times: Int64, keys: UInt64, *values: Float64) -> "CountingProcessor":
        """Continue a small group: the time of the last row, and each key with its last time, by time.

        values: each key's latest value, if values are kept.
        """
        self.resume_after(last)
        self._backend.update(times, keys, *values)
        return self

    def begin_with_state(self, state: "State", arrays: Mapping[str, Array], at: int) -> None:
        if self._limits is not None and (beyond := left_out(self._query, arrays["values"])):
            raise SnapshotError(f"holds values that cannot be added up: {', '.join(beyond)}; start without it")
        self._backend.load_state(arrays)
        self.resume_at(at, state.latest)

    def update(self, times: Int64, rows: Rows) -> None:
        if self._valued:
            self._backend.update(times, rows["key"], rows["value"])
        else:
            self._backend.update(times, rows["key"])

    def _starts(self, at: int) -> list[int]:
        """The start of each window that ends at a moment."""
        return self._schedule.starts(at)

    def answer(self, at: int) -> None:
        starts = self._starts(at)
        for window, since in enumerate(starts if self.needs_answers else ()):
            self._answers += [(at, window, *counts) for counts in self._counts(since)]
        self._backend.forget(self._schedule.needed_from(starts))

    @classmethod
    def turns(cls, processors: Sequence[Self], rows: Rows, spans: Int64, turns: Sequence[PlainTurn]) -> AnswersOfTurns:
        first = processors[0]
        if cls is not CountingProcessor or first._valued or first._classes or first._schedule.falls_back:
            return super().turns(processors, rows, spans, turns)
        moments, windows = [turn.due for turn in turns], len(first._query.windows)
        since = {at: first._starts(at) for own in {id(own): own for own in moments}.values() for at in own.tolist()}
        sketches, keys = [processor._backend for processor in processors], rows["key"] if len(rows) else _NO_KEYS
        numbers = type(sketches[0]).counts_together(
            sketches, read_only(rows.times), read_only(keys), spans=spans, moments=moments, since=since
        )
        for processor, turn in zip(processors, turns, strict=True):
            processor._last, processor._next = turn.last, turn.following
        counts = [len(own) * windows for own in moments]
        if not len(numbers):
            return AnswersOfTurns([], counts)
        due = np.concatenate(moments)
        columns = [np.repeat(due, windows), np.tile(np.arange(windows), len(due)), *numbers.T]
        return AnswersOfTurns([AnswerColumns(first._schema, columns, first._labels)], counts)

    def _counts(self, since: int) -> list[tuple[float, ...]]:
        """The answers of a window: the place of each range, or number of sightings, and the numbers."""
        if self._ranges is not None:
            estimates = [self._backend.estimate_between(since, within.low, within.high) for within in self._ranges]
            return [(place, *counts) for place, counts in enumerate(estimates)]
        if self._classes is not None:
            frequencies = cast(SightingSketch, self._backend).frequencies(since, self._classes)
            return [(place, *counts) for place, counts in enumerate(frequencies.tolist())]
        return [self._counts_and_sum(since)]

    def _counts_and_sum(self, since: int) -> tuple[float, ...]:
        """The count with its bounds, and the sum with its own if values are added up."""
        counts = self._backend.estimate_with_bounds(since)
        if self._limits is None:
            return counts
        terms, low, high = self._backend.sum_terms(since, *self._limits)
        parts = terms.tolist()
        if self._terms is not None:
            self._terms.append(parts)
        return *counts, math.fsum(parts), low, high

    @staticmethod
    def columns_of(answers: Sequence[Sequence[Any]]) -> list[Array | pa.Array]:
        """The columns of the answers of all groups, each a list of rows of numbers."""
        return [np.array(column) for column in zip(*chain(*(rows for (rows,) in answers)), strict=True)]

    def collect(self) -> ProcessorAnswers | None:
        if not self._answers:
            return None
        answers, self._answers = self._answers, []
        if self._terms is None:
            return RawAnswers(self._schema, self.columns_of, (answers,), len(answers), self._labels)
        terms, self._terms = pa.array(self._terms, pa.list_(pa.float64())), []
        return AnswerColumns(self._schema, [*self.columns_of([(answers,)]), terms], self._labels)

    def clear(self) -> None:
        self._backend = self._new_sketch()

    def merge(self, other: GroupProcessor) -> None:
        other = cast(CountingProcessor, other)
        self._backend.merge(other._backend)
        self.resume_after_both(other)

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {"clock": self.clock()}, state_arrays.with_prefix("sketch", self._backend.dump_state())

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.set_clock(header["clock"])
        self._backend.load_state(state_arrays.without_prefix("sketch", arrays))
