"""Heavy hitters: the objects with the most rows, the largest sum or the most distinct values, in any window."""

from skyband.lazy_names import lazy_names

__getattr__ = lazy_names(__name__, {"HeavyHitters": "heavy_hitters.query", "RowFeatures": "row_features.query"})
