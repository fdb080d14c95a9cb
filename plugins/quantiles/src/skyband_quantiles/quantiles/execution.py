"""How quantiles is answered: by a processor for each group, small groups together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import pyarrow as pa
from skyband.columns.rows import Rows
from skyband.errors import Problem
from skyband.groups.execution import Execution
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.limits import most_entries
from skyband.queries.query import Query
from skyband.registry import Binding
from skyband.windows.window_parameters import of_calendar

from skyband_quantiles.quantiles.processor import QuantilesProcessor, labels_of
from skyband_quantiles.quantiles.query import ROLE, Quantiles

if TYPE_CHECKING:
    from skyband.groups.small_groups.table import SmallGroupTable
    from skyband.rules.rules_in_force import Rules
    from skyband.states.state import State


_MOST_WITH_RULES = 512
"""The most rows of a small group with rules, which may ask only a few groups, while all are scanned."""


class QuantilesExecution(Execution[Quantiles]):
    """How quantiles is answered. Without `by`, a single shard has all rows."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        # Imported on use, so that a worker loads only what its query needs.
        if self.query.longest is not None:
            from skyband_quantiles.quantiles.rules_processor import RulesProcessor

            return RulesProcessor(self.query, bindings[ROLE], answers)
        if self.query.emit is not None:
            from skyband_quantiles.quantiles.emitted_states_processor import StatesProcessor

            return StatesProcessor(self.query, bindings[ROLE], answers)
        if self.query.against is not None:
            from skyband_quantiles.quantiles.comparing_processor import ComparingProcessor

            return ComparingProcessor(self.query, bindings[ROLE], answers)
        return QuantilesProcessor(self.query, bindings[ROLE], answers)

    def broadcast_state(self) -> "Rules | None":
        query = self.query
        if query.longest is None:
            return None
        from skyband.rules.rules_in_force import rules_of

        return rules_of(query.windows, query.every, query.offset, query.longest)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> "SmallGroupTable | None":
        """Small groups are answered together, exactly, as every sketch is exact for so few rows."""
        query = self.query
        most = most_entries(bindings[ROLE], query.backend_parameters(ROLE))
        if query.longest is not None:
            most = min(most, _MOST_WITH_RULES)
        if query.gives_states or query.against is not None or not most:
            return None

        def processor(last: int, rows: Rows) -> GroupProcessor:
            return cast(QuantilesProcessor, self.processor(bindings, answers)).begin_with(last, rows)

        from skyband_quantiles.quantiles.small_groups import SmallNumbers, SmallNumbersWithRules

        kind = SmallNumbers if query.longest is None else SmallNumbersWithRules
        return kind(most, query, answers, labels_of(query), processor)

    def state_problems(self, state: "State", schema: pa.Schema) -> list[Problem]:  # noqa: ARG002
        if self.query.against is None:
            return []
        message = "compares with earlier windows, which no state contains: start without it, or with history"
        return [Problem("against", message)]

    def open_parameters(self, role: str) -> tuple[str, ...]:  # noqa: ARG002 - there is one role
        """Borders and limits may change: what is unknown of old rows is within the bounds."""
        if self.query.against is not None:
            return ()
        return "longest", "every", "offset", "cuts"

    def open_keys(self, before: Query) -> tuple[str, ...]:
        """What is asked may change, and windows below the longest, for which rows are kept."""
        if self.query.against is not None:
            return self.query.evolvable  # what is remembered of earlier windows answers these keys only
        same = self.query.longest is None and isinstance(before, Quantiles) and _longest(self.query) == _longest(before)
        return (*self.query.evolvable, "at", "above", *(["windows"] if same else []))


def _longest(query: Quantiles) -> object:
    """The longest window; all, where which is the longest changes with the calendar."""
    if query.longest is not None or of_calendar(query.every, *query.windows):
        return query.every, query.windows
    return max(window.length for window in query.windows), query.rows
