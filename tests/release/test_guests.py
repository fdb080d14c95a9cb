"""A guest brings all that it is: no source of core or specs names it, but for the table that says what to install."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HINTS = ROOT / "core" / "src" / "skyband" / "registry" / "homes.py"


@pytest.mark.parametrize("guest", ["quantiles"])
def test_no_source_of_core_or_specs_names_it(guest):
    named = re.compile(rf"skyband.{guest}|{guest.removesuffix('s')}.sketch|\b{guest}\b|share_above", re.IGNORECASE)
    sources = [path for folder in ("core", "specs") for path in (ROOT / folder / "src").rglob("*.py")]
    assert len(sources) > 200
    assert [path for path in sources if named.search(path.read_text("utf-8"))] == [HINTS]
