"""Quantiles of any sliding window for Skyband."""

from skyband.lazy_names import lazy_names

__getattr__ = lazy_names(__name__, {"Quantiles": "quantiles.query"})
