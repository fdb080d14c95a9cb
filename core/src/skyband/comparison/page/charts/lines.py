"""Series over time or over windows."""

import math
from collections.abc import Sequence
from html import escape
from itertools import pairwise

from attrs import frozen

from skyband.arrays import Float64
from skyband.comparison.page.charts.frame import BOTTOM, TALL, TOP, WIDE, grid, left_of, margin, picture
from skyband.comparison.page.charts.scales import Format, Scale, apart, fitting


@frozen(eq=False)
class Line:
    """A series: float64[p] over the picture's own x."""

    name: str
    colour: str
    values: Float64


def lines(
    title: str,
    told: str,
    xs: Sequence[float],
    x: Scale,
    x_text: Format,
    x_tip: Format,
    series: Sequence[Line],
    text: Format,
    tick_text: Format,
    dots: bool = False,
    bound: tuple[float, str] | None = None,
) -> str:
    """Series over a common x, their names at their ends; a band at each x tells all values there."""
    known = [value for line in series for value in line.values.tolist() if math.isfinite(value)]
    right = margin([line.name for line in series])
    y = fitting([*known, *([bound[0]] if bound else [])], TALL - BOTTOM, TOP)
    left = left_of(y, tick_text)
    x = Scale(x.low, x.high, left, WIDE - right, x.ticks, x.log)
    drawn = [grid(x, y, x_text, tick_text, left, right)]
    if bound:
        place = y(bound[0])
        drawn.append(f'<path class="bound" d="M{left:.1f} {place:.1f}H{WIDE - right}"/>')
        drawn.append(f'<text class="tick" x="{left + 6:.1f}" y="{place - 5:.1f}">{escape(bound[1])}</text>')
    ends = []
    for line in series:
        points = [(x(at), y(value)) for at, value in zip(xs, line.values.tolist(), strict=True) if math.isfinite(value)]
        if not points:
            continue
        path = "M" + "L".join(f"{across:.1f} {top:.1f}" for across, top in points)
        drawn.append(f'<path class="line" data-name="{escape(line.name)}" style="--c:{line.colour}" d="{path}"/>')
        if dots or len(points) == 1:
            drawn += [
                f'<circle class="dot" style="--c:{line.colour}" cx="{across:.1f}" cy="{top:.1f}" r="3.5"/>'
                for across, top in points
            ]
        ends.append((line, *points[-1]))
    drawn += _end_labels(ends)
    drawn += _bands(xs, x, x_tip, series, text)
    return picture(title, told, drawn)


def _end_labels(ends: Sequence[tuple[Line, float, float]]) -> list[str]:
    tops = apart([top + 4 for _, _, top in ends], 14, TOP + 4, TALL - BOTTOM + 4)
    return [
        f'<path class="leader" style="--c:{line.colour}" d="M{left + 3:.1f} {end:.1f}L{left + 10:.1f} {top - 4:.1f}"/>'
        f'<text class="name" style="--c:{line.colour}" x="{left + 13:.1f}" y="{top:.1f}">{escape(line.name)}</text>'
        for (line, left, end), top in zip(ends, tops, strict=True)
    ]


def _bands(xs: Sequence[float], x: Scale, tip: Format, series: Sequence[Line], text: Format) -> list[str]:
    places = [x(at) for at in xs]
    edges = [x.start, *((one + two) / 2 for one, two in pairwise(places)), x.stop]
    found, tall = [], TALL - BOTTOM - TOP
    for number, at in enumerate(xs):
        told = [
            f"{line.name}: {text(float(line.values[number]))}" for line in series if math.isfinite(line.values[number])
        ]
        width = max(edges[number + 1] - edges[number], 0.5)
        found.append(
            f'<rect class="band" x="{edges[number]:.1f}" y="{TOP}" width="{width:.1f}" height="{tall}">'
            f"<title>{escape(chr(10).join([tip(at), *told]))}</title></rect>"
        )
    return found
