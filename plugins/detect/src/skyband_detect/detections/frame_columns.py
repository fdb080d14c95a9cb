"""The frame columns of detections: which counters each row is in, and the hashes of its keys and values."""

from typing import Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, UInt64
from skyband.columns.hashing import hash_columns
from skyband.columns.numbers import as_float64
from skyband.columns.state_frame_checks import check_named, check_numbers, check_whole
from skyband.errors import SnapshotError
from skyband.queries.carried_columns import carry_columns

from skyband_detect.detections.conditions import rows_by_condition
from skyband_detect.detections.counters import (
    WORD,
    Counters,
    Needs,
    Numbers,
    bits_column,
    key_column,
    number_column,
    value_column,
)
from skyband_detect.detections.units import to_units

NO_MULTIPLE = "number no multiple of unit"
"""The reason to leave out a row that a sum or mean cannot take."""
_NUMBER = "\0number"
"""Marks a column whose numbers must be there, other than columns of keys."""


def encode(
    counters: Counters, carry: tuple[str, ...], units: tuple[str, ...], unit: float, batch: pa.RecordBatch
) -> tuple[dict[str, pa.Array], dict[str, Array]]:
    """The columns of a batch, and masks of rows to leave out.

    carry: all columns that answers need of a row. units: columns of whole multiples of `unit`, or of no number.
    """
    meets = dict(rows_by_condition(counters.wheres, batch))
    columns, whole = dict[str, pa.Array](), dict[tuple[str, ...], Array | None]()
    for name_of, groups in ((key_column, counters.keys), (value_column, counters.values)):
        for number, names in enumerate(groups):
            arrays = [batch.column(name) for name in names]
            columns[name_of(number)] = pa.array(hash_columns(arrays))
            whole[names] = _without_nulls(arrays)
    fits: dict[tuple[str, ...], Array] = {}
    for number, (name, is_float) in enumerate(counters.numbers):
        values, valid, fitting = numbers_of((name, is_float), batch.column(name), unit)
        columns[number_column(number)] = pa.array(values)
        whole[_NUMBER, name, str(is_float)] = valid.astype(np.uint64)
        fits |= {} if fitting.all() else {(_NUMBER, name, str(is_float)): fitting}
    whole_units = [numbers_of((name, False), batch.column(name), unit)[2] for name in units]
    masks: dict[str, Array] = {}
    if fits or whole_units:
        masks[NO_MULTIPLE] = ~np.logical_and.reduce([np.ones(len(batch), np.bool_), *whole_units])
    needs = [(need.where, (need.key, _names(need))) for need in counters.needs]
    for word in range(counters.words):
        bits: UInt64 = np.zeros(len(batch), np.uint64)
        for bit, (where, columns_without_nulls) in enumerate(needs[word * WORD : (word + 1) * WORD]):
            rows: Any = slice(None) if where is None else meets[where]
            inside = np.uint64(1 << bit)
            for names in columns_without_nulls:
                present = whole.get(names)
                if present is not None:
                    inside = inside * present[rows]
            bits[rows] |= inside
            for names in columns_without_nulls:
                if names in fits:
                    masks[NO_MULTIPLE] |= ((bits & np.uint64(1 << bit)) != 0) & ~fits[names]
        columns[bits_column(word)] = pa.array(bits)
    return columns | carry_columns(carry, batch), masks


def _names(need: Needs) -> tuple[str, ...]:
    """What must be there for a row to count, besides its key."""
    if need.numbers is None:
        return need.values
    name, is_float = need.numbers
    return _NUMBER, name, str(is_float)


def numbers_of(numbers: Numbers, column: pa.Array, unit: float) -> tuple[Array, Array, Array]:
    """The numbers of a column, 0 where there is none; bool[n]: where there is one, and which can be counted."""
    name, is_float = numbers
    if not is_float:
        return to_units(column, unit)
    values = as_float64(name, column).fill_null(np.nan).to_numpy(zero_copy_only=False)
    valid = ~np.isnan(values)
    return np.where(valid, values, 0.0), valid, np.ones(len(values), np.bool_)


def check(counters: Counters, frame: pa.RecordBatch) -> None:
    """Raise SnapshotError if a frame from a state has what `encode` never makes."""
    check_named(frame)
    check_whole(frame, *(key_column(number) for number in range(len(counters.keys))))
    check_whole(frame, *(value_column(number) for number in range(len(counters.values))))
    for number, (_, is_float) in enumerate(counters.numbers):
        if is_float:
            check_numbers(frame, number_column(number), at_least=-np.inf, at_most=np.inf)
        else:
            check_numbers(frame, number_column(number), at_least=-(2**53), at_most=2**53)
    for word in range(counters.words):
        check_whole(frame, bits_column(word))
        used = min(WORD, counters.bits - word * WORD)
        bits = frame.column(bits_column(word)).to_numpy()
        if used < WORD and (bits >> np.uint64(used)).any():
            raise SnapshotError(f"contradicts itself: {bits_column(word)}: there are only {counters.bits} of them")


def _without_nulls(columns: list[pa.Array]) -> Array | None:
    """uint64[n]: 1 for the rows without a null in any of the columns, else 0; None if there are no nulls."""
    valid = [column.is_valid().to_numpy(zero_copy_only=False) for column in columns if column.null_count]
    return np.all(valid, axis=0).astype(np.uint64) if valid else None
