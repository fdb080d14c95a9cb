"""A source that a stream follows: it is read in parts that are named first, and can be read again by name."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skyband_jobs.files.row_location import PlacedBatches
from skyband_jobs.running.savepoint import Position

if TYPE_CHECKING:
    from skyband.operator.bad_rows import RefuseUnreadable


class FollowedSource(ABC):
    """The rows of a source as they arrive. `next_part` names some, `took` moves past them."""

    @abstractmethod
    def resume(self, position: Position) -> None:
        """Continue where a savepoint stopped. Raises SnapshotError where the position cannot be read."""

    @abstractmethod
    def stop_at_end(self) -> None:
        """Read only to the end that there is when reading starts, also where more arrives meanwhile."""

    @abstractmethod
    def next_part(self) -> Any | None:
        """Name the next rows as a value of JSON; None where there are none now. The same name gives the same rows."""

    @abstractmethod
    def batches(self, part: Any, columns: Sequence[str] | None, refuse: "RefuseUnreadable | None") -> PlacedBatches:
        """The rows of a part, with these columns, or all. refuse: takes rows that cannot be read, instead of an error.

        Raises EngineError where they are gone or have changed since they were named.
        """

    @abstractmethod
    def took(self, part: Any) -> None:
        """Move past a part, which is the next one."""

    @property
    def caught_up(self) -> bool:
        """Whether the last call of `next_part` found the end of what there is."""
        return True

    @property
    def is_behind(self) -> bool:
        """Whether more waits than one turn takes: then the next turn does not wait for the trigger.

        A limit in the job's options, such as `maxFilesPerTrigger`, is for each trigger.
        """
        return False

    @property
    def lag(self) -> Mapping[str, int]:
        """Rows that wait, by partition, where that is known."""
        return {}

    @abstractmethod
    def position(self, log: Path) -> Position:
        """Where it is now, in Spark's notation; `log`: a folder for Spark's log of files, where it has one."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is now, for people."""

    @property
    def second(self) -> "FollowedSource | None":
        """The other one, if it is two in one: each has its own position."""
        return None

    def close(self) -> None:
        """Release what it holds."""
        return
