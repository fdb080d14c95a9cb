"""An interface as its source writes it: each method with its signature and docstring."""

import ast
import inspect
import textwrap

from attrs import frozen

from skyband.pages.markdown import code, prose
from skyband.roles import Backend


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


def members_of(cls: type) -> list[Member]:
    """The methods and properties of an interface that say what they do or must be written, its own first."""
    found: dict[str, Member] = {}
    for owner in cls.__mro__:
        if not issubclass(owner, Backend):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(owner))).body[0]
        for node in body.body if isinstance(body, ast.ClassDef) else ():
            if isinstance(node, ast.FunctionDef) and node.name not in found:
                found[node.name] = _member(node, owner)
    return [member for member in found.values() if member.text or member.abstract]


def described(member: Member) -> str:
    """A member under a heading of its own."""
    return f"### {code(member.name)}\n\n```python\n{member.signature}\n```\n\n{prose(member.text)}".rstrip()


def _member(node: ast.FunctionDef, owner: type) -> Member:
    marks = {ast.unparse(mark) for mark in node.decorator_list}
    returns = ast.unparse(node.returns) if node.returns else "None"
    if "property" in marks:
        signature = f"{node.name}: {returns}"
    else:
        taken = node.args
        taken.args = taken.args[1:]
        signature = _wrapped(node.name, ast.unparse(taken), returns)
    return Member(node.name, signature, ast.get_docstring(node) or "", "abstractmethod" in marks, owner)


def _wrapped(name: str, given: str, returns: str) -> str:
    """On one line where it fits, else an argument a line, as a formatter would."""
    whole = f"{name}({given}) -> {returns}"
    if len(whole) <= 80:
        return whole
    arguments = ast.parse(f"def {name}({given}): ...").body[0]
    assert isinstance(arguments, ast.FunctionDef)
    defaults = [None] * (len(arguments.args.args) - len(arguments.args.defaults)) + list(arguments.args.defaults)
    lines = [
        f"    {ast.unparse(argument)}{'' if default is None else f' = {ast.unparse(default)}'},"
        for argument, default in zip(arguments.args.args, defaults, strict=True)
    ]
    return "\n".join([f"{name}(", *lines, f") -> {returns}"])
