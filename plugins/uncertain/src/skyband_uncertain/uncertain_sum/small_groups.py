"""Small groups of uncertain-sum: the tuples of each group's window, and their contributions to an expected sum."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64, UInt64, read_only
from skyband.columns.rows import Rows
from skyband.groups.answer_columns import AnswerColumns, as_batch
from skyband.groups.small_groups.entries import SmallGroupEntries
from skyband.groups.small_groups.host import Promoted, SmallGroupAnswers
from skyband.groups.small_groups.per_row import NO_KEYS, SmallGroupsPerRow
from skyband.windows.window_parameters import closed_length

from skyband_uncertain.uncertain_sum.processor import answers_of, tuples_of
from skyband_uncertain.uncertain_sum.small_groups_kernels import TIED, sums_of_existing, sums_of_span

if TYPE_CHECKING:
    from skyband_uncertain.uncertain_sum.processor import SumProcessor
    from skyband_uncertain.uncertain_sum.query import UncertainSum

_MOST = float(np.finfo(np.float64).max)


class _Walked(NamedTuple):
    """The groups after taking in rows."""

    size: Int64
    """int64[g]: the number of entries of each group; 0 if it is tied."""
    grown: Int64
    """int64[g]: the first row not taken in by a group with more than `most` entries; -1 for others, or TIED."""
    entries: dict[str, Array]
    found: dict[str, Any]
    """The numbers of each row's answer."""


class SmallUncertainSums(SmallGroupsPerRow):
    """Groups of at most `most` tuples in the window: 24 bytes per tuple, 32 with statistics.

    If floats cannot decide whether a tuple is dropped, a temporary window of the backend does.
    """

    def __init__(
        self, most: int, query: "UncertainSum", answers: pa.Schema, processor: Callable[[], "SumProcessor"]
    ) -> None:
        self._most, self._schema, self._processor = most, answers, processor
        self._carried = len(query.carry)
        self._size = query.size
        self._limit = float(1 - Fraction(query.alpha))
        self._length = 0 if query.window is None else closed_length(query.window)
        self._counted = bool(query.statistics)
        entries = SmallGroupEntries(
            {
                **({"time": np.int64} if self._size is None else {"chance": np.float64}),
                **dict.fromkeys(("average", "expected"), np.float64),
                **({"count": np.float64} if self._counted else {}),
            }
        )
        super().__init__(entries)

    def take(self, keys: UInt64, starts: Int64, stops: Int64, rows: Rows) -> SmallGroupAnswers:
        """Take in the rows starts[i]..stops[i] of each group."""
        result = self._walk(keys, starts, stops, rows)
        untied, stays = result.grown != TIED, result.grown == -1
        promoted = []
        ends = np.cumsum(result.size)
        for group in np.flatnonzero(result.grown >= 0).tolist():
            own = slice(ends[group] - result.size[group], ends[group])
            entries = {name: column[own] for name, column in result.entries.items()}
            rest = rows.slice(result.grown[group], stops[group])
            promoted.append(Promoted(int(keys[group]), self._processor().begin_with(entries), rest))
        tied = [
            self._tied(int(keys[group]), rows.slice(starts[group], stops[group]))
            for group in np.flatnonzero(~untied).tolist()
        ]
        left = np.repeat(stays, result.size)
        entries = {name: column if left.all() else column[left] for name, column in result.entries.items()}
        self._entries.put(keys[untied], np.where(stays, result.size, 0)[untied], entries)
        for key, _, kept, grown in tied:
            self._entries.put(np.array([key], np.uint64), np.array([0 if grown else len(kept["average"])]), kept)
        lasts = np.where(stays, stops, np.where(untied, result.grown, starts))
        answered = np.arange(len(rows)) < np.repeat(lasts, stops - starts)
        owners = [np.repeat(keys, stops - starts)[answered]]
        columns = {name: column if answered.all() else column[answered] for name, column in result.found.items()}
        answers = [answers_of(rows.pick(answered), columns, self._schema, self._carried)]
        for key, given, _, grown in tied:
            answers.append(given)
            owners.append(np.full(len(given), key, np.uint64))
            promoted += grown
        return SmallGroupAnswers(as_batch(answers), np.concatenate(owners), NO_KEYS, promoted)

    def _walk(self, keys: UInt64, starts: Int64, stops: Int64, rows: Rows) -> _Walked:
        existence, means, averages = tuples_of(rows)
        stored = self._entries.columns
        spans = *self._entries.lookup(keys), starts, stops
        sums = stored["average"], stored["expected"], stored.get("count", np.empty(0))
        if self._size is None:
            times = read_only(rows.times)
            sizes, grown, entries, answers = sums_of_span(
                *spans,
                stored["time"],
                *sums,
                times,
                existence,
                means,
                averages,
                self._length,
                self._most,
                self._counted,
            )
        else:
            sizes, grown, entries, answers = sums_of_existing(
                *spans, stored["chance"], *sums, existence, means, averages,
                self._size, self._limit, self._most, self._counted,
            )  # fmt: skip
        columns = dict(zip(self._entries.columns, entries, strict=False))
        numbers = dict(zip(("sum", "expected", "count", "kept"), answers, strict=True))
        if not self._counted:
            del numbers["count"]
        return _Walked(sizes, grown, columns, numbers)

    def _tied(self, key: int, rows: Rows) -> tuple[int, AnswerColumns, dict[str, Array], list[Promoted]]:
        """Answer a group's rows with its own window; returns its key, answers and entries, and whether it outgrew."""
        entries = self._entries.part(key)
        size = len(entries["average"])
        existence, _, _ = tuples_of(rows)
        chances = np.concatenate([entries["chance"], existence])
        processor = self._processor().begin_with(entries)
        answers = processor.arrive(rows)
        many = np.flatnonzero(answers.columns[self._schema.names.index("kept")] > self._most)
        if not len(many):
            return key, answers, processor.entries(chances), []
        stop = int(many[0]) + 1
        processor = self._processor().begin_with(entries)
        answers = processor.arrive(rows.slice(0, stop))
        counts = processor.entries(chances[: size + stop])
        promoted = Promoted(key, self._processor().begin_with(counts), rows.slice(stop, len(rows)))
        return key, answers, {name: column[:0] for name, column in counts.items()}, [promoted]

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        entries, owners = self._entries.load_state(arrays, self._most)
        for name in ("average", "expected"):
            entries.column(name, np.float64, len(owners), at_least=-_MOST, at_most=_MOST)
        if self._counted:
            entries.column("count", np.float64, len(owners), at_least=0, at_most=_MOST)
        if self._size is not None:
            entries.column("chance", np.float64, len(owners), at_least=0, at_most=1)
        else:
            times = entries.column("time", np.int64, len(owners))
            fine = (times[1:] >= times[:-1]) | (owners[1:] != owners[:-1])
            entries.require(bool(fine.all()), "time", "must be ascending within a group")
