"""The nodes of an expression tree: names, literals and function calls. Operators are functions, too."""

from decimal import Decimal
from typing import TypeAlias

import pyarrow as pa
from attrs import field, frozen


class UnknownExpressionError(ValueError):
    """An expression that is not supported here, though Spark may support it."""


@frozen
class Name:
    """A column or a lambda variable, and the path of fields in it."""

    parts: tuple[str, ...]


@frozen
class Literal:
    """A constant: None, bool, int, Decimal, float or text."""

    value: bool | int | Decimal | float | str | None = field(eq=repr)  # 1 differs from True and 1.0, and 0.0 from -0.0


@frozen
class Call:
    """A call of a function or operator, by its name in `functions`."""

    function: str
    arguments: tuple["Tree", ...]


@frozen
class Cast:
    """A cast to another type; `safe`: null for invalid values, as in `try_cast`."""

    argument: "Tree"
    type: pa.DataType
    safe: bool = False


@frozen
class Lambda:
    """The function that `filter` and `transform` apply to each element."""

    parameters: tuple[str, ...]
    body: "Tree"


Tree: TypeAlias = Name | Literal | Call | Cast | Lambda


def names_in(tree: Tree) -> list[Name]:
    """The names that a tree reads from a row, from left to right. O(size)."""
    if isinstance(tree, Name):
        return [tree]
    if isinstance(tree, Cast):
        return names_in(tree.argument)
    if isinstance(tree, Lambda):
        return [name for name in names_in(tree.body) if name.parts[0] not in tree.parameters]
    if isinstance(tree, Call):
        return [name for argument in tree.arguments for name in names_in(argument)]
    return []
