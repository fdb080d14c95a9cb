"""Processes one group's stream of a distinct-count with rules."""

from typing import TYPE_CHECKING

from skyband.arrays import Int64
from skyband.columns.rows import Rows
from skyband.groups.answer_columns import ProcessorAnswers
from skyband.rules.rule_moments import Moments
from skyband.rules.rules_processor import AnsweringRules

from skyband_distinct.distinct_count.processor import CountingProcessor

if TYPE_CHECKING:
    from collections.abc import Iterable


class RulesProcessor(AnsweringRules, CountingProcessor):
    """Keeps the state for any window up to `longest`. A rule is answered if its own window has rows."""

    def ask(self, times: Int64, rows: Rows, moments: Moments) -> None:
        for start, stop, asked in moments.with_rows(times):
            if stop > start:
                self.update(times[start:stop], rows.slice(start, stop))
            for place in asked if self.needs_answers else ():
                self._answers += self._answers_of(moments, place)
        if self._backend.now is not None:
            self._backend.forget(self._backend.now + 1 - self._horizon)

    def _answers_of(self, moments: Moments, place: int) -> "Iterable[tuple[float, ...]]":
        at, rule, since, _ = moments.row(place)
        if self._backend.now is None or self._backend.now < since:
            return []
        return [(at, rule, rule, *counts) for counts in self._counts(since)]

    def collect(self) -> ProcessorAnswers | None:
        self._labels = {**self._labels, "rule": self._rules.names, "window": self._rules.windows}
        return super().collect()
