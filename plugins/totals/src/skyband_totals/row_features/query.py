"""row-features: for each row, the number of rows, sums and distinct values just before it."""

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
    name_problems,
)
from skyband.queries.query import Input, Query
from skyband.queries.shared_keys import column_names

from skyband_totals.fixed_point import MOST
from skyband_totals.narrow_floats import REMEDY, as_multiples
from skyband_totals.units import NOT_A_MULTIPLE, NOT_FINITE, TOO_LARGE, VALID, to_units

NO_SUM = {
    NOT_FINITE: "value no number",
    TOO_LARGE: "value above 2^53 units",
    NOT_A_MULTIPLE: "value no multiple of unit",
}
"""The reasons why a value cannot be added, by code; its units are MOST plus the code."""
NULL_HASH = 0
"""The hash of null."""


def sum_column(place: int) -> str:
    """The frame column with the units of a column of `sums`."""
    return f"sum.{place}"


def distinct_column(place: int) -> str:
    """The frame column with the hashes of a column of `distinct`."""
    return f"distinct.{place}"


@define(eq=True)
class RowFeatures(Query):
    """Returns each row with counts and sums over the previous rows of its group (the `by` columns): model features.

    Result columns, for each row: time; then for each of `windows`, such as "1 hour", the number of rows count_1_hour,
    NAME_sum_1_hour for each column of `sums`, and NAME_distinct_1_hour for each of `distinct`; then the columns to
    `carry`, such as an id or a label.

    A row at t is answered over (t - window, t]: it includes itself and all rows with its time, in any order of arrival,
    as SQL's RANGE BETWEEN ... AND CURRENT ROW does. With `before` it is [t - window, t), without the row itself and
    others with its time. All results are exact: sums are of whole multiples of `unit`, which may be negative, so that
    rows that leave the window leave no error behind. Rows with equal times are ordered by a hash of what they carry.

    A null value is in no sum and is not counted as distinct, but its row counts. A value that cannot be added, because
    it is not a number, not a multiple of `unit` or above 2^53 units, makes the sum of its column null in every window
    that contains it. Its row is answered and counted as usual, and a warning says how many there are. There is no
    backend: all rows of the longest window are kept.

    A stream and a table of the past yield the same rows, so a model is queried with the features it was trained on.


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
        "every": "row-features answers each row when it arrives: drop this",
        "means": "a mean is a sum divided by the count of rows with a value: use `sums`, and divide",
    }

    windows: tuple[Duration, ...] = durations(help="lengths of the windows, each before a row")
    sums: tuple[str, ...] = column_names(help="columns of numbers to add up, each separately")
    distinct: tuple[str, ...] = column_names(help="columns whose distinct values are counted, each separately")
    unit: float = number(1.0, above=0, help="summed values are whole multiples of this, such as 0.01 for prices")
    before: bool = flag(False, help="leave out the row itself and all others with its time")
    carry: tuple[str, ...] = column_names(help="further columns of the row to return, such as its id")

    def __attrs_post_init__(self) -> None:
        problems = []
        if self.rows:
            message = "must be a length of time: a number of rows would depend on the order of rows with equal times"
            problems.append(Problem("windows[0]", f"{message} (got {self.windows[0]})"))
        if self.unit != 1.0 and not self.sums:
            problems.append(Problem("unit", f"requires `sums`: add that, or remove this (got {self.unit:g})"))
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
        remedy = f"use a smaller unit, such as 0.01 for prices, or round the values{REMEDY}"
        return {
            NO_SUM[
                NOT_A_MULTIPLE
            ]: f"rows have a value that is not a multiple of unit = {self.unit:g}, {null}: {remedy}",
            NO_SUM[NOT_FINITE]: f"rows have a value that is not a number, {null}: make such values null in "
            "source.select, to leave them out of sums",
            NO_SUM[TOO_LARGE]: f"rows have a value above 2^53 times unit = {self.unit:g}, {null}: use a larger unit, "
            "or make such values null",
        }

    @property
    def rows(self) -> bool:
        return self.windows[0].rows

    @property
    def one_shard(self) -> str | None:
        """Without `by`, each row is answered over all rows before it."""
        return "each row is answered over all rows before it"

    @property
    def span(self) -> int:
        """A row does not affect others that are later by this."""
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
            columns[sum_column(place)] = pa.array(np.where(wrong == VALID, signed, MOST + wrong.astype(np.int64)))
        for place, name in enumerate(self.distinct):
            column = batch.column(name)
            hashes = np.maximum(hash_column(column), NULL_HASH + 1)
            hashes[column.is_null().to_numpy(zero_copy_only=False)] = NULL_HASH
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

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is none
        return {}
