"""The plot of answers: counts over time with bands, or, with `seen`, how many items were seen how often."""

from typing import Any

import numpy as np
from skyband_compare.plots import axes, bands
from skyband_compare.plots.answers import Answers
from skyband_compare.plots.panels import combined, natural
from skyband_compare.plots.theme import COLOURS


def draw(alt: Any, answers: Answers) -> tuple[Any, list[str]]:
    """The chart and its notes. Only skyband-compare calls this, and this module needs it."""
    if "seen" in answers.after:
        return _curves(alt, answers)
    lines = bands.lines_of(answers)
    assert lines is not None, "answers have counts"
    return bands.draw(alt, answers, lines)


def _curves(alt: Any, answers: Answers) -> tuple[Any, list[str]]:
    """For each group and window, a curve of its newest answers over the numbers of sightings."""
    place, names = combined(answers, [*answers.by, "window"])
    newest = np.zeros(len(names), np.int64)
    np.maximum.at(newest, place, answers.at)
    mask = answers.at == newest[place]
    answers, place = answers.where(mask), place[mask]
    texts, (count, low, high) = answers.texts("seen"), map(answers.numbers, ("count", "low", "high"))
    totals = np.zeros(len(names))
    np.add.at(totals, place, count)
    largest = set(np.argsort(-totals, kind="stable")[:COLOURS].tolist())
    notes = ["the newest answers; the bars are from low to high"] if (low < high).any() else ["the newest answers"]
    if len(names) > COLOURS:
        others = len(names) - COLOURS
        notes.append(
            f"{len(names):,} curves: those with most items are drawn, {others:,} are left out (`only` draws others)"
        )
    rows = [
        {"seen": text, "count": many, "low": least, "high": most, "line": names[own], "when": when}
        for text, many, least, most, own, when in zip(
            texts, *(column.tolist() for column in (count, low, high, place)), axes.written(answers, answers.at),
            strict=True,
        )
        if own in largest
    ]  # fmt: skip
    return _chart(alt, rows, sorted({row["line"] for row in rows}, key=natural)), notes


def _chart(alt: Any, rows: list[dict[str, Any]], names: list[str]) -> Any:
    order = sorted({row["seen"] for row in rows}, key=lambda text: int(text.rstrip("+")))
    x = alt.X("seen:N", sort=order, title="seen", axis=alt.Axis(labelAngle=0, grid=False))
    y = alt.Y("count:Q", title="count", axis=axes.numbers(alt))
    tips = [alt.Tooltip(f"{name}:N") for name in ("seen", "line", "when")]
    tips += [alt.Tooltip(f"{name}:Q", format=",~r") for name in ("count", "low", "high")]
    colour = {"color": alt.Color("line:N", title=None, scale=alt.Scale(domain=names))} if len(names) > 1 else {}
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, **colour)
    return alt.layer(
        base.mark_rule(opacity=0.5).encode(y=alt.Y("low:Q", title="count"), y2="high:Q"),
        base.mark_line().encode(y=y),
        base.mark_point(opacity=1.0, size=36).encode(
            y=y, tooltip=[*tips, alt.Tooltip("line:N"), alt.Tooltip("when:N")]
        ),
    ).properties(**axes.size(1))
