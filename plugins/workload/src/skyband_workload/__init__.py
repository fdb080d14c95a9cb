"""Workload-rankers: many (window, slide, k) queries over one stream."""

from skyband.lazy_names import lazy_names

__getattr__ = lazy_names(__name__, {"TopKWorkload": "top_k_workload.query"})
