"""Entries of many small groups in shared columns; a micro-batch touches only the groups with rows in it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64, UInt64
from skyband.columns import column_ops
from skyband.columns.column_ops import Column, Kind
from skyband.groups import state_arrays
from skyband.kernels.sorted_arrays import among, search_sorted
from skyband.state_validation import StateReader

_LEAST = 1 << 12


class SmallGroupEntries:
    """Groups ordered by key, each with a stretch of the columns of `kept`, in any order.

    A changed group is written again at the end; columns that are half unused are packed. So `put` costs O(its entries),
    amortised, and a copy of three numbers of all groups if new ones are added; columns of lists are copied whole. A
    group may have `numbers`, int64 each: it then stays, without entries, until it is removed.
    """

    def __init__(self, kept: Mapping[str, Kind], numbers: Sequence[str] = ()) -> None:
        self.key: UInt64 = np.empty(0, np.uint64)
        self._size = np.empty(0, np.int64)
        self._placed: Int64 | None = None
        """The first entry of each group; None if entries are in the order of the groups."""
        self.numbers: dict[str, Int64] = {name: np.empty(0, np.int64) for name in numbers}
        """The numbers of each group."""
        self._kinds = kept
        self.columns: dict[str, Column] = {name: column_ops.empty(kind) for name, kind in kept.items()}
        self._used = 0
        self.entries = 0
        """The number of entries of all groups."""

    def lookup(self, keys: UInt64) -> tuple[Int64, Int64]:
        """The first entry and the number of entries of these groups (ascending); 0 for a group that is not here."""
        if not len(self.key):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
        places, is_here = self._places(keys)
        return np.where(is_here, self._first[places], 0), np.where(is_here, self._size[places], 0)

    def number(self, name: str, keys: UInt64) -> Int64:
        """int64[n]: a number of each of these groups; 0 for a group that is not here."""
        if not len(self.key):
            return np.zeros(len(keys), np.int64)
        places, is_here = self._places(keys)
        return np.where(is_here, self.numbers[name][places], 0)

    def put(
        self,
        keys: UInt64,
        sizes: Int64,
        columns: Mapping[str, Column],
        numbers: Mapping[str, Int64] | None = None,
    ) -> None:
        """Set the entries of these groups (ascending), group by group, and these of their numbers.

        Other numbers of a new group are 0. If groups have no numbers, a group without entries is removed.
        """
        if len(keys) == len(self.key) and (self.numbers or (sizes > 0).all()) and (keys == self.key).all():
            after = {**self.numbers, **(numbers or {})}
            self.replace(self.key, sizes.copy(), columns, {name: after[name].copy() for name in self.numbers})
            return
        # Entries are appended, and old ones become unused: only places of these groups change.
        first, placed = self._append(columns) + np.cumsum(sizes) - sizes, self._first
        places, is_here = self._places(keys)
        self.entries += int(sizes.sum() - self._size[places[is_here]].sum())
        placed[places[is_here]], self._size[places[is_here]] = first[is_here], sizes[is_here]
        if not is_here.all():
            new = ~is_here
            where = search_sorted(self.key, keys[new])
            self.key = np.insert(self.key, where, keys[new])
            placed = np.insert(placed, where, first[new])
            self._size = np.insert(self._size, where, sizes[new])
            self.numbers = {name: np.insert(column, where, 0) for name, column in self.numbers.items()}
        self._placed = placed
        for name, values in (numbers or {}).items():
            self.numbers[name][search_sorted(self.key, keys)] = values
        if not self.numbers and (sizes == 0).any():
            self._keep(self._size > 0)
        self._pack_where_half_is_unused()

    def replace(self, keys: UInt64, sizes: Int64, columns: Mapping[str, Column], numbers: Mapping[str, Int64]) -> None:
        """Replace all groups by these (ascending), with all of their numbers.

        The arrays are kept without copying, and old ones are not written to: a copy of this object may keep them.
        """
        self.key, self._size, self.numbers = keys, sizes, dict(numbers)
        self._placed = None
        self.columns = {name: columns[name] for name in self._kinds}
        self._used = self.entries = int(sizes.sum())

    def remove(self, keys: UInt64) -> None:
        """Forget these groups (ascending)."""
        gone = among(self.key, keys)
        self.entries -= int(self._size[gone].sum())
        self._keep(~gone)
        self._pack_where_half_is_unused()

    @property
    def _first(self) -> Int64:
        """int64[g]: the first entry of each group."""
        return np.cumsum(self._size) - self._size if self._placed is None else self._placed

    @property
    def size(self) -> Int64:
        """int64[g]: the number of entries of each group."""
        return self._size

    def sizes(self) -> tuple[UInt64, Int64, Int64]:
        """The groups, ascending: the number of entries, and the bytes of that many average entries."""
        nbytes = sum(column.nbytes for column in self.in_order().values())
        return self.key, self._size, self._size * nbytes // max(self.entries, 1)

    @property
    def owners(self) -> Int64:
        """int64[n]: the place of each entry's group, in the order of the groups."""
        return np.repeat(np.arange(len(self.key)), self._size)

    def in_order(self) -> dict[str, Column]:
        """All columns, group by group. O(1) if they are in order, after a `replace`."""
        self._pack()
        return {name: self.column(name) for name in self.columns}

    def column(self, name: str) -> Column:
        """A column, including unused entries."""
        return self.columns[name][: self._used]

    def part(self, key: int) -> dict[str, Column]:
        """The entries of a group."""
        (first,), (size,) = self.lookup(np.array([key], np.uint64))
        return {name: column[first : first + size] for name, column in self.columns.items()}

    def parts(self, keys: UInt64) -> tuple[Int64, dict[str, Column]]:
        """The entries of these groups (ascending), group by group, and the number of each.

        Read-only for callers: they may be the stored arrays.
        """
        if self._placed is None and len(keys) == len(self.key) and (keys == self.key).all():
            columns = {name: self.column(name) for name in self.columns}
            if all(isinstance(column, np.ndarray) and column.flags.writeable for column in columns.values()):
                return self._size.copy(), columns
        first, size = self.lookup(keys)
        rows = _stretches(first, size)
        return size, {name: column_ops.pick(column, rows) for name, column in self.columns.items()}

    def absorb(self, other: "SmallGroupEntries", keys: UInt64) -> None:
        """Take over the entries of these groups, none of which is here. Both have the same numbers."""
        present = other.key[among(other.key, keys)]
        size, columns = other.parts(present)
        self.put(present, size, columns, {name: other.number(name, present) for name in other.numbers})

    def dump_state(self) -> dict[str, Array]:
        """Flat arrays in canonical form."""
        numbers = {name: column.copy() for name, column in self.numbers.items()}  # `put` writes to these, and to sizes
        return {"group": self.key, "count": self._size.copy(), **numbers, **entry_arrays(self.in_order())}

    def load_state(self, arrays: Mapping[str, Array], most: int, least_number: int = 0) -> tuple[StateReader, Int64]:
        """Load the result of `dump_state`: its entries, to be checked, and int64[n], the group of each.

        Raises SnapshotError if groups are not in order, one has more than `most` entries, or neither entries nor a
        number, or a number is below the least.
        """
        state = StateReader(arrays)
        groups = state.ascending("group", dtype=np.uint64, strictly=True)
        entries = StateReader(state_arrays.without_prefix("entries", arrays))
        numeric = [name for name, kind in self._kinds.items() if not isinstance(kind, pa.DataType)]
        counted = "time" if "time" in self._kinds else numeric[0]
        length = len(entries.column(counted, self._kinds[counted]))
        for name in numeric:
            alike = len(entries.column(name, self._kinds[name])) == length
            state.require(alike, f"entries.{name}", "must be as long as the other columns")
        sizes = state.sizes("count", len(groups), length)
        fewest = 0 if self.numbers else 1
        few = not len(sizes) or (sizes.min() >= fewest and sizes.max() <= most)
        state.require(bool(few), "count", f"must be from {fewest} to {most}")
        numbers = {
            name: state.column(name, np.int64, len(groups), at_least=least_number).copy() for name in self.numbers
        }
        self.columns = {name: column_ops.read(entries, name, kind, length) for name, kind in self._kinds.items()}
        self.key, self._size, self.numbers = groups, sizes.copy(), numbers
        self._placed = None
        self._used = self.entries = length
        return entries, self.owners

    def _check(self) -> None:
        """Raise AssertionError if groups, their stretches and counts contradict one another."""
        first, size = self._first, self._size
        assert (self.key[1:] > self.key[:-1]).all(), "groups must be ascending, each once"
        assert len(first) == len(size) == len(self.key), "each group has a stretch"
        assert all(len(column) == len(self.key) for column in self.numbers.values()), "each group has each number"
        assert self.numbers or (size > 0).all(), "a group without entries and numbers is dropped"
        assert self.entries == size.sum() <= self._used, "all entries must be counted"
        assert self._placed is not None or self.entries == self._used, "entries lie apart where their order is not told"
        assert self._used <= 2 * self.entries + _LEAST + 1, "half of the columns must be used"
        some = np.flatnonzero(size > 0)
        some = some[np.argsort(first[some])]
        stops = (first + size)[some]
        assert (first[some][1:] >= stops[:-1]).all(), "stretches must not overlap"
        assert not len(stops) or (first[some[0]] >= 0 and stops[-1] <= self._used), "stretches must be of what is used"
        assert all(len(column) >= self._used for column in self.columns.values()), "columns must have what is used"

    def _places(self, keys: UInt64) -> tuple[Int64, Array]:
        """The place of each of these groups, and whether it is here."""
        if not len(self.key):
            return np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
        places = np.minimum(search_sorted(self.key, keys), len(self.key) - 1)
        return places, self.key[places] == keys

    def _keep(self, stays: Array) -> None:
        """Forget the groups where `stays`, bool[g], is false."""
        self._placed = self._first[stays]
        self.key, self._size = self.key[stays], self._size[stays]
        self.numbers = {name: column[stays] for name, column in self.numbers.items()}

    def _append(self, columns: Mapping[str, Column]) -> int:
        """Append these entries; returns the place of the first."""
        begin, added = self._used, 0
        for name, column in self.columns.items():
            added = len(columns[name])
            if not isinstance(column, np.ndarray):
                self.columns[name] = column_ops.joined([column[:begin], columns[name]])
                continue
            if begin + added > len(column) or not column.flags.writeable:
                room = np.empty(max(begin + added, 2 * begin), column.dtype)
                room[:begin] = column[:begin]
                self.columns[name] = column = room
            column[begin : begin + added] = columns[name]
        self._used = begin + added
        return begin

    def _pack_where_half_is_unused(self) -> None:
        # Each entry is moved once per entry written since: amortised O(1).
        if self._used > 2 * self.entries + _LEAST:
            self._pack()

    def _pack(self) -> None:
        """Lay out the entries without gaps, in the order of their groups."""
        if self._placed is None:
            return
        rows = _stretches(self._placed, self._size)
        self.columns = {name: column_ops.pick(column, rows) for name, column in self.columns.items()}
        self._placed, self._used = None, self.entries


def entry_arrays(columns: Mapping[str, Column]) -> dict[str, Array]:
    """Entries as flat arrays of a state."""
    arrays: dict[str, Array] = {}
    for name, column in columns.items():
        arrays |= column_ops.to_arrays(name, column)
    return state_arrays.with_prefix("entries", arrays)


def _stretches(first: Int64, size: Int64) -> Int64:
    """The places first[i]..first[i] + size[i], concatenated."""
    before = np.cumsum(size) - size
    places: Int64 = np.repeat(first - before, size) + np.arange(int(size.sum()))
    return places
