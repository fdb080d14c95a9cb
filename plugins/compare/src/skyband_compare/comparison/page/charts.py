"""The charts of a comparison: bars, ranges or points for backends, and lines over time or windows."""

import math
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from attrs import asdict, frozen
from skyband.arrays import Float64
from skyband.text_tables import visible

from skyband_compare.plots.saving import svg

WIDE, TALL = 430, 250
TIP = "tip"
"""The `ariaRoleDescription` of a mark whose `description` becomes a tooltip."""
_CONFIG = {
    "background": None, "view": {"stroke": None},
    "legend": {"labelColor": "var(--ink)", "labelFontSize": 12, "labelLimit": 220, "symbolSize": 80, "symbolOpacity": 1,
               "rowPadding": 4},
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif",
    "axis": {"domainColor": "var(--faint)", "gridColor": "var(--rule)", "ticks": False, "labelColor": "var(--soft)",
             "titleColor": "var(--soft)", "titleFontWeight": "normal", "labelFontSize": 11.5, "titleFontSize": 11.5,
             "labelPadding": 8, "labelSeparation": 14, "labelLimit": 220},
    "text": {"color": "var(--soft)", "fontSize": 12, "aria": False},
}  # fmt: skip
_WIDER = 1.6
"""How much wider a letter may be in the reader's font than Vega assumes."""
_NEEDLESS = ("aria-hidden", "aria-roledescription", "class", "font-family", "role", "stroke-miterlimit", "version")


def inline_svg(
    title: str, caption: str, layers: Sequence[Any], tall: float, right: Sequence[str], left: Sequence[str] = ()
) -> str:
    """A layered chart with texts to its right and left. `told`: its description for screen readers."""
    before, behind = (10 + _WIDER * max(map(len, texts), default=0) for texts in (left, right))
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json", "config": _CONFIG, "layer": layers,
        "width": WIDE, "height": tall, "autosize": {"type": "fit", "contains": "padding"},
        "padding": {"left": before, "top": 6, "bottom": 2, "right": behind},
    }  # fmt: skip
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", visible(svg(spec), keep="\n"), count=2)
    drawn = ElementTree.fromstring(text)
    for mark in drawn.iter():
        label, is_tip = mark.attrib.pop("aria-label", ""), mark.get("aria-roledescription") == TIP
        for name in _NEEDLESS:
            mark.attrib.pop(name, None)
        if is_tip:
            mark.set("class", TIP)
            ElementTree.SubElement(mark, "title").text = label
    for name in ("width", "height"):
        drawn.attrib.pop(name)
    drawn.attrib.update({"role": "img", "aria-label": f"{title}. {caption}"})
    return ElementTree.tostring(drawn, encoding="unicode")


NUMBER = "format(datum.value, '~s')"
SECONDS, BYTES = (f"replace({NUMBER}, regexp('([^0-9.]?)$'), ' $1{unit}')" for unit in "sB")
SHARE = "format(100 * datum.value, datum.value && abs(datum.value) < 1e-5 ? '.2~e' : '.3~g') + ' %'"
"""Formats of axis ticks, as Vega expressions."""
_FAR = 25
"""The ratio of values from which on the scale is logarithmic, so that small ones stay visible."""


@frozen
class Bar:
    """A value, another one drawn behind it, and their label."""

    name: str
    colour: str
    value: float
    behind: float
    text: str
    tip: str


@frozen
class Point:
    """A named point."""

    name: str
    colour: str
    x: float
    y: float
    tip: str


@frozen(eq=False)
class Line:
    """A series: float64[p] over the chart's x."""

    name: str
    colour: str
    values: Float64


Mark = dict[str, Any]
_DOT: Mark = {"type": "point", "filled": True, "opacity": 1}
_COLOUR = {"color": {"field": "colour", "type": "nominal", "scale": None, "legend": None}}


def bars(title: str, caption: str, entries: Sequence[Bar]) -> str:
    """One bar per backend from 0, with a paler one behind it, the longest first."""
    entries = sorted(entries, key=lambda bar: -bar.value)
    data = [{**row, "behind": max(row["behind"], row["value"])} for row in map(asdict, entries)]
    thick = _thick(len(entries)) - 10
    y = _names(entries)

    def x(field: str) -> Mark:
        return {"field": field, "type": "quantitative", "axis": None, "scale": {"nice": False}}

    bar = {"type": "bar", "cornerRadiusEnd": 4, "height": thick}
    pale = [row for row in data if row["behind"] > row["value"]]
    layers = [
        *([_layer(pale, {**bar, "opacity": 0.22}, y=y, x=x("behind"))] if pale else []),
        _layer(data, bar, y=y, x=x("value")),
        _text(data, 7, y=y, x=x("behind")),
    ]
    return inline_svg(title, caption, layers, 24 + _thick(len(entries)) * len(entries), *_sides(entries))


def ranges(title: str, caption: str, entries: Sequence[Bar], pattern: str) -> str:
    """A filled dot at `value` and an open one at `behind`, on a logarithmic scale, the lowest first."""
    entries = sorted(entries, key=lambda bar: bar.value)
    data = [asdict(bar) for bar in entries]
    scale = _scaled([value for bar in entries for value in (bar.value, bar.behind)], pattern, log=True)
    names = _names(entries)
    y = {**names, "axis": {**names["axis"], "domain": False}}

    def x(field: str) -> Mark:
        return {"field": field, "type": "quantitative", "title": None, **scale}

    layers = [
        _layer(data, {"type": "rule", "strokeWidth": 2, "opacity": 0.55}, y=y, x=x("value"), x2={"field": "behind"}),
        _layer(data, {**_DOT, "size": 90}, y=y, x=x("value")),
        _layer(data, {"type": "point", "fill": "var(--card)", "strokeWidth": 2, "size": 70, "opacity": 1}, y=y,
               x=x("behind")),
        _text(data, 11, y=y, x={"value": "width"}),
    ]  # fmt: skip
    return inline_svg(title, caption, layers, 46 + _thick(len(entries)) * len(entries), *_sides(entries))


def lines(
    title: str, caption: str, at: Sequence[float], x: Mark, tips: Sequence[str], series: Sequence[Line], pattern: str,
    dots: bool = False, bound: tuple[float, str] | None = None,
) -> str:  # fmt: skip
    """Series over a common x, named in the order of their last values; `tips` are tooltips for each x."""
    points = [(line, _finite(line)) for line in series]
    finite = [value for _, values in points for _, value in values] + ([] if bound is None else [bound[0]])
    y = {"field": "value", "type": "quantitative", "title": None, **_scaled(finite, pattern)}
    across = {"field": "at", "title": None, **x}
    ended = sorted((line for line, values in points if values), key=lambda line: -_finite(line)[-1][1])
    hue = _legend([(line.name, line.colour) for line in ended])
    data = [{"at": at[place], "value": value, "name": line.name, "tip": line.name}
            for line, values in points for place, value in values]  # fmt: skip
    few = dots or len({row["at"] for row in data}) == 1
    layers = [
        *_bound(bound, y),
        _layer(data, {"type": "line", "strokeWidth": 2, "strokeJoin": "round"}, x=across, y=y, color=hue),
        *([_layer(data, {**_DOT, "size": 50}, x=across, y=y, color=hue)] if few else []),
        _strips(at, across, tips),
    ]
    return inline_svg(title, caption, layers, TALL, [line.name for line in series])


def points(title: str, caption: str, entries: Sequence[Point], x_text: str, y_text: str, x_name: str) -> str:
    """A point per backend, with x logarithmic, and y from 0 or logarithmic too. Left and low is good."""
    scale = _scaled([point.x for point in entries], x_text, log=True)
    scale["axis"]["grid"] = False
    x = {"field": "x", "type": "quantitative", "title": x_name, **scale}
    y = {"field": "y", "type": "quantitative", "title": None, **_scaled([point.y for point in entries], y_text)}
    data = [asdict(point) for point in entries]
    hue = _legend([(point.name, point.colour) for point in sorted(entries, key=lambda point: -point.y)])
    layers = [_layer(data, {**_DOT, "size": 110}, x=x, y=y, color=hue)]
    return inline_svg(title, caption, layers, TALL, [point.name for point in entries])


def _finite(line: Line) -> list[tuple[int, float]]:
    """The points of a line that have a value."""
    return [(place, value) for place, value in enumerate(line.values.tolist()) if math.isfinite(value)]


def _legend(names: Sequence[tuple[str, str]]) -> Mark:
    """The names with their colours, from top to bottom."""
    scale = {"domain": [name for name, _ in names], "range": [colour for _, colour in names]}
    return {"field": "name", "type": "nominal", "title": None, "scale": scale}


def _scaled(values: Sequence[float], pattern: str, log: bool = False) -> Mark:
    """A scale from 0 or, if values are far apart, a logarithmic one, which may have a 0 below; and its ticks."""
    above = [value for value in values if value > 0]
    axis: Mark = {"domain": False, "labelExpr": pattern, "tickCount": 5}
    if not above or not (log or max(above) > _FAR * min(above)):
        return {"scale": {"zero": True}, "axis": axis}
    low, high = math.floor(math.log10(min(above))), math.ceil(math.log10(max(above)))
    each = (1, 2, 5) if high - low <= 1 else (1, 3) if high - low <= 2 else (1,)
    ticks = [step * 10.0**power for power in range(low, high + 1, max(1, (high - low) // 5)) for step in each]
    ends = [10.0**low, 10.0**high] if high > low else [10.0**low, 10.0 ** (low + 1)]
    if len(above) < len(values):
        scale = {"type": "symlog", "constant": ends[0], "domain": [0, ends[1]], "nice": False}
        return {"scale": scale, "axis": {**axis, "values": [0.0, *ticks]}}
    return {"scale": {"type": "log", "domain": ends, "nice": False}, "axis": {**axis, "values": ticks}}


def _layer(data: Sequence[Mark], mark: Mark, **encoding: Mark) -> Mark:
    """Marks in their colours, with tooltips."""
    tip = {"description": {"field": "tip", "type": "nominal"}}
    return {"data": {"values": data}, "mark": {**mark, "ariaRoleDescription": TIP},
            "encoding": {**_COLOUR, **tip, **encoding}}  # fmt: skip


def _text(data: Sequence[Mark], beside: float, **encoding: Mark) -> Mark:
    mark = {"type": "text", "align": "left", "baseline": "middle", "dx": beside}
    return {
        "data": {"values": data},
        "mark": mark,
        "encoding": {"text": {"field": "text", "type": "nominal"}, **encoding},
    }


def _names(entries: Sequence[Bar]) -> Mark:
    """The axis of backends, in order."""
    axis = {"title": None, "labelColor": "var(--ink)", "labelFontSize": 12}
    return {"field": "name", "type": "nominal", "sort": [bar.name for bar in entries], "axis": axis}


def _bound(bound: tuple[float, str] | None, y: Mark) -> list[Mark]:
    if bound is None:
        return []
    place = {**{key: value for key, value in y.items() if key != "field"}, "datum": bound[0]}
    rule = {"type": "rule", "strokeDash": [4, 4], "color": "var(--faint)", "aria": False}
    text = {"type": "text", "align": "left", "dy": -7, "dx": 6, "text": bound[1]}
    return [{"mark": rule, "encoding": {"y": place}}, {"mark": text, "encoding": {"y": place, "x": {"value": 0}}}]


def _strips(at: Sequence[float], across: Mark, tips: Sequence[str]) -> Mark:
    """An invisible strip at each x, with a tooltip."""
    data = [{"at": moment, "tip": tip} for moment, tip in zip(at, tips, strict=True)]
    wide = max(3, 280 // max(len(at), 1))
    strip = _layer(data, {"type": "rule", "strokeWidth": wide, "opacity": 0, "color": "var(--ink)"}, x=across)
    del strip["encoding"]["color"]
    return strip


def _sides(entries: Sequence[Bar]) -> tuple[list[str], list[str]]:
    """The labels to the right of the bars, and to their left."""
    return [bar.text for bar in entries], [bar.name for bar in entries]


def _thick(count: int) -> int:
    """The height of a backend's row."""
    return min(44, max(26, 232 // max(count, 1)))
