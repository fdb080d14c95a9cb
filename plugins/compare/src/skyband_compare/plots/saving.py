"""Saves a chart as a page that opens without a network, or as an image, without a browser."""

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from skyband.atomic_files import replacing
from skyband.errors import ConfigError, Problem

from skyband_compare.plots.theme import altair, config, converter

SUFFIXES = (".html", ".png", ".svg")
_MARK = b"<!-- skyband plot -->"
_SHARP = 2.0
"""Pixels of a PNG per pixel of the chart."""
_START = """
const spec = JSON.parse(document.getElementById("spec").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
function draw() {
  const config = dark.matches ? spec.dark : spec.light;
  const options = {renderer: "svg", ast: true, actions: {export: true, source: false, compiled: false, editor: false}};
  vegaEmbed("#chart", {...spec.chart, config}, options);
}
dark.addEventListener("change", draw);
draw();
"""


def save(chart: Any, path: Path, refresh: int | None = None) -> None:
    """Write a chart atomically. `refresh`: seconds after which the page reloads itself.

    Raises ConfigError if the file cannot be written, or has an unknown suffix.
    """
    content = _content(chart, path.suffix.lower(), refresh)
    try:
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        raise ConfigError(Problem("output", f"{str(path)!r} cannot be written: {error.strerror or error}")) from error


def check(path: Path) -> None:
    """Raise ConfigError if a chart cannot be written there, before anything is drawn."""
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(Problem("output", f"must end in {', '.join(SUFFIXES)} (got {str(path)!r})"))
    if not path.absolute().parent.is_dir():
        raise ConfigError(Problem("output", f"{str(path.parent)!r} is not a folder"))


def is_page(path: Path) -> bool:
    """Whether a file is a page written by `save`."""
    with path.open("rb") as file:
        return _MARK in file.read(200)


def svg(spec: Mapping[str, Any]) -> str:
    """Render a chart's specification as SVG."""
    return str(converter().vegalite_to_svg(spec))


def _content(chart: Any, suffix: str, refresh: int | None) -> bytes:
    spec = specification(chart)
    if suffix == ".html":
        return _page(spec, refresh).encode()
    if suffix == ".svg":
        return svg(spec).encode()
    return bytes(converter().vegalite_to_png(spec, scale=_SHARP))


def specification(chart: Any) -> dict[str, Any]:
    """A chart's Vega-Lite specification, for any number of rows."""
    with altair().data_transformers.disable_max_rows():
        return dict(chart.to_dict())


def _page(spec: dict[str, Any], refresh: int | None) -> str:
    """HTML that runs only its own scripts, and lets the browser load nothing."""
    library = converter().javascript_bundle()
    data = json.dumps({"chart": spec, "light": config(), "dark": config(dark=True)}, separators=(",", ":"))
    hashes = [b64encode(sha256(script.encode()).digest()).decode() for script in (library, _START)]
    allowed = " ".join(f"'sha256-{each}'" for each in hashes)
    title = spec.get("title", {})
    return Template(files("skyband_compare.plots").joinpath("page.html").read_text("utf-8")).substitute(
        policy=f"default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src {allowed}",
        refresh="" if refresh is None else f'\n<meta http-equiv="refresh" content="{refresh}">',
        title=escape(str(title.get("text", "") if isinstance(title, dict) else title)),
        spec=data.replace("<", "\\u003c"),  # names may contain the end of a script
        library=library,
        start=_START,
    )
