"""Whether "package.module:Class" is there, seen without running any of a plugin's code."""

import ast
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path


def missing(place: str) -> str | None:
    """Why "package.module:Class" cannot be imported; None where it can, or where only importing it would tell.

    Modules are looked for as an import would, but not run: a class that only running the module makes is not missed.
    """
    module, _, name = place.partition(":")
    parent, path = "", None
    spec: ModuleSpec | None = None
    for part in module.split("."):
        here = f"{parent}.{part}" if parent else part
        try:
            spec = _spec(here, path)
        except Exception:  # a finder of somebody's own: what it cannot say, an import may
            return None
        if spec is None:
            return f"{place} is not there: no module named {here!r}"
        parent, path = here, spec.submodule_search_locations
        if path is None and here != module:
            return f"{place} is not there: {here!r} is no package"
    return None if spec is None or _defines(spec, name) else f"{place} is not there: {module!r} defines no {name}"


def _spec(module: str, path: Sequence[str] | None) -> ModuleSpec | None:
    if module in sys.modules:
        return sys.modules[module].__spec__
    for finder in sys.meta_path:
        spec = finder.find_spec(module, path)
        if spec is not None:
            return spec
    return None


def _defines(spec: ModuleSpec, name: str) -> bool:
    """Whether a module's own lines bind a name; True where they cannot say."""
    if spec.origin is None or not spec.origin.endswith(".py"):
        return True
    try:
        tree = ast.parse(Path(spec.origin).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True  # importing it tells what is wrong
    bound = {name for node in ast.walk(tree) for name in _bound_by(node)}
    return bool(bound & {name, "*", "__getattr__", "globals", "setattr", "exec"})


def _bound_by(node: ast.AST) -> list[str]:
    """Names that a line binds, and those by which a module may bind others while it runs."""
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
