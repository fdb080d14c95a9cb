"""States as data: one state answers for any window that it covers, alone or united with others."""

from skyband.states.counting import Estimate, estimate, estimates
from skyband.states.description import Description, describe
from skyband.states.heavy_hitters import heavy_hitters
from skyband.states.item_overlap import Overlap, overlap
from skyband.states.theta_sketches import theta
from skyband.states.uniting import union

__all__ = [
    "Description",
    "Estimate",
    "Overlap",
    "describe",
    "estimate",
    "estimates",
    "heavy_hitters",
    "overlap",
    "theta",
    "union",
]
