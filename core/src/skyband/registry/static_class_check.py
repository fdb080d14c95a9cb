"""Checks that "package.module:Class" exists without running any of a plugin's code."""

import ast
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path


def missing(place: str) -> str | None:
    """Why "package.module:Class" cannot be imported; None if it can, or if only importing it would show.

    Modules are found as an import would, but not run: a class that only running its module creates is not reported.
    """
    module, _, name = place.partition(":")
    parent, path = "", None
    spec: ModuleSpec | None = None
    for part in module.split("."):
        dotted = f"{parent}.{part}" if parent else part
        try:
            spec = _spec(dotted, path)
        except Exception:  # a third-party finder failed: an import may still work
            return None
        if spec is None:
            return f"{place} does not exist: no module named {dotted!r}"
        parent, path = dotted, spec.submodule_search_locations
        if path is None and dotted != module:
            return f"{place} does not exist: {dotted!r} is not a package"
    return None if spec is None or _defines(spec, name) else f"{place} does not exist: {module!r} defines no {name}"


def _spec(module: str, path: Sequence[str] | None) -> ModuleSpec | None:
    if module in sys.modules:
        return sys.modules[module].__spec__
    for finder in sys.meta_path:
        spec = finder.find_spec(module, path)
        if spec is not None:
            return spec
    return None


def _defines(spec: ModuleSpec, name: str) -> bool:
    """Whether a module's own code binds a name; True if that cannot be told without running it."""
    if spec.origin is None or not spec.origin.endswith(".py"):
        return True
    try:
        tree = ast.parse(Path(spec.origin).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True  # importing it shows what is wrong
    bound = {name for node in ast.walk(tree) for name in _bound_by(node)}
    return bool(bound & {name, "*", "__getattr__", "globals", "setattr", "exec"})


def _bound_by(node: ast.AST) -> list[str]:
    """Names that a node binds, and names through which a module may bind others at run time."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name.partition(".")[0] for alias in names]
        case ast.Name(id=name, ctx=ast.Store()):
            return [name]
        case ast.Name(id="globals" | "setattr" | "exec" as name):
            return [name]
    return []
