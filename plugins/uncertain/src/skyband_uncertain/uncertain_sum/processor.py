"""Processes one group of uncertain-sum: adds tuples to a window, and computes its sums after each."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried_values
from skyband.groups import state_arrays
from skyband.groups.answer_columns import AnswerColumns
from skyband.groups.per_row_processor import PerRowProcessor
from skyband.registry import Binding
from skyband.state_validation import StateReader

from skyband_uncertain.tuple_windows import TupleWindow, window_of
from skyband_uncertain.uncertain_sum.kernels import expected_sums, window_sums
from skyband_uncertain.uncertain_tuples import Samples, existence_and_means, samples_of

if TYPE_CHECKING:
    from skyband_uncertain.uncertain_sum.query import UncertainSum


_EMPTY, _NOWHERE = np.empty(0), np.empty(0, np.int64)
_NO_SAMPLES = Samples(np.zeros(1, np.int64), _EMPTY, _EMPTY)
_STATE = {"expected": "ranks", "count": "counts"}
"""The names of the arrays of these columns in a state."""


def tuples_of(rows: Rows) -> tuple[Float64, Float64, Float64]:
    """For each row the probability that it exists, its contribution to expected sums, and its average."""
    (existence, means, averages), start, stop = rows.once(_all_tuples)
    return existence[start:stop], means[start:stop], averages[start:stop]


def _all_tuples(rows: Rows) -> tuple[Float64, Float64, Float64]:
    existence, means = existence_and_means(rows)
    return existence, means, np.divide(means, existence, out=np.zeros(len(means)), where=existence > 0.0)


def answers_of(rows: Rows, by_name: dict[str, Any], schema: pa.Schema, carried: int) -> AnswerColumns:
    """Build the answers to rows from their sums, counts and numbers of tuples kept."""
    if "count" in by_name:
        by_name["average"] = _by(by_name["expected"], by_name["count"])
    columns = [rows.times, *(by_name[name] for name in schema.names[1 : len(schema) - carried])]
    kinds = schema.types[len(columns) :]
    columns += [carried_values(rows, number, kind) for number, kind in enumerate(kinds)]
    return AnswerColumns(schema, columns)


class SumProcessor(PerRowProcessor):
    """The window of a stream, and its sums: of the tuples' averages, and expected ones."""

    def __init__(self, query: "UncertainSum", bindings: Mapping[str, Binding], answers: pa.Schema) -> None:
        self._schema = answers
        self._carried = len(query.carry)
        self._window = window_of(
            query.size, query.window, query.delta, query.alpha, bindings, query.backend_parameters("window")
        )
        self._averages: Float64 = np.empty(0)
        statistics = ["expected", *(["count"] if query.statistics else [])]
        self._expected: dict[str, _Expected] = {
            name: _OfTheLast(query.size) if query.size is not None else _OfTheWindow() for name in statistics
        }

    def arrive(self, rows: Rows) -> AnswerColumns:
        samples = samples_of(rows)
        existence, means, averages = tuples_of(rows)
        base, first = self._window.start, len(self._averages)
        starts = self._window.append(rows.times, samples, existence)
        gone = self._window.start - base
        together = np.concatenate([self._averages, averages])
        answers = {"sum": window_sums(together, starts - base, first)}
        self._averages = together[gone:].copy()
        for name, expected in self._expected.items():
            answers[name] = expected.update(existence, means if name == "expected" else existence, starts - base, gone)
        answers["kept"] = np.arange(base + first + 1, base + first + len(rows) + 1) - starts
        return answers_of(rows, answers, self._schema, self._carried)

    def begin_with(self, entries: Mapping[str, Array]) -> "SumProcessor":
        """Continue from the tuples of a small group's window, as returned by `entries`."""
        times = entries.get("time", _NOWHERE)
        self._window.append(times, _NO_SAMPLES, entries.get("chance", _EMPTY))
        self._averages = entries["average"].copy()
        for name, expected in self._expected.items():
            expected.state = entries[name][: expected.length(len(self._averages))].copy()
        return self

    def entries(self, chances: Float64) -> dict[str, Array]:
        """The entries that a small group keeps of a window by size whose tuples exist with `chances`."""
        count = len(self._averages)
        ranks = {name: np.append(one.state, np.zeros(count - len(one.state))) for name, one in self._expected.items()}
        return {"chance": chances[len(chances) - count :], "average": self._averages, **ranks}

    @property
    def retained(self) -> int:
        return len(self._window)

    @property
    def nbytes(self) -> int:
        return self._window.nbytes + 4 * self._averages.nbytes

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        window = state_arrays.with_prefix("window", self._window.dump_state())
        expected = {_STATE[name]: expected.state for name, expected in self._expected.items()}
        return {}, {**window, "averages": self._averages, **expected}

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:  # noqa: ARG002
        self._window.load_state(state_arrays.without_prefix("window", arrays))
        state = StateReader(arrays)
        least, most = np.finfo(np.float64).min, np.finfo(np.float64).max
        self._averages = state.column("averages", np.float64, len(self._window), at_least=least, at_most=most).copy()
        for name, expected in self._expected.items():
            expected.load(_STATE[name], state, self._window)


class _Expected(ABC):
    """The expected sum of a value over a window, after each arrival."""

    state: Float64

    @abstractmethod
    def update(self, existence: Float64, means: Float64, starts: Int64, gone: int) -> Float64:
        """float64[n]: the sum after each arrival. means: the expected contribution of each tuple; starts: the oldest
        tuple then, relative to the oldest before; gone: how many of those have left at the end.
        """

    @abstractmethod
    def length(self, count: int) -> int:
        """The length of the state for a window with `count` tuples."""

    @abstractmethod
    def load(self, name: str, state: StateReader, window: TupleWindow[Any]) -> None:
        """Restore `state`, whose name is `name`."""


class _OfTheLast(_Expected):
    """Over the last `size` existing tuples: the contribution of the one with k younger existing ones, for each k."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.state = np.empty(0)

    def update(self, existence: Float64, means: Float64, starts: Int64, gone: int) -> Float64:  # noqa: ARG002
        used = len(self.state)
        self.state = np.append(self.state, np.zeros(min(self._size, used + len(means)) - used))
        return expected_sums(self.state, used, existence, means)

    def length(self, count: int) -> int:
        return min(self._size, count)

    def load(self, name: str, state: StateReader, window: TupleWindow[Any]) -> None:
        used = min(self._size, window.end)
        self.state = state.column(name, np.float64).copy()
        state.require(len(self.state) == used, name, f"must be {used} (got {len(self.state)})")


class _OfTheWindow(_Expected):
    """Over all tuples of a window: the contribution of each."""

    def __init__(self) -> None:
        self.state = np.empty(0)

    def update(self, existence: Float64, means: Float64, starts: Int64, gone: int) -> Float64:  # noqa: ARG002
        together = np.concatenate([self.state, means])
        sums = window_sums(together, starts, len(self.state))
        self.state = together[gone:].copy()
        return sums

    def length(self, count: int) -> int:
        return count

    def load(self, name: str, state: StateReader, window: TupleWindow[Any]) -> None:
        most = np.finfo(np.float64).max
        self.state = state.column(name, np.float64, len(window), at_least=-most, at_most=most).copy()


def _by(sums: Float64, counts: Float64) -> pa.Array:
    """sums / counts, null for a count of 0."""
    none = counts <= 0.0
    return pa.array(np.divide(sums, counts, out=np.zeros(len(sums)), where=~none), mask=none)
