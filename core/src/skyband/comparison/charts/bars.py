"""A bar, or a range, for each backend."""

from collections.abc import Sequence
from html import escape

from attrs import frozen

from skyband.comparison.charts.frame import LETTER, WIDE, margin, picture, thinned, tick
from skyband.comparison.scales import Format, Scale, logarithmic


@frozen
class Bar:
    """A value, one that lies behind it, and what is written beside them."""

    name: str
    colour: str
    value: float
    behind: float
    text: str
    tip: str


def bars(title: str, told: str, entries: Sequence[Bar]) -> str:
    """One bar a backend from 0, a paler one behind it, the longest first."""
    entries = sorted(entries, key=lambda bar: -bar.value)
    left = 14 + margin([bar.name for bar in entries], least=40) - 22
    right = 12 + max(len(bar.text) for bar in entries) * LETTER
    row, tall = _rows(len(entries))
    scale = Scale(0.0, max(max(bar.value, bar.behind) for bar in entries) or 1.0, left, WIDE - right, ())
    drawn = []
    for number, bar in enumerate(entries):
        top = 8 + number * row
        high = row - 10
        reach = scale(max(bar.value, bar.behind))
        drawn.append(f'<g class="mark" data-name="{escape(bar.name)}" style="--c:{bar.colour}">')
        drawn.append(f"<title>{escape(bar.tip)}</title>")
        drawn.append(f'<rect class="hit" x="0" y="{top - 4}" width="{WIDE}" height="{row - 2}"/>')
        if bar.behind > bar.value:
            drawn.append(f'<path class="behind" d="{_bar(left, top, scale(bar.behind), high)}"/>')
        drawn.append(f'<path class="bar" d="{_bar(left, top, scale(bar.value), high)}"/>')
        middle = top + high / 2 + 4
        drawn.append(
            f'<text class="name" x="{left - 8:.1f}" y="{middle:.1f}" text-anchor="end">{escape(bar.name)}</text>'
        )
        drawn.append(f'<text class="value" x="{reach + 7:.1f}" y="{middle:.1f}">{escape(bar.text)}</text></g>')
    drawn.append(f'<path class="axis" d="M{left:.1f} 2V{tall - 4}"/>')
    return picture(title, told, drawn, tall)


def ranges(title: str, told: str, entries: Sequence[Bar], text: Format) -> str:
    """From `value` to `behind`, a filled and an open dot on a logarithmic scale, the lowest first."""
    entries = sorted(entries, key=lambda bar: bar.value)
    left = 14 + margin([bar.name for bar in entries], least=40) - 22
    right = 14 + max(len(bar.text) for bar in entries) * LETTER
    row, tall = _rows(len(entries))
    tall += 22
    scale = logarithmic([value for bar in entries for value in (bar.value, bar.behind)], left + 6, WIDE - right)
    drawn = [
        f'<path class="grid" d="M{scale(mark):.1f} 4V{tall - 24}"/>' + tick(scale(mark), tall - 8, text(mark))
        for mark in thinned(scale, text)
    ]
    for number, bar in enumerate(entries):
        middle = 8 + number * row + (row - 10) / 2
        start, stop = scale(bar.value), scale(bar.behind)
        drawn.append(f'<g class="mark" data-name="{escape(bar.name)}" style="--c:{bar.colour}">')
        drawn.append(f"<title>{escape(bar.tip)}</title>")
        drawn.append(f'<rect class="hit" x="0" y="{middle - row / 2 + 1:.1f}" width="{WIDE}" height="{row - 2}"/>')
        drawn.append(f'<path class="range" d="M{start:.1f} {middle:.1f}H{stop:.1f}"/>')
        drawn.append(f'<circle class="open" cx="{stop:.1f}" cy="{middle:.1f}" r="4.5"/>')
        drawn.append(f'<circle class="dot" cx="{start:.1f}" cy="{middle:.1f}" r="5.5"/>')
        name = f'<text class="name" x="{left - 8:.1f}" y="{middle + 4:.1f}" text-anchor="end">{escape(bar.name)}</text>'
        drawn.append(name)
        drawn.append(f'<text class="value" x="{stop + 11:.1f}" y="{middle + 4:.1f}">{escape(bar.text)}</text></g>')
    return picture(title, told, drawn, tall)


def _bar(left: float, top: float, right: float, high: float) -> str:
    """A bar with its far end rounded."""
    right = max(right, left + 2)
    radius = min(4.0, right - left, high / 2)
    return (
        f"M{left:.1f} {top}H{right - radius:.1f}q{radius:.1f} 0 {radius:.1f} {radius:.1f}"
        f"v{high - 2 * radius:.1f}q0 {radius:.1f} {-radius:.1f} {radius:.1f}H{left:.1f}z"
    )


def _rows(count: int) -> tuple[int, int]:
    """Height of a row and of all."""
    row = min(44, max(26, 232 // max(count, 1)))
    return row, 12 + row * count
