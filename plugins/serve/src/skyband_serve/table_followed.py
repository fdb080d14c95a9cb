"""Follows a log or table of a plugin's format, with the job's `where` and `select`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen
from skyband_jobs.files.row_location import PlacedBatches
from skyband_jobs.files.table_source import Table
from skyband_jobs.formats import Followed
from skyband_jobs.running.savepoint import Position, source_facts
from skyband_jobs.tables.model import Source

from skyband_serve.source import FollowedSource

if TYPE_CHECKING:
    from skyband.operator.bad_rows import RefuseUnreadable

_ROWS_A_TURN = 20_000
"""Enough for a turn to cost little more than its rows, and few enough for the memory that they take meanwhile."""


@frozen(eq=False)
class FollowedTable(FollowedSource):
    """A part is what its format names so."""

    source: Source
    table: Table
    """How to read its rows."""
    followed: Followed

    def resume(self, position: Position) -> None:
        self.followed.resume(position.offset)

    def stop_at_end(self) -> None:
        self.followed.stop_at_end()

    def next_part(self) -> Any | None:
        return self.followed.next_part(_ROWS_A_TURN)

    @property
    def caught_up(self) -> bool:
        return self.followed.caught_up

    @property
    def is_behind(self) -> bool:
        if any(name.lower().endswith("pertrigger") for name in self.source.options):
            return False
        return sum(self.lag.values()) > _ROWS_A_TURN if self.lag else not self.caught_up

    @property
    def lag(self) -> Mapping[str, int]:
        return self.followed.lag

    def batches(self, part: Any, columns: Sequence[str] | None, refuse: "RefuseUnreadable | None") -> PlacedBatches:
        table = evolve(self.table, rows=self.followed.rows(part))
        return table.batches(table.schema.names if columns is None else columns, refuse)

    def took(self, part: Any) -> None:
        self.followed.took(part)

    def position(self, log: Path) -> Position:  # noqa: ARG002 - only files have a log
        return Position(source_facts(self.source), self.followed.offset, None)

    @property
    def place(self) -> str:
        return self.followed.offset

    def close(self) -> None:
        self.followed.close()
