"""Entries of many small groups in shared columns, where a micro-batch touches only the groups that have rows in it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from skyband.arrays import Array, Int64, UInt64
from skyband.kernels.sorted_arrays import among
from skyband.queries import state_arrays
from skyband.state_validation import StateReader

_LEAST = 1 << 12


class SmallGroupEntries:
    """Groups in the order of their keys, each with a stretch of the columns of `kept`, which lie in no order.

    A group that changes is written anew at the end; columns half of which nobody owns any more are packed. So `put`
    costs O(its entries), amortised, and a copy of three numbers of all groups where new ones come.
    """

    def __init__(self, kept: Mapping[str, npt.DTypeLike]) -> None:
        self.key: UInt64 = np.empty(0, np.uint64)
        self._first, self._size = np.empty(0, np.int64), np.empty(0, np.int64)
        self.columns: dict[str, Array] = {name: np.empty(0, kind) for name, kind in kept.items()}
        self._used = 0
        self.entries = 0
        """Those of all groups."""

    def of(self, keys: UInt64) -> tuple[Int64, Int64]:
        """Where the entries of these groups (ascending) begin, and how many each has: 0 of one that is not here."""
        if not len(self.key):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        places, here = self._places(keys)
        return np.where(here, self._first[places], 0), np.where(here, self._size[places], 0)

    def put(self, keys: UInt64, sizes: Int64, columns: Mapping[str, Array]) -> None:
        """Let these groups (ascending) have these entries, one group's after the other's; a group of none is let go."""
        first = self._append(columns) + np.cumsum(sizes) - sizes
        places, here = self._places(keys)
        self.entries += int(sizes.sum() - self._size[places[here]].sum())
        self._first[places[here]], self._size[places[here]] = first[here], sizes[here]
        if not here.all():
            new = ~here
            where = np.searchsorted(self.key, keys[new])
            self.key = np.insert(self.key, where, keys[new])
            self._first = np.insert(self._first, where, first[new])
            self._size = np.insert(self._size, where, sizes[new])
        if (sizes == 0).any():
            stays = self._size > 0
            self.key, self._first, self._size = self.key[stays], self._first[stays], self._size[stays]
        if self._used > 2 * self.entries + _LEAST:
            self._pack()

    def let_go(self, keys: UInt64) -> None:
        """Forget these groups (ascending)."""
        self.put(keys, np.zeros(len(keys), np.int64), {name: column[:0] for name, column in self.columns.items()})

    def column(self, name: str) -> Array:
        """A column, with what nobody owns any more."""
        return self.columns[name][: self._used]

    def part(self, key: int) -> dict[str, Array]:
        """The entries of a group."""
        (first,), (size,) = self.of(np.array([key], np.uint64))
        return {name: column[first : first + size] for name, column in self.columns.items()}

    def absorb(self, other: "SmallGroupEntries", keys: UInt64) -> None:
        """Take over the entries of these groups, none of which is here."""
        theirs = other.key[among(other.key, keys)]
        first, size = other.of(theirs)
        rows = _stretches(first, size)
        self.put(theirs, size, {name: column[rows] for name, column in other.columns.items()})

    def dump_state(self) -> dict[str, Array]:
        """Flat arrays in one form, however the groups came to have their entries."""
        self._pack()
        entries = {name: column[: self._used] for name, column in self.columns.items()}
        return {"group": self.key, "count": self._size, **state_arrays.with_prefix("entries", entries)}

    def load_state(self, arrays: Mapping[str, Array], most: int) -> tuple[StateReader, Int64]:
        """Take over a `dump_state`: its entries, to be looked at, and int64[n], the group of each.

        Raises SnapshotError where groups are not in order, or one has none or more than `most`.
        """
        state = StateReader(arrays)
        groups = state.ascending("group", dtype=np.uint64, strictly=True)
        entries = StateReader(state_arrays.without_prefix("entries", arrays))
        # Arrays of a snapshot are read-only, which is another type to compiled code.
        columns: dict[str, Any] = {
            name: np.require(entries.column(name, column.dtype), requirements="W")
            for name, column in self.columns.items()
        }
        lengths = {len(column) for column in columns.values()}
        state.require(len(lengths) == 1, "entries", "must have columns of one length")
        sizes = state.sizes("count", len(groups), lengths.pop())
        few = not len(sizes) or (sizes.min() > 0 and sizes.max() <= most)
        state.require(bool(few), "count", f"must be from 1 to {most}")
        self.key, self._size, self.columns = groups, sizes.copy(), columns
        self._first = np.cumsum(sizes) - sizes
        self._used = self.entries = int(sizes.sum())
        return entries, np.repeat(np.arange(len(groups)), sizes)

    def _places(self, keys: UInt64) -> tuple[Int64, Array]:
        """Of each of these groups the place, and whether it is here."""
        if not len(self.key):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
        places = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        return places, self.key[places] == keys

    def _append(self, columns: Mapping[str, Array]) -> int:
        """Where the first of these entries comes to lie."""
        begin = self._used
        for name, column in self.columns.items():
            added = columns[name]
            if begin + len(added) > len(column):
                room = np.empty(max(begin + len(added), 2 * begin), column.dtype)
                room[:begin] = column[:begin]
                self.columns[name] = column = room
            column[begin : begin + len(added)] = added
            self._used = begin + len(added)
        return begin

    def _pack(self) -> None:
        """Lay the entries side by side, in the order of their groups."""
        firsts = np.cumsum(self._size) - self._size
        if self._used == self.entries and (firsts == self._first).all():
            return
        rows = _stretches(self._first, self._size)
        self.columns = {name: column[rows] for name, column in self.columns.items()}
        self._first, self._used = firsts, self.entries


def _stretches(first: Int64, size: Int64) -> Int64:
    """The places first[i]..first[i] + size[i], of one after the other."""
    before = np.cumsum(size) - size
    places: Int64 = np.repeat(first - before, size) + np.arange(int(size.sum()))
    return places
