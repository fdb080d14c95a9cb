"""The window that a state of a query covers: until when, since when, in which unit. Stored in the state's header."""

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from skyband.arrays import TIME_MAX, TIME_MIN
from skyband.config.durations import length_text
from skyband.errors import InputError, SnapshotError
from skyband.instants import instant

HEADER = "covers"


@frozen
class Coverage:
    """The rows in [since, at): a state counts exactly these."""

    at: int
    """Microseconds since the epoch, or a row's number."""
    since: int
    rows: bool = False
    changed: bool = False
    """Whether the table stores a group's state only when it changes: a group's newest state then holds for any later
    `at` too."""

    def to_header(self) -> dict[str, Any]:
        """The entry in the snapshot's header."""
        return {"at": self.at, "since": self.since, "rows": self.rows, "changed": self.changed}

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> "Coverage | None":
        """None for a snapshot that `Backend.snapshot` made. Raises SnapshotError if it contradicts itself."""
        entry = header.get(HEADER)
        if entry is None:
            return None
        try:
            coverage = cls(entry["at"], entry["since"], entry["rows"], entry["changed"])
        except (KeyError, TypeError) as error:
            raise SnapshotError(f"contradicts itself: it cannot cover {entry!r:.200}") from error
        times = all(type(time) is int and TIME_MIN <= time <= TIME_MAX for time in (coverage.at, coverage.since))
        if not times or coverage.since > coverage.at or {type(coverage.rows), type(coverage.changed)} != {bool}:
            raise SnapshotError(f"contradicts itself: it cannot cover {entry!r:.200}")
        return coverage

    def show(self, moment: int) -> str:
        """A moment as text for messages."""
        return f"row {moment:,}" if self.rows else instant(moment).isoformat(" ", "auto")

    @property
    def length(self) -> str:
        """The longest window, as a user writes it."""
        return length_text(self.at - self.since, self.rows)

    def check(self, name: str, since: int) -> int:
        """Returns `since` if the state answers from then on; raises InputError with the earliest moment otherwise."""
        if since < self.since:
            message = f"{self.show(since)} is before {self.show(self.since)}, where this state begins"
            raise InputError(name, f"{message}: ask for at most the last {self.length}")
        if since > self.at:
            message = f"{self.show(since)} is after {self.show(self.at)}, the moment of this state"
            raise InputError(name, f"{message}: take a later state")
        return since
