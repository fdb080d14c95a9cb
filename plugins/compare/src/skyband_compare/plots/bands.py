"""Draws numbers over time with bands: counts between their bounds, sums, any query's numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, field, frozen
from skyband.arrays import Array, Float64, Int64

from skyband_compare.plots import axes
from skyband_compare.plots.answers import Answers
from skyband_compare.plots.downsampling import Series, shortened
from skyband_compare.plots.panels import SPLIT, Panels, combined, natural, panels
from skyband_compare.plots.theme import COLOURS

MOST_POINTS, MOST_A_LINE, FEWEST_A_LINE = 6000, 400, 20
_DOTS = 60
"""Lines with at most this many moments have a dot at each."""
_UNLIKE = 20
"""The ratio of two panels' largest values from which on each has its own scale."""

Values = tuple[Float64, Float64, Float64]


@frozen(eq=False)
class Lines:
    """The lines to draw, by name: values and their lower and upper bounds, float64[n] each."""

    values: Mapping[str, Values]
    told: str = ""
    told_apart: tuple[str, ...] = ()
    """Columns with a colour for each value, if there are several; empty: windows or groups have colours."""
    limits: tuple[float, ...] = ()
    """Numbers at which to draw a horizontal line."""

    @property
    def first(self) -> tuple[str, Float64]:
        """The line whose values decide which panels are drawn."""
        return next((name, values[0]) for name, values in self.values.items())


@define(eq=False)
class _Points:
    """The points of all lines, and facts for the notes."""

    rows: list[dict[str, Any]] = field(factory=list)
    longest: int = 0
    each: float = 1.0
    hidden: list[str] = field(factory=list)


def lines_of(answers: Answers) -> Lines | None:
    """The numbers of a query's answers; None if there are none."""
    names = [name for name in answers.after if name not in SPLIT]
    if "sum" in names and "expected" in names:
        total, expected = answers.numbers("sum"), answers.numbers("expected")
        band = expected, np.fmin(total, expected), np.fmax(total, expected)
        return Lines({"expected": band, "sum": (total, total, total)}, "the band is the range between the two")
    numbers = [name for name in names if name not in ("low", "high") and answers.is_number(name)]
    if not numbers:
        return None
    if "low" not in names or "high" not in names:
        value = answers.numbers(numbers[0])
        return Lines({numbers[0]: (value, value, value)})
    bounded = _bounded(names, numbers)
    value, low, high = (answers.numbers(name) for name in (bounded, "low", "high"))
    caption = "the band is from low to high, the bounds that the backend declares" if (low < high).any() else ""
    return Lines({bounded: (value, low, high)}, caption, _told_apart(answers, names[: names.index(bounded)]))


def _bounded(names: list[str], numbers: list[str]) -> str:
    """The number that low and high are bounds of: the one right before them, else the first."""
    before = names[: min(names.index("low"), names.index("high"))]
    return before[-1] if before and before[-1] in numbers else numbers[0]


def _told_apart(answers: Answers, before: list[str]) -> tuple[str, ...]:
    """The columns before the number, if a group has several answers for one moment and window."""
    split = [name for name in SPLIT if name in answers.after]
    each = [answers.at, *(answers.codes(name)[0] for name in (*answers.by, *split))]
    return tuple(before) if len(np.unique(np.stack(each), axis=1).T) < len(answers) else ()


def draw(alt: Any, answers: Answers, lines: Lines) -> tuple[Any, list[str]]:
    """Lines with bands: a colour for each window or, if there is one window and few groups, for each group.

    A query with its own chart may set other colours in `lines`, and draw limits.
    """
    coloured, cut = _colours_and_panels(answers, len(lines.values), lines.told_apart)
    name, values = lines.first
    panes = panels(answers, cut, lambda: values, f"the largest {name}")
    hue, hues = combined(answers, coloured)
    points = _points(answers, lines, hue, hues if coloured else None, panes)
    apart = len(panes.names) > 1 and _far_apart(values, panes)
    notes = [*([lines.told] if lines.told else []), *panes.notes, *_notes(lines, points, panes, apart)]
    names = sorted(hues, key=natural) if coloured else list(lines.values)
    chart = axes.beside(alt, _layers(alt, answers, lines, points, names, coloured, panes), panes.names, points.rows)
    return (chart.resolve_scale(y="independent") if apart else chart), notes


def _layers(
    alt: Any, answers: Answers, lines: Lines, points: _Points, names: list[str], coloured: list[str], panes: Panels
) -> Any:
    axis_title, many = " and ".join(lines.values), len(panes.names) > 1
    scale = alt.Scale(zero=_least(lines) >= 0, nice=True)
    hue = alt.Color("line:N", title=" · ".join(coloured) or None, scale=alt.Scale(domain=names))
    colour = {"color": hue} if len(names) > 1 else {}
    tips = [alt.Tooltip("when:N", title="moment")]
    tips += [alt.Tooltip(f"{name}:Q", format=",~r") for name in ("value", "low", "high")]
    tips += [alt.Tooltip("line:N")] if len(names) > 1 else []
    tips += [alt.Tooltip("panel:N", title="of")] if many else []
    base = alt.Chart().encode(x=axes.moments(alt, answers, many), **colour)
    value = alt.Y("value:Q", title=axis_title, scale=scale, axis=axes.numbers(alt))
    low = alt.Y("low:Q", title=axis_title, scale=scale, axis=axes.numbers(alt))
    few = points.longest <= _DOTS
    band = base.mark_rule(opacity=0.5) if points.longest == 1 else base.mark_area(opacity=0.22)
    across = [
        alt.Chart(alt.InlineData(values=[{"limit": limit}]))
        .mark_rule(strokeDash=[6, 4], opacity=0.8)
        .encode(y=alt.Y("limit:Q", title=axis_title), tooltip=[alt.Tooltip("limit:Q")])
        for limit in lines.limits
    ]
    return alt.layer(
        *across,
        band.encode(y=low, y2="high:Q"),
        base.mark_line().encode(y=value),
        base.mark_point(opacity=float(few), size=36 if few else 90).encode(y=value, tooltip=tips),
    ).properties(**axes.size(len(panes.names)))


def _colours_and_panels(answers: Answers, series: int, told_apart: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """The columns distinguished by colour, and those by panel."""
    windows = [name for name in SPLIT if name in answers.after and len(answers.codes(name)[1]) > 1]
    groups = [name for name in answers.by if len(answers.codes(name)[1]) > 1]
    several = [name for name in told_apart if len(answers.codes(name)[1]) > 1]
    if several and len(combined(answers, several)[1]) <= COLOURS:
        return several, [*groups, *windows]
    windows = [*windows, *several]
    if series == 1 and not windows and groups and len(combined(answers, groups)[1]) <= COLOURS:
        return groups, []
    if series == 1 and windows and len(combined(answers, windows)[1]) <= COLOURS:
        return windows, groups
    return [], [*groups, *windows]


def _points(answers: Answers, lines: Lines, hue: Int64, hues: list[str] | None, panes: Panels) -> _Points:
    """Every line of every panel, shortened if they have too many points in total."""
    parts = [
        (panel, name if hues is None else hues[shade], (panes.place == number) & (hue == shade), values)
        for number, panel in enumerate(panes.names)
        for shade in range(1 if hues is None else len(hues))
        for name, values in lines.values.items()
    ]
    parts = [part for part in parts if part[2].any()]
    most = max(FEWEST_A_LINE, min(MOST_A_LINE, MOST_POINTS // max(len(parts), 1)))
    points, above = _Points(), dict[tuple[str, bytes], str]()
    for panel, name, mask, values in parts:
        series, each = shortened(Series(answers.at[mask], *(column[mask] for column in values)), most)
        first = above.setdefault((panel, series.at.tobytes() + series.value.tobytes()), name)
        if first != name:
            points.hidden.append(f"{name} equals {first} throughout{f' ({panel})' if panel else ''}")
        points.each, points.longest = max(points.each, each), max(points.longest, len(series.at))
        points.rows += _rows(answers, series, each > 1, {"line": name, "panel": panel})
    return points


def _rows(answers: Answers, series: Series, several: bool, names: Mapping[str, str]) -> list[dict[str, Any]]:
    texts = axes.written(answers, series.at)
    bounded = np.isfinite(series.low) & np.isfinite(series.high)
    numbers = (
        _plain(series.value, np.isfinite(series.value)),
        _plain(series.low, bounded),
        _plain(series.high, bounded),
    )
    return [
        {"at": at, "when": f"up to {when}" if several else when, "value": value, "low": low, "high": high, **names}
        for at, when, value, low, high in zip(axes.places(answers, series.at), texts, *numbers, strict=True)
    ]


def _plain(values: Float64, is_finite: Array) -> list[float | None]:
    """The values for JSON: null for those that are not finite."""
    return [float(f"{value:.9g}") if here else None for value, here in zip(values.tolist(), is_finite, strict=True)]


def _notes(lines: Lines, points: _Points, panes: Panels, apart: bool) -> list[str]:
    in_a_panel = panes.place >= 0
    notes = points.hidden[:3]
    if len(points.hidden) > 3:
        notes.append(f"the same holds for {len(points.hidden) - 3:,} more lines")
    if points.each > 1:
        notes.append(f"a point represents up to {np.ceil(points.each):,.0f} answers: their mean, and a band from the "
        "least to the most of them (`last` draws a shorter time in full)")  # fmt: skip
    finite = [np.isfinite(values).all(axis=0) for values in map(np.stack, lines.values.values())]
    unseen = sum(int((~each & in_a_panel).sum()) for each in finite)
    if unseen:
        notes.append(f"{unseen:,} answers are not drawn: their value or a bound is null or infinite")
    return [*notes, "each panel has its own scale"] if apart else notes


def _least(lines: Lines) -> float:
    every = np.concatenate([column for values in lines.values.values() for column in values])
    return float(every[np.isfinite(every)].min(initial=0.0))


def _far_apart(values: Array, panes: Panels) -> bool:
    most = [np.abs(values[(panes.place == number) & np.isfinite(values)]).max(initial=0.0)
            for number in range(len(panes.names))]  # fmt: skip
    return bool(max(most) > _UNLIKE * max(min(most), 1e-300))
