"""Docstrings name what is there: a parameter that was renamed is renamed in the words about it too."""

import ast
import builtins
import keyword
import re
from functools import cache
from pathlib import Path

from .conftest import ROOT

SOURCES = (ROOT / "core" / "src", ROOT / "specs" / "src", *sorted(ROOT.glob("plugins/*/src")))
OF_OTHERS = {
    "theta_sketch_agg",
    "theta_sketch_estimate",
    "theta_union",
    "theta_intersection",
    "theta_difference",
    "try_cast",
    "_c1",  # Spark's functions, and what it calls a column
    "datasketches",
    "error_model",
    "nogil",
    "password",
}
PARAMETERS = re.compile(r"(?:\n|[.:)])\n((?:[a-z_]\w*, )*[a-z_]\w*): ")


@cache
def modules() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for source in SOURCES for path in sorted(source.rglob("*.py"))}


def defined(tree):
    """What code elsewhere can name: functions, classes, attributes, imported names and texts such as keys."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def parameters(function):
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {argument.arg for argument in every if argument is not None}


def documented(tree, kinds):
    return [(node, ast.get_docstring(node)) for node in ast.walk(tree) if isinstance(node, kinds)]


def test_a_name_in_backticks_is_one_of_the_code():
    """Of its own file, parameters and variables among them, or one that another file can name."""
    known = {name for tree in modules().values() for name in defined(tree)} | OF_OTHERS
    known |= {part for path in modules() for part in (path.stem, path.parent.name)}
    known |= {*dir(builtins), *keyword.kwlist}
    unknown = []
    for path, tree in modules().items():
        here = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        here |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        for _, text in documented(tree, (ast.FunctionDef, ast.ClassDef, ast.Module)):
            names = set(re.findall(r"`([a-z_]\w*)`", text or ""))
            unknown += [f"{path.relative_to(ROOT)}: `{name}`" for name in sorted(names - here - known)]
    assert unknown == []


def test_a_parameter_that_a_docstring_explains_is_there():
    wrong = []
    for path, tree in modules().items():
        for function, text in documented(tree, ast.FunctionDef):
            named = {name for listed in PARAMETERS.findall(text or "") for name in listed.split(", ")}
            missing = sorted(named - parameters(function))
            wrong += [f"{path.relative_to(ROOT)}: {function.name} has no {name}" for name in missing]
    assert wrong == []
