"""A bar, or a range, for each backend."""

from collections.abc import Sequence
from html import escape

from attrs import frozen

from skyband.comparison.page.charts.frame import LETTER, WIDE, margin, picture, thinned, tick
from skyband.comparison.page.charts.scales import Format, Scale, logarithmic


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
    left, right = _sides(entries)
    row, tall = _rows(len(entries))
    scale = Scale(0.0, max(max(bar.value, bar.behind) for bar in entries) or 1.0, left, WIDE - right, ())
    drawn = []
    for number, bar in enumerate(entries):
        top, high = 8 + number * row, row - 10
        shape = f'<path class="bar" d="{_bar(left, top, scale(bar.value), high)}"/>'
        if bar.behind > bar.value:
            shape = f'<path class="behind" d="{_bar(left, top, scale(bar.behind), high)}"/>{shape}'
        drawn.append(_mark(bar, number, row, left, shape, scale(max(bar.value, bar.behind)) + 7))
    drawn.append(f'<path class="axis" d="M{left:.1f} 2V{tall - 4}"/>')
    return picture(title, told, drawn, tall)


def ranges(title: str, told: str, entries: Sequence[Bar], text: Format) -> str:
    """From `value` to `behind`, a filled and an open dot on a logarithmic scale, the lowest first."""
    entries = sorted(entries, key=lambda bar: bar.value)
    left, right = _sides(entries)
    row, tall = _rows(len(entries))
    tall += 22
    ends = [value for bar in entries for value in (bar.value, bar.behind)]
    scale = logarithmic(ends, left + 6, WIDE - right - 2)
    drawn = [
        f'<path class="grid" d="M{scale(mark):.1f} 4V{tall - 24}"/>' + tick(scale(mark), tall - 8, text(mark))
        for mark in thinned(scale, text)
    ]
    for number, bar in enumerate(entries):
        middle, start, stop = _middle(number, row), scale(bar.value), scale(bar.behind)
        shape = (
            f'<path class="range" d="M{start:.1f} {middle:.1f}H{stop:.1f}"/>'
            f'<circle class="open" cx="{stop:.1f}" cy="{middle:.1f}" r="4.5"/>'
            f'<circle class="dot" cx="{start:.1f}" cy="{middle:.1f}" r="5.5"/>'
        )
        drawn.append(_mark(bar, number, row, left, shape, stop + 11))
    return picture(title, told, drawn, tall)


def _mark(bar: Bar, number: int, row: int, left: float, shape: str, beside: float) -> str:
    """A backend's row: its name, its shape, and its figures from `beside` on; its tooltip wherever one points."""
    base = _middle(number, row) + 4
    return (
        f'<g class="mark" data-name="{escape(bar.name)}" style="--c:{bar.colour}"><title>{escape(bar.tip)}</title>'
        f'<rect class="hit" x="0" y="{4 + number * row}" width="{WIDE}" height="{row - 2}"/>{shape}'
        f'<text class="name" x="{left - 8:.1f}" y="{base:.1f}" text-anchor="end">{escape(bar.name)}</text>'
        f'<text class="value" x="{beside:.1f}" y="{base:.1f}">{escape(bar.text)}</text></g>'
    )


def _middle(number: int, row: int) -> float:
    return 8 + number * row + (row - 10) / 2


def _sides(entries: Sequence[Bar]) -> tuple[float, float]:
    """Room for the names to the left, and for the figures to the right."""
    return margin([bar.name for bar in entries], least=40) - 8, 12 + max(len(bar.text) for bar in entries) * LETTER


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
