"""A crowd: the small groups of a query in shared columns, all answered by one call."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from skyband.arrays import Array, UInt64
from skyband.queries.lane import Lane, Rows


class Outgrown(NamedTuple):
    """A group that became too large for its crowd: its own lane as of some row, and the rows from there on."""

    key: int
    lane: Lane
    rows: Rows


class Answered(NamedTuple):
    """What a crowd answered, row by row with the group it is of, and the groups that left it: emptied or outgrown."""

    answers: pa.RecordBatch | None
    owners: UInt64
    emptied: UInt64
    outgrown: Sequence[Outgrown]


class Crowd(ABC):
    """Many groups that are small: each gives the answers that a lane of its own would, row for row.

    Which groups are in the crowd follows from their rows alone, not from how the input was cut, so that the state of
    an operator does too. A group begins here and leaves when it has grown, for good until its windows are empty.
    """

    @abstractmethod
    def add(self, keys: UInt64, rows: Rows) -> None:
        """Take in rows of these groups (uint64[n], one for each row), in time order within each group.

        A group that is not here begins; none of them has a lane.
        """

    @abstractmethod
    def advance(self, until: int, settle: bool = False) -> Answered:
        """Answer every moment at most `until` not answered yet; all rows so far are before it.

        settle: bring the state into the one form that its rows demand, too.
        """

    @abstractmethod
    def end(self, latest: int) -> int:
        """As `Lane.end`."""

    @abstractmethod
    def has(self, keys: UInt64) -> Array:
        """bool[n]: which of these groups are here."""

    @property
    @abstractmethod
    def retained(self) -> int:
        """Items held."""

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """Flat arrays, from which `load` makes an equal crowd. It has just settled."""

    @abstractmethod
    def load(self, arrays: Mapping[str, Array]) -> None:
        """Take over what `state` gave. Called on a fresh crowd."""
