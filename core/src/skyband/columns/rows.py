"""Rows of one group in time order, as a processor takes them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from skyband.arrays import Array, Int64
from skyband.columns import numbers_or_lists

T = TypeVar("T")


class Rows:
    """Some rows of one group in time order: int64 microseconds and the query's own columns, sliced without copying."""

    def __init__(self, times: Int64, columns: Mapping[str, Any]) -> None:
        self.times = times
        self._columns = columns
        self._slice_of: Rows | None = None
        """The rows that these are a slice of, which have the columns; themselves would be a circle."""
        self._start = 0
        """Where the slice begins."""
        self._computed: dict[Callable[[Rows], Any], Any] = {}

    def __len__(self) -> int:
        return len(self.times)

    @property
    def _whole(self) -> "Rows":
        return self if self._slice_of is None else self._slice_of

    def __getitem__(self, name: str) -> Any:
        """A column as numpy, or as an Arrow array where it holds lists or ids of any type."""
        column = self._columns[name]
        return column if self._slice_of is None else column[self._start : self._start + len(self.times)]

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns, times aside."""
        return list(self._columns)

    @classmethod
    def joined(cls, pieces: Sequence["Rows"]) -> "Rows":
        """Pieces, at least one, as one; their columns are the same."""
        if len(pieces) == 1:
            return pieces[0]
        columns = {name: numbers_or_lists.joined([piece[name] for piece in pieces]) for name in pieces[0]._columns}
        return cls(np.concatenate([piece.times for piece in pieces]), columns)

    def pick(self, mask: Array) -> "Rows":
        """The rows where `mask`, bool[n], is true."""
        if mask.all():
            return self
        return Rows(self.times[mask], {name: numbers_or_lists.pick(self[name], mask) for name in self._columns})

    def take(self, places: Int64) -> "Rows":
        """The rows at these places."""
        columns = {name: numbers_or_lists.pick(self[name], places) for name in self._columns}
        return Rows(self.times[places], columns)

    def with_column(self, name: str, column: Any) -> "Rows":
        """The rows with another column of this name."""
        return Rows(self.times, {**{other: self[other] for other in self._columns}, name: column})

    def slice(self, start: int, stop: int) -> "Rows":
        """Rows start..stop."""
        if start == 0 and stop == len(self.times):
            return self
        part = Rows(self.times[start:stop], self._columns)
        part._slice_of, part._start = self._whole, self._start + start
        return part

    def once(self, compute: Callable[["Rows"], T]) -> tuple[T, int, int]:
        """What `compute` makes of the rows that these are a slice of, and from where to where these are among them.

        It is computed once for all slices, such as the rows of each group of a micro-batch.
        """
        computed = self._whole._computed
        if compute not in computed:
            computed[compute] = compute(self._whole)
        return computed[compute], self._start, self._start + len(self.times)
