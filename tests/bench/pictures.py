"""Tables of measurements, and a picture of each."""

from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

ORDERED = 8
"""Names along the axis, if no more than so many, are taken to be in an order, and their points are joined."""


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


def draw(measured: Measured, file: Path) -> None:
    """One line a drawn column; points alone over names that are in no order."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    along = [row[0] for row in measured.rows]
    named = any(isinstance(value, str) for value in along)
    scattered = named and len(along) > ORDERED
    figure, axes = pyplot.subplots(figsize=(9, 5))
    for place in range(1, measured.drawn + 1):
        values = [np.nan if row[place] is None else row[place] for row in measured.rows]
        axes.plot(along, values, "o" if scattered else "o-", label=measured.headers[place])
    axes.set(title=measured.title, xlabel=measured.headers[0], ylabel=measured.unit, yscale=measured.scale)
    if not named:
        axes.set_xscale("log" if max(along) > 20 * min(along) else "linear")
        axes.set_xticks(along, [f"{value:g}" for value in along])
        axes.minorticks_off()
    if scattered:
        pyplot.setp(axes.get_xticklabels(), rotation=45, ha="right")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, bbox_inches="tight")
    pyplot.close(figure)
