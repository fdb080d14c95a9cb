"""How answers about sets are drawn, and a first query about them."""

from skyband.queries.first_query import FirstQuery, SourceSample
from skyband.queries.presentation import QueryPresentation

from skyband_setjoin.near_duplicates.query import NearDuplicates
from skyband_setjoin.top_k_pairs.query import TopKPairs


class NearDuplicatesPresentation(QueryPresentation[NearDuplicates]):
    """Rows and their matches."""

    chart = "pairs"

    @classmethod
    def first_query(cls, sample: SourceSample) -> FirstQuery | None:
        if not sample.lists:
            return None
        name, tokens = (sample.names or [sample.time])[0], sample.lists[0]
        keys = {"id": name, "tokens": tokens, "threshold": 0.8, "window": sample.window, "matches": 1}
        return FirstQuery(f"which row's {tokens} are similar to those of an earlier row within {sample.window}", keys)


class TopKPairsPresentation(QueryPresentation[TopKPairs]):
    """Pairs and their ranks."""

    chart = "pairs"
