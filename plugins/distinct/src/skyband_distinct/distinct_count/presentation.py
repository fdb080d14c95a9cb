"""How distinct-count's answers are compared, plotted and shown."""

import pyarrow as pa
import pyarrow.compute as pc
from skyband.queries import emitted_states
from skyband.queries.first_query import FirstQuery, SourceSample
from skyband.queries.presentation import QueryPresentation

from skyband_distinct.distinct_count.comparable_windows import ADDED, REMEMBERED
from skyband_distinct.distinct_count.query import DistinctCount

_WHOLE = {"count": pc.round, "low": pc.floor, "high": pc.ceil}
_WHOLE_DIFFERENCES = dict(zip(ADDED, (pc.round, pc.round, pc.floor, pc.ceil), strict=True))


class DistinctCountPresentation(QueryPresentation[DistinctCount]):
    """Counts, each with its bounds."""

    chart = "skyband_distinct.distinct_count.drawing:draw"
    compared_value = "count"

    @classmethod
    def first_query(cls, sample: SourceSample) -> FirstQuery | None:
        if not sample.labels:
            return None
        item, window = sample.labels[0], sample.window
        keys = {"item": item, "windows": [window], "every": window}
        return FirstQuery(f"the number of distinct values of {item} in each window of {window}", keys)

    def remembered_window(self, exact: bool) -> tuple[float, float, tuple[str, ...]] | None:  # noqa: ARG002
        """A count with its bounds for each range or number of sightings."""
        query = self.query
        return None if query.against is None else (REMEMBERED * len(query.ranges or query.seen or [None]), 0, ())

    def readable(self, answers: pa.Table) -> pa.Table:
        """Round estimates to the nearest whole number, and bounds outwards."""
        if self.query.emit is not None:
            return emitted_states.summarised(answers)
        for name, rounded in (_WHOLE if self.query.against is None else {**_WHOLE, **_WHOLE_DIFFERENCES}).items():
            place = answers.column_names.index(name)
            answers = answers.set_column(place, name, rounded(answers.column(name)).cast(pa.int64()))
        return answers
