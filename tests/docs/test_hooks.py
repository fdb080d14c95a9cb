"""The page of hooks names every hook with its exact signature."""

import inspect
import re

import pytest
from skyband.registry import hookspecs

from .conftest import ROOT

PAGE = (ROOT / "core" / "docs" / "extend" / "hooks.md").read_text("utf-8")
HOOKS = {name: value for name, value in vars(hookspecs).items() if hasattr(value, "skyband_spec")}


def signature(name):
    text = f"{name}{inspect.signature(HOOKS[name])}"
    for part in ("collections.abc.", "typing.", "skyband.registry.info.", "skyband.errors.", "'"):
        text = text.replace(part, "")
    return text


@pytest.mark.parametrize("name", HOOKS)
def test_each_hook_is_on_the_page_with_its_signature(name):
    assert f"| `{signature(name)}` |" in PAGE


def test_the_page_names_no_other_hook():
    assert set(re.findall(r"`(skyband_[a-z]+)\(", PAGE)) == HOOKS.keys()
