"""`pip install 'skyband[all]'` brings everything there is."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "core/pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_all_names_every_plugin_and_every_other_extra():
    plugins = {tomllib.loads(path.read_text())["project"]["name"] for path in ROOT.glob("plugins/*/pyproject.toml")}
    (itself,) = [one for one in EXTRAS["all"] if one.startswith("skyband[")]
    others = re.fullmatch(r"skyband\[(.*)\]", itself)[1].split(",")
    assert sorted(others) == sorted(set(EXTRAS) - {"all"})
    named = {re.match(r"[\w-]+", one)[0] for one in EXTRAS["all"] if one != itself}
    assert plugins and named == plugins


def test_extras_ask_for_the_versions_that_distributions_ask_for():
    asked = {one.partition(">=")[2] for extra in EXTRAS.values() for one in extra if one.startswith("skyband-")}
    assert asked == {"0.1,<0.2"}
