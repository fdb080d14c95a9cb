"""How a column is kept by row-features: one or two columns of numbers, or Arrow's own, with nulls and other values.

Several aggregates share what is kept of a column. Each value has a code: it is counted, left out, or makes every window
that holds it null.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen
from skyband.arrays import Array, Int64
from skyband.columns.hashing import hash_column
from skyband.columns.integer_ids import SIGN
from skyband.columns.keyed_frames import decoded, plain_type
from skyband.columns.numbers import as_float64, as_float64_or_beyond, is_number
from skyband.columns.state_frame_checks import check_numbers, check_whole
from skyband.state_validation import StateReader

from skyband_totals.fixed_point import MOST
from skyband_totals.narrow_floats import as_multiples
from skyband_totals.row_aggregates.kept_values import Hashes, Numbers, Values
from skyband_totals.units import NOT_A_MULTIPLE, NOT_FINITE, TOO_LARGE, VALID, to_units

ROWS, NUMBER, VALUE, HASH, CONDITION = "rows", "number", "value", "hash", "condition"
"""What an aggregate needs of a row: nothing but its time, a number to calculate with, a value to compare and return, a
hash that distinguishes values, or whether it meets a condition."""
INSIDE, OUTSIDE = 0, 1
"""Codes of values that are counted, and of those that are left out: nulls. Larger codes are reasons for null."""
REASONS = {
    NOT_FINITE: "value no number",
    TOO_LARGE: "value above 2^53 units",
    NOT_A_MULTIPLE: "value no multiple of unit",
}
"""The reasons why a value makes its windows null, by code."""
FLAGS = ("nulls", "where")
"""Names of columns of 0 and 1 begin so: nulls, and rows that meet a condition."""
_NULL = MOST + OUTSIDE


@frozen
class Storage(ABC):
    """Keeps the values of a column of one type."""

    kind: pa.DataType
    """The type of the values, without a dictionary."""

    @property
    @abstractmethod
    def kinds(self) -> Mapping[str, npt.DTypeLike | pa.DataType]:
        """The columns that are kept, by the beginning of their name, and the type of each."""

    @abstractmethod
    def encode(self, column: pa.Array) -> dict[str, pa.Array]:
        """The columns of the values of a batch."""

    @abstractmethod
    def codes(self, columns: Mapping[str, Any]) -> Array | None:
        """int8[n]: the code of each row; None if all are INSIDE."""

    @abstractmethod
    def items(self, columns: Mapping[str, Any], keeps: str) -> Any:
        """The values of rows that are INSIDE, as an aggregate takes them."""

    prefix: ClassVar[str]
    """How the names of its columns begin."""


@frozen
class Units(Storage):
    """Whole multiples of a unit, with larger numbers for nulls and for values that are none."""

    prefix: ClassVar[str] = "units"

    unit: float

    @property
    def kinds(self) -> Mapping[str, npt.DTypeLike | pa.DataType]:
        return {self.prefix: np.int64}

    def encode(self, column: pa.Array) -> dict[str, pa.Array]:
        nulls = column.is_null().to_numpy(zero_copy_only=False)
        numbers = as_float64_or_beyond(column).fill_null(0.0).to_numpy(zero_copy_only=False)
        values = as_multiples(numbers, self.kind, self.unit)
        units, wrong = to_units(np.abs(values), self.unit)
        signed = np.where(values < 0, -units, units)
        return {
            self.prefix: pa.array(
                np.where(nulls, _NULL, np.where(wrong == VALID, signed, MOST + wrong.astype(np.int64)))
            )
        }

    def codes(self, columns: Mapping[str, Any]) -> Array | None:
        units: Int64 = columns[self.prefix]
        return np.where(units > MOST, units - MOST, INSIDE).astype(np.int8) if (units > MOST).any() else None

    def items(self, columns: Mapping[str, Any], keeps: str) -> Any:  # noqa: ARG002 - they are numbers
        return Numbers(columns[self.prefix], self.unit)


@frozen
class Floats(Storage):
    """Floats as float64: NaN is null, and infinity any value that cannot be added."""

    prefix: ClassVar[str] = "floats"

    @property
    def kinds(self) -> Mapping[str, npt.DTypeLike | pa.DataType]:
        return {self.prefix: np.float64}

    def encode(self, column: pa.Array) -> dict[str, pa.Array]:
        nulls = column.is_null().to_numpy(zero_copy_only=False)
        values = as_float64("", column).fill_null(0.0).to_numpy(zero_copy_only=False)
        return {self.prefix: pa.array(np.where(nulls, np.nan, np.where(np.isfinite(values), values, np.inf)))}

    def codes(self, columns: Mapping[str, Any]) -> Array | None:
        values = columns[self.prefix]
        if np.isfinite(values).all():
            return None
        return np.select([np.isnan(values), np.isinf(values)], [OUTSIDE, NOT_FINITE], INSIDE).astype(np.int8)

    def items(self, columns: Mapping[str, Any], keeps: str) -> Any:
        return Numbers(columns[self.prefix], None) if keeps == NUMBER else Values(columns[self.prefix], self.kind)


@frozen
class Integers(Storage):
    """Integers, truth values, dates and times as int64 in their order, and a column that marks nulls."""

    prefix: ClassVar[str] = "integers"

    @property
    def kinds(self) -> Mapping[str, npt.DTypeLike | pa.DataType]:
        return {"integers": np.int64, "nulls": np.int8}

    def encode(self, column: pa.Array) -> dict[str, pa.Array]:
        if self.kind == pa.uint64():
            numbers = (column.fill_null(0).to_numpy(zero_copy_only=False) ^ SIGN).view(np.int64)
        else:
            is_narrow = self.kind.bit_width == 32 and pa.types.is_temporal(self.kind)
            whole = column.cast(pa.int32()) if is_narrow else column
            numbers = whole.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return {"integers": pa.array(numbers), "nulls": column.is_null().cast(pa.int8())}

    def codes(self, columns: Mapping[str, Any]) -> Array | None:
        return columns["nulls"] if columns["nulls"].any() else None

    def items(self, columns: Mapping[str, Any], keeps: str) -> Any:  # noqa: ARG002 - they are values
        return Values(columns[self.prefix], self.kind)


@frozen
class Others(Storage):
    """Text, bytes and decimals as they are."""

    prefix: ClassVar[str] = "others"

    @property
    def kinds(self) -> Mapping[str, npt.DTypeLike | pa.DataType]:
        return {self.prefix: self.kind}

    def encode(self, column: pa.Array) -> dict[str, pa.Array]:
        return {self.prefix: column}

    def codes(self, columns: Mapping[str, Any]) -> Array | None:
        column = columns[self.prefix]
        return column.is_null().cast(pa.int8()).to_numpy(zero_copy_only=False) if column.null_count else None

    def items(self, columns: Mapping[str, Any], keeps: str) -> Any:  # noqa: ARG002 - they are values
        return Values(columns[self.prefix], self.kind)


@frozen
class HashesOnly(Storage):
    """Hashes of values; 0 is null."""

    prefix: ClassVar[str] = "hashes"

    @property
    def kinds(self) -> Mapping[str, npt.DTypeLike | pa.DataType]:
        return {self.prefix: np.uint64}

    def encode(self, column: pa.Array) -> dict[str, pa.Array]:
        hashes = np.maximum(hash_column(column), 1)
        hashes[column.is_null().to_numpy(zero_copy_only=False)] = 0
        return {self.prefix: pa.array(hashes)}

    def codes(self, columns: Mapping[str, Any]) -> Array | None:
        hashes = columns[self.prefix]
        return None if hashes.all() else (hashes == 0).astype(np.int8)

    def items(self, columns: Mapping[str, Any], keeps: str) -> Any:  # noqa: ARG002 - they are hashes
        return Hashes(columns[self.prefix])


@cache
def storage_of(keeps: str, kind: pa.DataType, unit: float | None) -> Storage:
    """How a column of this type is kept for an aggregate.

    unit: numbers are whole multiples of it; None: of 1 for integers, of the last digit for decimals, and floats are
    kept as they are.
    """
    kind = plain_type(kind)
    if keeps == HASH:
        return HashesOnly(kind)
    if keeps == NUMBER and (unit is not None or not pa.types.is_floating(kind)):
        scale = kind.scale if pa.types.is_decimal(kind) else 0
        return Units(kind, float(f"1e{-scale}") if unit is None else unit)
    if pa.types.is_floating(kind):
        return Floats(kind)
    if (is_number(kind) and not pa.types.is_decimal(kind)) or pa.types.is_temporal(kind) or pa.types.is_boolean(kind):
        return Integers(kind)
    return Others(kind)


def encoded(storage: Storage, column: pa.Array) -> dict[str, pa.Array]:
    """The kept columns of the values of a batch, by the beginning of their name."""
    return storage.encode(column if isinstance(storage, HashesOnly) else decoded(column))


def check_frame(frame: pa.RecordBatch) -> None:
    """Raise SnapshotError if kept columns of a frame from a state hold what no storage makes."""
    for name in frame.schema.names:
        sort = name.partition(".")[0]
        if sort == Units.prefix:
            check_numbers(frame, name, at_least=-MOST, at_most=MOST + max(REASONS))
        elif sort in (Floats.prefix, Integers.prefix, HashesOnly.prefix):
            check_whole(frame, name)
        elif sort in FLAGS:
            check_numbers(frame, name, at_least=0, at_most=1)


def check_entries(entries: StateReader, name: str, length: int) -> None:
    """The same for a column of numbers of a state's entries."""
    sort = name.partition(".")[0]
    if sort == Units.prefix:
        entries.column(name, np.int64, length, at_least=-MOST, at_most=MOST + max(REASONS))
    elif sort in FLAGS:
        entries.column(name, np.int8, length, at_least=0, at_most=1)
