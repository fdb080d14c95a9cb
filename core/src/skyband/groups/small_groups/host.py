"""The small groups of a query in shared columns, all answered by one call."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from skyband.arrays import TIME_MIN, Array, Int64, UInt64
from skyband.columns.rows import Rows
from skyband.errors import PluginError
from skyband.groups.broadcast_state import BroadcastState
from skyband.groups.processor import GroupProcessor

_NOBODY = np.empty(0, np.uint64)


class Promoted(NamedTuple):
    """A group that became too large: its own processor as of some row, and the rows of its session from there on."""

    key: int
    processor: GroupProcessor
    rows: Rows


class SmallGroupAnswers(NamedTuple):
    """Answers, row by row with the group each is of, and the groups that are small no longer: emptied or promoted."""

    answers: pa.RecordBatch | None
    owners: UInt64
    emptied: UInt64
    promoted: Sequence[Promoted]
    """In time order within a group. One whose windows run empty begins here again with its next rows."""


class SmallGroups(ABC):
    """Many groups that are small: each gives the answers that a processor of its own would, row for row.

    Which groups are small follows from their rows alone, not from how the input was cut, so that the state of an
    operator does too. A group begins here and leaves when it has grown, until its windows are empty.
    `skyband.groups.small_groups.table` has what such groups share.
    """

    def start_from(self, since: Mapping[str, int]) -> None:  # noqa: B027 - most queries have no parts
        """As `GroupProcessor.start_from`."""

    def listen(self, broadcast: BroadcastState) -> None:  # noqa: ARG002
        """As `GroupProcessor.listen`, of all groups: which moments are due, and for which groups, `broadcast` says."""
        raise PluginError(f"{type(self).__name__} answers to no second table")

    @abstractmethod
    def add(self, keys: UInt64, rows: Rows) -> None:
        """Take in rows of these groups (uint64[n], one for each row), in time order within each group.

        A group that is not here begins; none of them has a processor.
        """

    @abstractmethod
    def advance(self, until: int) -> SmallGroupAnswers:
        """Answer every moment at most `until` not answered yet; all rows so far are before it."""

    @abstractmethod
    def finish(self, latest: int) -> SmallGroupAnswers:
        """Answer up to the first moment after `latest`, the last time of any group."""

    def canonical(self) -> "tuple[SmallGroups, SmallGroupAnswers]":
        """The same groups in the one form that the rows so far demand, and those that are not small in it.

        Called when every moment due is answered, before `dump_state`. These groups stay as they are: where rows wait,
        it is a copy that takes them in.
        """
        return self, SmallGroupAnswers(None, _NOBODY, _NOBODY, ())

    @property
    @abstractmethod
    def keys(self) -> UInt64:
        """The groups that are here, ascending."""

    @property
    @abstractmethod
    def retained(self) -> int:
        """Items held."""

    @property
    def until(self) -> int:
        """Up to where these groups are answered; TIME_MIN where that is told of no moment."""
        return TIME_MIN

    def sizes(self) -> tuple[UInt64, Int64, Int64]:
        """The groups that are here, ascending: items and bytes of each, without rows that wait."""
        nothing = np.empty(0, np.int64)
        return _NOBODY, nothing, nothing

    def take_dropped(self) -> Mapping[str, int]:
        """As `GroupProcessor.take_dropped`."""
        return {}

    def absorb(self, other: "SmallGroups", keys: UInt64) -> None:  # noqa: ARG002
        """Take over what another of the same query holds of these groups, none of which is here. Both are as loaded."""
        raise PluginError(f"{type(self).__name__} cannot move groups between shards: keep `shards` as it was")

    @abstractmethod
    def dump_state(self) -> dict[str, Array]:
        """Flat arrays, from which `load_state` makes an equal one, of the `canonical` form."""

    @abstractmethod
    def load_state(self, arrays: Mapping[str, Array]) -> None:
        """Take over what `dump_state` gave. Called on a fresh one. Raises SnapshotError where it contradicts itself."""

    def _check(self) -> None:  # noqa: B027 - those of an author need none
        """Raise AssertionError where what is held contradicts itself: for tests, which call it after each step."""
