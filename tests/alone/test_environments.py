"""Each environment of a plugin alone has that plugin, and those that it needs."""

import configparser
from pathlib import Path

import pytest

from .check_plugin import NEEDED, OF_SPECS

ROOT = Path(__file__).parents[2]
PLUGINS = sorted(path.parent.name for path in (ROOT / "plugins").glob("*/pyproject.toml"))


def environments():
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "tox.ini", "utf-8")
    (name,) = (one for one in parser.sections() if one.startswith("testenv:alone-"))
    return name, parser[name]["deps"].splitlines()


def installed(plugin):
    """The plugins that tox installs for one."""
    names = set()
    for line in environments()[1]:
        factors, _, install = line.rpartition(": ")
        if (not factors or plugin in factors.split(",")) and "./plugins/" in install:
            names.add(install.partition("./plugins/")[2].partition("[")[0])
    return names


def test_every_plugin_has_one():
    assert environments()[0] == f"testenv:alone-{{{','.join(PLUGINS)}}}"


@pytest.mark.parametrize("plugin", PLUGINS)
def test_it_installs_what_the_check_asks_for(plugin):
    assert installed(plugin) == {plugin, *OF_SPECS, *NEEDED.get(plugin, ())}
