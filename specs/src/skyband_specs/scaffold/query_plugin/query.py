"""query/mine: the sum of a column of whole numbers over each window."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.arrays import Array, Int64
from skyband.columns.hashing import hash_column
from skyband.columns.rows import Rows
from skyband.config.durations import Duration, duration
from skyband.errors import ConfigError, Problem
from skyband.groups.execution import Execution
from skyband.groups.processor import GroupProcessor
from skyband.groups.windowed_processor import WindowedProcessor
from skyband.queries.query import Input, Query
from skyband.queries.shared_keys import column_name
from skyband.queries.time_columns import at_field, moments
from skyband.registry import Binding


@define(eq=True)
class MineQuery(Query):
    """Sums a column over a sliding window. Result columns: at, sum. Null values are left out, and counted.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> rows = pa.table({"ts": pa.array([0, 10, 70], pa.timestamp("s")), "size": [3, 4, 5]})
    >>> query = MineQuery("ts", value="size", window="1 minute", every="1 minute")
    >>> local.apply(rows, query).column("sum").to_pylist()
    [7, 5]
    """

    kind: ClassVar[str] = "mine"
    answered_by: ClassVar[str] = f"{__name__}:SumsExecution"
    roles: ClassVar[tuple[str, ...]] = ()  # the roles whose backends it asks: bindings["sketch"].create() is one
    shard_by: ClassVar[str | None] = "key"
    drop_reasons: ClassVar[tuple[str, ...]] = ("null value",)

    value: str = column_name(help="the column of whole numbers to add up")
    window: Duration = duration(help="length of the window")
    every: Duration = duration(help="how often to answer, aligned to the epoch (or to the first row)")

    def __attrs_post_init__(self) -> None:
        if self.every.rows != self.rows:
            unit = "rows" if self.rows else "time"
            raise ConfigError(Problem("every", f"must be in {unit}, as the window is (got {self.every})"))

    @property
    def rows(self) -> bool:
        return self.window.rows

    @property
    def ties(self) -> tuple[str, ...]:
        return ("value",) if self.rows else ()  # which of two rows of one time comes first shows where rows count

    def inputs(self) -> tuple[Input, ...]:
        return (Input("value", self.value, "a whole number", pa.types.is_integer),)

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        values = batch.column(self.value)
        columns = {"value": values.fill_null(0).cast(pa.int64()), "key": pa.array(hash_column(values))}
        return columns, {"null value": values.is_null().to_numpy(zero_copy_only=False)}

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        return [at_field(self, schema), pa.field("sum", pa.int64())]

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - it has no roles
        return {}


class SumsExecution(Execution[MineQuery]):
    """A processor for each group; without `by`, the sums of shards add."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:  # noqa: ARG002
        return _Sums(self.query, answers)

    def merge(self, answers: pa.Table) -> pa.Table:
        sums = answers.group_by("at").aggregate([("sum", "sum")])
        return sums.rename_columns(["at", "sum"]).select(answers.column_names)


class _Sums(WindowedProcessor):
    """One group's stream: the rows of the window, added up again for each answer."""

    def __init__(self, query: MineQuery, answers: pa.Schema) -> None:
        super().__init__(query.every.length, query.window.length, query.rows)
        self._window, self._schema = query.window.length, answers
        self._answers: list[tuple[int, int]] = []
        self.clear()

    def clear(self) -> None:
        self._times: Int64 = np.empty(0, np.int64)
        self._values: Int64 = np.empty(0, np.int64)

    def update(self, times: Int64, rows: Rows) -> None:
        self._times = np.concatenate([self._times, times])
        self._values = np.concatenate([self._values, rows["value"]])

    def answer(self, at: int) -> None:
        valid = self._times >= at - self._window
        self._times, self._values = self._times[valid], self._values[valid]
        self._answers.append((at, int(self._values.sum())))

    def collect(self) -> pa.RecordBatch | None:
        if not self._answers:
            return None
        at, sums = zip(*self._answers, strict=True)
        self._answers = []
        columns = [moments(np.array(at), self._schema.field("at").type), pa.array(sums, pa.int64())]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    @property
    def retained(self) -> int:
        return len(self._times)

    @property
    def nbytes(self) -> int:
        return self._times.nbytes + self._values.nbytes

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {"clock": self.clock()}, {"times": self._times, "values": self._values}

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        self.set_clock(header["clock"])
        self._times, self._values = arrays["times"].copy(), arrays["values"].copy()
