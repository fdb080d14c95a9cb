"""uncertain-sum: the sum over a window of tuples that may not exist, after each arrival."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from attrs import define

from skyband.arrays import Array, Float64, Int64
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried_values
from skyband.columns.uncertain_tuples import WHAT, encode_samples, is_samples, samples_of
from skyband.config.durations import Duration
from skyband.config.parameters import checked, number
from skyband.errors import ConfigError, Problem
from skyband.queries import state_arrays
from skyband.queries.carried_columns import (
    TIE,
    carry_columns,
    carry_fields,
    carry_inputs,
    carry_parameter,
    name_problems,
)
from skyband.queries.per_row_processor import PerRowProcessor, time_field
from skyband.queries.processor import GroupProcessor
from skyband.queries.query import Input, Query, as_names, column_name
from skyband.queries.row_encoding import moments
from skyband.queries.tuple_windows import (
    TupleWindow,
    delta_parameter,
    problems_of,
    size_parameter,
    unlike_time,
    window_of,
    window_parameter,
)
from skyband.queries.uncertain_sum_kernels import expected_sums, window_sums
from skyband.registry import Binding
from skyband.state_validation import StateReader

STATISTICS = ("count", "average")


def _check_statistics(value: Any) -> str | None:
    known = isinstance(value, tuple) and all(isinstance(name, str) and name in STATISTICS for name in value)
    return None if known else f"must be a list of {' and '.join(map(repr, STATISTICS))} (got {value!r})"


def sample_inputs(values: str, probabilities: str) -> tuple[Input, Input]:
    """The two columns of a query over uncertain tuples."""
    return Input("values", values, WHAT, is_samples), Input("probabilities", probabilities, WHAT, is_samples)


@define(eq=True)
class UncertainSum(Query):
    """Sums a window of a stream of tuples, of each of which only samples and probabilities are known.

    The window holds the last `size` tuples that exist (with probability alpha: section 4), or, with `window`, those of
    the last length of time (a half-open one, as in every query), or, with `delta`, those that are about alike: the
    oldest goes once a later one is further than delta from it with probability alpha (both section 8.1, and exact by
    definition, so that no backend is asked).

    Result columns, a row for each row: time; sum, that of the averages of all tuples kept (the paper's rule, which
    counts some that are not there); expected, the expectation of the sum over all possible worlds, of the last `size`
    tuples that exist or of all in the window; kept, how many tuples the window keeps; with `statistics` also count,
    the expected number of existing tuples in that sum, and average, the expected sum by the expected count, null where
    that is 0; then the columns of the row to `carry`, such as its id. Rows with a null sample are left out and
    reported. Rows of one time come in the order of a hash of their samples, then of a hash of what they carry.

    Source: Dallachiesa et al., sections 7.3 and 8.1; the expectations are ours.
    """

    kind: ClassVar[str] = "uncertain-sum"
    roles: ClassVar[tuple[str, ...]] = ("window",)
    drop_reasons: ClassVar[tuple[str, ...]] = ("null sample",)

    values: str = column_name(help="the column of values: a number, or a list with one for each sample")
    probabilities: str = column_name(help="the column of their probabilities, which sum to at most 1 in a row")
    size: int | None = size_parameter()
    alpha: float = number(
        0.95, above=0, at_most=1, help="probability with which it must hold `size`, or at which `delta` lets a tuple go"
    )
    carry: tuple[str, ...] = carry_parameter(help="further columns of the row to give with its sums, such as its id")
    window: Duration | None = window_parameter()
    delta: float | None = delta_parameter()
    statistics: tuple[str, ...] = checked(
        (), type="list", check=_check_statistics, converter=as_names, kw_only=True,
        help='further columns of the answers: "count", "average" or both',
    )  # fmt: skip

    def __attrs_post_init__(self) -> None:
        taken = ("time", "sum", "expected", "kept", *self.statistics, *self.by)
        problems = [*name_problems("carry", self.carry, taken), *problems_of(self.size, self.window, self.delta)]
        if problems:
            raise ConfigError(*problems)

    @property
    def rows(self) -> bool:
        return True

    @property
    def ties(self) -> tuple[str, ...]:
        return ("tie", TIE) if self.carry else ("tie",)

    def check(self, schema: pa.Schema) -> list[Problem]:
        return [*super().check(schema), *unlike_time(self.window, self, schema)]

    def inputs(self) -> tuple[Input, ...]:
        return (*sample_inputs(self.values, self.probabilities), *carry_inputs(self.carry))

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        columns, null = encode_samples(batch.column(self.values), batch.column(self.probabilities))
        return columns | carry_columns(self.carry, batch), {"null sample": null}

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        sums = [pa.field(name, pa.float64()) for name in ("sum", "expected")]
        further = [pa.field(name, pa.float64()) for name in STATISTICS if name in self.statistics]
        columns = [time_field(self, schema), *sums, pa.field("kept", pa.int64()), *further]
        return [*columns, *carry_fields(self.carry, schema)]

    @property
    def asked_roles(self) -> tuple[str, ...]:
        return () if self.size is None else self.roles

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        return {"size": self.size, "alpha": self.alpha}

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        return _SumProcessor(self, bindings, answers)


_STATE = {"expected": "ranks", "count": "counts"}
"""How the arrays are called that a state keeps for these columns."""


class _SumProcessor(PerRowProcessor):
    def __init__(self, query: UncertainSum, bindings: Mapping[str, Binding], answers: pa.Schema) -> None:
        self._schema = answers
        self._carried = len(query.carry)
        self._window = window_of(
            query.size, query.window, query.delta, query.alpha, bindings, query.backend_parameters("window")
        )
        self._averages: Float64 = np.empty(0)
        wanted = ["expected", *(["count"] if query.statistics else [])]
        self._expected: dict[str, _Expected] = {
            name: _OfTheLast(query.size) if query.size is not None else _OfTheWindow() for name in wanted
        }

    def arrive(self, rows: Rows) -> pa.RecordBatch:
        samples = samples_of(rows)
        existence, means = samples.existence(), samples.means()
        averages = np.divide(means, existence, out=np.zeros(len(means)), where=existence > 0.0)
        base, first = self._window.start, len(self._averages)
        starts = self._window.append(rows.times, samples, existence)
        gone = self._window.start - base
        together = np.concatenate([self._averages, averages])
        found = {"sum": window_sums(together, starts - base, first)}
        self._averages = together[gone:].copy()
        for name, expected in self._expected.items():
            found[name] = expected.update(existence, means if name == "expected" else existence, starts - base, gone)
        if "count" in found:
            found["average"] = _by(found["expected"], found["count"])
        found["kept"] = np.arange(base + first + 1, base + first + len(rows) + 1) - starts
        columns = [moments(rows.times, self._schema.field("time").type)]
        columns += [pa.array(found[name]) for name in self._schema.names[1 : len(self._schema) - self._carried]]
        kinds = self._schema.types[len(columns) :]
        columns += [carried_values(rows, number, kind) for number, kind in enumerate(kinds)]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    @property
    def retained(self) -> int:
        return len(self._window)

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
        """float64[n]: after each arrival. means: what a tuple adds where it may not exist; starts: the oldest tuple
        then, counted from the oldest before; gone: how many of those have left at the end.
        """

    @abstractmethod
    def load(self, name: str, state: StateReader, window: TupleWindow) -> None:
        """Take over `state`, which is called `name`."""


class _OfTheLast(_Expected):
    """Over the last `size` tuples that exist: what the one with k younger existing ones adds, for each k."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.state = np.empty(0)

    def update(self, existence: Float64, means: Float64, starts: Int64, gone: int) -> Float64:  # noqa: ARG002
        used = len(self.state)
        self.state = np.append(self.state, np.zeros(min(self._size, used + len(means)) - used))
        return expected_sums(self.state, used, existence, means)

    def load(self, name: str, state: StateReader, window: TupleWindow) -> None:
        used = min(self._size, window.end)
        self.state = state.column(name, np.float64).copy()
        state.require(len(self.state) == used, name, f"must be {used} (got {len(self.state)})")


class _OfTheWindow(_Expected):
    """Over all tuples of a window: what each of them adds."""

    def __init__(self) -> None:
        self.state = np.empty(0)

    def update(self, existence: Float64, means: Float64, starts: Int64, gone: int) -> Float64:  # noqa: ARG002
        together = np.concatenate([self.state, means])
        sums = window_sums(together, starts, len(self.state))
        self.state = together[gone:].copy()
        return sums

    def load(self, name: str, state: StateReader, window: TupleWindow) -> None:
        most = np.finfo(np.float64).max
        self.state = state.column(name, np.float64, len(window), at_least=-most, at_most=most).copy()


def _by(sums: Float64, counts: Float64) -> pa.Array:
    """sums / counts, null where a count is 0."""
    none = counts <= 0.0
    return pa.array(np.divide(sums, counts, out=np.zeros(len(sums)), where=~none), mask=none)
