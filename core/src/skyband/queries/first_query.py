"""A first query over data that nobody has described: what is known of its columns, and what a query makes of them."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from attrs import frozen

from skyband.columns.keyed_frames import plain_type
from skyband.columns.numbers import is_number


@frozen
class ColumnSample:
    """A column of some first rows: its type, how many distinct values it has there, and how many nulls."""

    name: str
    type: pa.DataType
    distinct: int
    nulls: int = 0


@frozen
class SourceSample:
    """What the first rows of a source say: the column of times, the lengths that suit it, and the other columns."""

    rows: int
    time: str
    window: str
    """A length over which a handful of answers come from these rows, such as "1 hour", or "1000 rows" without times."""
    delay: str
    """How late rows came among them, rounded up, such as "10 seconds"."""
    columns: tuple[ColumnSample, ...]

    @property
    def labels(self) -> list[str]:
        """Columns of text or whole numbers whose values come again, those with the most distinct values first; text
        before numbers."""
        again = [one for one in self.columns if self._is_label(one)]
        return [one.name for one in sorted(again, key=lambda one: (is_number(one.type), -one.distinct))]

    @property
    def numbers(self) -> list[str]:
        """Columns of numbers to measure, fractions before whole numbers."""
        measured = [one for one in self.columns if is_number(one.type) and one.distinct > 2]
        return [one.name for one in sorted(measured, key=lambda one: pa.types.is_integer(one.type))]

    @property
    def lists(self) -> list[str]:
        """Columns of lists of text or whole numbers."""
        kinds = {one.name: one.type for one in self.columns if pa.types.is_list(one.type)}
        return [name for name, kind in kinds.items() if _is_name(plain_type(kind.value_type))]

    @property
    def names(self) -> list[str]:
        """Columns of text or whole numbers that have another value in each row."""
        return [one.name for one in self.columns if _is_name(one.type) and one.distinct == self.rows]

    def _is_label(self, column: ColumnSample) -> bool:
        return _is_name(plain_type(column.type)) and 1 < column.distinct <= max(2, (self.rows - column.nulls) * 3 // 4)


def _is_name(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind))


@frozen
class FirstQuery:
    """A question in words, and the keys, beside `kind`, of the query that asks it."""

    question: str
    keys: Mapping[str, Any]
