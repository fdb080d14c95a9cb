"""Uncertain streams: windows over tuples that may not exist, and joins of tuples given by samples."""

from skyband.lazy_names import lazy_names

__getattr__ = lazy_names(__name__, {"UncertainJoin": "uncertain_join.query", "UncertainSum": "uncertain_sum.query"})
