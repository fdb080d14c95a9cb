"""The processors of an operator: recently used ones are objects, all others are bytes until needed."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from copy import copy

import numpy as np

from skyband import snapshot
from skyband.arrays import TIME_MAX, Array, Int64, UInt64
from skyband.errors import SnapshotError
from skyband.groups.processor import GroupProcessor
from skyband.kernels.sorted_arrays import among, distinct
from skyband.operator.inactive_group_states import PackedStates

MOST_ACTIVE = 20_000
"""The most processors kept as objects. An inactive one is a few hundred bytes."""

FEW_ACTIVE, MOST_BYTES = 1000, 1 << 28
"""More than FEW_ACTIVE are kept only while they take at most MOST_BYTES."""

OF_PYTHON = 10_000
"""Bytes of a processor besides its backends."""

_AT_ONCE = 4096
"""Groups whose bytes are taken out, and put back, together: each time copies a few numbers of all groups."""

_A_TURN = 256
"""Groups that have a turn together, and so are active together, however many bytes they take."""


class ProcessorCache:
    """All groups with a processor. An inactive one costs nothing until it has a row or an answer."""

    def __init__(self, make: Callable[[int], GroupProcessor]) -> None:
        """make: creates a new processor for a group's key."""
        self._make = make
        self._active: OrderedDict[int, GroupProcessor] = OrderedDict()
        """Active processors, the most recently used last."""
        self._next: dict[int, int] = {}
        self._nbytes: dict[int, int] = {}
        self._retained: dict[int, int] = {}
        """Values of active processors after their last turn; `retained` and bytes only once requested."""
        self._not_asked: set[int] = set()
        """Active processors whose bytes were not requested since their last turn."""
        self._known_bytes = 0
        self._inactive = PackedStates()

    def __len__(self) -> int:
        return len(self._active) + len(self._inactive)

    @property
    def retained(self) -> int:
        """The number of items retained by all their backends."""
        for key in self._active.keys() - self._retained.keys():
            self._retained[key] = self._active[key].retained
        return self._inactive.retained + sum(self._retained.values())

    @property
    def keys(self) -> UInt64:
        """The groups with a processor, ascending."""
        return distinct(self._inactive.keys, np.fromiter(self._active, np.uint64, len(self._active)))

    def has(self, keys: UInt64) -> Array:
        """bool[n]: whether these groups have a processor."""
        return self._inactive.has(keys) | among(keys, np.sort(np.fromiter(self._active, np.uint64, len(self._active))))

    def due(self, until: int) -> UInt64:
        """The groups with a moment to answer up to `until`, ascending."""
        active = [key for key, moment in self._next.items() if moment <= until and moment != TIME_MAX]
        return distinct(self._inactive.due(until), np.array(active, np.uint64))

    def begin(self, key: int, processor: GroupProcessor) -> None:
        """Give this processor to a group that has none."""
        self._active[key] = processor
        self._had_a_turn(key, processor)

    def each(self, keys: UInt64) -> Iterator[tuple[int, GroupProcessor]]:
        """The processors of these groups, new where there are none. See `some`."""
        for group_keys, processors in self.some(keys):
            yield from zip(group_keys, processors, strict=True)

    def some(self, keys: UInt64) -> Iterator[tuple[list[int], list[GroupProcessor]]]:
        """The processors of these groups, new where there are none, in batches for a turn together.

        Those that are empty afterwards are dropped.
        """
        turn = set(keys.tolist())
        for key in [key for key in self._active if key in turn]:
            self._active.move_to_end(key)
        for start in range(0, len(keys), _AT_ONCE):
            activated = keys[start : start + _AT_ONCE]
            inactive = activated[self._inactive.has(activated)]
            states = dict(zip(inactive.tolist(), self._inactive.take(inactive), strict=True))
            resting: list[_Resting] = []
            for begin in range(0, len(activated), _A_TURN):
                group_keys = activated[begin : begin + _A_TURN].tolist()
                fresh = [key for key in group_keys if key not in self._active]
                for key in fresh:
                    self._active[key] = self._activated(key, states.pop(key)) if key in states else self._make(key)
                processors = [self._active[key] for key in group_keys]
                yield group_keys, processors
                self._had_turns(group_keys, processors)
                resting += self._resting_after(group_keys, fresh, turn)
            self._inactive.put(resting)

    def _had_turns(self, keys: list[int], processors: list[GroupProcessor]) -> None:
        for key, processor in zip(keys, processors, strict=True):
            if processor.empty:
                self._leave(key)
            else:
                self._active.move_to_end(key)
                self._had_a_turn(key, processor)

    def _resting_after(self, keys: list[int], fresh: list[int], turn: set[int]) -> "list[_Resting]":
        """The processors to make inactive after a turn of these groups; turn: all groups that have one now.

        If more groups have a turn than may be active, those already active stay: otherwise none would be at its turn.
        """
        resting = []
        latest = [key for key in (*keys, *fresh) if key in self._active]
        while self._too_many():
            used_longest_ago = next(iter(self._active))
            if used_longest_ago in turn:
                while latest and latest[-1] not in self._active:
                    latest.pop()
                if not latest:
                    break
                used_longest_ago = latest.pop()
            resting.append(_at_rest(used_longest_ago, self._leave(used_longest_ago)))
        return resting

    def rest(self) -> None:
        """Make the least recently used groups inactive if too many are active."""
        resting = []
        while self._too_many():
            key = next(iter(self._active))
            resting.append(_at_rest(key, self._leave(key)))
        self._inactive.put(resting)

    def _too_many(self) -> bool:
        many = len(self._active)
        return many > MOST_ACTIVE or (many > FEW_ACTIVE and self._all_bytes() > MOST_BYTES)

    def _all_bytes(self) -> int:
        """Bytes of active processors. Each request takes microseconds, which a turn of few groups avoids."""
        for key in self._not_asked:
            nbytes = self._active[key].nbytes + OF_PYTHON
            self._known_bytes += nbytes - self._nbytes.get(key, 0)
            self._nbytes[key] = nbytes
        self._not_asked.clear()
        return self._known_bytes

    def _had_a_turn(self, key: int, processor: GroupProcessor) -> None:
        self._next[key] = processor.next_at
        self._not_asked.add(key)
        self._retained.pop(key, None)

    def _leave(self, key: int) -> GroupProcessor:
        """Remove a processor from the active ones."""
        self._known_bytes -= self._nbytes.pop(key, 0)
        self._not_asked.discard(key)
        self._next.pop(key, None)
        self._retained.pop(key, None)
        return self._active.pop(key)

    def absorb(self, other: "ProcessorCache", keys: UInt64) -> None:
        """Take over another's processors of these groups, none of which has one here."""
        self._inactive.absorb(other._packed(), keys)

    def merge(self, other: "ProcessorCache") -> None:
        """Merge the processors of groups in both. Another shard had the other rows of each group."""
        both = other.keys[self.has(other.keys)]
        self.absorb(other, other.keys[~among(other.keys, both)])
        for (_, processor), (_, other_part) in zip(self.each(both), other.each(both), strict=True):
            processor.merge(other_part)

    def dump_state(self) -> dict[str, Array]:
        """All processors as flat arrays, in the same form whichever are active; unchanged by this call."""
        return self._packed().dump_state()

    def copy(self) -> "ProcessorCache":
        """A copy with the same processors, independent of this one."""
        twin = copy(self)
        twin._active, twin._inactive = self._active.copy(), copy(self._inactive)
        twin._next, twin._nbytes, twin._retained = dict(self._next), dict(self._nbytes), dict(self._retained)
        twin._not_asked = set(self._not_asked)
        return twin

    def _packed(self) -> PackedStates:
        packed = copy(self._inactive)
        packed.put([_at_rest(key, processor) for key, processor in self._active.items()])
        return packed

    def sizes(self) -> tuple[UInt64, Int64, Int64]:
        """All groups with a processor, ascending: items retained and bytes of state."""
        state = self.dump_state()
        return state["key"], state["retained"], state["size"]

    def load_state(self, state: Mapping[str, Array], changed: bool) -> None:
        """Load the result of `dump_state`, inactive. changed: the query's parts have changed, so moments may differ.

        One group is activated immediately, to show whether their states fit the installed version.
        """
        for key in list(self._active):
            self._leave(key)
        self._inactive.load_state(state)
        for _, processor in self.each(self._inactive.keys if changed else self._inactive.keys[:1]):
            self._inactive.check_next(processor.latest_next_at)
            processor.take_dropped()

    def _check(self) -> None:
        """Raise AssertionError if a processor is both active and inactive, or its values are missing."""
        active = self._active.keys()
        assert active == self._next.keys(), "each active processor has told when it is due"
        assert active == self._nbytes.keys() | self._not_asked, "each active processor has told its bytes, or will"
        assert self._retained.keys() <= active, "items are counted of processors that have gone"
        assert self._known_bytes == sum(self._nbytes.values()), "bytes must add up"
        assert len(self.keys) == len(self), "a processor is active and inactive"
        moments = {key: processor.next_at for key, processor in self._active.items()}
        assert self._next == moments, "the next moment of a processor is not known"
        self._inactive._check()

    def _activated(self, key: int, state: bytes) -> GroupProcessor:
        processor = self._make(key)
        try:
            processor.load_state(*snapshot.unpack(state))
        except SnapshotError:
            raise
        except Exception as error:  # a header of another shape, or a query's own checks
            raise SnapshotError(f"a group's state cannot be read: {type(error).__name__}: {error}") from error
        return processor


_Resting = tuple[int, int, int, bytes]


def _at_rest(key: int, processor: GroupProcessor) -> _Resting:
    return key, processor.next_at, processor.retained, snapshot.pack(*processor.dump_state())
