"""row-features: for each row as it comes, how many rows, what sums and how many distinct values came just before it."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.arrays import Float64
from skyband.columns.hashing import hash_column
from skyband.columns.ids import PLAIN, is_plain
from skyband.columns.numbers import as_float64_or_beyond, is_number
from skyband.columns.state_frame_checks import check_named, check_numbers, check_whole
from skyband.config.durations import Duration, durations
from skyband.config.parameters import flag, number
from skyband.errors import ConfigError, Problem
from skyband.groups.per_row_processor import time_field
from skyband.queries.carried_columns import (
    TIE,
    carry_columns,
    carry_fields,
    carry_inputs,
    carry_parameter,
    name_problems,
)
from skyband.queries.query import Input, Query
from skyband.queries.shared_keys import column_names

from skyband_totals.fixed_point import MOST
from skyband_totals.narrow_floats import REMEDY, as_multiples
from skyband_totals.units import FINE, NO_MULTIPLE, NO_NUMBER, TOO_LARGE, to_units

NO_SUM = {
    NO_NUMBER: "value no number",
    TOO_LARGE: "value above 2^53 units",
    NO_MULTIPLE: "value no multiple of unit",
}
"""What is wrong with a value that cannot be added: MOST and its code in the place of its units say so."""
NOTHING = 0
"""The hash that stands for null."""


def sum_column(place: int) -> str:
    """The frame column of the units of a column that is summed."""
    return f"sum.{place}"


def distinct_column(place: int) -> str:
    """The frame column of the hashes of a column whose values are told apart."""
    return f"distinct.{place}"


@define(eq=True)
class RowFeatures(Query):
    """Gives each row with what has come of its group, the `by` columns, in the time just before: features of a model.

    Result columns, a row for each row: time; then for each of `windows`, say "1 hour", count_1_hour, the number of
    rows, NAME_sum_1_hour for each column of `sums`, NAME_distinct_1_hour for each of `distinct`; then the columns to
    `carry`, such as an id or a label.

    A row at t is answered over (t - window, t]: itself and all rows of its own time are in, whichever of them came
    first, as with SQL's RANGE BETWEEN ... AND CURRENT ROW, so that answers depend on no order that no clock told.
    With `before` it is [t - window, t): the row itself and others of its time are left out. All is exact: sums are of
    whole multiples of `unit`, which may be negative, and what fell out of the window leaves nothing behind. Rows of one
    time come in the order of a hash of what they carry.

    A null value is in no sum and not counted as distinct; its row counts. A value that cannot be added, as it is no
    number, no multiple of `unit` or above 2^53 units, makes the sum of its column null in every window that it is in:
    what they add up to is not known. Its row is answered and counts, all else of it is as ever, and a warning says how
    many there are. No backend is asked: all rows of the longest window are kept.

    A stream and a table of the past give the same rows: what a model was trained on is what it is asked with.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skyband.engines import local
    >>> rows = pa.table({"ts": pa.array([0, 20, 70], pa.timestamp("s")), "who": ["ann"] * 3, "paid": [5, 7, 2]})
    >>> query = RowFeatures("ts", by="who", windows=["1 minute"], sums="paid")
    >>> local.apply(rows, query).select(["count_1_minute", "paid_sum_1_minute"]).to_pylist()[1:]
    [{'count_1_minute': 2, 'paid_sum_1_minute': 12.0}, {'count_1_minute': 2, 'paid_sum_1_minute': 9.0}]
    """

    kind: ClassVar[str] = "row-features"
    _hashed_keys: ClassVar[tuple[str, ...]] = ("distinct",)
    roles: ClassVar[tuple[str, ...]] = ()
    answered_by: ClassVar[str] = "skyband_totals.row_features.execution:RowFeaturesExecution"
    drop_reasons: ClassVar[tuple[str, ...]] = tuple(NO_SUM.values())
    answered_reasons: ClassVar[tuple[str, ...]] = drop_reasons
    refused_keys: ClassVar[Mapping[str, str]] = {
        "every": "row-features answers each row when it comes: drop this",
        "means": "a mean is a sum by a count of rows that have a value: give `sums`, and divide",
    }

    windows: tuple[Duration, ...] = durations(help="lengths of the windows, each before a row")
    sums: tuple[str, ...] = column_names(help="columns of numbers, of which each is added up")
    distinct: tuple[str, ...] = column_names(help="columns of which the different values are counted")
    unit: float = number(1.0, above=0, help="what is summed are whole multiples of this, such as 0.01 of prices")
    before: bool = flag(False, help="leave out the row itself and all others of its time")
    carry: tuple[str, ...] = carry_parameter(help="further columns of the row to give with it, such as its id")

    def __attrs_post_init__(self) -> None:
        problems = []
        if self.rows:
            message = "is of time: the last so many rows are another order wherever rows have one time"
            problems.append(Problem("windows[0]", f"{message} (got {self.windows[0]})"))
        if self.unit != 1.0 and not self.sums:
            problems.append(Problem("unit", f"goes with `sums` only: add that, or drop this (got {self.unit:g})"))
        names = self._feature_names
        problems += name_problems("carry", self.carry, ("time", *names, *self.by))
        problems += name_problems("by", self.by, ("time", *names))
        if problems:
            raise ConfigError(*problems)

    @property
    def promises(self) -> Mapping[str, str]:
        if not self.sums:
            return {}
        null = "so that sums over them are null"
        remedy = f"take a smaller unit, such as 0.01 of prices, or round the values{REMEDY}"
        return {
            NO_SUM[NO_MULTIPLE]: f"rows have a value that is not a multiple of unit = {self.unit:g}, {null}: {remedy}",
            NO_SUM[NO_NUMBER]: f"rows have a value that is no number, {null}: make such values null in source.select, "
            "and they are in no sum",
            NO_SUM[TOO_LARGE]: f"rows have a value above 2^53 times unit = {self.unit:g}, {null}: take a larger unit, "
            "or make such values null",
        }

    @property
    def rows(self) -> bool:
        return self.windows[0].rows

    @property
    def one_shard(self) -> str | None:
        """Without `by` each row is answered over all before it."""
        return "each row is answered over all rows before it"

    @property
    def span(self) -> int:
        """A row is of no matter any more to another that comes so much later."""
        return max(window.length for window in self.windows) + self.before

    @property
    def _feature_names(self) -> list[str]:
        names = ["count", *(f"{name}_sum" for name in self.sums), *(f"{name}_distinct" for name in self.distinct)]
        return [f"{name}_{window}".replace(" ", "_") for window in self.windows for name in names]

    @property
    def ties(self) -> tuple[str, ...]:
        return (TIE,) if self.carry else ()

    def inputs(self) -> tuple[Input, ...]:
        sums = (Input("sums", name, "a number", is_number) for name in self.sums)
        distinct = (Input("distinct", name, PLAIN, is_plain) for name in self.distinct)
        return (*sums, *distinct, *carry_inputs(self.carry))

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        columns = {}
        for place, name in enumerate(self.sums):
            column = as_float64_or_beyond(batch.column(name))
            numbers: Float64 = column.fill_null(0.0).to_numpy(zero_copy_only=False)
            values = as_multiples(numbers, batch.column(name).type, self.unit)
            units, wrong = to_units(np.abs(values), self.unit)
            signed = np.where(values < 0, -units, units)
            columns[sum_column(place)] = pa.array(np.where(wrong == FINE, signed, MOST + wrong.astype(np.int64)))
        for place, name in enumerate(self.distinct):
            column = batch.column(name)
            hashes = np.maximum(hash_column(column), NOTHING + 1)
            hashes[column.is_null().to_numpy(zero_copy_only=False)] = NOTHING
            columns[distinct_column(place)] = pa.array(hashes)
        return columns | carry_columns(self.carry, batch), {}

    def check_frame(self, frame: pa.RecordBatch) -> None:
        check_named(frame)
        check_whole(frame, *(distinct_column(place) for place in range(len(self.distinct))))
        for place in range(len(self.sums)):
            check_numbers(frame, sum_column(place), at_least=-MOST, at_most=MOST + max(NO_SUM))

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        kinds = [pa.int64(), *[pa.float64()] * len(self.sums), *[pa.int64()] * len(self.distinct)]
        features = zip(self._feature_names, kinds * len(self.windows), strict=True)
        columns = [time_field(self, schema), *(pa.field(name, kind) for name, kind in features)]
        return [*columns, *carry_fields(self.carry, schema)]

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - it asks none
        return {}
