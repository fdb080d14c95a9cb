"""What all charts share: their size, grid, ticks and the room for names."""

from collections.abc import Sequence
from html import escape

from skyband.comparison.number_format import brief
from skyband.comparison.page.charts.scales import Format, Scale

WIDE = 430
TALL = 250
TOP, BOTTOM = 12, 30
LETTER = 7.1
"""Width of a letter of a label, about."""


def picture(title: str, told: str, drawn: Sequence[str], tall: float = TALL) -> str:
    """The whole, with what it shows for those who cannot see it."""
    label = escape(f"{title}. {told}")
    return f'<svg viewBox="0 0 {WIDE} {tall:.0f}" role="img" aria-label="{label}">{"".join(drawn)}</svg>'


def grid(x: Scale, y: Scale, x_text: Format, y_text: Format, left: float, right: float, low: float = 0) -> str:
    """Lines and ticks of y, the axis and ticks of x; `low` leaves room for a name below."""
    floor = TALL - BOTTOM - low
    parts = [
        f'<path class="grid" d="M{left:.1f} {y(mark):.1f}H{WIDE - right}"/>'
        + tick(left - 8, y(mark) + 4, y_text(mark), "end")
        for mark in y.ticks
    ]
    parts += [tick(x(mark), floor + 19, x_text(mark)) for mark in thinned(x, x_text)]
    return "".join([*parts, f'<path class="axis" d="M{left:.1f} {floor:.1f}H{WIDE - right}"/>'])


def tick(x: float, y: float, text: str, anchor: str = "middle") -> str:
    """A label of an axis."""
    return f'<text class="tick" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(brief(text))}</text>'


def thinned(scale: Scale, text: Format) -> list[float]:
    """Ticks whose labels do not touch, along x."""
    kept: list[float] = []
    for mark in scale.ticks:
        room = (len(text(mark)) + (len(text(kept[-1])) if kept else 0)) / 2 * LETTER + 8
        if not kept or scale(mark) - scale(kept[-1]) >= room:
            kept.append(mark)
    return kept


def left_of(y: Scale, text: Format) -> float:
    """Room for the ticks of y."""
    return max(40.0, 14 + LETTER * max(len(brief(text(mark))) for mark in y.ticks))


def margin(names: Sequence[str], least: float = 30) -> float:
    """Room for names at one side."""
    return 22 + max([least, *(len(name) * LETTER for name in names)])
