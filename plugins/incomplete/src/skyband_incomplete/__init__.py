"""Top-k over incomplete objects: the object-ranker backends sla, eaa and approx."""

from skyband.lazy_names import lazy_names

__getattr__ = lazy_names(__name__, {"TopK": "top_k.query"})
