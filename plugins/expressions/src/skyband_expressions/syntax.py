"""What an expression consists of: names, literals, and functions of others. Operators are functions, too."""

from decimal import Decimal
from typing import TypeAlias

import pyarrow as pa
from attrs import field, frozen


class UnknownExpressionError(ValueError):
    """An expression beyond those that are known here; Spark may know it."""


@frozen
class Name:
    """A column, or a variable of a lambda, and the fields within it."""

    parts: tuple[str, ...]


@frozen
class Literal:
    """A value in every row: None, bool, int, Decimal, float or text."""

    value: bool | int | Decimal | float | str | None = field(eq=repr)  # 1 is not True, nor 1.0, nor is 0.0 -0.0


@frozen
class Call:
    """A function or operator, by its name in `functions`."""

    function: str
    arguments: tuple["Tree", ...]


@frozen
class Cast:
    """A value as another type; `safe`: null where it is none, as `try_cast` has it."""

    argument: "Tree"
    type: pa.DataType
    safe: bool = False


@frozen
class Lambda:
    """What `filter` and `transform` make of each element."""

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
