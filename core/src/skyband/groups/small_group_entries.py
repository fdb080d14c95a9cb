"""Entries of many small groups in shared columns, where a micro-batch touches only the groups that have rows in it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64, UInt64
from skyband.columns import numbers_or_lists
from skyband.columns.numbers_or_lists import Column, Kind
from skyband.groups import state_arrays
from skyband.kernels.sorted_arrays import among
from skyband.state_validation import StateReader

_LEAST = 1 << 12


class SmallGroupEntries:
    """Groups in the order of their keys, each with a stretch of the columns of `kept`, which lie in no order.

    A group that changes is written anew at the end; columns half of which nobody owns any more are packed. So `put`
    costs O(its entries), amortised, and a copy of three numbers of all groups where new ones come; columns of lists are
    copied whole. A group may have `numbers` of its own, int64 each: it stays, without entries, until it is let go.
    """

    def __init__(self, kept: Mapping[str, Kind], numbers: Sequence[str] = ()) -> None:
        self.key: UInt64 = np.empty(0, np.uint64)
        self._first, self._size = np.empty(0, np.int64), np.empty(0, np.int64)
        self.numbers: dict[str, Int64] = {name: np.empty(0, np.int64) for name in numbers}
        """Those of each group."""
        self._kinds = kept
        self.columns: dict[str, Column] = {name: numbers_or_lists.empty(kind) for name, kind in kept.items()}
        self._used = 0
        self.entries = 0
        """Those of all groups."""

    def lookup(self, keys: UInt64) -> tuple[Int64, Int64]:
        """Where the entries of these groups (ascending) begin, and how many each has: 0 of one that is not here."""
        if not len(self.key):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        places, here = self._places(keys)
        return np.where(here, self._first[places], 0), np.where(here, self._size[places], 0)

    def number(self, name: str, keys: UInt64) -> Int64:
        """int64[n]: a number of each of these groups, 0 of one that is not here."""
        if not len(self.key):
            return np.zeros(len(keys), np.int64)
        places, here = self._places(keys)
        return np.where(here, self.numbers[name][places], 0)

    def put(
        self,
        keys: UInt64,
        sizes: Int64,
        columns: Mapping[str, Column],
        numbers: Mapping[str, Int64] | None = None,
    ) -> None:
        """Let these groups (ascending) have these entries, one group's after the other's, and these of their numbers.

        Of a group that is new other numbers are 0. Where groups have no numbers, one of no entries is let go.
        """
        # Written behind all others, whatever the groups had before is nobody's: places change for these groups alone.
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
            self.numbers = {name: np.insert(column, where, 0) for name, column in self.numbers.items()}
        for name, values in (numbers or {}).items():
            self.numbers[name][np.searchsorted(self.key, keys)] = values
        if not self.numbers and (sizes == 0).any():
            self._keep(self._size > 0)
        self._pack_where_half_is_unused()

    def remove(self, keys: UInt64) -> None:
        """Forget these groups (ascending)."""
        gone = among(self.key, keys)
        self.entries -= int(self._size[gone].sum())
        self._keep(~gone)
        self._pack_where_half_is_unused()

    def column(self, name: str) -> Column:
        """A column, with what nobody owns any more."""
        return self.columns[name][: self._used]

    def part(self, key: int) -> dict[str, Column]:
        """The entries of a group."""
        (first,), (size,) = self.lookup(np.array([key], np.uint64))
        return {name: column[first : first + size] for name, column in self.columns.items()}

    def parts(self, keys: UInt64) -> tuple[Int64, dict[str, Column]]:
        """The entries of these groups (ascending), one group's after the other's, and how many each has."""
        first, size = self.lookup(keys)
        rows = _stretches(first, size)
        return size, {name: numbers_or_lists.pick(column, rows) for name, column in self.columns.items()}

    def absorb(self, other: "SmallGroupEntries", keys: UInt64) -> None:
        """Take over the entries of these groups, none of which is here. Both have the same numbers."""
        theirs = other.key[among(other.key, keys)]
        size, columns = other.parts(theirs)
        self.put(theirs, size, columns, {name: other.number(name, theirs) for name in other.numbers})

    def dump_state(self) -> dict[str, Array]:
        """Flat arrays in one form, however the groups came to have their entries."""
        self._pack()
        entries = entry_arrays({name: self.column(name) for name in self.columns})
        return {"group": self.key, "count": self._size, **self.numbers, **entries}

    def load_state(self, arrays: Mapping[str, Array], most: int) -> tuple[StateReader, Int64]:
        """Take over a `dump_state`: its entries, to be looked at, and int64[n], the group of each.

        Raises SnapshotError where groups are not in order, or one has more than `most`, or none and no number either.
        """
        state = StateReader(arrays)
        groups = state.ascending("group", dtype=np.uint64, strictly=True)
        entries = StateReader(state_arrays.without_prefix("entries", arrays))
        numeric = [name for name, kind in self._kinds.items() if not isinstance(kind, pa.DataType)]
        length = len(entries.column(numeric[0], self._kinds[numeric[0]]))
        lengths = {len(entries.column(name, self._kinds[name])) for name in numeric}
        state.require(len(lengths) == 1, "entries", "must have columns of one length")
        sizes = state.sizes("count", len(groups), length)
        fewest = 0 if self.numbers else 1
        few = not len(sizes) or (sizes.min() >= fewest and sizes.max() <= most)
        state.require(bool(few), "count", f"must be from {fewest} to {most}")
        numbers = {name: state.column(name, np.int64, len(groups), at_least=0).copy() for name in self.numbers}
        self.columns = {name: numbers_or_lists.read(entries, name, kind, length) for name, kind in self._kinds.items()}
        self.key, self._size, self.numbers = groups, sizes.copy(), numbers
        self._first = np.cumsum(sizes) - sizes
        self._used = self.entries = length
        return entries, np.repeat(np.arange(len(groups)), sizes)

    def _places(self, keys: UInt64) -> tuple[Int64, Array]:
        """Of each of these groups the place, and whether it is here."""
        if not len(self.key):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
        places = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        return places, self.key[places] == keys

    def _keep(self, stays: Array) -> None:
        """Forget the groups where `stays`, bool[g], is false."""
        self.key, self._first, self._size = self.key[stays], self._first[stays], self._size[stays]
        self.numbers = {name: column[stays] for name, column in self.numbers.items()}

    def _append(self, columns: Mapping[str, Column]) -> int:
        """Where the first of these entries comes to lie."""
        begin, added = self._used, 0
        for name, column in self.columns.items():
            added = len(columns[name])
            if not isinstance(column, np.ndarray):
                self.columns[name] = numbers_or_lists.joined([column[:begin], columns[name]])
                continue
            if begin + added > len(column):
                room = np.empty(max(begin + added, 2 * begin), column.dtype)
                room[:begin] = column[:begin]
                self.columns[name] = column = room
            column[begin : begin + added] = columns[name]
        self._used = begin + added
        return begin

    def _pack_where_half_is_unused(self) -> None:
        # Each entry is moved once for one that was written since: O(1) a write in the long run.
        if self._used > 2 * self.entries + _LEAST:
            self._pack()

    def _pack(self) -> None:
        """Lay the entries side by side, in the order of their groups."""
        firsts = np.cumsum(self._size) - self._size
        if self._used == self.entries and (firsts == self._first).all():
            return
        rows = _stretches(self._first, self._size)
        self.columns = {name: numbers_or_lists.pick(column, rows) for name, column in self.columns.items()}
        self._first, self._used = firsts, self.entries


def entry_arrays(columns: Mapping[str, Column]) -> dict[str, Array]:
    """Entries as flat arrays of a state."""
    arrays: dict[str, Array] = {}
    for name, column in columns.items():
        arrays |= numbers_or_lists.to_arrays(name, column)
    return state_arrays.with_prefix("entries", arrays)


def _stretches(first: Int64, size: Int64) -> Int64:
    """The places first[i]..first[i] + size[i], of one after the other."""
    before = np.cumsum(size) - size
    places: Int64 = np.repeat(first - before, size) + np.arange(int(size.sum()))
    return places
