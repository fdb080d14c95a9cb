"""Renders Vega-Lite specifications as inline SVG, with the page's colours and fonts, and tooltips without scripts."""

import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

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
