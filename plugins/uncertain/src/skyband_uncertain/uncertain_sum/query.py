"""uncertain-sum: the sum over a window of tuples that may not exist, after each arrival."""

from collections.abc import Mapping
from typing import Any, ClassVar

import pyarrow as pa
from attrs import define
from skyband.columns.state_frame_checks import check_named
from skyband.config.durations import Duration
from skyband.config.literals import literal
from skyband.config.parameters import checked, number
from skyband.errors import ConfigError, Problem
from skyband.groups.per_row_processor import time_field
from skyband.queries.carried_columns import (
    TIE,
    carry_columns,
    carry_fields,
    carry_inputs,
    name_problems,
)
from skyband.queries.query import Input, Query
from skyband.queries.shared_keys import as_names, column_name, column_names

from skyband_uncertain.tuple_windows import delta_parameter, problems_of, size_parameter, unlike_time, window_parameter
from skyband_uncertain.uncertain_tuples import WHAT, check_samples, encode_samples, is_samples

STATISTICS = ("count", "average")


def _check_statistics(value: Any) -> str | None:
    all_known = isinstance(value, tuple) and all(isinstance(name, str) and name in STATISTICS for name in value)
    return None if all_known else f"must be a list of {' and '.join(map(repr, STATISTICS))} (got {literal(value)})"


def sample_inputs(values: str, probabilities: str) -> tuple[Input, Input]:
    """The two columns of a query over uncertain tuples."""
    return Input("values", values, WHAT, is_samples), Input("probabilities", probabilities, WHAT, is_samples)


@define(eq=True)
class UncertainSum(Query):
    """Sums a window of a stream of tuples that are given by samples and probabilities.

    The window holds the last `size` existing tuples (with probability alpha: section 4), or, with `window`, those
    of the last length of time (half-open, as in every query), or, with `delta`, similar ones: the oldest is dropped
    once the probability that some later one exists further than delta from it, given that it exists itself, reaches
    alpha (both section 8.1, and exact by definition, without a backend).

    Result columns, a row for each row: time; sum, of the averages of all tuples kept, each given that the tuple
    exists (the paper's rule, which counts some that do not exist); expected, the expected sum over all possible
    worlds, of the last `size` existing tuples, kept or not, or of all in the window; kept, the number of tuples
    that the window keeps; with `statistics` also count, the expected number of existing tuples in that sum, and
    average, the expected sum divided by the expected count, null if that is 0; then the row's columns in `carry`,
    such as its id. Rows with a null sample are dropped and reported. Rows with equal times are ordered by a hash of
    their samples, then by a hash of the columns in `carry`.

    Source: Dallachiesa et al., sections 7.3 and 8.1; the expectations are ours.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> samples = {"heights": [[1.0, 2.0], [9.0, 8.0]], "chances": [[0.5, 0.5]] * 2}
    >>> rows = pa.table({"ts": pa.array([0, 10], pa.timestamp("s")), **samples})
    >>> query = UncertainSum("ts", values="heights", probabilities="chances", size=2, alpha=0.9)
    >>> local.apply(rows, query).select(["sum", "kept"]).to_pylist()
    [{'sum': 1.5, 'kept': 1}, {'sum': 10.0, 'kept': 2}]
    """

    kind: ClassVar[str] = "uncertain-sum"
    roles: ClassVar[tuple[str, ...]] = ("window",)
    answered_by: ClassVar[str] = "skyband_uncertain.uncertain_sum.execution:UncertainSumExecution"
    drop_reasons: ClassVar[tuple[str, ...]] = ("null sample",)

    values: str = column_name(help="the column of values: numbers, or lists with one per sample")
    probabilities: str = column_name(help="the column of their probabilities, which sum to at most 1 per row")
    size: int | None = size_parameter()
    alpha: float = number(
        0.95, above=0, at_most=1, help="probability with which it must hold `size`, or at which `delta` drops a tuple"
    )
    carry: tuple[str, ...] = column_names(help="further columns of the row to include, such as its id")
    window: Duration | None = window_parameter()
    delta: float | None = delta_parameter()
    statistics: tuple[str, ...] = checked(
        (), type="list", check=_check_statistics, converter=as_names, kw_only=True,
        help='further columns of the answers: "count", "average" or both',
    )  # fmt: skip

    def __attrs_post_init__(self) -> None:
        reserved = ("time", "sum", "expected", "kept", *self.statistics, *self.by)
        problems = [*name_problems("carry", self.carry, reserved), *problems_of(self.size, self.window, self.delta)]
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

    def check_frame(self, frame: pa.RecordBatch) -> None:
        check_named(frame)
        check_samples(frame, 1)

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
