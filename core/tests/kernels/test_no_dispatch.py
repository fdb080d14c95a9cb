"""Core and specs know no family: they choose nothing by the name of a kind of query or role."""

import ast
from pathlib import Path

import pytest
import skyband
import skyband_specs
from skyband.queries import kinds
from skyband.registry import installed

HOMES = [Path(skyband.__file__).parent, Path(skyband_specs.__file__).parent]
MAY = ("roles/", "hooks.py", "registry/homes.py", "registry/install_hints.py")
"""Where they may: what a role is, what core brings, and the one table of what to install; in specs a role's folder."""


def names():
    """The kinds and roles that are installed; `window` is also a column and a word of every query."""
    return ({*kinds()} | {*installed().roles}) - {"window"}


def chosen_by(tree, named):
    """The lines where code depends on a kind or role: dictionary keys, comparisons, patterns, lookups."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key is not None]
        elif isinstance(node, ast.Compare):
            parts = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        elif isinstance(node, ast.Subscript) and getattr(node.value, "id", "") != "Literal":  # types choose nothing
            parts = [node.slice]
        else:
            continue
        yield from (part.lineno for part in parts if isinstance(part, ast.Constant) and part.value in named)


def sources(home):
    for path in sorted(home.rglob("*.py")):
        here = path.relative_to(home).as_posix()
        of_a_role = here.partition("/")[0].replace("_", "-") in installed().roles
        if not of_a_role and not any(here == place or (place[-1] == "/" and here.startswith(place)) for place in MAY):
            yield here, path


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.name)
def test_nothing_is_chosen_by_the_name_of_a_kind_or_role(home):
    named = names()
    assert len(named) > 12, "the families are installed"
    lines = [
        f"{here}:{line}"
        for here, path in sources(home)
        for line in chosen_by(ast.parse(path.read_text("utf-8")), named)
    ]
    assert lines == []


def test_the_test_sees_what_it_looks_for():
    code = "{'top-k': 1}\nkind == 'sketch'\nrole in ('matcher', 'other')\ntable['top-k']\nprint('top-k')\n"
    assert list(chosen_by(ast.parse(code), {"top-k", "sketch", "matcher"})) == [1, 2, 3, 4]
