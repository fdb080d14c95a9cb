"""SmallGroups: the interface of small groups in shared columns, all answered by one call."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from skyband.arrays import TIME_MIN, Array, Int64, UInt64
from skyband.columns.rows import Rows
from skyband.errors import PluginError
from skyband.groups.processor import GroupProcessor

if TYPE_CHECKING:
    from skyband.groups.broadcast_state import BroadcastState

_NO_KEYS = np.empty(0, np.uint64)


class Promoted(NamedTuple):
    """A group that became too large: its new processor, up to some row, and the remaining rows of its session."""

    key: int
    processor: GroupProcessor
    rows: Rows


class SmallGroupAnswers(NamedTuple):
    """Answers with the group of each row, and the groups that are no longer small: emptied or promoted."""

    answers: pa.RecordBatch | None
    owners: UInt64
    emptied: UInt64
    promoted: Sequence[Promoted]
    """In time order within a group. If its windows become empty, it begins here again with its next rows."""


class SmallGroups(ABC):
    """Many small groups: each gives the answers that its own processor would, row for row.

    Which groups are small depends only on their rows, not on batches, so an operator's state does too. A group begins
    here and leaves when it has grown, until its windows are empty. `skyband.groups.small_groups.table` has the shared
    part of such groups.
    """

    def start_from(self, since: Mapping[str, int]) -> None:  # noqa: B027 - most queries have no parts
        """As `GroupProcessor.start_from`."""

    def listen(self, broadcast: "BroadcastState") -> None:  # noqa: ARG002
        """As `GroupProcessor.listen`, for all groups: `broadcast` says which moments are due, and for which groups."""
        raise PluginError(f"{type(self).__name__} does not support a second table")

    @abstractmethod
    def add(self, keys: UInt64, rows: Rows) -> None:
        """Add rows of these groups (uint64[n], one for each row), in time order within each group.

        A group that is not here begins; none of them has a processor.
        """

    @abstractmethod
    def advance(self, until: int) -> SmallGroupAnswers:
        """Answer every moment up to `until` not answered yet; all rows so far are before it."""

    @abstractmethod
    def finish(self, latest: int) -> SmallGroupAnswers:
        """Answer up to the first moment after `latest`, the last time of any group."""

    def canonical(self) -> "tuple[SmallGroups, SmallGroupAnswers]":
        """The same groups in canonical form for the rows so far, and the groups that are not small in it.

        Called when every moment due is answered, before `dump_state`. This object is unchanged: if rows wait, a copy
        takes them in.
        """
        return self, SmallGroupAnswers(None, _NO_KEYS, _NO_KEYS, ())

    @property
    @abstractmethod
    def keys(self) -> UInt64:
        """The groups here, ascending."""

    @property
    @abstractmethod
    def retained(self) -> int:
        """The number of items held."""

    @property
    def until(self) -> int:
        """The time up to which these groups are answered; TIME_MIN if unknown."""
        return TIME_MIN

    def sizes(self) -> tuple[UInt64, Int64, Int64]:
        """The groups here, ascending: items and bytes of each, without waiting rows."""
        nothing = np.empty(0, np.int64)
        return _NO_KEYS, nothing, nothing

    def take_dropped(self) -> Mapping[str, int]:
        """As `GroupProcessor.take_dropped`."""
        return {}

    def absorb(self, other: "SmallGroups", keys: UInt64) -> None:  # noqa: ARG002
        """Take over another's state of these groups, none of which is here. Both were just loaded."""
        raise PluginError(f"{type(self).__name__} cannot move groups between shards: keep `shards` unchanged")

    @abstractmethod
    def dump_state(self) -> dict[str, Array]:
        """Flat arrays for `load_state`, of the `canonical` form."""

    @abstractmethod
    def load_state(self, arrays: Mapping[str, Array]) -> None:
        """Load the result of `dump_state` into a new one. Raises SnapshotError if it contradicts itself."""

    def _check(self) -> None:  # noqa: B027 - those of an author need none
        """Raise AssertionError if the state contradicts itself; tests call it after each step."""
