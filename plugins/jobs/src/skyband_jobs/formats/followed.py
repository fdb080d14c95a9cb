"""A log or table that a stream follows in this process: it names the next rows, and reads them by that name again."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skyband_jobs.formats.table_rows import TableRows


class Followed(ABC):
    """What `Format.follow` returns, for a format that can "follow". A stream writes a part's name down before it reads
    its rows; after a kill it reads them again by that name, with the rows that the first reading had.
    """

    @abstractmethod
    def resume(self, offset: str) -> None:
        """Continue at an `offset`, of this engine or of Spark. Raises SnapshotError where it cannot be read."""

    def stop_at_end(self) -> None:  # noqa: B027 - one that does so reads until it has caught up
        """Read only to the end that there is when reading starts, for a stream that then ends. Called before it."""

    @abstractmethod
    def next_part(self, most: int) -> Any | None:
        """Name the next rows, `most` of them at the most, by a value of JSON; None where there are none now.

        It must not wait longer than some milliseconds.
        """

    @property
    @abstractmethod
    def caught_up(self) -> bool:
        """Whether the last call of `next_part` found the end of what there is: no rows are on their way."""

    @property
    def lag(self) -> Mapping[str, int]:
        """Rows that wait, by partition or the like, where that is known at once."""
        return {}

    @abstractmethod
    def rows(self, part: Any) -> "TableRows":
        """The rows of a part. Reading them raises EngineError where they are gone."""

    @abstractmethod
    def took(self, part: Any) -> None:
        """Move past a part, which is the next one."""

    @property
    @abstractmethod
    def offset(self) -> str:
        """Where it is, in the notation of Spark's source of this format, so that a stream on Spark continues there."""

    def close(self) -> None:
        """Release what it holds."""
        return
