"""How top-k-workload's answers are compared, plotted and shown."""

from math import log

from skyband.queries.first_query import FirstQuery, SourceSample
from skyband.queries.presentation import QueryPresentation

from skyband_workload.top_k_workload.query import TopKWorkload

_BYTES_A_ROW = 32
"""The bytes of a retained row: pane, score, object and arrival."""


class TopKWorkloadPresentation(QueryPresentation[TopKWorkload]):
    """The ranks of each query."""

    chart = "ranks"

    @classmethod
    def first_query(cls, sample: SourceSample) -> FirstQuery | None:
        if not sample.labels or not sample.numbers:
            return None
        label, score, window = sample.labels[0], sample.numbers[0], sample.window
        highest = {"name": "highest", "window": window, "slide": window, "k": 10}
        keys = {"object": label, "score": score, "queries": [highest]}
        return FirstQuery(f"the ten rows with the highest {score} in each window of {window}", keys)

    def expected_state(self, rate: float, groups: int) -> tuple[float, float] | None:
        """With `longest` and `most`: k (1 + ln(N / k)) of the N rows of the longest window, if scores are random."""
        if self.query.longest is None or self.query.most is None:
            return None
        rows = max(rate * self.query.longest.length, 1.0)
        retained = min(rows, self.query.most * (1 + log(max(rows / self.query.most, 1.0))))
        return retained, groups * retained * _BYTES_A_ROW
