"""An interface from its source: each method with its signature and docstring."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from typing import Any

from attrs import frozen
from skyband.roles import Backend

from skyband_specs.reference.markdown import code, prose


@frozen
class Member:
    """A method or property of an interface."""

    name: str
    signature: str
    text: str
    abstract: bool
    owner: type

    @property
    def public(self) -> bool:
        """Whether users call it."""
        return not self.name.startswith("_") or self.name == "__len__"


def members_of(cls: type, root: type = Backend) -> list[Member]:
    """The methods and properties of an interface that are documented or must be written, its own first.

    root: only of this class and its subclasses.
    """
    members: dict[str, Member] = {}
    for owner in cls.__mro__:
        if not issubclass(owner, root) or owner.__module__.partition(".")[0] in sys.stdlib_module_names:
            continue
        for node in body_of(owner):
            if isinstance(node, ast.FunctionDef) and node.name not in members:
                members[node.name] = _member(node, owner)
    return [member for member in members.values() if member.text or member.abstract]


def described(member: Member) -> str:
    """A member under its own heading."""
    return f"### {code(member.name)}\n\n```python\n{member.signature}\n```\n\n{prose(member.text)}".rstrip()


def signature_of(function: Callable[..., Any]) -> str:
    """A function's signature, one argument a line if it is long; without a source, as Python knows it."""
    signature: inspect.Signature | None = getattr(function, "__signature__", None)
    if signature is not None:
        return spread(function.__name__, _arguments_made(signature))
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(node, ast.FunctionDef)
    return _signature(node)


def _arguments_made(signature: inspect.Signature) -> list[str]:
    parameters = list(signature.parameters.values())
    named = [str(one) for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    return [*(str(one) for one in parameters if one.kind is not inspect.Parameter.KEYWORD_ONLY), "*", *named]


def body_of(owner: type) -> list[ast.stmt]:
    """The statements of a class; none for a builtin one."""
    if owner.__module__.partition(".")[0] in sys.stdlib_module_names:
        return []
    body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
    return body.body if isinstance(body, ast.ClassDef) else []


def _member(node: ast.FunctionDef, owner: type) -> Member:
    marks = {ast.unparse(mark) for mark in node.decorator_list}
    if "property" in marks:
        signature = f"{node.name}: {_returns(node)}"
    else:
        if "staticmethod" not in marks:
            node.args.args = node.args.args[1:]
        signature = _signature(node)
    return Member(node.name, signature, ast.get_docstring(node) or "", "abstractmethod" in marks, owner)


def _signature(node: ast.FunctionDef) -> str:
    """On one line if it fits, else one argument a line, as a formatter would."""
    return spread(node.name, arguments_of(node), f" -> {_returns(node)}")


def spread(name: str, arguments: list[str], returns: str = "") -> str:
    """A call or signature on one line if it fits, else one argument a line, as a formatter would."""
    whole = f"{name}({', '.join(arguments)}){returns}"
    if len(whole) <= 80:
        return whole
    return "\n".join([f"{name}(", *(f"    {argument}," for argument in arguments), f"){returns}"])


def arguments_of(node: ast.FunctionDef) -> list[str]:
    """The arguments of a function, each with its type and default."""
    declared = node.args
    defaults = [*[None] * (len(declared.args) - len(declared.defaults)), *declared.defaults]
    arguments = [_argument(*both) for both in zip(declared.args, defaults, strict=True)]
    if declared.kwonlyargs or declared.vararg is not None:
        arguments.append("*" if declared.vararg is None else f"*{_argument(declared.vararg, None)}")
        arguments += [_argument(*both) for both in zip(declared.kwonlyargs, declared.kw_defaults, strict=True)]
    if declared.kwarg is not None:
        arguments.append(f"**{_argument(declared.kwarg, None)}")
    return arguments


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    kind = "" if argument.annotation is None else f": {annotation(argument.annotation)}"
    equals = " = " if kind else "="
    return f"{argument.arg}{kind}{'' if default is None else equals + ast.unparse(default)}"


def _returns(node: ast.FunctionDef) -> str:
    return "None" if node.returns is None else annotation(node.returns)


def annotation(node: ast.expr) -> str:
    """An annotation without the quotes of a name that is imported only for types."""
    return str(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
