"""Draws pairs and matches: their number or similarity over time, and the newest as a table."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc
from skyband.arrays import Array

from skyband_compare.plots import axes
from skyband_compare.plots.answers import Answers
from skyband_compare.plots.downsampling import Series, shortened
from skyband_compare.plots.named_pairs import ALIKE, NamedPair
from skyband_compare.plots.panels import combined, unlike

MOST_ROWS, MOST_BARS, MOST_POINTS = 25, 60, 300
_ROW, _LETTER, _CELL, _IDENTITY = 20, 6.8, 36, 48


def draw_pairs(alt: Any, answers: Answers, pair: NamedPair) -> tuple[Any, list[str]]:
    """Ranked pairs: the range of similarities at each moment, and the pairs of the newest moment."""
    newest = answers.where(answers.at == answers.at[-1])
    first = newest.where(np.arange(len(newest)) < MOST_ROWS)
    table = _table(alt, first, _columns(first, [*answers.by, *answers.after], pair))
    cut = "" if len(first) == len(newest) else f"the first {len(first):,} of "
    notes = [f"below: {cut}the {len(newest):,} pairs of the newest moment, {axes.written(answers, newest.at[:1])[0]}"]
    alike = next((name for name in ALIKE if name in answers.after), None)
    if alike is None or len(np.unique(answers.at)) < 2:
        return table, [notes[0].removeprefix("below: ")]
    notes.insert(0, f"above: the {alike} of each moment’s pairs; line: the largest; band: down to the least")
    chart = _range(alt, answers, alike, notes)
    return alt.vconcat(chart, table, spacing=10), notes


def draw_matches(alt: Any, answers: Answers, pair: NamedPair | None) -> tuple[Any, list[str]]:
    """Answers that are not ranked: their number over time, and the newest ones.

    If some rows have no match: the share of rows with a match, and the newest matches first.
    """
    matched = _matched(answers)
    if pair is not None and not matched.all():
        return _draw_share(alt, answers, pair, matched)
    newest = answers.newest(MOST_ROWS)
    table = _table(alt, newest, _columns(newest, [*answers.by, answers.moment, *answers.after], pair))
    cut = len(answers) > MOST_ROWS
    which = f"the newest {MOST_ROWS} of {len(answers):,}" if cut else f"all {len(answers):,}, the newest first"
    notes = ["above: the number of answers over time", f"below: {which}"]
    return alt.vconcat(_counts(alt, answers), table, spacing=10), notes


def _matched(answers: Answers) -> Array:
    """bool[n]: the answers with a match."""
    alike = next((name for name in ALIKE if name in answers.after), None)
    if alike is None:
        return np.ones(len(answers), bool)
    return ~answers.table.column(alike).is_null().to_numpy()


def _draw_share(alt: Any, answers: Answers, pair: NamedPair, matched: Array) -> tuple[Any, list[str]]:
    last = np.argsort(matched, kind="stable")[::-1][:MOST_ROWS]  # matches first, each newest first
    first = answers.take(last)
    table = _table(alt, first, _columns(first, [*answers.by, answers.moment, *answers.after], pair))
    starts = _starts_of_rows(answers, pair)
    rows = int(starts.sum())
    having = int((np.add.reduceat(matched.astype(np.int64), np.flatnonzero(starts)) > 0).sum())
    notes = [
        f"above: the share of rows with a match, {having:,} of {rows:,} in total",
        f"below: {min(MOST_ROWS, len(answers)):,} of {len(answers):,} answers, the newest matches first",
    ]
    return alt.vconcat(_counts(alt, answers, starts, matched), table, spacing=10), notes


def _starts_of_rows(answers: Answers, pair: NamedPair) -> Array:
    """bool[n]: whether an answer is the first of its row; the others follow it."""
    starts = np.append(True, answers.at[1:] != answers.at[:-1])
    for name in pair.columns[0]:
        column = answers.table.column(name)
        other = pc.not_equal(column.slice(1), column.slice(0, len(column) - 1)).fill_null(True)
        starts[1:] |= other.to_numpy()
    return starts


def _range(alt: Any, answers: Answers, alike: str, notes: list[str]) -> Any:
    at, place = np.unique(answers.at, return_inverse=True)
    values = answers.numbers(alike)
    most, least = np.full(len(at), -np.inf), np.full(len(at), np.inf)
    np.maximum.at(most, place, np.nan_to_num(values, nan=-np.inf))
    np.minimum.at(least, place, np.nan_to_num(values, nan=np.inf))
    series, each = shortened(Series(at, most, least, most), MOST_POINTS)
    if each > 1:
        notes.append(f"a point represents up to {np.ceil(each):,.0f} moments: the line is the mean of their largest")
    texts = axes.written(answers, series.at)
    columns = [np.where(np.isfinite(column), column, np.nan) for column in (series.value, series.low)]
    rows = [
        {"at": place, "when": when, "most": None if most != most else most, "least": None if least != least else least}
        for place, when, most, least in zip(axes.places(answers, series.at), texts, *map(np.ndarray.tolist, columns),
                                            strict=True)
    ]  # fmt: skip
    tips = [alt.Tooltip("when:N", title="moment"), alt.Tooltip("most:Q", title="largest"),
            alt.Tooltip("least:Q", title="least")]  # fmt: skip
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=axes.moments(alt, answers, False))
    area = base.mark_area(opacity=0.22).encode(y=alt.Y("least:Q", title=alike), y2="most:Q")
    line = base.mark_line(point=len(rows) <= MOST_BARS).encode(y=alt.Y("most:Q", title=alike), tooltip=tips)
    return alt.layer(area, line).properties(width=axes.WIDE, height=150)


def _counts(alt: Any, answers: Answers, starts: Array | None = None, matched: Array | None = None) -> Any:
    """Bars for equal intervals from the first answer to the last; the share for rows that may have a match.

    starts: bool[n], the first answers of rows. matched: bool[n], answers with a match.
    """
    first, last = int(answers.at[0]), int(answers.at[-1])
    length = max(-(-(last - first + 1) // MOST_BARS), 1)
    place = (answers.at - first) // length
    bars = np.bincount(place if starts is None else place[starts])
    shares = [None] * len(bars)
    if starts is not None and matched is not None:
        firsts = np.flatnonzero(starts)
        having = np.add.reduceat(matched.astype(np.int64), firsts) > 0
        shares = (np.bincount(place[firsts], having, len(bars)) / np.maximum(bars, 1)).tolist()
    begins = first + length * np.arange(len(bars), dtype=np.int64)
    begun, ended = axes.places(answers, begins), axes.places(answers, begins + length)
    whens = axes.written(answers, begins)
    rows = [{"at": begin, "until": end, "count": count, "when": when, "share": share}
            for begin, end, count, when, share in zip(begun, ended, bars.tolist(), whens, shares, strict=True)
            if count]  # fmt: skip
    tips = [alt.Tooltip("when:N", title="from"), alt.Tooltip("count:Q", format=",")]
    most = int(bars.max())
    whole = {"values": list(range(most + 1))} if most < 5 else {}
    height = alt.Y("count:Q", title="answers", axis=axes.numbers(alt, **whole))
    if starts is not None:
        tips = [tips[0], alt.Tooltip("share:Q", format=".1%"), alt.Tooltip("count:Q", title="rows", format=",")]
        height = alt.Y("share:Q", title="with a match", axis=alt.Axis(format="%", tickCount=5))
    marks = alt.Chart(alt.InlineData(values=rows)).mark_bar().encode(
        x=axes.moments(alt, answers, False), x2="until", y2=alt.datum(0), tooltip=tips, y=height)  # fmt: skip
    return marks.properties(width=axes.WIDE, height=110)


def _columns(first: Answers, names: Sequence[str], pair: NamedPair | None) -> dict[str, list[str]]:
    """The columns of a table as text; columns that identify a row together are one, as in "left: host · page"."""
    together = dict(zip(pair.columns, pair.names, strict=True)) if pair is not None and pair.several else {}
    begun = {columns[0]: columns for columns in together}
    inner = {name for columns in together for name in columns[1:]}
    by_name: dict[str, list[str]] = {}
    for name in names:
        if name in begun:
            side, columns = together[begun[name]], begun[name]
            names_of_side = [part.removeprefix(f"{side}_") for part in columns]
            by_name[f"{side}: {' · '.join(names_of_side)}"] = _identities(first, columns)
        elif name not in inner:
            texts = axes.written(first, first.at) if name == first.moment else first.cells(name)
            by_name[name] = [text if len(text) <= _CELL else f"{text[: _CELL - 1]}…" for text in texts]
    return by_name


def _identities(first: Answers, columns: Sequence[str]) -> list[str]:
    """Short, distinct names of the rows from these columns; empty if all are null."""
    place, names = combined(first, columns)
    short = unlike(names, _IDENTITY)
    missing = np.logical_and.reduce([first.table.column(name).is_null().to_numpy() for name in columns])
    return ["" if gone else short[number] for number, gone in zip(place.tolist(), missing.tolist(), strict=True)]


def _table(alt: Any, first: Answers, columns: Mapping[str, Sequence[str]]) -> Any:
    """Answers as a drawn table of these texts."""
    names = {name for name in columns if name != first.moment and name in first.table.column_names}
    flush = {name for name in names if first.is_number(name)}
    rules, cells, left = [], [], 0.0
    for name, texts in columns.items():
        wide = _LETTER * max(map(len, [name, *texts])) + 6
        x, align = (left + wide, "right") if name in flush else (left, "left")
        cells += [{"x": x, "y": _ROW * (number + 1), "text": text, "align": align, "head": number == 0}
                  for number, text in enumerate([name, *texts])]  # fmt: skip
        left += wide + 22
    rules = [{"x": 0, "x2": max(left - 22, 0), "y": _ROW * number + _ROW // 2} for number in range(1, len(first) + 2)]
    across, down = alt.X("x:Q", scale=None, axis=None), alt.Y("y:Q", scale=None, axis=None)
    lines = alt.Chart(alt.InlineData(values=rules)).mark_rule(style="line-of-table")
    layers = [lines.encode(x=across, x2="x2:Q", y=down)]
    layers += [
        alt.Chart(alt.InlineData(values=[cell for cell in cells if cell["head"] == head and cell["align"] == align]))
        .mark_text(align=align, baseline="middle", fontSize=12, style="soft" if head else "ink")
        .encode(x=across, y=down, text="text:N")
        for head in (True, False)
        for align in ("left", "right")
    ]
    return alt.layer(*layers).properties(width=max(left, 1), height=_ROW * (len(first) + 2))
