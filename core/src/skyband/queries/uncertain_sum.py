"""uncertain-sum: the sum over a window of tuples that may not exist, after each arrival."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
from attrs import define

from skyband.arrays import Array, Float64
from skyband.parameters import integer, number
from skyband.queries import states
from skyband.queries.encoding import moments
from skyband.queries.lane import NEVER, Lane, Rows
from skyband.queries.query import Input, Query, column_name
from skyband.queries.samples import encode_samples, sample_inputs, samples_of
from skyband.queries.sum_kernels import expected_sums, window_sums
from skyband.registry import Binding
from skyband.roles import Window


@define(eq=True)
class UncertainSum(Query):
    """Sums the last `size` existing tuples of a stream, of each of which only samples and probabilities are known.

    Result columns, a row for each row: time; sum, that of the averages of all tuples kept (the paper's rule, which
    counts some that are not there); expected, the expectation of the sum of the last `size` tuples that exist, over
    all possible worlds; kept, how many tuples the window keeps. Rows with a null sample are left out and reported.

    Source: Dallachiesa et al., section 7.3; the expectation is ours.
    """

    kind: ClassVar[str] = "uncertain-sum"
    roles: ClassVar[tuple[str, ...]] = ("window",)
    leaves_out: ClassVar[tuple[str, ...]] = ("null sample",)

    values: str = column_name(help="the column of values: a number, or a list with one for each sample")
    probabilities: str = column_name(help="the column of their probabilities, which sum to at most 1 in a row")
    size: int = integer(at_least=1, help="existing tuples a window must hold")
    alpha: float = number(0.95, above=0, at_most=1, help="probability with which it must hold them")

    @property
    def rows(self) -> bool:
        return True

    @property
    def order(self) -> tuple[str, ...]:
        return ("tie",)

    def inputs(self) -> tuple[Input, ...]:
        return sample_inputs(self.values, self.probabilities)

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        columns, null = encode_samples(batch.column(self.values), batch.column(self.probabilities))
        return columns, {"null sample": null}

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        sums = [pa.field(name, pa.float64()) for name in ("sum", "expected")]
        return [time_field(self, schema), *sums, pa.field("kept", pa.int64())]

    def given(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        return {"size": self.size, "alpha": self.alpha}

    def lane(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> Lane:
        return _SumLane(self, bindings["window"], answers)


class ArrivalLane(Lane):
    """A lane that answers each row as it comes, over windows that are counted in tuples and so never run empty."""

    @property
    def next_at(self) -> int:
        return NEVER

    @property
    def empty(self) -> bool:
        return False

    def advance(self, rows: Rows, until: int) -> pa.RecordBatch | None:  # noqa: ARG002 - no moment is waited for
        return self.arrive(rows) if len(rows) else None

    def finish(self, rows: Rows, latest: int) -> pa.RecordBatch | None:
        return self.advance(rows, latest)

    def arrive(self, rows: Rows) -> pa.RecordBatch | None:
        """Take in rows and answer each."""
        raise NotImplementedError


class _SumLane(ArrivalLane):
    def __init__(self, query: UncertainSum, window: Binding, answers: pa.Schema) -> None:
        self._size = query.size
        self._binding = window
        self._given = query.given("window")
        self._schema = answers
        self._window = cast(Window, window.create(**self._given))
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
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    @property
    def retained(self) -> int:
        return len(self._window)

    def state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        window = states.under("window", self._window.frozen())
        return {}, {**window, "averages": self._averages, "ranks": self._ranks}

    def load(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:  # noqa: ARG002
        self._window.thaw(states.of("window", arrays))
        self._averages, self._ranks = arrays["averages"].copy(), arrays["ranks"].copy()


def time_field(query: Query, schema: pa.Schema) -> pa.Field:
    """The result's `time` column: each row's own time, to the microsecond, or the integer that it was."""
    kind = schema.field(query.time).type
    if pa.types.is_integer(kind):
        return pa.field("time", pa.int64())
    return pa.field("time", pa.timestamp("us", kind.tz if pa.types.is_timestamp(kind) else None))
