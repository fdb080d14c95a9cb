"""The common parts of all charts: the axis of moments and their format, panels, title and notes."""

import textwrap
from collections.abc import Sequence
from typing import Any

from skyband.arrays import Int64
from skyband.instants import instant

from skyband_compare.plots.answers import MOMENTS, Answers
from skyband_compare.plots.theme import config

WIDE, TALL = 760, 320
_PANEL = 250, 130
COLUMNS = 3
CLOCK = {
    "year": "%Y", "quarter": "%b %Y", "month": "%b %Y", "week": "%d %b", "day": "%d %b", "date": "%d %b",
    "hours": "%H:%M", "minutes": "%H:%M", "seconds": "%H:%M:%S", "milliseconds": "%S.%Ls",
}  # fmt: skip
"""Formats of a time axis' ticks, by their unit."""
_NUMBER = "format(datum.value, abs(datum.value) >= 1e5 ? '~s' : ',.6~g')"


def places(answers: Answers, at: Int64) -> list[float]:
    """The positions of moments on the axis: milliseconds, or rows."""
    return at.tolist() if answers.in_rows else (at / 1000).tolist()


def written(answers: Answers, at: Int64) -> list[str]:
    """Moments as readable text."""
    if answers.in_rows:
        row = "row " if answers.moment == MOMENTS[0] else ""  # the time of a tuple is a number from the source
        return [f"{row}{moment:,}" for moment in at.tolist()]
    return [f"{instant(moment).plain()} {answers.zone}".rstrip() for moment in at.tolist()]


def moments(alt: Any, answers: Answers, narrow: bool) -> Any:
    """The x axis; `narrow`: for a small panel."""
    marks = {"tickCount": 4 if narrow else 9, "labelOverlap": "greedy", "grid": False}
    if answers.in_rows:
        title = "rows" if answers.moment == MOMENTS[0] else answers.moment
        axis = alt.Axis(title=title, labelExpr=_NUMBER, tickMinStep=1, **marks)
        return alt.X("at:Q", axis=axis, scale=alt.Scale(zero=False, nice=False))
    axis = alt.Axis(title=answers.zone or "time", format=CLOCK, **marks)
    return alt.X("at:T", axis=axis, scale=alt.Scale(type="utc", nice=False))


def span(answers: Answers) -> str:
    """From the first moment to the last, with the days that ticks may omit."""
    return " to ".join(dict.fromkeys(written(answers, answers.at[[0, -1]])))


def numbers(alt: Any, **options: Any) -> Any:
    """The y axis for numbers of any size."""
    return alt.Axis(labelExpr=_NUMBER, tickCount=5, **options)


def size(panels: int) -> dict[str, int]:
    """The size of a panel when there are `count` of them."""
    wide, tall = (WIDE, TALL) if panels == 1 else _PANEL
    return {"width": wide, "height": tall}


def beside(
    alt: Any, chart: Any, names: Sequence[str], rows: list[dict[str, Any]], columns: int = COLUMNS, spacing: int = 24
) -> Any:
    """A layered chart for each panel in `names`, with the rows of the data that name it."""
    data = alt.InlineData(values=rows)
    if len(names) == 1:
        return chart.properties(data=data)
    facet = alt.Facet("panel:N", title=None, sort=list(names), header=alt.Header(labelAnchor="start"))
    return chart.facet(facet=facet, columns=columns, data=data, spacing=spacing)


def finished(alt: Any, chart: Any, title: str, notes: Sequence[str]) -> Any:
    """The chart with its title, notes as lines below it, and the colours of the light theme."""
    lines = [line for note in notes for line in textwrap.wrap(note, 124)]
    properties = {"title": alt.TitleParams(title, subtitle=lines), "description": "; ".join([title, *notes])}
    return chart.properties(**properties).configure(**config())


def empty(alt: Any, title: str, notes: Sequence[str]) -> Any:
    """A chart that says that there are no answers."""
    words = alt.Chart(alt.InlineData(values=[{}])).mark_text(text="no answers yet", fontSize=15, style="soft")
    return finished(alt, words.properties(width=WIDE, height=120), title, notes)
