"""Small groups of a query that answers each row as it arrives, over windows of tuples; it waits for no moment."""

from abc import abstractmethod

import numpy as np

from skyband.arrays import Array, Int64, UInt64
from skyband.columns.rows import Rows
from skyband.errors import PluginError
from skyband.groups.small_groups.entries import SmallGroupEntries
from skyband.groups.small_groups.host import SmallGroupAnswers, SmallGroups
from skyband.kernels.sorted_arrays import distinct

NO_KEYS = np.empty(0, np.uint64)
_NO_ANSWERS = SmallGroupAnswers(None, NO_KEYS, NO_KEYS, ())


class SmallGroupsPerRow(SmallGroups):
    """Answers rows when they are taken in. No group is ever empty: a group leaves when it has grown."""

    def __init__(self, entries: SmallGroupEntries) -> None:
        self._entries = entries
        """The tuples in the windows of each group."""
        self._waiting: list[tuple[UInt64, Rows]] = []

    @abstractmethod
    def take(self, keys: UInt64, starts: Int64, stops: Int64, rows: Rows) -> SmallGroupAnswers:
        """Take in the rows starts[i]..stops[i] of each of these groups, which are ascending."""

    @property
    def keys(self) -> UInt64:
        return distinct(self._entries.key, *(keys for keys, _ in self._waiting))

    @property
    def retained(self) -> int:
        return self._entries.entries + sum(len(rows) for _, rows in self._waiting)

    def add(self, keys: UInt64, rows: Rows) -> None:
        if len(rows):
            self._waiting.append((keys, rows))

    def advance(self, until: int) -> SmallGroupAnswers:  # noqa: ARG002 - it waits for no moment
        return self._take_waiting()

    def finish(self, latest: int) -> SmallGroupAnswers:  # noqa: ARG002 - as above
        return self._take_waiting()

    def _take_waiting(self) -> SmallGroupAnswers:
        if not self._waiting:
            return _NO_ANSWERS
        keys, rows = self._waiting[0]
        if len(self._waiting) > 1:
            keys = np.concatenate([keys for keys, _ in self._waiting])
            order = np.argsort(keys, kind="stable")
            keys, rows = keys[order], Rows.joined([rows for _, rows in self._waiting]).take(order)
        self._waiting = []
        starts = np.append(0, np.flatnonzero(keys[1:] != keys[:-1]) + 1)
        return self.take(keys[starts], starts, np.append(starts[1:], len(keys)), rows)

    def sizes(self) -> tuple[UInt64, Int64, Int64]:
        return self._entries.sizes()

    def absorb(self, other: SmallGroups, keys: UInt64) -> None:
        if type(other) is not type(self) or self._waiting or other._waiting:
            raise PluginError("small groups can be taken over only from groups of the same class, both just loaded")
        self._entries.absorb(other._entries, keys)

    def dump_state(self) -> dict[str, Array]:
        return self._entries.dump_state()

    def _check(self) -> None:
        """Raise AssertionError if its entries contradict one another."""
        self._entries._check()
