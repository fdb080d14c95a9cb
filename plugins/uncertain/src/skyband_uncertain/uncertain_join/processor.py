"""Processes one group of an uncertain-join: each side has a window and a matcher."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64
from skyband.columns.keyed_frames import PART
from skyband.columns.rows import Rows
from skyband.columns.sides import SIDES
from skyband.groups import state_arrays
from skyband.groups.answer_columns import AnswerColumns
from skyband.groups.per_row_processor import PerRowProcessor
from skyband.registry import Binding
from skyband.roles.sharding import PROBE

from skyband_uncertain.tuple_windows import TupleWindow
from skyband_uncertain.uncertain_join.query import UncertainJoin
from skyband_uncertain.uncertain_join.side import JoinSide
from skyband_uncertain.uncertain_join.tuples import Tuples
from skyband_uncertain.uncertain_tuples import Samples, existence_and_means, samples_of


def _meeting(rows: Rows, turn: Int64) -> Int64:
    """Which of the rows at `turn` are joined with the other side."""
    return np.flatnonzero(rows[PART][turn] & PROBE) if PART in rows else np.arange(len(turn))


class JoinProcessor(PerRowProcessor):
    """The sides of a join: each row is matched with the other side's window on arrival."""

    def __init__(self, query: UncertainJoin, bindings: Mapping[str, Binding], answers: pa.Schema) -> None:
        self._beta = query.beta
        self._schema = answers
        self._sides = [JoinSide(query, bindings, answers) for _ in range(1 if query.side is None else 2)]
        """One side, which is joined with itself, or two."""

    def arrive(self, rows: Rows) -> AnswerColumns | None:
        samples = samples_of(rows)
        every = np.arange(len(rows))
        turns = [np.flatnonzero(rows["side"] == number) for number in (0, 1)] if len(self._sides) == 2 else [every]
        columns, (existence, _) = self._sides[0].ids.columns(rows), existence_and_means(rows)
        bounds = []
        for side, turn in zip(self._sides, turns, strict=True):
            own = columns if len(turn) == len(rows) else [column.take(pa.array(turn)) for column in columns]
            bounds.append(side.append(rows.times[turn], samples.of_rows(turn), own, existence[turn]))
        matches = [
            self._probe(number, rows.times, samples, turns, _meeting(rows, turn), bounds)
            for number, turn in enumerate(turns)
        ]
        together = (
            matches[0] if len(matches) == 1 else [np.concatenate(column) for column in zip(*matches, strict=True)]
        )
        answers = self._answers(rows, *together)
        for side in self._sides:
            side.evict(int(rows.times[-1]))
        return answers

    def begin_with(self, tuples: Tuples, columns: list[pa.Array]) -> "JoinProcessor":
        """Continue from the tuples in a small group's windows, with their ids and carried columns."""
        for place, side in enumerate(self._sides):
            own = np.flatnonzero(tuples.side == place)
            samples = tuples.samples.of_rows(own)
            some = [column.take(pa.array(own)) for column in columns]
            side.append(tuples.time[own], samples, some, tuples.chance[own])
        return self

    @property
    def windows(self) -> list[TupleWindow[Any]]:
        """The window of each side."""
        return [side.window for side in self._sides]

    def _answers(
        self, rows: Rows, arrivals: Int64, matched: Int64, left: Int64, right: Int64, chances: Float64
    ) -> AnswerColumns | None:
        """The answers, ordered by arrival, then by the position of the match."""
        if not len(arrivals):
            return None
        order = np.lexsort((matched, arrivals))
        pair = [self._sides[0].ids.lookup(left[order]), self._sides[-1].ids.lookup(right[order])]
        ids = self._sides[0].ids.ids
        columns = [
            rows.times[arrivals[order]],
            *(column for side in pair for column in side[:ids]),
            chances[order],
            *(column for side in pair for column in side[ids:]),
        ]
        return AnswerColumns(self._schema, columns)

    def _probe(
        self,
        number: int,
        times: Int64,
        samples: Samples,
        turns: list[Int64],
        meeting: Int64,
        bounds: list[tuple[Int64, Int64]],
    ) -> tuple[Int64, Int64, Int64, Int64, Float64]:
        """The matches of one side's rows in the other side by then: row, position of the match, left, right, chance.

        turns: the rows of each side. meeting: which of this side's rows are joined.
        """
        other = len(self._sides) - 1 - number
        rows = turns[number][meeting]
        arrived_before = np.searchsorted(turns[other], rows)
        starts, ends = (bound[arrived_before] for bound in bounds[other])
        starts = self._sides[other].window.starts_at(times[rows], starts)
        probes, positions, chances = self._sides[other].matches(samples.of_rows(rows), starts, ends, self._beta)
        own = bounds[number][1][meeting[probes]]
        left_first = number == 0 and len(self._sides) == 2
        return rows[probes], positions, *((own, positions) if left_first else (positions, own)), chances

    @property
    def retained(self) -> int:
        return sum(len(side.matcher) for side in self._sides)

    @property
    def nbytes(self) -> int:
        return sum(side.matcher.nbytes + side.window.nbytes for side in self._sides)

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        sides = zip(SIDES, self._sides, strict=False)
        return {}, {
            key: array
            for name, side in sides
            for key, array in state_arrays.with_prefix(name, side.dump_state()).items()
        }

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:  # noqa: ARG002
        for name, side in zip(SIDES, self._sides, strict=False):
            side.load_state(state_arrays.without_prefix(name, arrays))
