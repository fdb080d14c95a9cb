"""An empty backend class: the abstract methods of its role's interface, to be written."""

import ast
import inspect
import sys
import textwrap
from typing import Any

from skyband.config.parameters import parameters_of
from skyband.docstrings import parameters_section

DOCSTRING = """\
\"\"\"What it is, in a sentence.

How it works, and when to choose it, in plain English.

Parameters
----------
{parameters}

Complexity
----------
O(…) a row, O(…) an answer. Memory is O(…).

References
----------
Its source: a paper and its section, or the definition.

Examples
--------
>>> import skyband
>>> backend = skyband.create("{role}", "mine", …)
\"\"\"
"""


def outline(role: str, interface: type[Any]) -> str:
    """The source of a class of the role's backend `mine`, each abstract method with its signature and docstring."""
    methods = [_method(name, interface) for name in sorted(interface.__abstractmethods__)]
    imports = {"typing": {"ClassVar"}, "attrs": {"define"}, _home(interface): {interface.__name__}}
    for owner, node in methods:
        for name in _annotated(node):
            place = _imported_from(name, owner)
            if place is not None:
                imports.setdefault(place, set()).add(name)
    head = (
        f'"""{role}/mine: what it does, in a few words."""\n\n'
        f"{_imports(imports)}\n\n\n"
        "@define(eq=False)\n"
        f"class Mine{interface.__name__}({interface.__name__}):\n"
        f"{_docstring(role, interface)}\n"
        '    name: ClassVar[str] = "mine"\n'
    )
    return "\n".join([head, *(textwrap.indent(ast.unparse(node), "    ") + "\n" for _, node in methods)])


def _docstring(role: str, interface: type[Any]) -> str:
    stated = parameters_section(parameters_of(interface))
    return textwrap.indent(DOCSTRING.format(role=role, parameters=stated), "    ")


def _method(name: str, interface: type[Any]) -> tuple[type[Any], ast.FunctionDef]:
    """The class that declares an abstract method, and the method with only its docstring."""
    owner = next(cls for cls in interface.__mro__ if name in vars(cls))
    member: Any = vars(owner)[name]
    function: Any = member.fget if isinstance(member, property) else member
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(node, ast.FunctionDef)
    node.decorator_list = [mark for mark in node.decorator_list if ast.unparse(mark) != "abstractmethod"]
    text = ast.get_docstring(node)
    if text and "\n" in text:
        text = "\n".join([text.partition("\n")[0], textwrap.indent(text.partition("\n")[2], "    "), "    "])
    body = "raise NotImplementedError"
    node.body = ast.parse(f"{text!r}\n{body}" if text else body).body
    return owner, node


def _annotated(node: ast.FunctionDef) -> set[str]:
    """The names in a signature; for `npt.ArrayLike` it is `npt`."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    annotations = [argument.annotation for argument in arguments] + [node.returns]
    return {one.id for part in annotations if part is not None for one in ast.walk(part) if isinstance(one, ast.Name)}


def _imported_from(name: str, owner: type[Any]) -> str | None:
    """The module from which the module of `owner` imports a name; its own if defined there, None for a builtin."""
    module = sys.modules[owner.__module__]
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and name in (alias.asname or alias.name for alias in node.names):
            return node.module
        if isinstance(node, ast.Import):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return f"{alias.name} as {name}"
    return module.__name__ if hasattr(module, name) else None


def _imports(names: dict[str, set[str]]) -> str:
    """Lines of imports: the standard library's, others', those of the role's own package."""
    groups: list[list[str]] = [[], []]
    for place in sorted(names):
        line = f"import {place}" if " as " in place else f"from {place} import {', '.join(sorted(names[place]))}"
        groups[place.partition(".")[0] not in sys.stdlib_module_names].append(line)
    return "\n\n".join("\n".join(sorted(group)) for group in groups if group)


def _home(interface: type[Any]) -> str:
    return "skyband.roles" if interface.__module__.startswith("skyband.roles.") else interface.__module__
