"""The directory of plugins: its page follows its list, and what it says of this repository's is so."""

import re
import tomllib

import pytest
from skyband.registry import installed

from .conftest import ROOT, Document
from .plugin_directory import directory_table, entries

LIST = ROOT / "core" / "docs" / "extend" / "plugins.toml"
BEGIN, END = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"
ENTRY = """
[[plugin]]
distribution = "skyband-yours"
home = "https://example.org/yours"
licence = "MIT"
specs = "0.1"
backends = { "sketch/yours" = "exact" }
"""


def test_the_page_shows_the_list(request):
    page = Document(LIST.with_suffix(".md"), request.config.getoption("--write"))
    shown = page.text[page.text.index(BEGIN) : page.text.index(END)]
    page.holds(shown, f"{BEGIN}\n{directory_table(entries(LIST))}\n\n")


def test_every_plugin_of_this_repository_is_listed_as_it_is():
    listed = {entry["distribution"]: entry for entry in entries(LIST)}
    for plugin in installed().plugins:
        if not (plugin.backends or plugin.queries or plugin.roles):
            continue  # commands or formats: the page is of what a job's query is answered by
        entry = listed[plugin.distribution]
        assert entry.get("backends", {}) == {info.key: info.guarantee for info in plugin.backends}
        assert entry.get("queries", []) == [info.kind for info in plugin.queries]
        assert entry.get("roles", []) == [info.name for info in plugin.roles]
        project = tomllib.loads((ROOT / entry["home"] / "pyproject.toml").read_text())["project"]
        assert (project["name"], project["license"]) == (plugin.distribution, entry["licence"])
        assert plugin.version.startswith(f"{entry['specs']}.")
        tried = "".join(path.read_text("utf-8") for path in (ROOT / entry["home"] / "tests").glob("*.py"))
        assert not plugin.backends or "from skyband_specs.suite import" in tried
        assert not plugin.queries or "skyband_specs.queries" in tried


def test_an_entry_of_a_third_party_has_a_row(tmp_path):
    path = tmp_path / "core" / "docs" / "extend" / "plugins.toml"
    path.parent.mkdir(parents=True)
    path.write_text(ENTRY)
    row = directory_table(entries(path)).splitlines()[-1]
    assert row.startswith(
        "| [skyband-yours](https://example.org/yours) | backends of `sketch` | `yours` | exact | MIT |"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('licence = "MIT"', "", "skyband-yours: licence: is required"),
        ("licence", "license", "license: unknown; known: distribution, home, licence"),
        ('"0.1"', '"1"', "specs: must be the X.Y of skyband-specs (got '1')"),
        ("https://example.org/yours", "nowhere", "home: must be https://… or a folder of this repository"),
        ('"exact"', '"sure"', "must be \"role/name\" = one of exact, bounded, heuristic (got 'sketch/yours' = 'sure')"),
        ('{ "sketch/yours" = "exact" }', "{}", "brings no backends, queries or roles"),
        ('"0.1"', "0.1", "specs: must be a str (got 0.1)"),
        ("", ENTRY, "is listed twice"),
    ],
)
def test_an_entry_that_is_wrong_says_why(tmp_path, old, new, said):
    path = tmp_path / "plugins.toml"
    path.write_text(ENTRY.replace(old, new) if old else ENTRY + new)
    with pytest.raises(ValueError, match=re.escape(said)):
        entries(path)
