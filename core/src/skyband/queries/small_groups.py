"""The small groups of a query in shared columns, all answered by one call."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from skyband.arrays import Array, UInt64
from skyband.columns.rows import Rows
from skyband.queries.processor import GroupProcessor


class Promoted(NamedTuple):
    """A group that became too large: its own processor as of some row, and the rows from there on."""

    key: int
    processor: GroupProcessor
    rows: Rows


class SmallGroupAnswers(NamedTuple):
    """Answers, row by row with the group each is of, and the groups that are small no longer: emptied or promoted."""

    answers: pa.RecordBatch | None
    owners: UInt64
    emptied: UInt64
    promoted: Sequence[Promoted]


class SmallGroups(ABC):
    """Many groups that are small: each gives the answers that a processor of its own would, row for row.

    Which groups are small follows from their rows alone, not from how the input was cut, so that the state of an
    operator does too. A group begins here and leaves when it has grown, for good until its windows are empty.
    """

    @abstractmethod
    def add(self, keys: UInt64, rows: Rows) -> None:
        """Take in rows of these groups (uint64[n], one for each row), in time order within each group.

        A group that is not here begins; none of them has a processor.
        """

    @abstractmethod
    def advance(self, until: int, settle: bool = False) -> SmallGroupAnswers:
        """Answer every moment at most `until` not answered yet; all rows so far are before it.

        settle: bring the state into the one form that its rows demand, too.
        """

    @abstractmethod
    def end(self, latest: int) -> int:
        """As `GroupProcessor.end`."""

    @property
    @abstractmethod
    def keys(self) -> UInt64:
        """The groups that are here, ascending."""

    @abstractmethod
    def has(self, keys: UInt64) -> Array:
        """bool[n]: which of these groups are here."""

    @property
    @abstractmethod
    def retained(self) -> int:
        """Items held."""

    @abstractmethod
    def dump_state(self) -> dict[str, Array]:
        """Flat arrays, from which `load_state` makes an equal one. It has just settled."""

    @abstractmethod
    def load_state(self, arrays: Mapping[str, Array]) -> None:
        """Take over what `dump_state` gave. Called on a fresh one. Raises SnapshotError where it contradicts itself."""
