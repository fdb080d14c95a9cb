"""Charts as inline SVG. Colours are the page's, values are in tooltips."""

from skyband.comparison.charts.bars import Bar, bars, ranges
from skyband.comparison.charts.frame import WIDE
from skyband.comparison.charts.lines import Line, lines
from skyband.comparison.charts.points import Point, points

__all__ = ["WIDE", "Bar", "Line", "Point", "bars", "lines", "points", "ranges"]
