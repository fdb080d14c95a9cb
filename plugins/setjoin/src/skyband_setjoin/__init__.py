"""Sets that are alike in a sliding window: SWOOP and what its paper compares it with, and near-duplicates."""

from skyband.lazy_names import lazy_names

__getattr__ = lazy_names(__name__, {"NearDuplicates": "near_duplicates.query", "TopKPairs": "top_k_pairs.query"})
