"""Altair charts of answers over time, for notebooks, or saved as a page or an image."""

from skyband_compare.plots.drawing import plot

__all__ = ["plot"]
