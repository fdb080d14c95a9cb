"""One group's stream of top-k-workload with rules: a ranker on demand, asked what the rules ask."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from skyband.arrays import TIME_MAX, Int64
from skyband.columns.rows import Rows
from skyband.groups.answer_columns import AnswerColumns, ProcessorAnswers
from skyband.groups.broadcast_state import BroadcastState
from skyband.registry import Binding

from skyband_workload.top_k_workload.processor import WorkloadProcessor
from skyband_workload.top_k_workload.query import RULE_K, TopKWorkload
from skyband_workload.top_k_workload.rule_rows import Limits
from skyband_workload.top_k_workload.rules import Moments, Rules

_NO_OBJECTS, _NO_SCORES = np.empty(0, np.int64), np.empty(0)
_NO_LIMITS = Limits(0, 0)

_MOST_MOMENTS = 1 << 18
"""Asked in one call, about."""


class RulesProcessor(WorkloadProcessor):
    """Keeps what any query within `longest` and `most` may need, and answers the moments of the rules in force.

    Its state tells nothing of the rules: those are the operator's, one for all groups.
    """

    def __init__(self, query: TopKWorkload, ranker: Binding, answers: pa.Schema) -> None:
        super().__init__(query, ranker, answers)
        self._rules = Rules((), _NO_LIMITS)
        self._latest: int | None = None
        """The last time of any group, where the input has ended."""

    def listen(self, broadcast: BroadcastState) -> None:
        assert isinstance(broadcast, Rules)
        self._rules = broadcast

    def start_from(self, since: Mapping[str, int]) -> None:
        """Rules answer over all that is kept, whenever they came."""

    @property
    def next_at(self) -> int:
        """When its longest window has run empty: at the moments of rules every group has a turn."""
        return TIME_MAX if self._last is None else int(self._schedule.empty_at(self._last))

    def end(self, latest: int) -> int:
        return self._rules.last_moment(latest)

    def finish(self, rows: Rows, latest: int) -> ProcessorAnswers | None:
        self._latest = latest
        try:
            return self.advance(rows, self._rules.last_moment(latest))
        finally:
            self._latest = None

    def take(self, times: Int64, rows: Rows, until: int) -> None:
        begin = self._rules.answered
        if self._ranker.now is None and len(times):  # windows of before its first row are empty
            begin = max(begin, int(times[0]))
        start, span = 0, self._span()
        while begin < until:
            end = min(begin + span, until)
            stop = len(times) if end == until else int(np.searchsorted(times, end))
            self._ask(times[start:stop], rows.slice(start, stop), self._rules.moments(begin, end))
            begin, start = end, stop
        if start < len(times):
            self._ask(times[start:], rows.slice(start, len(times)), self._rules.moments(until, until))

    def _span(self) -> int:
        """Time in which there are about as many moments as are asked at once."""
        rate = self._rules.rate
        return max(int(min(_MOST_MOMENTS / rate, 2.0**62)), 1) if rate else 2**62

    def _ask(self, times: Int64, rows: Rows, moments: Moments) -> None:
        """Take in rows, and answer these moments from those before each."""
        if self._latest is not None:
            moments = self._rules.at_the_end(moments, self._latest)
        if not len(times) + len(moments.at):
            return
        objects, scores = _NO_OBJECTS, _NO_SCORES
        if len(times):  # without rows there are no columns
            objects, scores = rows["object"], rows["score"]
            self._names.update(times, rows)
            self._ranked_rows.update(times, rows, scores)
        ranked = self._ranker.ask(times, objects, self._signed(scores), at=moments.at, since=moments.since, k=moments.k)
        if not len(ranked.objects):
            return
        answers = self._as_rows(ranked, moments.rule, moments.since, {"query": self._rules.names})
        if self._schema.names[-1] == RULE_K:
            ks = np.repeat(moments.k, np.diff(ranked.offsets))
            answers = AnswerColumns(self._schema, [*answers.columns, ks], answers.named)
        self._answers.append(answers)
