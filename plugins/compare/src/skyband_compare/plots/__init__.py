"""Answers over time as charts of Altair, shown by a notebook, saved as a page or a picture."""

from skyband_compare.plots.drawing import plot

__all__ = ["plot"]
