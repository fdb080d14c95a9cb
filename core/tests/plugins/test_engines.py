"""Engines from plugins are listed and chosen by name, and a broken one does not affect the others."""

import json

import pytest
from click.testing import CliRunner
from skyband import EngineInfo
from skyband.cli.commands import group
from skyband.engines.reference import LocalEngine
from skyband.errors import ConfigError, PluginError
from skyband.registry import registry
from skyband.registry.discovery import Plugin
from skyband.registry.registry import Registry


def brought_by(distribution, *engines):
    return Plugin(distribution, "1.0", "engine", "somewhere", engines=engines)


def info(name, factory="skyband.engines.reference:LocalEngine", **more):
    return EngineInfo(name, factory, "for a test", **more)


@pytest.fixture
def three(monkeypatch):
    """Two plugins bring `twice`, one also what cannot be imported and what has another name."""
    first = brought_by("acme", info("twice"), info("gone", "nowhere.at_all:Engine"))
    second = brought_by("bolt", info("twice"), info("misnamed", "skyband.engines.reference:LocalEngine"))
    found = Registry([first, second])
    monkeypatch.setattr(registry, "installed", lambda: found)
    return found


def test_the_reference_is_there_whatever_else_is_installed():
    assert isinstance(Registry([]).load_engine("local"), LocalEngine)


def test_an_unknown_engine_is_refused_with_the_nearest(three):
    with pytest.raises(ConfigError, match="engine: unknown 'lokal'; did you mean 'local'"):
        three.engines.named("lokal")


def test_an_engine_that_is_not_installed_says_what_brings_it(three):
    with pytest.raises(ConfigError, match="unknown 'spark'; it comes with skyband-spark: pip install skyband-spark"):
        three.engines.named("spark")


def test_an_engine_claimed_twice_names_both(three):
    with pytest.raises(PluginError, match=r"acme.*bolt"):
        three.load_engine("twice")


def test_an_engine_that_cannot_be_imported_names_its_plugin(three):
    with pytest.raises(PluginError, match=r"engine/gone of acme: nowhere\.at_all:Engine could not be imported"):
        three.load_engine("gone")


def test_an_engine_that_calls_itself_otherwise_is_refused(three):
    with pytest.raises(
        PluginError, match=r"engine/misnamed of bolt: .* is named 'local' instead of .*; names must agree"
    ):
        three.load_engine("misnamed")


def test_the_command_lists_every_engine_with_its_fault(three):
    result = CliRunner().invoke(group, ["engines", "--json"])
    listing = {(each["engine"], each["distribution"]): each["problem"] for each in json.loads(result.stdout)["engines"]}
    assert listing["local", "skyband"] is None
    assert "could not be imported" in listing["gone", "acme"]
    assert "bolt" in listing["twice", "acme"]
    assert "acme" in listing["twice", "bolt"]


@pytest.mark.parametrize("fault", [{"name": "Not A Name"}, {"factory": "no colon"}, {"module": "a-b"}, {"summary": ""}])
def test_what_is_wrong_with_an_engine_is_named(fault):
    with pytest.raises(ConfigError, match=next(iter(fault))):
        EngineInfo(**{"name": "fine", "factory": "a:B", "summary": "for a test", **fault})
