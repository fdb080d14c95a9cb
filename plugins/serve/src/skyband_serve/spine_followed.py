"""Follows the rows of a source and the moments of its spine, each with its own position, as one source."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen
from skyband_jobs.job.spine_rows import Union
from skyband_jobs.running.savepoint import Position

from skyband_serve.source import FollowedSource

if TYPE_CHECKING:
    from skyband.operator.bad_rows import RefuseUnreadable


@frozen(eq=False)
class FollowedSpine(FollowedSource):
    """A part is a list of a part of the rows and one of the moments, each None where there is none now."""

    rows: FollowedSource
    spine: FollowedSource
    union: Union

    @property
    def _both(self) -> tuple[FollowedSource, FollowedSource]:
        return self.rows, self.spine

    def resume(self, position: Position) -> None:
        self.rows.resume(position)

    def stop_at_end(self) -> None:
        for each in self._both:
            each.stop_at_end()

    def next_part(self) -> Any | None:
        parts = [each.next_part() for each in self._both]
        return None if parts == [None, None] else parts

    @property
    def caught_up(self) -> bool:
        return all(each.caught_up for each in self._both)

    @property
    def is_behind(self) -> bool:
        return any(each.is_behind for each in self._both)

    @property
    def lag(self) -> Mapping[str, int]:
        return {**self.spine.lag, **self.rows.lag}

    def batches(self, part: Any, columns: Sequence[str] | None, refuse: "RefuseUnreadable | None") -> Any:
        names = self.union.schema.names if columns is None else columns
        parts = {
            is_spine: each.batches(own, self.union.columns(is_spine, names), refuse)
            for is_spine, each, own in zip((False, True), self._both, part, strict=True)
            if own is not None
        }
        return self.union.batches(parts, names)

    def took(self, part: Any) -> None:
        for each, own in zip(self._both, part, strict=True):
            if own is not None:
                each.took(own)

    def position(self, log: Path) -> Position:
        return self.rows.position(log)

    @property
    def second(self) -> FollowedSource:
        return self.spine

    @property
    def place(self) -> str:
        return f"{self.rows.place}; spine: {self.spine.place}"

    def close(self) -> None:
        for each in self._both:
            each.close()
