"""Chooses the charts of a comparison: over the course of one stream, or by window for several cases."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen

from skyband_compare.comparison import number_format
from skyband_compare.comparison.moment_bins import grid, on_grid
from skyband_compare.comparison.page import charts
from skyband_compare.comparison.results import Case, Comparison, Entry, latency, most
from skyband_compare.plots.axes import CLOCK

POINTS = 60
"""The most points of a line."""


@frozen
class Picture:
    """A figure of the page: its title, its caption, and its SVG."""

    title: str
    told: str
    svg: str


Colours = Mapping[str, str]
Figure = Callable[[Entry], float]


def pictures(comparison: Comparison, colours: Colours) -> list[Picture]:
    """The charts that have something to show."""
    if len(comparison.cases) == 1:
        case = comparison.cases[0]
        entries = [entry for entry in case.entries if entry.measured.failed is None]
        if not entries:
            return []
        figures = [_throughput(entries, colours), _latency(case, entries, colours)]
        return [*figures, *_errors(case, entries, colours), _retained(case, entries, colours), _bytes(entries, colours)]
    return _by_window(comparison, colours)


def working(case: Case) -> list[Entry]:
    """The entries that did not fail."""
    return [entry for entry in case.entries if entry.measured.failed is None]


def _throughput(entries: Sequence[Entry], colours: Colours) -> Picture:
    bars = []
    for entry in entries:
        rate, alone = entry.measured.rate, entry.measured.own_rate
        tip = (
            f"{entry.label}\n{number_format.rate(rate)} rows/s\n{number_format.rate(alone)} rows/s in the backend alone"
        )
        bars.append(
            charts.Bar(
                entry.label,
                colours[entry.label],
                rate,
                alone,
                f"{number_format.rate(rate)}, alone {number_format.rate(alone)}",
                tip,
            )
        )
    caption = "rows per second in the operator; paler: in the backend alone"
    return Picture("Throughput", caption, charts.bars("Throughput", _said(bars), bars))


def _latency(case: Case, entries: Sequence[Entry], colours: Colours) -> Picture:
    bars = []
    for entry in entries:
        middle, late = latency(entry.measured, 50), latency(entry.measured, 99)
        tip = f"{entry.label}\nmedian {number_format.seconds(middle)}\np99 {number_format.seconds(late)}"
        text = f"{number_format.seconds(middle)} – {number_format.seconds(late)}"
        bars.append(charts.Bar(entry.label, colours[entry.label], middle, max(late, middle), text, tip))
    caption = f"median (filled) and 99th percentile (open) of a {case.moment}"
    return Picture("Latency", caption, charts.ranges("Latency", _said(bars), bars, charts.SECONDS))


def _errors(case: Case, entries: Sequence[Entry], colours: Colours) -> list[Picture]:
    off = [entry for entry in entries if entry.accuracy is not None and not entry.is_reference]
    if not any(entry.accuracy and entry.accuracy.error > 0 for entry in off):
        return []
    measure = next(entry.accuracy.measure for entry in off if entry.accuracy)
    at = np.unique(np.concatenate([entry.accuracy.at for entry in off if entry.accuracy]))
    ends = grid(at, POINTS)
    series = [
        charts.Line(entry.label, colours[entry.label], on_grid(entry.accuracy.at, entry.accuracy.errors, ends))
        for entry in off
        if entry.accuracy
    ]
    caption = f"{measure}, compared with {case.reference.label}, from the first moment to the last"
    chart = _over_time(case, "Error over the stream", caption, ends.tolist(), series, number_format.share, charts.SHARE,
                       _bound(entries))  # fmt: skip
    points = []
    for entry in entries:
        if entry.accuracy is None or not entry.measured.rows or not math.isfinite(entry.accuracy.error):
            continue
        cost = entry.measured.seconds / entry.measured.rows
        tip = f"{entry.label}\n{number_format.seconds(cost)} a row\nerror {number_format.share(entry.accuracy.error)}"
        points.append(charts.Point(entry.label, colours[entry.label], cost, entry.accuracy.error, tip))
    message = "; ".join(point.tip.replace("\n", ", ") for point in points)
    caption = "time per row and error: low and to the left is good"
    image = charts.points("Error against time", message, points, charts.SECONDS, charts.SHARE, "time a row")
    return [Picture("Error against time", caption, image), chart]


def _retained(case: Case, entries: Sequence[Entry], colours: Colours) -> Picture:
    ends = grid(np.concatenate([entry.measured.sampled_at for entry in entries]), POINTS)
    series = [
        charts.Line(entry.label, colours[entry.label], on_grid(measured.sampled_at, measured.retained, ends))
        for entry, measured in ((entry, entry.measured) for entry in entries)
    ]
    caption = "items kept, from the first moment to the last"
    return _over_time(case, "Retained", caption, ends.tolist(), series, number_format.rate, charts.NUMBER)


def _bytes(entries: Sequence[Entry], colours: Colours) -> Picture:
    bars = []
    for entry in entries:
        value, blob = most(entry.measured.nbytes), entry.measured.snapshot_bytes
        tip = f"{entry.label}\n{number_format.size(value)} in memory at most"
        tip += "" if blob is None else f"\n{number_format.size(blob)} in a snapshot"
        bars.append(charts.Bar(entry.label, colours[entry.label], value, 0.0, number_format.size(value), tip))
    return Picture("Memory", "bytes of state at most", charts.bars("Memory", _said(bars), bars))


def _by_window(comparison: Comparison, colours: Colours) -> list[Picture]:
    cases = comparison.cases
    windows = [float(case.window or 0) for case in cases]
    kinds: list[tuple[str, str, Figure, Callable[[float], str], str]] = [
        ("Throughput", "rows per second in the operator", lambda entry: entry.measured.rate, number_format.rate,
         charts.NUMBER),
        ("Throughput alone", "rows/s in the backend alone", lambda entry: entry.measured.own_rate, number_format.rate,
         charts.NUMBER),
        ("Latency", f"99th percentile of a {cases[-1].moment}", _late, number_format.seconds, charts.SECONDS),
        ("Error", _measure(cases), _error, number_format.share, charts.SHARE),
        ("Retained", "items kept at most", lambda entry: most(entry.measured.retained), number_format.rate,
         charts.NUMBER),
        ("Memory", "bytes of state at most", lambda entry: most(entry.measured.nbytes), number_format.size,
         charts.BYTES),
    ]  # fmt: skip
    figures = []
    x = {"type": "quantitative", "scale": {"type": "log", "nice": False},
         "axis": {"grid": False, "values": windows, "labelExpr": charts.NUMBER}}  # fmt: skip
    for title, caption, figure, text, pattern in kinds:
        series = [
            charts.Line(label, colour, np.array([_of(case, label, figure) for case in cases]))
            for label, colour in colours.items()
        ]
        finite = [line for line in series if np.isfinite(line.values).any()]
        if not finite or (title == "Error" and not any(np.nanmax(line.values) > 0 for line in finite)):
            continue
        caption = f"{caption}; along, the {comparison.axis}"
        name = f"{title} against window"
        tips = _tips([f"{comparison.axis}: {at:,.0f}" for at in windows], finite, text)
        figures.append(
            Picture(name, caption, charts.lines(name, caption, windows, x, tips, finite, pattern, dots=True))
        )
    return figures


def _of(case: Case, label: str, figure: Figure) -> float:
    entries = [entry for entry in working(case) if entry.label == label]
    return float(figure(entries[0])) if entries else math.nan


def _error(entry: Entry) -> float:
    return math.nan if entry.is_reference or entry.accuracy is None else entry.accuracy.error


def _late(entry: Entry) -> float:
    return latency(entry.measured, 99)


def _measure(cases: Sequence[Case]) -> str:
    measures = [entry.accuracy.measure for case in cases for entry in case.entries if entry.accuracy]
    return measures[0] if measures else ""


def _over_time(
    case: Case,
    title: str,
    caption: str,
    xs: Sequence[float],
    series: Sequence[charts.Line],
    text: Callable[[float], str],
    pattern: str,
    bound: tuple[float, str] | None = None,
) -> Picture:
    tips = _tips([number_format.moment(int(at), case.in_rows) for at in xs], series, text)
    at = xs if case.in_rows else [moment / 1000 for moment in xs]
    return Picture(
        title, caption, charts.lines(title, caption, at, _along(case.in_rows), tips, series, pattern, bound=bound)
    )


def _along(in_rows: bool) -> dict[str, Any]:
    """The x axis over a stream."""
    if in_rows:
        return {"type": "quantitative", "scale": {"zero": False, "nice": False},
                "axis": {"grid": False, "labelExpr": charts.NUMBER, "tickCount": 5}}  # fmt: skip
    return {"type": "temporal", "scale": {"type": "utc"}, "axis": {"grid": False, "format": CLOCK, "tickCount": 5}}


def _tips(places: Sequence[str], series: Sequence[charts.Line], text: Callable[[float], str]) -> list[str]:
    """The tooltip of each x: its moment, and the value of each line there."""
    texts = [[f"{line.name}: {text(value)}" if math.isfinite(value) else "" for value in line.values.tolist()]
            for line in series]  # fmt: skip
    return ["\n".join(filter(None, entry)) for entry in zip(places, *texts, strict=True)]


def _bound(entries: Sequence[Entry]) -> tuple[float, str] | None:
    """The error that all bounded backends declare, if they agree."""
    declared = {
        entry.measured.parameters.get("epsilon")
        for entry in entries
        if entry.measured.binding is not None and entry.measured.binding.info.guarantee == "bounded"
    }
    if len(declared) != 1:
        return None
    value = declared.pop()
    return (value, f"declared: {number_format.share(value)}") if isinstance(value, float) else None


def _said(bars: Sequence[charts.Bar]) -> str:
    return "; ".join(f"{bar.name} {bar.text}" for bar in bars)
