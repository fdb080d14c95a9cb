"""A backend's class with nothing in it yet: the methods that its role's interface leaves to be written."""

import ast
import inspect
import textwrap
from typing import Any

from skyband.config.parameters import parameters_of
from skyband.reference.docstrings import parameters_section

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
Where it is from: a paper and its section, or the definition.

Examples
--------
>>> import skyband
>>> backend = skyband.create("{role}", "mine", …)
\"\"\"
"""


def outline(role: str, interface: type[Any]) -> str:
    """The source of a class of the role's backend `mine`, each abstract method with its signature and docstring."""
    methods = [_method(name, interface) for name in sorted(interface.__abstractmethods__)]
    head = (
        f'"""{role}/mine: what it does, in a few words."""\n\n'
        "from __future__ import annotations\n\n"
        "from typing import ClassVar\n\n"
        "from attrs import define\n"
        f"from {interface.__module__} import {interface.__name__}\n\n\n"
        "@define(eq=False)\n"
        f"class Mine{interface.__name__}({interface.__name__}):\n"
        f"{_docstring(role, interface)}\n"
        '    name: ClassVar[str] = "mine"\n'
    )
    return "\n".join([head, *methods])


def _docstring(role: str, interface: type[Any]) -> str:
    stated = parameters_section(parameters_of(interface))
    return textwrap.indent(DOCSTRING.format(role=role, parameters=stated), "    ")


def _method(name: str, interface: type[Any]) -> str:
    found = inspect.getattr_static(interface, name)
    function: Any = found.fget if isinstance(found, property) else found
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(node, ast.FunctionDef)
    node.decorator_list = [mark for mark in node.decorator_list if ast.unparse(mark) != "abstractmethod"]
    said = ast.get_docstring(node)
    body = "raise NotImplementedError"
    documented = f"{said!r}\n{body}" if said else body
    node.body = ast.parse(documented).body
    return textwrap.indent(ast.unparse(node), "    ") + "\n"
