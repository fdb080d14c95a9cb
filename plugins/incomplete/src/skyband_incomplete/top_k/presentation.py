"""How top-k's answers are compared, drawn and shown."""

from skyband.queries.presentation import QueryPresentation

from skyband_incomplete.top_k.query import TopK


class TopKPresentation(QueryPresentation[TopK]):
    """Objects and their ranks."""

    chart = "ranks"
