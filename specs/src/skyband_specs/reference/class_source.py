"""A class or constant from its source: its constructor, its variables, and the text below each."""

import ast
import inspect
from itertools import pairwise, zip_longest
from types import ModuleType, NoneType
from typing import Any, TypeGuard

import attrs

from skyband_specs.reference.interface import Member, annotation, arguments_of, body_of, spread


def made_with(cls: type) -> str:
    """How a class is created: its fields, or the arguments of its `__init__`, as in its source."""
    if attrs.has(cls):
        types = {name: annotation(node.annotation) for name, node, _ in reversed(_declared(cls))}
        fields = [entry for entry in attrs.fields(cls) if entry.init and not entry.name.startswith("_")]
        return spread(cls.__name__, [f"{one.name}: {types[one.name]}{_default_of(one)}" for one in fields])
    constructor = next((node for owner in cls.__mro__ for node in body_of(owner) if _is_init(node)), None)
    return spread(cls.__name__, [] if constructor is None else arguments_of(constructor)[1:])


def constants_of(cls: type) -> list[Member]:
    """The documented class variables, its own first."""
    constants = {
        name: Member(name, f"{name}: {annotation(node.annotation)}", " ".join(text.split()), node.value is None, cls)
        for name, node, text in reversed(_declared(cls))
        if text and "ClassVar" in ast.unparse(node.annotation)
    }
    return list(reversed(constants.values()))


def said_below(module: ModuleType, name: str) -> str:
    """The text below a constant in its module's source."""
    body = ast.parse(inspect.getsource(module)).body
    for node, following in pairwise(body):
        names = [one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
        assigned = isinstance(node, ast.Assign | ast.AnnAssign) and name in {one.id for one in names}
        if assigned and isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            return inspect.cleandoc(str(following.value.value))
    return ""


def _declared(cls: type) -> list[tuple[str, ast.AnnAssign, str]]:
    """Each annotated name of a class and its bases, its own first, with the text below it."""
    constants = []
    for owner in cls.__mro__:
        body = body_of(owner)
        for node, following in zip_longest(body, body[1:]):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                below = following.value if isinstance(following, ast.Expr) else None
                text = below.value if isinstance(below, ast.Constant) else ""
                constants.append((node.target.id, node, str(text)))
    return constants


def _default_of(entry: "attrs.Attribute[Any]") -> str:
    if entry.default is attrs.NOTHING:
        return ""
    plain = isinstance(entry.default, str | int | float | tuple | NoneType)
    return f" = {entry.default!r}" if plain else " = …"


def _is_init(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name == "__init__"
