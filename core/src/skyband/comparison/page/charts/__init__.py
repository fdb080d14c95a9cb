"""Charts as inline SVG. Colours are the page's, values are in tooltips."""

from skyband.comparison.page.charts.bars import Bar, bars, ranges
from skyband.comparison.page.charts.frame import WIDE
from skyband.comparison.page.charts.lines import Line, lines
from skyband.comparison.page.charts.points import Point, points

__all__ = ["WIDE", "Bar", "Line", "Point", "bars", "lines", "points", "ranges"]
