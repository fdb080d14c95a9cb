"""Similar sets in a sliding window: near-duplicates, and top-k pairs by SWOOP and its paper's two baselines."""

from skyband.lazy_names import lazy_names

__getattr__ = lazy_names(__name__, {"NearDuplicates": "near_duplicates.query", "TopKPairs": "top_k_pairs.query"})
