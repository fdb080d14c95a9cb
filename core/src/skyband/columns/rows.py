"""Rows of one group in time order, the input of a processor."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from skyband.arrays import Array, Int64
from skyband.columns import column_ops

T = TypeVar("T")


class Rows:
    """Rows of one group in time order: int64 microseconds and the query's own columns, sliced without copying."""

    def __init__(self, times: Int64, columns: Mapping[str, Any]) -> None:
        self.times = times
        self._columns = columns
        self._slice_of: Rows | None = None
        """The rows of which this is a slice, which hold the columns; None, not itself, to avoid a reference cycle."""
        self._start = 0
        """The start of the slice."""
        self._computed: dict[Callable[[Rows], Any], Any] = {}

    def __len__(self) -> int:
        return len(self.times)

    @property
    def _whole(self) -> "Rows":
        return self if self._slice_of is None else self._slice_of

    def __getitem__(self, name: str) -> Any:
        """A column as numpy, or as an Arrow array if it holds lists or ids of any type."""
        column = self._columns[name]
        return column if self._slice_of is None else column[self._start : self._start + len(self.times)]

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns, without times."""
        return list(self._columns)

    @classmethod
    def joined(cls, pieces: Sequence["Rows"]) -> "Rows":
        """Concatenates one or more pieces with the same columns."""
        if len(pieces) == 1:
            return pieces[0]
        columns = {name: column_ops.joined([piece[name] for piece in pieces]) for name in pieces[0]._columns}
        return cls(np.concatenate([piece.times for piece in pieces]), columns)

    def pick(self, mask: Array) -> "Rows":
        """The rows where `mask`, bool[n], is true."""
        if mask.all():
            return self
        return Rows(self.times[mask], {name: column_ops.pick(self[name], mask) for name in self._columns})

    def take(self, places: Int64) -> "Rows":
        """The rows at these places."""
        columns = {name: column_ops.pick(self[name], places) for name in self._columns}
        return Rows(self.times[places], columns)

    def with_column(self, name: str, column: Any) -> "Rows":
        """The rows with a column of this name added or replaced."""
        return Rows(self.times, {**{other: self[other] for other in self._columns}, name: column})

    def slice(self, start: int, stop: int) -> "Rows":
        """Rows start..stop."""
        if start == 0 and stop == len(self.times):
            return self
        part = Rows(self.times[start:stop], self._columns)
        part._slice_of, part._start = self._whole, self._start + start
        return part

    def once(self, compute: Callable[["Rows"], T]) -> tuple[T, int, int]:
        """The result of `compute` for the whole rows of which this is a slice, and the range of the slice in them.

        It is computed once for all slices, such as those of each group of a micro-batch.
        """
        computed = self._whole._computed
        if compute not in computed:
            computed[compute] = compute(self._whole)
        return computed[compute], self._start, self._start + len(self.times)
