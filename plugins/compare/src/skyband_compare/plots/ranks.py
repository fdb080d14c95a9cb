"""Draws ranks over time as a bump chart: a line for each object, broken where it is not in the answers."""

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
from attrs import frozen
from skyband.arrays import Int64

from skyband_compare.plots import axes
from skyband_compare.plots.answers import Answers
from skyband_compare.plots.panels import SPLIT, Panels, combined, panels, unlike
from skyband_compare.plots.theme import COLOURS

RANK = "rank"
MOST_RANKS = 20
MOST_MOMENTS, FEW_MOMENTS = 120, 50
"""Moments drawn in a wide panel, and in one of half the width."""
_DOTS = 60
_VALUES = ("score", "part", "total", "similarity", "probability")
"""Value columns after those that identify the object; answers rank by the first that they have."""
_CHANGE = "difference"
"""If answers have this column, they rank by it and not by the total before it."""
_ROW, _NARROW_ROW = 26, 18
_STACKED, _NARROW = 4, 340
_LETTER = 6.0
_LABEL = 32
_FEW_OTHERS = 12
"""The most objects without a colour whose lines are still distinguishable."""
_LARGE = 1000
"""From this size on, a label has all digits of a number."""
_SCORES = 130
"""The height of the panel of scores."""


@frozen(eq=False)
class Ranked:
    """Ranked objects: int64[n] ranks, and the place of each answer's object in `names`."""

    rank: Int64
    thing: Int64
    names: list[str]
    value: str | None


def ranked(answers: Answers) -> Ranked:
    """The ranks of a query's answers, their objects, and the value column by which they rank."""
    objects, value = _object_and_value(answers)
    thing, names = combined(answers, objects)
    rank = np.nan_to_num(answers.numbers(RANK), nan=0, posinf=0, neginf=0).astype(np.int64)
    return Ranked(rank, thing, names, value)


def _object_and_value(answers: Answers) -> tuple[list[str], str | None]:
    """The columns that identify the object: those between rank and the first value. A column of fractions is a value,
    unless it is before a value column of ours and is needed to distinguish the objects of one moment."""
    after = answers.after
    behind = after[after.index(RANK) + 1 :]
    first = next((name for name in behind if name in _VALUES), None)
    named = behind if first is None else behind[: behind.index(first)]
    fractions = [name for name in named[1:] if answers.has_fractions(name)]
    value = _CHANGE if first is not None and _CHANGE in behind else first
    if not fractions:
        return named, value
    objects = named[: named.index(fractions[0])]
    if first is None:
        return objects, fractions[0]
    return (objects if _are_apart(answers, objects) else named), value


def _are_apart(answers: Answers, objects: list[str]) -> bool:
    """Whether no two answers of one moment, group, query and window have the same object."""
    split = [name for name in (*answers.by, answers.moment, *SPLIT) if name in answers.table.column_names]
    place, _ = combined(answers, [*split, *objects])
    return len(np.unique(place)) == len(answers)


def draw(alt: Any, answers: Answers) -> tuple[Any, list[str]]:
    """A panel for each group, query and window; the objects ranked most often have colours."""
    ranking = ranked(answers)
    columns = [name for name in (*answers.by, *SPLIT) if name in answers.table.column_names]
    columns = [name for name in columns if len(answers.codes(name)[1]) > 1]
    panes = panels(answers, columns, lambda: _count_of(answers, columns), "the most answers")
    notes = list(panes.notes)
    if ranking.rank.max(initial=0) > MOST_RANKS:
        notes.append(f"ranks 1 to {MOST_RANKS} of {ranking.rank.max():,}")
    rows, dots, each = _rows(answers, ranking, panes)
    if each > 1:
        notes.append(f"one of {each:,} moments is drawn, including the newest (`last` draws a shorter time in full)")
    coloured = [label for label, _ in Counter(row["label"] for row in rows).most_common(COLOURS)]
    others = len({row["label"] for row in rows}) - len(coloured)
    if others:
        phrase = "is grey" if others == 1 else "are grey"
        notes.append(f"the {COLOURS} objects ranked most often have colours, {others:,} {phrase}")
    for row in rows:
        row["top"] = row["label"] in coloured
    scores = None if len(panes.names) > 1 else _scores(alt, answers, rows, ranking.value, coloured)
    for row in rows:
        del row["number"]
    if len(panes.names) > 1:
        return _panels(alt, answers, rows, panes, coloured, dots), notes
    chart, options = _chart(alt, answers, rows, panes, coloured, dots)
    ranks = axes.beside(alt, chart, panes.names, rows, **options)
    if scores is None:
        return ranks, notes
    notes.append(f"below: the {ranking.value} of the coloured objects, and in grey that of the last rank")
    return alt.vconcat(ranks, scores, spacing=10), notes


def _panels(
    alt: Any, answers: Answers, rows: list[dict[str, Any]], panes: Panels, coloured: list[str], dots: bool
) -> Any:
    """Panels side by side, each with its own axis if their k differ."""
    parts = {name: [row for row in rows if row["panel"] == name] for name in panes.names}
    if len({max((row["rank"] for row in part), default=1) for part in parts.values()}) == 1:
        chart, options = _chart(alt, answers, rows, panes, coloured, dots)
        return axes.beside(alt, chart, panes.names, rows, **options)
    charts = []
    for name, part in parts.items():
        chart, options = _chart(alt, answers, part, panes, coloured, dots)
        title = alt.TitleParams(name, fontSize=12, offset=6)
        charts.append(chart.properties(data=alt.InlineData(values=part), title=title))
    return alt.concat(*charts, **options)


def _chart(
    alt: Any, answers: Answers, rows: list[dict[str, Any]], panes: Panels, coloured: list[str], dots: bool
) -> tuple[Any, dict[str, int]]:
    """A panel, and the layout of panels, with room for names to their right."""
    many, narrow = len(panes.names) > 1, len(panes.names) > _STACKED
    last = max((row["rank"] for row in rows), default=1)
    beside = int(24 + _LETTER * max((len(row["told"]) for row in rows), default=0))
    ended = not many and {row["label"] for row in rows if row["end"]} >= set(coloured)  # all are named at their ends
    legend = None if ended else alt.Legend(offset=18 if many else beside)
    scale = alt.Scale(domain=[0.5, last + 0.5], reverse=True, nice=False, zero=False)
    ticks = alt.Axis(values=list(range(1, last + 1)), format="d", grid=False)
    rank = alt.Y("rank:Q", title="rank", scale=scale, axis=ticks)
    hue = alt.Color("label:N", title=None, scale=alt.Scale(domain=coloured), legend=legend)
    tips = [alt.Tooltip("when:N", title="moment"), alt.Tooltip("rank:Q"), alt.Tooltip("name:N", title="object"),
            alt.Tooltip("value:N"), *([alt.Tooltip("panel:N", title="of")] if many else [])]  # fmt: skip
    base = alt.Chart().encode(x=axes.moments(alt, answers, narrow), y=rank)
    grey = base.transform_filter("!datum.top")
    top = base.transform_filter("datum.top")
    run = alt.Detail("run:N")
    opacity, area = (1, 44) if dots else (0, 90)
    others = len({row["label"] for row in rows} - set(coloured))
    pale = 0.45 * min(1, _FEW_OTHERS / max(others, 1))  # fainter for very many lines
    faint = [
        grey.mark_line(style="faint", opacity=pale, strokeWidth=1.5 if others <= _FEW_OTHERS else 0.8).encode(
            detail=run
        ),
        grey.mark_point(style="faint", opacity=0.6 * opacity * (pale / 0.45) ** 0.5, size=area).encode(tooltip=tips),
    ]
    layers = [
        *(faint if any(not row["top"] for row in rows) else []),
        top.mark_line(strokeWidth=2.5).encode(detail=run, color=hue),
        top.mark_point(opacity=opacity, size=area).encode(color=hue, tooltip=tips),
        base.transform_filter("datum.end").mark_text(style="ink", align="left", dx=9, limit=_LETTER * _LABEL * 1.2)
        .encode(text="told:N"),
    ]  # fmt: skip
    tall = max((_NARROW_ROW if many else _ROW) * last, 60)
    panel = alt.layer(*layers).properties(width=_NARROW if narrow else axes.WIDE, height=tall)
    return panel, {"columns": 2 if narrow else 1, "spacing": beside if narrow else 24}


def _scores(
    alt: Any, answers: Answers, rows: list[dict[str, Any]], value: str | None, coloured: list[str]
) -> Any | None:
    """The scores over time; None if there are no scores or only one moment."""
    scored = [row for row in rows if row["number"] is not None]
    if value is None or not scored or len({row["at"] for row in scored}) < 2:
        return None
    last: dict[float, dict[str, Any]] = {}
    for row in scored:
        if row["at"] not in last or row["rank"] > last[row["at"]]["rank"]:
            last[row["at"]] = row
    least, lines = (
        [{name: row[name] for name in ("at", "when", "number", "label", "name", "value", "run")} for row in points]
        for points in ((last[at] for at in sorted(last)), (row for row in scored if row["top"]))
    )
    hue = alt.Color("label:N", title=None, scale=alt.Scale(domain=coloured), legend=None)
    tips = [alt.Tooltip("when:N", title="moment"), alt.Tooltip("name:N", title="object"), alt.Tooltip("value:N")]
    height = alt.Y("number:Q", title=value, axis=axes.numbers(alt), scale=alt.Scale(zero=False))
    at = axes.moments(alt, answers, False)
    grey = alt.Chart(alt.InlineData(values=least)).mark_line(style="faint", strokeDash=[3, 3]).encode(x=at, y=height)
    marks = alt.Chart(alt.InlineData(values=lines)).mark_line(strokeWidth=2, point={"opacity": 0})
    layers = [grey, marks.encode(x=at, y=height, color=hue, detail="run:N", tooltip=tips)]
    return alt.layer(*layers).properties(width=axes.WIDE, height=_SCORES)


def _rows(answers: Answers, ranking: Ranked, panes: Panels) -> tuple[list[dict[str, Any]], bool, int]:
    """A row for each point; whether there are few moments; one of how many moments is drawn."""
    dicts: list[dict[str, Any]] = []
    labels = unlike(ranking.names, _LABEL)
    each, dots = 1, True
    inside = (ranking.rank >= 1) & (ranking.rank <= MOST_RANKS)
    values = answers.texts(ranking.value) if ranking.value is not None else []
    numbers = answers.numbers(ranking.value) if ranking.value is not None and answers.is_number(ranking.value) else None
    shorter = values if numbers is None else list(map(_short, values))
    for number, panel in enumerate(panes.names):
        here = np.flatnonzero(inside & (panes.place == number))
        moments = np.unique(answers.at[here])
        step = -(-len(moments) // (MOST_MOMENTS if len(panes.names) <= _STACKED else FEW_MOMENTS))
        dotted = moments[::-1][:: max(step, 1)][::-1]  # including the newest
        each, dots = max(each, step), dots and len(dotted) <= _DOTS
        here = here[np.isin(answers.at[here], dotted)]
        turn = np.searchsorted(dotted, answers.at[here])
        runs = _runs(ranking.thing[here], turn)
        texts = axes.written(answers, answers.at[here])
        for place, (row, when, run) in enumerate(zip(here.tolist(), texts, runs, strict=True)):
            thing = int(ranking.thing[row])
            dicts.append({
                "at": axes.places(answers, answers.at[row : row + 1])[0], "when": when, "rank": int(ranking.rank[row]),
                "name": ranking.names[thing], "label": labels[thing], "run": f"{number}-{run}", "panel": panel,
                "end": bool(turn[place] == len(dotted) - 1), "value": values[row] if values else "",
                "told": f"{labels[thing]} · {shorter[row]}" if values else labels[thing],
                "number": None if numbers is None or not np.isfinite(numbers[row]) else float(numbers[row]),
            })  # fmt: skip
    return dicts, dots, each


def _short(number: str) -> str:
    """A number for a label: fractions with four digits."""
    return f"{float(number):.4g}" if "." in number and abs(float(number)) < _LARGE else number


def _runs(things: Int64, turns: Int64) -> list[int]:
    """The number of each point's line: a new one for each object, and after a missed moment."""
    order = sorted(range(len(things)), key=lambda place: (things[place], turns[place]))
    run, runs = 0, [0] * len(things)
    for before, place in pairwise(order):
        run += bool(things[before] != things[place] or turns[place] > turns[before] + 1)
        runs[place] = run
    return runs


def _count_of(answers: Answers, columns: list[str]) -> Any:
    place, names = combined(answers, columns)
    return np.bincount(place, minlength=len(names))[place].astype(np.float64)
