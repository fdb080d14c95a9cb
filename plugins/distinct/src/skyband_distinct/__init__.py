"""Distinct counts over sliding windows: the sketches of Zhang et al. (2010) and faster successors."""

from skyband.lazy_names import lazy_names

__getattr__ = lazy_names(__name__, {"DistinctCount": "distinct_count.query"})
