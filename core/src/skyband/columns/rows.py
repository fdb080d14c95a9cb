"""Rows of one group in time order, as a processor takes them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64


class Rows:
    """Some rows of one group in time order: int64 microseconds and the query's own columns, sliced without copying."""

    def __init__(self, times: Int64, columns: Mapping[str, Any]) -> None:
        self.times = times
        self._columns = columns

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, name: str) -> Any:
        """A column as numpy, or as an Arrow array where it holds lists or ids of any type."""
        return self._columns[name]

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    @classmethod
    def joined(cls, pieces: Sequence["Rows"]) -> "Rows":
        """Pieces, at least one, as one; their columns are the same."""
        if len(pieces) == 1:
            return pieces[0]
        columns = {name: _concatenated([piece[name] for piece in pieces]) for name in pieces[0]._columns}
        return cls(np.concatenate([piece.times for piece in pieces]), columns)

    def pick(self, mask: Array) -> "Rows":
        """The rows where `mask`, bool[n], is true."""
        if mask.all():
            return self
        arrow = pa.array(mask)
        columns = {
            name: column[mask] if isinstance(column, np.ndarray) else column.filter(arrow)
            for name, column in self._columns.items()
        }
        return Rows(self.times[mask], columns)

    def slice(self, start: int, stop: int) -> "Rows":
        """Rows start..stop."""
        if start == 0 and stop == len(self.times):
            return self
        return Rows(self.times[start:stop], {name: column[start:stop] for name, column in self._columns.items()})


def _concatenated(columns: list[Any]) -> Any:
    return np.concatenate(columns) if isinstance(columns[0], np.ndarray) else pa.concat_arrays(columns)
