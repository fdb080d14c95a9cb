"""A guest brings all that it is: core names none, except where it says what to install."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core" / "src" / "skyband"
HINTS = ROOT / "core" / "src" / "skyband" / "registry" / "homes.py"
MAY_NAME = {
    CORE / "__init__.py": "the public name `skyband.plot`",
    HINTS: "made from the hooks of all guests",
    CORE / "registry" / "install_hints.py": "what to install for what is missing",
    CORE / "kernels" / "nested.py": "the compiler that is used where it is installed",
    CORE / "kernels" / "numba_compiler_patches" / "__init__.py": "how to get that compiler",
    CORE / "kernels" / "numba_compiler_patches" / "content_cache.py": "which compiler a cached kernel is of",
    CORE / "hooks.py": "the distribution of each role's default backend",
    CORE / "registry" / "discovery.py": "commands and engines, which load whatever the user selects",
    CORE / "registry" / "info.py": "the names that a plugin's format cannot have",
}
"""The modules of core that name guests, and why."""
GUESTS = sorted(folder.name for folder in (ROOT / "plugins").iterdir() if (folder / "pyproject.toml").is_file())
ENGINES_AND_FORMATS = r"\b(?:spark|pyspark|csv|toml|parquet|orc|avro|delta lake|iceberg|kafka|redis|postgres)\b"


def naming(pattern, folder, allowed):
    """The sources of a folder that name something, without those that may."""
    named = re.compile(pattern, re.IGNORECASE)
    sources = [path for path in folder.rglob("*.py") if path not in allowed]
    assert len(sources) > 100
    return [str(path.relative_to(ROOT)) for path in sources if named.search(path.read_text("utf-8"))]


@pytest.mark.parametrize("guest", GUESTS)
def test_no_source_of_core_names_a_distribution(guest):
    assert naming(rf"skyband[._-]{guest}\b", CORE, MAY_NAME) == []


def test_no_source_of_core_names_an_engine_or_a_file_format():
    assert naming(ENGINES_AND_FORMATS, CORE, MAY_NAME) == []


@pytest.mark.parametrize("guest", ["quantiles"])
def test_no_source_of_specs_names_it(guest):
    pattern = rf"skyband.{guest}|{guest.removesuffix('s')}.sketch|\b{guest}\b|share_above"
    assert naming(pattern, ROOT / "specs" / "src", ()) == []
    assert naming(pattern, CORE, [HINTS]) == []


def test_what_may_name_guests_is_there_and_does():
    """An exception that is not needed is taken out."""
    pattern = re.compile(rf"skyband[._-](?:{'|'.join(GUESTS)})\b|{ENGINES_AND_FORMATS}", re.IGNORECASE)
    assert [path for path in MAY_NAME if not pattern.search(path.read_text("utf-8"))] == []
