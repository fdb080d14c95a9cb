"""The lanes of an operator: the groups used last stay as they are, all others sleep as bytes."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from copy import copy

import numpy as np

from skyband import snapshot
from skyband.arrays import Array, UInt64
from skyband.ascending import among, distinct
from skyband.asleep import Asleep
from skyband.queries.lane import NEVER, Lane

MOST_AWAKE = 1000
"""Lanes awake at once. One holds 10 to 200 KB of Python objects and spare room; asleep, a few hundred bytes."""

_AT_ONCE = 250
"""Lanes woken or put to sleep together."""


class Lanes:
    """Every group that has a lane, awake or asleep. A group asleep costs nothing until it has a row or an answer."""

    def __init__(self, make: Callable[[], Lane]) -> None:
        self._make = make
        self._awake: OrderedDict[int, Lane] = OrderedDict()
        self._asleep = Asleep()

    def __len__(self) -> int:
        return len(self._awake) + len(self._asleep)

    @property
    def retained(self) -> int:
        """Items retained by all their backends."""
        return self._asleep.retained + sum(lane.retained for lane in self._awake.values())

    def has(self, keys: UInt64) -> Array:
        """bool[n]: which of these groups have a lane."""
        return self._asleep.has(keys) | among(keys, np.sort(np.fromiter(self._awake, np.uint64, len(self._awake))))

    def due(self, until: int) -> UInt64:
        """The groups with a moment to answer at most `until`, ascending."""
        awake = [key for key, lane in self._awake.items() if lane.next_at <= until and lane.next_at != NEVER]
        return distinct(self._asleep.due(until), np.array(awake, np.uint64))

    def begin(self, key: int, lane: Lane) -> None:
        """Give a group that has none this lane."""
        self._awake[key] = lane

    def each(self, keys: UInt64) -> Iterator[tuple[int, Lane]]:
        """The lanes of these groups, fresh ones where they have none; those found empty afterwards are let go of."""
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            asleep = some[self._asleep.has(some)]
            for key, state in zip(asleep.tolist(), self._asleep.take(asleep), strict=True):
                self._awake[key] = self._woken(state)
            for key in some.tolist():
                lane = self._awake.pop(key, None)
                self._awake[key] = lane = self._make() if lane is None else lane
                yield key, lane
                if lane.empty:
                    del self._awake[key]
            self.rest()

    def rest(self) -> None:
        """Put to sleep the groups that were used longest ago, where too many are awake."""
        if len(self._awake) > MOST_AWAKE:
            many = len(self._awake) - MOST_AWAKE
            self._asleep.put([_state(*self._awake.popitem(last=False)) for _ in range(many)])

    def state(self) -> dict[str, Array]:
        """All lanes as flat arrays, in one form whichever are awake. They stay as they are."""
        everyone = copy(self._asleep)
        everyone.put([_state(key, lane) for key, lane in self._awake.items()])
        return everyone.state()

    def load(self, state: Mapping[str, Array], changed: bool) -> None:
        """Take over a `state`, asleep. changed: the query's parts have, so that other moments may be due.

        One group is woken at once: it tells whether their states fit what is installed here.
        """
        self._awake.clear()
        self._asleep.load(state)
        for _, lane in self.each(self._asleep.keys if changed else self._asleep.keys[:1]):
            lane.take_left_out()

    def _woken(self, state: bytes) -> Lane:
        lane = self._make()
        lane.load(*snapshot.unpack(state))
        return lane


def _state(key: int, lane: Lane) -> tuple[int, int, int, bytes]:
    return key, lane.next_at, lane.retained, snapshot.pack(*lane.state())
