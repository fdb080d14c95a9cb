"""A named point for each backend, two figures against each other."""

from collections.abc import Sequence
from html import escape

from attrs import frozen

from skyband.comparison.page.charts.frame import BOTTOM, LETTER, TALL, TOP, WIDE, grid, left_of, picture
from skyband.comparison.page.charts.scales import Format, fitting, from_zero, logarithmic


@frozen
class Point:
    """A named point."""

    name: str
    colour: str
    x: float
    y: float
    tip: str


Box = tuple[float, float, float, float]


def points(title: str, told: str, entries: Sequence[Point], x_text: Format, y_ticks: Format, x_name: str) -> str:
    """Named points, x logarithmic; y from 0, or logarithmic with 0 on the floor. Left and low is good."""
    low = 14
    floor = TALL - BOTTOM - low
    above = [point.y for point in entries if point.y > 0]
    y = fitting(above, floor - 24, TOP + 6)
    y = y if y.log else from_zero(above, floor, TOP + 6)
    edge = left_of(y, y_ticks)
    x = logarithmic([point.x for point in entries], edge + 14, WIDE - 24)
    places = [(x(point.x), y(point.y) if point.y > 0 else floor) for point in entries]
    drawn = [grid(x, y, x_text, y_ticks, edge, 24, low=low)]
    if y.log and len(above) < len(entries):
        drawn.append(f'<text class="tick" x="{edge - 8}" y="{floor + 4:.1f}" text-anchor="end">0</text>')
    middle = (edge + WIDE - 24) / 2
    drawn.append(f'<text class="tick" x="{middle:.0f}" y="{TALL - 2}" text-anchor="middle">{escape(x_name)}</text>')
    raised = [(left, min(top, floor - 7)) for left, top in places]  # a name does not stand on the axis
    labels = beside(raised, edge, [len(point.name) * LETTER for point in entries])
    for point, (left, top), (at, line, anchor) in zip(entries, places, labels, strict=True):
        drawn.append(f'<g class="mark" data-name="{escape(point.name)}" style="--c:{point.colour}">')
        drawn.append(f"<title>{escape(point.tip)}</title>")
        drawn.append(f'<circle class="dot" cx="{left:.1f}" cy="{top:.1f}" r="6"/>')
        text = f'<text class="name" x="{at:.1f}" y="{line:.1f}" text-anchor="{anchor}">{escape(point.name)}</text></g>'
        drawn.append(text)
    return picture(title, told, drawn)


def beside(
    places: Sequence[tuple[float, float]], edge: float, widths: Sequence[float]
) -> list[tuple[float, float, str]]:
    """Where a label goes beside each dot (x, baseline, anchor): at the first of eight places that is free."""
    taken = [(left - 7, top - 7, left + 7, top + 7) for left, top in places]
    found = []
    for (left, top), width in zip(places, widths, strict=True):
        spots = [(left + 11, top + 4, "start"), (left - 11, top + 4, "end")]
        spots += [
            (left + shift, top + lift, anchor)
            for lift in (-11, 20, -24)
            for shift, anchor in ((5, "start"), (-5, "end"))
        ]
        boxes = [_box(*spot, width) for spot in spots]
        free = [number for number, box in enumerate(boxes) if not any(_meet(box, other) for other in taken)]
        inside = [number for number in free if boxes[number][0] >= edge and boxes[number][2] <= WIDE]
        number = (inside or free or [0])[0]
        taken.append(boxes[number])
        found.append(spots[number])
    return found


def _box(x: float, baseline: float, anchor: str, width: float) -> Box:
    left = x if anchor == "start" else x - width
    return left, baseline - 11, left + width, baseline + 3


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
