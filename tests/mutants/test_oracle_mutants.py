"""The oracles of queries see: each fails on some stream of a few hundred where one turn of the engine is another."""

import inspect
import textwrap
from itertools import islice
from random import Random

import pytest
from oracles import KINDS
from oracles.playing import Difference, play
from skyband.operator import answer_changes
from skyband.watermark import Clock, EventTimeProgress
from skyband_distinct.distinct_count import emitted_states_processor
from skyband_totals.heavy_hitters import movers
from skyband_uncertain.time_and_change_windows import TimeWindow

MOST = 300
"""Streams tried of each."""
MUTANTS = {
    "a row just at the moment before is no change": (
        "distinct-count", {"emit": "changed-state"}, emitted_states_processor.StateProcessor.answer,
        "self._last >= self._schedule.latest(at - 1)", "self._last > self._schedule.latest(at - 1)",
    ),
    "the fastest source is waited for": (
        "quantiles", {"source": "src"}, Clock.watermark, "furthest = min(", "furthest = max(",
    ),
    "a source just as far behind is not waited for": (
        "quantiles", {"idle": "4 seconds"}, Clock.watermark, "newest - mark <= self.idle", "newest - mark < self.idle",
    ),
    "a delay is a microsecond longer": (
        "quantiles", {}, Clock.allowing_delay, "time - self.delay", "time - self.delay - 1",
    ),
    "a row just as far ahead is left out": (
        "top-k", {"ahead": "3 seconds"}, EventTimeProgress.cut_ahead, "start - limit > ahead", "start - limit >= ahead",
    ),
    "rows of a batch stand for themselves": (
        "top-k", {"ahead": "3 seconds"}, EventTimeProgress.cut_ahead, "limit = max(limit, end)", "pass",
    ),
    "a row that is updated in one column is as it was": (
        "heavy-hitters", {"answers": "changes"}, answer_changes.AnswerChanges._differ, "|=", "&=",
    ),
    "equal ratios are in the order of objects": (
        "heavy-hitters", {"rank_by": "ratio"}, movers.movers_of, "[-np.abs(total - previous)[places]] if", "[] if",
    ),
    "a total at the limit is below it": (
        "heavy-hitters", {"against": "previous"}, movers.movers_of, "(high >= rule.least)", "(high > rule.least)",
    ),
    "a window of tuples has the one just as old": (
        "uncertain-sum", {}, TimeWindow.start_at, "times - self.length)", "times - self.length - 1)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MUTANTS)
def test_mutant_is_caught(kind, monkeypatch):
    name, keys, function, before, after = MUTANTS[kind]
    with_keys = (seed for seed in range(10 * MOST) if keys.items() <= KINDS[name](Random(seed)).query.items())
    monkeypatch.setattr(function, "__code__", _changed(function, before, after))
    with pytest.raises(Difference):
        for seed in islice(with_keys, MOST):
            play(KINDS[name], seed)


def _changed(function, before, after):
    """The code of a function with one turn of its text another."""
    text = textwrap.dedent(inspect.getsource(function))
    assert text.count(before) == 1, text
    changed = {}
    exec(text.replace(before, after), function.__globals__, changed)
    return changed[function.__name__].__code__
