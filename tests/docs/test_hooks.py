"""The page of hooks names every hook with its exact signature, and public modules that are there."""

import inspect
import re
from importlib import import_module

import pytest
from skyband.registry import hookspecs

from .conftest import ROOT

PAGE = (ROOT / "core" / "docs" / "hooks.md").read_text("utf-8")
HOOKS = {name: value for name, value in vars(hookspecs).items() if hasattr(value, "skyband_spec")}
MODULES = sorted(set(re.findall(r"`(skyband\w*(?:\.\w+)*)`", PAGE.partition("## What an author may import")[2])))


def signature(name):
    text = f"{name}{inspect.signature(HOOKS[name])}"
    for long, short in (("collections.abc.", ""), ("typing.", ""), ("skyband.registry.info.", ""), ("'", "")):
        text = text.replace(long, short)
    return text


@pytest.mark.parametrize("name", HOOKS)
def test_each_hook_is_on_the_page_with_its_signature(name):
    assert f"| `{signature(name)}` |" in PAGE


def test_the_page_names_no_other_hook():
    assert set(re.findall(r"`(skyband_[a-z]+)\(", PAGE)) == HOOKS.keys()


@pytest.mark.parametrize("module", MODULES)
def test_a_public_module_is_there(module):
    assert import_module(module).__doc__


def test_there_are_public_modules():
    assert len(MODULES) > 15
