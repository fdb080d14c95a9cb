"""How answers of detections are shown, with a first query."""

from skyband.queries.first_query import FirstQuery, SourceSample
from skyband.queries.presentation import QueryPresentation

from skyband_detect.detections.query import Detections


class DetectionsPresentation(QueryPresentation[Detections]):
    """The number of answers over time, and the newest."""

    chart = "pairs"

    @classmethod
    def first_query(cls, sample: SourceSample) -> FirstQuery | None:
        if not sample.labels:
            return None
        label, window = sample.labels[0], sample.window
        rule = {"name": f"many rows of a {label}", "key": [label], "window": window, "at_least": 10}
        return FirstQuery(f"the rows at which a {label} has ten rows within {window}", {"detections": [rule]})
