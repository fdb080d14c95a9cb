"""Suggests a first query over data without a description, from samples of its columns."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from attrs import frozen

from skyband.columns.keyed_frames import plain_type
from skyband.columns.numbers import is_number


@frozen
class ColumnSample:
    """A column of the first rows: its type, its number of distinct values, and of nulls."""

    name: str
    type: pa.DataType
    distinct: int
    nulls: int = 0


@frozen
class SourceSample:
    """The first rows of a source: the column of times, lengths that suit it, and the other columns."""

    rows: int
    time: str
    window: str
    """A length that gives a handful of answers over these rows, such as "1 hour", or "1000 rows" without times."""
    delay: str
    """The lateness of these rows, rounded up, such as "10 seconds"."""
    columns: tuple[ColumnSample, ...]

    @property
    def labels(self) -> list[str]:
        """Columns of text or integers with repeated values, those with the most distinct values first; text before
        numbers."""
        again = [column for column in self.columns if self._is_label(column)]
        return [column.name for column in sorted(again, key=lambda column: (is_number(column.type), -column.distinct))]

    @property
    def numbers(self) -> list[str]:
        """Columns of numbers to measure, fractions before integers."""
        measured = [column for column in self.columns if is_number(column.type) and column.distinct > 2]
        return [column.name for column in sorted(measured, key=lambda column: pa.types.is_integer(column.type))]

    @property
    def lists(self) -> list[str]:
        """Columns of lists of text or integers."""
        kinds = {column.name: column.type for column in self.columns if pa.types.is_list(column.type)}
        return [name for name, kind in kinds.items() if _is_name(plain_type(kind.value_type))]

    @property
    def names(self) -> list[str]:
        """Columns of text or integers with a different value in each row."""
        return [column.name for column in self.columns if _is_name(column.type) and column.distinct == self.rows]

    def _is_label(self, column: ColumnSample) -> bool:
        return _is_name(plain_type(column.type)) and 1 < column.distinct <= max(2, (self.rows - column.nulls) * 3 // 4)


def _is_name(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind))


@frozen
class FirstQuery:
    """A question in words, and the keys, without `kind`, of the query that asks it."""

    question: str
    keys: Mapping[str, Any]
