"""Columns of values by key, such as the names behind ids: some come and go, while most stay as they are."""

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
"""Keys of which one in so many is looked at are few."""


@frozen(eq=False)
class _Run:
    """Rows by key, ascending."""

    keys: Array
    columns: Sequence[pa.Array]
    gone: Array | None = None
    """bool[n]: whether a row was forgotten; None where none was."""

    def __len__(self) -> int:
        return len(self.keys) - (0 if self.gone is None else int(self.gone.sum()))

    def take(self, places: Array) -> "_Run":
        """The rows at these places, none of which was forgotten."""
        rows = pa.array(places)
        return _Run(self.keys[places], [column.take(rows) for column in self.columns])

    def whole(self) -> "_Run":
        """Without what was forgotten."""
        return self if self.gone is None else self.take(np.flatnonzero(~self.gone))

    def joined(self, other: "_Run") -> "_Run":
        """With the rows of another, which has none of these keys; without what was forgotten."""
        mine, theirs = self.whole(), other.whole()
        keys = np.concatenate([mine.keys, theirs.keys])
        together = [pa.concat_arrays(pair) for pair in zip(mine.columns, theirs.columns, strict=True)]
        return _Run(keys, together).take(np.argsort(keys, kind="stable"))

    def find(self, keys: Array) -> tuple[Array, Array]:
        """int64[m], bool[m]: the places of these keys, and which of them are here: of others the place is any."""
        if not len(self.keys):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
        places = search_sorted(self.keys, keys)
        places[places == len(self.keys)] = 0
        there = self.keys[places] == keys
        return places, there if self.gone is None else there & ~self.gone[places]

    def without(self, keys: Array) -> "_Run":
        """Without the rows of these keys; once most are gone without their memory, too. O(n) bytes."""
        places, there = self.find(keys)
        if not there.any():
            return self
        gone = np.zeros(len(self.keys), bool) if self.gone is None else self.gone.copy()
        gone[places[there]] = True
        rest = _Run(self.keys, self.columns, gone)
        return rest.whole() if 2 * len(rest) < len(self.keys) else rest


class KeyedColumns:
    """Columns of values, each row by a key of its own: numpy keys of one type, Arrow columns.

    Rows stand in runs, each at least twice as long as the one after it, so that to learn or look up m beside n costs
    O(m log n). Where m is much of n, the runs are made one first. A copy is of its own: runs are replaced, never
    written to.
    """

    def __init__(self, kind: Any, fields: Sequence[pa.Field]) -> None:
        """kind: numpy's type of the keys."""
        self._runs = [_Run(np.empty(0, kind), [pa.array([], field.type) for field in fields])]

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def learn(self, keys: Array, columns: Sequence[pa.Array]) -> None:
        """Learn rows of these keys, each once, none of which is known."""
        if not len(keys):
            return
        runs = [*self._runs, _Run(keys, columns).take(np.argsort(keys, kind="stable"))]
        while len(runs) > 1 and len(runs[-2].keys) < 2 * len(runs[-1].keys):
            last = runs.pop()
            runs[-1] = runs[-1].joined(last)
        self._runs = runs

    def knows(self, keys: Array) -> Array:
        """bool[m]: the rows of which keys are known."""
        self._unite_for(len(keys))
        there = np.zeros(len(keys), bool)
        for run in self._runs:
            there |= run.find(keys)[1]
        return there

    def lookup(self, keys: Array) -> list[pa.Array]:
        """The columns of the rows of these keys. Raises KeyError where one is not known."""
        self._unite_for(len(keys))
        if not len(keys):
            return [column.slice(0, 0) for column in self._runs[0].columns]
        places, there = self._runs[0].find(keys)
        run_of = np.zeros(len(keys), np.int64)
        for number, run in enumerate(self._runs[1:], 1):
            other, here = run.find(keys)
            places, run_of, there = np.where(here, other, places), np.where(here, number, run_of), there | here
        if not there.all():
            raise KeyError(keys[~there][0])
        return take_from_runs([run.columns for run in self._runs], run_of, places)

    def forget(self, keys: Array) -> None:
        """Forget the rows of these keys, known or not."""
        if len(keys):
            self._runs = [run.without(keys) for run in self._runs]

    def whole(self) -> tuple[Array, list[pa.Array]]:
        """All keys, ascending, and the columns of their rows."""
        united = self._united()
        return united.keys, list(united.columns)

    def of(self, keys: Array) -> tuple[Array, list[pa.Array]]:
        """As `whole`, of these keys alone where they are known."""
        united = self._united()
        used = np.flatnonzero(among(united.keys, distinct(keys)))
        rows = united if len(used) == len(united) else united.take(used)
        return rows.keys, list(rows.columns)

    def replace(self, keys: Array, columns: Sequence[pa.Array]) -> None:
        """Know these rows and no others, of keys that ascend."""
        self._runs = [_Run(keys, list(columns))]

    def _unite_for(self, count: int) -> None:
        """Make the runs one, where so many keys are looked at that this costs less than to look into each run."""
        if len(self._runs) > 1 and count * _FEW > len(self):
            self._runs = [self._united()]

    def _united(self) -> _Run:
        return reduce(_Run.joined, reversed(self._runs[:-1]), self._runs[-1].whole())
