"""How answers of detections are shown."""

from skyband.queries.presentation import QueryPresentation

from skyband_detect.detections.query import Detections


class DetectionsPresentation(QueryPresentation[Detections]):
    """The number of answers over time, and the newest."""

    chart = "pairs"
