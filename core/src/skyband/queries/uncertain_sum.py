"""uncertain-sum: the sum over a window of tuples that may not exist, after each arrival."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
from attrs import define

from skyband.arrays import Array, Float64
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried_values
from skyband.columns.uncertain_tuples import WHAT, encode_samples, is_samples, samples_of
from skyband.config.parameters import integer, number
from skyband.errors import ConfigError
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
from skyband.queries.query import Input, Query, column_name
from skyband.queries.row_encoding import moments
from skyband.queries.uncertain_sum_kernels import expected_sums, window_sums
from skyband.registry import Binding
from skyband.roles import Window
from skyband.state_validation import StateReader


def sample_inputs(values: str, probabilities: str) -> tuple[Input, Input]:
    """The two columns of a query over uncertain tuples."""
    return Input("values", values, WHAT, is_samples), Input("probabilities", probabilities, WHAT, is_samples)


@define(eq=True)
class UncertainSum(Query):
    """Sums the last `size` existing tuples of a stream, of each of which only samples and probabilities are known.

    Result columns, a row for each row: time; sum, that of the averages of all tuples kept (the paper's rule, which
    counts some that are not there); expected, the expectation of the sum of the last `size` tuples that exist, over
    all possible worlds; kept, how many tuples the window keeps; then the columns of the row to `carry`, such as its id.
    Rows with a null sample are left out and reported. Rows of one time come in the order of a hash of their samples,
    then of a hash of what they carry.

    Source: Dallachiesa et al., section 7.3; the expectation is ours.
    """

    kind: ClassVar[str] = "uncertain-sum"
    roles: ClassVar[tuple[str, ...]] = ("window",)
    drop_reasons: ClassVar[tuple[str, ...]] = ("null sample",)

    values: str = column_name(help="the column of values: a number, or a list with one for each sample")
    probabilities: str = column_name(help="the column of their probabilities, which sum to at most 1 in a row")
    size: int = integer(at_least=1, help="existing tuples a window must hold")
    alpha: float = number(0.95, above=0, at_most=1, help="probability with which it must hold them")
    carry: tuple[str, ...] = carry_parameter(help="further columns of the row to give with its sums, such as its id")

    def __attrs_post_init__(self) -> None:
        problems = name_problems("carry", self.carry, ("time", "sum", "expected", "kept", *self.by))
        if problems:
            raise ConfigError(*problems)

    @property
    def rows(self) -> bool:
        return True

    @property
    def ties(self) -> tuple[str, ...]:
        return ("tie", TIE) if self.carry else ("tie",)

    def inputs(self) -> tuple[Input, ...]:
        return (*sample_inputs(self.values, self.probabilities), *carry_inputs(self.carry))

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        columns, null = encode_samples(batch.column(self.values), batch.column(self.probabilities))
        return columns | carry_columns(self.carry, batch), {"null sample": null}

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        sums = [pa.field(name, pa.float64()) for name in ("sum", "expected")]
        return [time_field(self, schema), *sums, pa.field("kept", pa.int64()), *carry_fields(self.carry, schema)]

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        return {"size": self.size, "alpha": self.alpha}

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        return _SumProcessor(self, bindings["window"], answers)


class _SumProcessor(PerRowProcessor):
    def __init__(self, query: UncertainSum, window: Binding, answers: pa.Schema) -> None:
        self._size = query.size
        self._binding = window
        self._backend_parameters = query.backend_parameters("window")
        self._schema = answers
        self._window = cast(Window, window.create(**self._backend_parameters))
        self._averages: Float64 = np.empty(0)
        self._ranks: Float64 = np.empty(0)

    def arrive(self, rows: Rows) -> pa.RecordBatch:
        samples = samples_of(rows)
        existence, means = samples.existence(), samples.means()
        averages = np.divide(means, existence, out=np.zeros(len(means)), where=existence > 0.0)
        base, first = self._window.start, len(self._averages)
        starts = self._window.append(existence)
        together = np.concatenate([self._averages, averages])
        sums = window_sums(together, starts - base, first)
        self._averages = together[self._window.start - base :].copy()
        used = len(self._ranks)
        self._ranks = np.append(self._ranks, np.zeros(min(self._size, used + len(rows)) - used))
        expected = expected_sums(self._ranks, used, existence, means)
        kept = np.arange(base + first + 1, base + first + len(rows) + 1) - starts
        columns = [moments(rows.times, self._schema.field("time").type), *map(pa.array, (sums, expected, kept))]
        kinds = self._schema.types[len(columns) :]
        columns += [carried_values(rows, number, kind) for number, kind in enumerate(kinds)]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    @property
    def retained(self) -> int:
        return len(self._window)

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        window = state_arrays.with_prefix("window", self._window.dump_state())
        return {}, {**window, "averages": self._averages, "ranks": self._ranks}

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:  # noqa: ARG002
        self._window.load_state(state_arrays.without_prefix("window", arrays))
        state = StateReader(arrays)
        least, most = np.finfo(np.float64).min, np.finfo(np.float64).max
        self._averages = state.column("averages", np.float64, len(self._window), at_least=least, at_most=most).copy()
        self._ranks = state.column("ranks", np.float64).copy()
        used = min(self._size, self._window.end)
        state.require(len(self._ranks) == used, "ranks", f"must be {used} (got {len(self._ranks)})")
