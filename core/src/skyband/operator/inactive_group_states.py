"""States of inactive groups, which wait for a row or a moment: a few bytes per group in shared arrays."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from skyband.arrays import TIME_MAX, Array, Int64, UInt64
from skyband.errors import SnapshotError
from skyband.kernels.sorted_arrays import among, search_sorted
from skyband.state_validation import StateReader

_COLUMNS = ("key", "next", "retained", "start", "size")


class PackedStates:
    """States by group: columns sorted by group, each with its place in one heap of bytes.

    `put` and `take` cost O(inactive) in a few array copies for all their groups together; a heap that is half unused
    is packed.
    """

    def __init__(self) -> None:
        self._key: UInt64 = np.empty(0, np.uint64)
        self._next, self._retained, self._start, self._size = (np.empty(0, np.int64) for _ in range(4))
        self._heap = np.empty(0, np.uint8)
        self._used = 0

    def __len__(self) -> int:
        return len(self._key)

    @property
    def retained(self) -> int:
        """The number of items retained by the backends of all groups."""
        return int(self._retained.sum())

    @property
    def keys(self) -> UInt64:
        """The groups, ascending."""
        return self._key

    def due(self, until: int) -> UInt64:
        """The groups with a moment to answer up to `until`, ascending."""
        return self._key[(self._next <= until) & (self._next != TIME_MAX)]

    def has(self, keys: UInt64) -> Array:
        """bool[n]: whether these groups are inactive."""
        return among(keys, self._key)

    def take(self, keys: UInt64) -> list[bytes]:
        """Remove the states of these groups, all of which are inactive, and return them."""
        places = self._places(keys)
        starts, stops = self._start[places], self._start[places] + self._size[places]
        states = [self._heap[start:stop].tobytes() for start, stop in zip(starts, stops, strict=True)]
        stay = np.ones(len(self._key), bool)
        stay[places] = False
        self._keep(stay)
        return states

    def put(self, groups: Sequence[tuple[int, int, int, bytes]]) -> None:
        """Add groups that are not inactive yet: key, next moment, retained and state of each."""
        if not groups:
            return
        keys, nexts, retained, states = zip(*sorted(groups, key=itemgetter(0)), strict=True)
        sizes = np.array([len(state) for state in states], np.int64)
        starts = self._used + np.cumsum(sizes) - sizes
        self._append(b"".join(states))
        key = np.array(keys, np.uint64)
        where = np.searchsorted(self._key, key)
        added: Iterable[Array] = (key, np.array(nexts, np.int64), np.array(retained, np.int64), starts, sizes)
        for name, values in zip(_COLUMNS, added, strict=True):
            setattr(self, f"_{name}", np.insert(getattr(self, f"_{name}"), where, values))

    def absorb(self, other: "PackedStates", keys: UInt64) -> None:
        """Take over another's states of these groups, none of which is here. The other is unchanged."""
        places = np.flatnonzero(among(other._key, keys))
        columns = (getattr(other, f"_{name}")[places].tolist() for name in _COLUMNS)
        view = other._heap.data
        self.put(
            [
                (key, following, retained, bytes(view[start : start + size]))
                for key, following, retained, start, size in zip(*columns, strict=True)
            ]
        )

    def dump_state(self) -> dict[str, Array]:
        """All groups as flat arrays, in canonical form."""
        self._pack()
        columns = {name: getattr(self, f"_{name}") for name in ("key", "next", "retained", "size")}
        return {**columns, "heap": self._heap[: self._used]}

    def load_state(self, state: Mapping[str, Array]) -> None:
        """Load the result of `dump_state`, without reading each group. Raises SnapshotError if it has gaps."""
        reader = StateReader(state)
        self._heap = reader.column("heap", np.uint8)
        self._key = reader.ascending("key", dtype=np.uint64, strictly=True)
        self._size = reader.sizes("size", len(self._key), len(self._heap))
        self._next = reader.column("next", np.int64, len(self._key))
        self._retained = reader.column("retained", np.int64, len(self._key), at_least=0, at_most=2**40)
        self._start = np.cumsum(self._size) - self._size
        self._used = len(self._heap)

    def check_next(self, latest: int) -> None:
        """Raise SnapshotError if a group's next moment is after the latest possible one."""
        if (self._next[self._next != TIME_MAX] > latest).any():
            raise SnapshotError("contradicts itself: a group is ahead of the watermark")

    def _check(self) -> None:
        """Raise AssertionError if two states overlap, or are outside of the heap."""
        assert (self._key[1:] > self._key[:-1]).all(), "groups must be ascending, each once"
        assert all(len(getattr(self, f"_{name}")) == len(self._key) for name in _COLUMNS), "a row is cut"
        order = np.argsort(self._start)
        stops = (self._start + self._size)[order]
        assert (self._start[order][1:] >= stops[:-1]).all(), "states overlap"
        assert not len(stops) or stops.max() <= self._used <= len(self._heap), "a state lies outside of the heap"

    def _places(self, keys: UInt64) -> Int64:
        return np.minimum(search_sorted(self._key, keys), len(self._key) - 1)

    def _keep(self, stay: Array) -> None:
        for name in _COLUMNS:
            setattr(self, f"_{name}", getattr(self, f"_{name}")[stay])
        if 2 * int(self._size.sum()) < self._used:
            self._pack()

    def _append(self, added: bytes) -> None:
        if not self._used:  # the heap is empty: nothing to copy
            self._heap, self._used = np.frombuffer(added, np.uint8), len(added)
            return
        used = self._used + len(added)
        if used > len(self._heap):
            room = np.empty(max(used, 2 * self._used), np.uint8)
            room[: self._used] = self._heap[: self._used]
            self._heap = room
        self._heap[self._used : used] = np.frombuffer(added, np.uint8)
        self._used = used

    def _pack(self) -> None:
        """Lay out the states without gaps, in the order of their groups."""
        starts = np.cumsum(self._size) - self._size
        if self._used == int(self._size.sum()) and (starts == self._start).all():
            return
        view = self._heap.data
        spans: Any = zip(self._start.tolist(), (self._start + self._size).tolist(), strict=True)
        self._heap = np.frombuffer(bytearray().join([view[start:stop] for start, stop in spans]), np.uint8)
        self._start, self._used = starts, len(self._heap)
