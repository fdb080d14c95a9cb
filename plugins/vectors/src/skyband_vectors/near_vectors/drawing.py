"""The plot of answers: the largest stories over time, and how similar the best match of each row is."""

from typing import Any

import numpy as np
from skyband.arrays import Int64
from skyband_compare.plots import axes
from skyband_compare.plots.answers import Answers
from skyband_compare.plots.named_pairs import named_pair
from skyband_compare.plots.pairs_and_matches import draw_matches
from skyband_compare.plots.panels import combined, unlike

MOST_STORIES, MOST_BINS, BARS = 12, 120, 40
_LETTERS = 48


def draw(alt: Any, answers: Answers) -> tuple[Any, list[str]]:
    """The chart and its notes. Only skyband-compare calls this, and this module needs it."""
    pair = named_pair(answers.after)
    matches = answers
    if pair is not None:
        matches = answers.where(answers.table.column("similarity").is_valid().to_numpy())
    if pair is None or not len(matches):
        return draw_matches(alt, answers, pair)
    story, names = combined(matches, [*answers.by, *pair.columns[1]])
    largest = np.argsort(-np.bincount(story), kind="stable")[:MOST_STORIES]
    which = f"the {len(largest)} of {len(names):,} with most" if len(names) > len(largest) else f"all {len(names):,}"
    notes = [
        f"above: rows that others match, such as the first of a story: {which}; a dot is one or more such rows",
        "below: how similar the best match of each row is; a threshold belongs where there are few rows",
    ]
    stories = _stories(alt, matches, story, names, largest)
    best = _best(alt, matches, combined(matches, [*answers.by, *pair.columns[0]])[0])
    return alt.vconcat(stories, best, spacing=10), notes


def _stories(alt: Any, matches: Answers, story: Int64, names: list[str], largest: Int64) -> Any:
    """For each of the largest stories a line of dots over time."""
    first, last = int(matches.at[0]), int(matches.at[-1])
    length = max(-(-(last - first + 1) // MOST_BINS), 1)
    short = unlike([names[place] for place in largest.tolist()], _LETTERS)
    rows, begun = list[dict[str, Any]](), list[int]()
    for place, name in zip(largest.tolist(), short, strict=True):
        bins, counts = np.unique((matches.at[story == place] - first) // length, return_counts=True)
        begins = first + length * bins + length // 2
        begun.append(int(bins[0]))
        rows += [
            {"at": at, "story": name, "rows": count, "when": when}
            for at, count, when in zip(
                axes.places(matches, begins), counts.tolist(), axes.written(matches, begins), strict=True
            )
        ]
    order = [short[number] for number in np.argsort(begun, kind="stable").tolist()]
    down = alt.Y("story:N", sort=order, title=None, axis=alt.Axis(labelLimit=320, grid=True))
    size = alt.Size("rows:Q", legend=None, scale=alt.Scale(range=[30, 300]))
    tips = [alt.Tooltip("story:N"), alt.Tooltip("when:N", title="about"), alt.Tooltip("rows:Q", format=",")]
    dots = alt.Chart(alt.InlineData(values=rows)).mark_circle(opacity=0.7)
    dots = dots.encode(x=axes.moments(alt, matches, False), y=down, size=size, tooltip=tips)
    return dots.properties(width=axes.WIDE, height=max(60, 22 * len(order)))


def _best(alt: Any, matches: Answers, row: Int64) -> Any:
    """Bars: how many rows have a best match of each similarity."""
    best = np.full(int(row.max()) + 1, -np.inf)
    np.maximum.at(best, row, matches.numbers("similarity"))
    counts, edges = np.histogram(best, bins=BARS)
    rows = [
        {"from": low, "to": high, "count": count}
        for low, high, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
        if count
    ]
    across = alt.X("from:Q", title="similarity", scale=alt.Scale(zero=False, nice=False), axis=axes.numbers(alt))
    tips = [alt.Tooltip("from:Q", format=".4f"), alt.Tooltip("to:Q", format=".4f"), alt.Tooltip("count:Q", format=",")]
    bars = alt.Chart(alt.InlineData(values=rows)).mark_bar().encode(
        x=across, x2="to:Q", y=alt.Y("count:Q", title="rows", axis=axes.numbers(alt)), y2=alt.datum(0), tooltip=tips
    )  # fmt: skip
    return bars.properties(width=axes.WIDE, height=150)
