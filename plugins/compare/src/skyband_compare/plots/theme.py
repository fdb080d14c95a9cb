"""The light and dark theme of charts, as Vega-Lite configuration; imports Altair on first use."""

from typing import Any

from skyband_jobs.formats.extras import imported, missing

EXTRA, _DRAWS = "plot", "vl_convert"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
COLOURS = 8
"""The number of distinct series colours."""
_LIGHT = {
    "paper": "#ffffff", "ink": "#1b1a18", "soft": "#5c5a55", "faint": "#8a8780", "rule": "#e6e3dc",
    "series": ("#2a78d6", "#eb6834", "#159a6b", "#6a4bc4", "#d6467f", "#b88100", "#0b8a99", "#7b5236"),
}  # fmt: skip
_DARK = {
    "paper": "#1f1f1d", "ink": "#f2f0eb", "soft": "#b5b2aa", "faint": "#8b8880", "rule": "#343330",
    "series": ("#5598e7", "#f08254", "#2fb884", "#9f8cf0", "#ea6f9f", "#d8a020", "#35b3c2", "#b98a66"),
}  # fmt: skip


def altair() -> Any:
    """Import Altair. Raises EngineError, with the command to install it, if it or vl-convert is missing."""
    imported(_DRAWS, EXTRA)
    return imported("altair", EXTRA)


def converter() -> Any:
    """Import vl-convert, which renders without a browser. Raises EngineError if it is missing."""
    return imported(_DRAWS, EXTRA)


def lacking() -> str | None:
    """How to install the libraries for drawing; None if they are installed."""
    return missing(_DRAWS, EXTRA)


def config(dark: bool = False) -> dict[str, Any]:
    """Vega-Lite's `config`. Charts use no colours other than these styles and the series'."""
    tone: dict[str, Any] = _DARK if dark else _LIGHT
    soft, ink = tone["soft"], tone["ink"]
    lines = {"domainColor": tone["faint"], "tickColor": tone["faint"], "gridColor": tone["rule"]}
    words = {"labelColor": soft, "titleColor": soft, "titleFontWeight": "normal", "labelFontSize": 11,
             "titleFontSize": 12}  # fmt: skip
    return {
        "background": tone["paper"],
        "font": FONT,
        "padding": 16,
        "view": {"stroke": None},
        "axis": {**lines, **words, "labelLimit": 200, "titlePadding": 8},
        "legend": {**words, "labelLimit": 220, "symbolStrokeWidth": 2, "symbolOpacity": 1},
        "header": {"labelColor": ink, "labelFontSize": 12, "labelLimit": 240, "labelFontWeight": "bold"},
        "title": {"color": ink, "subtitleColor": soft, "fontSize": 17, "subtitleFontSize": 12, "anchor": "start",
                  "frame": "group", "offset": 14, "subtitlePadding": 5, "subtitleLineHeight": 16},
        "range": {"category": list(tone["series"])},
        "mark": {"color": tone["series"][0], "aria": False},  # screen readers get the description, not each point
        "rule": {"color": tone["series"][0]},
        "line": {"strokeWidth": 2, "strokeCap": "round", "strokeJoin": "round"},
        "point": {"filled": True, "size": 36},
        "style": {
            "ink": {"color": ink},
            "soft": {"color": soft},
            "faint": {"color": tone["faint"]},
            "line-of-table": {"color": tone["rule"]},
        },
    }  # fmt: skip
