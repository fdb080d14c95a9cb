"""Processes one group's stream of a heavy-hitters query with rules."""

import numpy as np
from attrs import evolve
from skyband.arrays import Int64
from skyband.columns.rows import Rows
from skyband.rules.rule_moments import Moments
from skyband.rules.rules_processor import AnsweringRules

from skyband_totals.heavy_hitters.processor import TotalsProcessor, arguments_of
from skyband_totals.top import Top, Tops


class RulesProcessor(AnsweringRules, TotalsProcessor):
    """Keeps the state for any window up to `longest`. A rule is answered if its own window has rows."""

    def ask(self, times: Int64, rows: Rows, moments: Moments) -> None:
        rows = rows if len(times) else self.no_rows
        if len(times):
            self._names.update(times, rows)
            self._ranked_rows.update(times, rows, np.zeros(len(times)))
        columns = self._in_order(times, rows)
        tops, places = list[Top](), list[int]()
        for start, stop, asked in moments.with_rows(times):
            if stop > start:
                part = {name: column[start:stop] for name, column in columns.items()}
                self._backend.update(times[start:stop] - self._phase, part.pop("object"), **arguments_of(part))
            for place in asked:
                top = self._top(moments, place)
                tops += [] if top is None else [top]
                places += [] if top is None else [place]
        if places:
            self._labels = {"rule": self._rules.names, "window": self._rules.windows}
            rule = moments.rule[places]
            self._pending.append(self._answer_rows(moments.at[places], [rule, rule], Tops.of(tops)))

    def _top(self, moments: Moments, place: int) -> Top | None:
        """The answer of one rule at one moment, after every row before it; None if its window is empty."""
        at, _, since, k = moments.row(place)
        self._backend.advance(at - self._phase)
        last = self._backend.latest
        if last is None or last < since - self._phase:
            return None
        top = self._backend.since(since - self._phase)
        return top if not k else evolve(top, **{name: getattr(top, name)[:k] for name in _OF_OBJECTS})


_OF_OBJECTS = ("objects", "totals", "low", "high")
