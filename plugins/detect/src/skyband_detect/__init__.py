"""Detections for Skyband: rules by key over sliding windows, answered at the row that crosses a bound."""

from skyband.lazy_names import lazy_names

__getattr__ = lazy_names(__name__, {"Detections": "detections.query"})
