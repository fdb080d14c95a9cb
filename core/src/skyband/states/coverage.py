"""What a state that left a query answers: until when, since when, in which unit. It stands in the state's header."""

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
    """The rows in [since, at) that a state counts, and no others before `at` that are left out."""

    at: int
    """Microseconds since the epoch, or rows."""
    since: int
    rows: bool = False
    changed: bool = False
    """Whether the table holds a group's state only where it changed: an older one is then as good as of a later `at`,
    where it is its group's newest."""

    def to_header(self) -> dict[str, Any]:
        """As the snapshot's header holds it."""
        return {"at": self.at, "since": self.since, "rows": self.rows, "changed": self.changed}

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> "Coverage | None":
        """None for a snapshot that `Backend.snapshot` made. Raises SnapshotError where it contradicts itself."""
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
        """A moment as a reader of messages wants it."""
        return f"row {moment:,}" if self.rows else instant(moment).isoformat(" ", "auto")

    @property
    def length(self) -> str:
        """The longest window, as a user writes it."""
        return length_text(self.at - self.since, self.rows)

    def check(self, name: str, since: int) -> int:
        """`since`, if the state answers from then on. Raises InputError that says from when it does."""
        if since < self.since:
            message = f"{self.show(since)} is before {self.show(self.since)}, from when on this state answers"
            raise InputError(name, f"{message}: ask for at most the last {self.length}")
        if since > self.at:
            message = f"{self.show(since)} is after {self.show(self.at)}, the moment of this state"
            raise InputError(name, f"{message}: take a later state")
        return since
