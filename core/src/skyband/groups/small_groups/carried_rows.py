"""Rows behind the answers of many groups that number their own rows; a micro-batch costs what its groups hold."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64, UInt64
from skyband.columns.rows_behind_answers import RankedRowsOfGroups
from skyband.groups.small_groups.entries import SmallGroupEntries
from skyband.kernels.sorted_arrays import among

_MOST = 2**62


class CarriedRowsOfGroups:
    """Stores the rows of inactive groups; those of active ones are in a RankedRowsOfGroups meanwhile."""

    def __init__(self, rows: RankedRowsOfGroups) -> None:
        self._rows = rows
        self._schema = rows.frame().schema
        names = [name for name in self._schema.names if name != "group"]
        numbers = {"time": np.int64, "id": np.int64, "value": np.float64}
        self._entries = SmallGroupEntries({name: numbers.get(name, self._schema.field(name).type) for name in names})

    def load(self, keys: UInt64) -> None:
        """Load the rows of these groups (ascending), and no others."""
        size, columns = self._entries.parts(keys)
        columns["group"] = np.repeat(keys, size)
        stored = [pa.array(columns[field.name], field.type) for field in self._schema]
        self._rows.hold(pa.RecordBatch.from_arrays(stored, schema=self._schema))

    def store(self, keys: UInt64, before: Int64) -> None:
        """Store the loaded rows of these groups that are not before these numbers; unloads all."""
        rows = self._rows.held(keys, before)
        size = np.bincount(np.searchsorted(keys, rows.column("group").to_numpy()), minlength=len(keys))
        columns = {name: rows.column(name) for name in self._entries.columns}
        plain = {name: columns[name].to_numpy() for name in ("time", "id", "value")}
        self._entries.put(keys, size.astype(np.int64), {**columns, **plain})
        self._rows.hold(rows.slice(0, 0))

    def absorb(self, other: "CarriedRowsOfGroups", keys: UInt64) -> None:
        """Take over the rows of these groups, none of which has one here."""
        self._entries.absorb(other._entries, keys)

    def dump_state(self) -> dict[str, Array]:
        """Flat arrays in canonical form."""
        return self._entries.dump_state()

    def load_state(self, arrays: Mapping[str, Array], groups: UInt64, seen: Int64) -> None:
        """Load the result of `dump_state`, for groups (ascending) with `seen` rows each. Raises SnapshotError."""
        state, owners = self._entries.load_state(arrays, _MOST)
        own = self._entries.key
        state.require(bool(among(own, groups).all()), "group", "must be groups of this state")
        times = state.column("time", np.int64, len(owners), at_least=0)
        rising = (times[1:] > times[:-1]) | (owners[1:] != owners[:-1])
        state.require(bool(rising.all()), "time", "must be in order within a group")
        limits = seen[np.searchsorted(groups, own)][owners] if len(own) else times
        state.require(not (times >= limits).any(), "time", "must be below the group's number of rows")
