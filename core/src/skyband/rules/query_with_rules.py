"""QueryWithRules: base of queries with a list of windows, which `longest` lets change as rules."""

from collections.abc import Mapping
from typing import ClassVar

from skyband.config.calendar_lengths import Length
from skyband.config.durations import Duration
from skyband.queries.query import Query


class QueryWithRules(Query):
    """A query with the fields `windows`, `every`, `longest` and `emit`, whose answers have a column `window`.

    With `longest` they also have a column `rule` before it, and the query has no windows in rows.
    """

    broadcast: ClassVar[str | None] = "rules"

    windows: tuple[Length, ...]
    every: Length
    longest: Duration | None
    emit: str | None

    @property
    def rows(self) -> bool:
        return self.longest is None and self.windows[0].rows

    @property
    def lengths(self) -> Mapping[str, Length]:
        return {"every": self.every, **{f"windows[{place}]": window for place, window in enumerate(self.windows)}}

    @property
    def rule_columns(self) -> tuple[str, ...]:
        """The columns of answers that name the rule, before the window."""
        return () if self.longest is None else ("rule",)

    @property
    def separate_answers(self) -> tuple[str, ...]:  # type: ignore[override]
        """A rule has one answer, whatever its window is."""
        return self.rule_columns or ("window",)

    @property
    def key_columns(self) -> tuple[str, ...]:
        return self.key or tuple(name for name in self.compared_columns if self.longest is None or name != "window")

    @property
    def gives_states(self) -> bool:
        return self.emit is not None

    @property
    def needs(self) -> tuple[str, ...]:
        if self.longest is not None:
            return ("any-since",)
        return ("merge",) if self.gives_states else ()
