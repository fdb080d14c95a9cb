"""The rows of a batch that each counter counts, and what it counts of them."""

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64
from skyband.columns.hashing import hash_columns
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried

from skyband_detect.detections.conditions import rows_by_condition
from skyband_detect.detections.counter_rows_kernel import rows_by_counter
from skyband_detect.detections.counters import Counter, Needs, bits_column, number_column, value_column
from skyband_detect.detections.frame_columns import numbers_of

if TYPE_CHECKING:
    from skyband_detect.detections.query import Detections


class Entries(NamedTuple):
    """Rows that a counter counts, or a step of its sequences."""

    rows: Int64
    """int64[m]: their places in the batch."""
    values: Array | None
    """uint64[m] hashes of distinct values, int64[m] units, or float64[m] for quantiles; None if rows are counted."""


NO_ENTRIES = Entries(np.empty(0, np.int64), None)


class BatchEntries:
    """What counters count of a batch: of permanent ones by the bits of rows, of opened ones by their conditions."""

    def __init__(self, query: "Detections", rows: Rows) -> None:
        self._query, self._counters, self._rows = query, query.counters, rows

    def of_permanent(self, number: int) -> list[Entries]:
        """The entries of the counter with this number; of sequences, those of each step."""
        begins, all_rows = self._rows_of_bits
        bits = self._counters.step_bits.get(number, (number,))
        own = [all_rows[begins[bit] : begins[bit + 1]] for bit in bits]
        return [
            Entries(inside, self._column(need)[inside] if need.is_of_values and len(inside) else None)
            for need, inside in zip(self._counters.all[number].needs, own, strict=True)
        ]

    def of_opened(self, counters: Iterable[Counter]) -> list[list[Entries]]:
        """The entries of each of these counters."""
        each = [counter.needs for counter in counters]
        wheres = dict.fromkeys(need.where for needs in each for need in needs if need.where is not None)
        meets = dict(rows_by_condition(wheres, self._batch))
        return [[self._of_condition(need, meets) for need in needs] for needs in each]

    def _of_condition(self, need: Needs, meets: dict[str, Int64]) -> Entries:
        inside = self._with_key[need.key]
        if need.where is not None:
            mask = np.zeros(len(self._rows), np.bool_)
            mask[inside] = True
            inside = meets[need.where][mask[meets[need.where]]]
        if not need.is_of_values:
            return Entries(inside, None)
        columns = [self._batch.column(name).take(pa.array(inside)) for name in need.columns]
        if need.numbers is not None:
            values, valid, _ = numbers_of(need.numbers, columns[0], self._query.unit)
            return Entries(inside[valid], values[valid])
        valid = np.all([column.is_valid().to_numpy(zero_copy_only=False) for column in columns], axis=0)
        return Entries(inside[valid], hash_columns(columns)[valid])

    def _column(self, need: Needs) -> Array:
        """The frame column of values."""
        if need.numbers is not None:
            name = number_column(self._counters.numbers.index(need.numbers))
        else:
            name = value_column(self._counters.values.index(need.values))
        column: Array = self._rows[name]
        return column

    @cached_property
    def _rows_of_bits(self) -> tuple[Int64, Int64]:
        counters = self._counters
        if not len(self._rows):
            return np.zeros(counters.bits + 1, np.int64), np.empty(0, np.int64)
        bits = np.stack([self._rows[bits_column(word)] for word in range(counters.words)])
        return rows_by_counter(bits, counters.bits)

    @cached_property
    def _with_key(self) -> dict[tuple[str, ...], Int64]:
        """The rows without a null in each key of rules to come."""
        begins, all_rows = self._rows_of_bits
        first = len(self._counters.all)
        return {
            key: all_rows[begins[first + number] : begins[first + number + 1]]
            for number, key in enumerate(self._counters.coming)
        }

    @cached_property
    def _batch(self) -> pa.RecordBatch:
        """The columns that conditions of rules to come may read."""
        names = self._query.carried_names
        columns = [column_of(self._query, self._rows, name) for name in names]
        return pa.RecordBatch.from_arrays([pa.array(self._rows.times), *columns], names=["", *names])


def column_of(query: "Detections", rows: Rows, name: str, places: Int64 | None = None) -> pa.Array:
    """The values of a carried column in these rows; None: in all."""
    column: Any = rows[carried(query.carried_names.index(name))]
    if places is None:
        return pa.array(column)
    return pa.array(column[places]) if isinstance(column, np.ndarray) else column.take(pa.array(places))
