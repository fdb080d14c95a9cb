"""Groups with a time zone each for their calendar windows: the groups of a zone are answered together.

Each zone has its own moments, but all share one watermark.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, UInt64
from skyband.columns.grouped_rows import GroupedRows
from skyband.groups import state_arrays
from skyband.kernels.sorted_arrays import distinct
from skyband.operator.bound_query import BoundQuery
from skyband.operator.groups import Groups, Until
from skyband.queries.zones_of_groups import in_zone, is_zone
from skyband.state_validation import StateReader

_ZONES = "zones"
_NO_ZONES = pa.RecordBatch.from_pydict({"zone": pa.array([], pa.string())})


class GroupsOfZones:
    """As `Groups`, with one of those for each zone. A micro-batch costs a little for each zone, due or not."""

    def __init__(self, bound: BoundQuery, column: str) -> None:
        """column: the grouping column that names the zone."""
        self._bound, self._column = bound, column
        self._by = pa.schema(bound.query.group_fields(bound.schema))
        self._place = self._by.get_field_index(column)
        self._of: dict[str, Groups] = {}
        self._since: Mapping[str, int] = {}

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    @property
    def retained(self) -> int:
        """The number of items retained in all groups."""
        return sum(groups.retained for groups in self._of.values())

    @property
    def keys(self) -> UInt64:
        """All groups, ascending."""
        return distinct(np.empty(0, np.uint64), *(groups.keys for groups in self._of.values()))

    def largest(self, most: int) -> list[tuple[dict[str, Any], int, int]]:
        """As `Groups.largest`, for all zones."""
        every = [group for groups in self._of.values() for group in groups.largest(most)]
        return sorted(every, key=lambda group: -group[2])[:most]

    def start_from(self, since: Mapping[str, int]) -> None:
        """As `GroupProcessor.start_from`, also for small groups of later zones."""
        self._since = since
        for groups in self._of.values():
            groups.start_from(since)

    def take_dropped(self) -> Mapping[str, int]:
        """Rows that processors dropped, by reason, since the last call."""
        dropped: Counter[str] = Counter()
        for groups in self._of.values():
            dropped.update(groups.take_dropped())
        return dropped

    def run(self, ready: GroupedRows | None, until: Until) -> pa.RecordBatch | None:
        """As `Groups.run`: the answers zone by zone, ordered by name."""
        rows_of = {} if ready is None else self._by_zone(ready)
        for zone in rows_of.keys() - self._of.keys():
            self._begin(zone)
        answers = [groups.run(rows_of.get(zone), until) for zone, groups in sorted(self._of.items())]
        self._of = {zone: groups for zone, groups in self._of.items() if len(groups)}
        batches = [batch for batch in answers if batch is not None]
        if len(batches) < 2:
            return batches[0] if batches else None
        return pa.Table.from_batches(batches).unify_dictionaries().combine_chunks().to_batches()[0]

    def _by_zone(self, ready: GroupedRows) -> dict[str, GroupedRows]:
        zones = ready.names(len(self._by), np.ones(len(ready.keys), bool))[self._place].dictionary_encode()
        numbers = zones.indices.to_numpy(zero_copy_only=False)
        return {name: ready.of_groups(numbers == number) for number, name in enumerate(zones.dictionary.to_pylist())}

    def _begin(self, zone: str) -> Groups:
        bound = self._bound_in(zone)
        groups = Groups(self._by, lambda _: bound.processor(self._since), bound.small_groups())
        groups.start_from(self._since)
        self._of[zone] = groups
        return groups

    def _bound_in(self, zone: str) -> BoundQuery:
        bound = self._bound
        return BoundQuery(in_zone(bound.query, zone), bound.bindings, bound.schema, bound.shared)

    def absorb(self, other: "GroupsOfZones", selected: Array) -> None:
        """Take over another's groups (`selected`: bool for each of its `keys`), none of which is here."""
        keys = other.keys
        for zone, groups in other._of.items():
            own = selected[np.searchsorted(keys, groups.keys)]
            if own.any():
                own_groups = self._of[zone] if zone in self._of else self._begin(zone)
                own_groups.absorb(groups, own)

    def _check(self) -> None:
        """As `Groups._check`, for all zones; no group is in two."""
        for groups in self._of.values():
            groups._check()
        assert len(self.keys) == len(self), "a group is in two zones"

    def dump_state(self) -> dict[str, Array]:
        """All groups as flat arrays, zone by zone."""
        occupied = {zone: groups for zone, groups in sorted(self._of.items()) if len(groups)}
        zones = pa.array(occupied, pa.string())
        arrays = state_arrays.frame_to_array(_ZONES, pa.RecordBatch.from_pydict({"zone": zones}))
        for number, groups in enumerate(occupied.values()):
            arrays |= state_arrays.with_prefix(f"zone {number}", groups.dump_state())
        return arrays

    def load_state(self, arrays: Mapping[str, Array], changed: bool, watermark: int | None) -> None:
        """As `Groups.load_state`. Raises SnapshotError."""
        own = {key: values for key, values in arrays.items() if key.split(" ")[0] == _ZONES}
        zones = state_arrays.frame_from_array(_ZONES, own, _NO_ZONES).column("zone").to_pylist()
        state = StateReader(arrays)
        right = all(map(is_zone, zones)) and zones == sorted(set(zones))
        state.require(right, _ZONES, f"must be zones that this machine knows, ascending (got {zones!r:.200})")
        numbers = {key.partition(".")[0] for key in arrays if key not in own}
        state.require(
            numbers == {f"zone {number}" for number in range(len(zones))}, _ZONES, "are not as many as states"
        )
        for number, zone in enumerate(zones):
            groups = self._begin(zone)
            groups.load_state(state_arrays.without_prefix(f"zone {number}", arrays), changed, watermark)
            named = groups.values.column(self._place).unique().to_pylist()
            state.require(named in ([], [zone]), _ZONES, f"a group of {named!r:.200} is among those of {zone}")
        apart = len(self.keys) == len(self)
        state.require(apart, _ZONES, "a group is held twice")
