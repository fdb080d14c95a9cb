"""One group's stream of top-k-workload with rules, which a ranker answers on demand."""

import numpy as np
from skyband.arrays import Int64
from skyband.columns.rows import Rows
from skyband.groups.answer_columns import AnswerColumns
from skyband.rules.rule_moments import Moments
from skyband.rules.rules_processor import AnsweringRules

from skyband_workload.top_k_workload.processor import WorkloadProcessor
from skyband_workload.top_k_workload.query import RULE_K

_NO_OBJECTS, _NO_SCORES = np.empty(0, np.int64), np.empty(0)


class RulesProcessor(AnsweringRules, WorkloadProcessor):
    """Keeps the rows for any query within `longest` and `most`, and answers the moments of the rules in force."""

    def ask(self, times: Int64, rows: Rows, moments: Moments) -> None:
        objects, scores = _NO_OBJECTS, _NO_SCORES
        if len(times):  # without rows there are no columns
            objects, scores = rows["object"], rows["score"]
            self._names.update(times, rows)
            self._ranked_rows.update(times, rows, scores)
        ranked = self._backend.ask(
            times, objects, self._signed(scores), at=moments.at, since=moments.since, k=moments.k
        )
        if not len(ranked.objects):
            return
        answers = self._as_rows(ranked, moments.rule, moments.since, {"query": self._rules.names})
        if self._schema.names[-1] == RULE_K:
            ks = np.repeat(moments.k, np.diff(ranked.offsets))
            answers = AnswerColumns(self._schema, [*answers.columns, ks], answers.named)
        self._answers.append(answers)
