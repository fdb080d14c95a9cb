"""Tables of measurements, and a picture of each."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import frozen
from skyband_compare.plots.saving import save
from skyband_compare.plots.theme import altair, config

ORDERED = 8
"""Up to this many names along the axis are taken to be in an order, so that their points are joined."""
MOST_TICKS = 12
"""Up to this many numbers along the axis each have a tick."""
_WIDE, _TALL = 640, 340


@frozen
class Measured:
    """A table: its first column is what was varied, the `drawn` columns after it are in `unit`, the rest are not drawn.

    `scale` is that of the picture's vertical axis, "log" or "linear".
    """

    title: str
    headers: list[str]
    rows: list[list[Any]]
    unit: str
    drawn: int
    scale: str = "log"

    def column(self, header: str) -> list[Any]:
        """The values of a column."""
        place = self.headers.index(header)
        return [row[place] for row in self.rows]


def draw(measured: Measured, file: Path, notes: Sequence[str] = ()) -> None:
    """Write an SVG, PNG or page: a line for each drawn column, or points for names without an order.

    notes: lines below the title.
    """
    alt = altair()
    along = [row[0] for row in measured.rows]
    named = any(isinstance(value, str) for value in along)
    points = [
        {"along": row[0], "series": header, "value": float(value)}
        for row in measured.rows
        for header, value in zip(measured.headers[1 : measured.drawn + 1], row[1:], strict=False)
        if value is not None
    ]
    chart = alt.Chart(alt.InlineData(values=points))
    chart = chart.mark_point() if named and len(along) > ORDERED else chart.mark_line(point=len(along) <= MOST_TICKS)
    if named:
        axis = alt.X("along:N", sort=None, title=measured.headers[0])
    else:
        spread = min(along) > 0 and max(along) > 20 * min(along)
        scale = alt.Scale(type="log" if spread else "linear", zero=False)
        ticks = alt.Axis(values=along, format=",.8~g") if len(along) <= MOST_TICKS else alt.Axis()
        axis = alt.X("along:Q", title=measured.headers[0], scale=scale, axis=ticks)
    chart = chart.encode(
        axis,
        alt.Y("value:Q", title=measured.unit, scale=alt.Scale(type=measured.scale)),
        alt.Color("series:N", sort=None, title=None),
    ).properties(width=_WIDE, height=_TALL, title=alt.Title(measured.title, subtitle=list(notes)))
    file.parent.mkdir(parents=True, exist_ok=True)
    save(chart.configure(**config()), file)
