"""The entries of the groups of a table, with the values behind their ids: held, moved and saved."""

from collections.abc import Mapping, Sequence
from copy import copy

from skyband.arrays import Array, Int64, UInt64
from skyband.columns import column_ops
from skyband.groups import state_arrays
from skyband.groups.small_groups.entries import SmallGroupEntries, entry_arrays
from skyband.groups.small_groups.table import SmallGroupTable
from skyband.kernels.sorted_arrays import among, distinct
from skyband.state_validation import StateReader


class SmallGroupStore(SmallGroupEntries):
    """Entries of a table, in its order when saved. The table knows the values of ids, which are added and removed along
    with the entries.
    """

    def __init__(self, table: SmallGroupTable, numbers: Sequence[str]) -> None:
        super().__init__(table.kept, numbers)
        self._table = table

    def twin(self, table: SmallGroupTable) -> "SmallGroupStore":
        """A copy with the same entries, for a twin of the table. Its entries may be replaced, but not put."""
        twin = copy(self)
        twin._table = table
        return twin

    def absorb(self, other: "SmallGroupEntries", keys: UInt64) -> None:
        if self._table.names is not None and isinstance(other, SmallGroupStore):
            ids = distinct(other.parts(other.key[among(other.key, keys)])[1][self._table.identity])
            self._table.names.learn(ids, other._table.values(ids))
        super().absorb(other, keys)

    def forget_names(self) -> None:
        """Forget the values of ids without entries, when there are enough of them."""
        if self._table.names is not None:
            self._table.names.keep(self.column(self._table.identity), lazily=True)

    def dump_state(self) -> dict[str, Array]:
        state = super().dump_state()
        columns = {name: self.column(name) for name in self.columns}
        order = self._table.entry_order(columns, self.owners)
        if order is not None:
            columns = {name: column_ops.pick(column, order) for name, column in columns.items()}
            state |= entry_arrays(columns)
        if self._table.names is not None:
            names = self._table.names.frame(columns[self._table.identity])
            state |= state_arrays.frame_to_array("names", names)
        return state

    def load_state(self, arrays: Mapping[str, Array], most: int, least_number: int = 0) -> tuple[StateReader, Int64]:
        entries, owners = super().load_state(arrays, most, least_number)
        self._table.check_entries(entries, owners)
        if (names := self._table.names) is not None:
            names.load_state(state_arrays.frame_from_array("names", arrays, names.no_names()))
        return entries, owners

    def _check(self) -> None:
        super()._check()
        assert not len(self._size) or self._size.max() <= self._table.most, "a group has more entries than a small one"
        if self._table.names is not None:
            ids = self.parts(self.key)[1][self._table.identity]
            assert self._table.names.knows(ids).all(), "the value behind an id is not known"
