"""Columns of values by key, such as names by id, in which a few rows change and most stay."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

from skyband.arrays import Array
from skyband.columns.chunked_take import take_from_runs
from skyband.kernels.sorted_arrays import among, distinct, search_sorted

_FEW = 8
"""A lookup of more than one in this many keys unites the runs first."""


@frozen(eq=False)
class _Run:
    """Rows by key, ascending."""

    keys: Array
    columns: Sequence[pa.Array]
    gone: Array | None = None
    """bool[n]: whether a row was forgotten; None if none was."""

    def __len__(self) -> int:
        return len(self.keys) - (0 if self.gone is None else int(self.gone.sum()))

    def take(self, places: Array) -> "_Run":
        """The rows at these places, none of which was forgotten."""
        rows = pa.array(places)
        return _Run(self.keys[places], [column.take(rows) for column in self.columns])

    def whole(self) -> "_Run":
        """This run without forgotten rows."""
        return self if self.gone is None else self.take(np.flatnonzero(~self.gone))

    def joined(self, other: "_Run") -> "_Run":
        """This run and another with other keys, without forgotten rows."""
        first, second = self.whole(), other.whole()
        keys = np.concatenate([first.keys, second.keys])
        together = [pa.concat_arrays(pair) for pair in zip(first.columns, second.columns, strict=True)]
        return _Run(keys, together).take(np.argsort(keys, kind="stable"))

    def find(self, keys: Array) -> tuple[Array, Array]:
        """int64[m], bool[m]: the places of these keys, and whether each is here; the place of others is arbitrary."""
        if not len(self.keys):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
        places = search_sorted(self.keys, keys)
        places[places == len(self.keys)] = 0
        present = self.keys[places] == keys
        return places, present if self.gone is None else present & ~self.gone[places]

    def without(self, keys: Array) -> "_Run":
        """This run without these keys; once most are gone, their memory is freed too. O(n) bytes."""
        places, present = self.find(keys)
        if not present.any():
            return self
        gone = np.zeros(len(self.keys), bool) if self.gone is None else self.gone.copy()
        gone[places[present]] = True
        rest = _Run(self.keys, self.columns, gone)
        return rest.whole() if 2 * len(rest) < len(self.keys) else rest


class KeyedColumns:
    """Columns of values, each row with a unique key: numpy keys of one type, Arrow columns.

    Rows are in runs, each at least twice as long as the next, so that adding or looking up m among n rows costs
    O(m log n). If m is a large part of n, the runs are united first. A copy is independent: runs are replaced, never
    modified.
    """

    def __init__(self, kind: Any, fields: Sequence[pa.Field]) -> None:
        """kind: numpy's type of the keys."""
        self._runs = [_Run(np.empty(0, kind), [pa.array([], field.type) for field in fields])]

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def learn(self, keys: Array, columns: Sequence[pa.Array]) -> None:
        """Add rows with these keys, without duplicates, none of which is known."""
        if not len(keys):
            return
        runs = [*self._runs, _Run(keys, columns).take(np.argsort(keys, kind="stable"))]
        while len(runs) > 1 and len(runs[-2].keys) < 2 * len(runs[-1].keys):
            last = runs.pop()
            runs[-1] = runs[-1].joined(last)
        self._runs = runs

    def knows(self, keys: Array) -> Array:
        """bool[m]: whether rows with these keys are known."""
        self._unite_for(len(keys))
        present = np.zeros(len(keys), bool)
        for run in self._runs:
            present |= run.find(keys)[1]
        return present

    def lookup(self, keys: Array) -> list[pa.Array]:
        """The columns of the rows with these keys. Raises KeyError if one is not known."""
        self._unite_for(len(keys))
        if not len(keys):
            return [column.slice(0, 0) for column in self._runs[0].columns]
        places, present = self._runs[0].find(keys)
        run_of = np.zeros(len(keys), np.int64)
        for number, run in enumerate(self._runs[1:], 1):
            other, is_here = run.find(keys)
            places = np.where(is_here, other, places)
            run_of, present = np.where(is_here, number, run_of), present | is_here
        if not present.all():
            raise KeyError(keys[~present][0])
        return take_from_runs([run.columns for run in self._runs], run_of, places)

    def forget(self, keys: Array) -> None:
        """Forget the rows with these keys, known or not."""
        if len(keys):
            self._runs = [run.without(keys) for run in self._runs]

    def whole(self) -> tuple[Array, list[pa.Array]]:
        """All keys, ascending, and the columns of their rows."""
        united = self._united()
        return united.keys, list(united.columns)

    def of(self, keys: Array) -> tuple[Array, list[pa.Array]]:
        """As `whole`, for these keys if they are known."""
        united = self._united()
        used = np.flatnonzero(among(united.keys, distinct(keys)))
        rows = united if len(used) == len(united) else united.take(used)
        return rows.keys, list(rows.columns)

    def replace(self, keys: Array, columns: Sequence[pa.Array]) -> None:
        """Replace all rows by these; keys ascend."""
        self._runs = [_Run(keys, list(columns))]

    def _unite_for(self, count: int) -> None:
        """Unite the runs if this many lookups make searching each run cost more."""
        if len(self._runs) > 1 and count * _FEW > len(self):
            self._runs = [self._united()]

    def _united(self) -> _Run:
        return reduce(_Run.joined, reversed(self._runs[:-1]), self._runs[-1].whole())
