"""Counts the items of a set expression over several states, such as those of the first two but not of the third."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from attrs import define
from skyband.arrays import Array
from skyband.config.literals import literal
from skyband.config.parameters import checked
from skyband.errors import InputError
from skyband.states.question import Question
from skyband.states.state import State

from skyband_distinct.binomial_bounds import share_bounds
from skyband_distinct.questions.counting import ESTIMATE, Estimate

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MOST_LETTERS = 500
_OPERATORS: Mapping[type, Any] = {
    ast.BitAnd: np.logical_and,
    ast.BitOr: np.logical_or,
    ast.BitXor: np.logical_xor,
    ast.Sub: lambda one, other: one & ~other,
}


def _fault(value: Any) -> str | None:
    if not isinstance(value, str) or len(value) > _MOST_LETTERS:
        return f'must be an expression of at most {_MOST_LETTERS} letters, such as "(a & b) - c" (got {literal(value)})'
    return None


@define
class CountExpression(Question):
    """The number of distinct items in a set expression over states, which are called a, b, c and so on in their order.

    `&` are the items of both sides, `|` those of either, `-` those of the left but not of the right, and `^` those of
    one side only. As in Python, `-` binds closest, then `&`, `^` and `|`.

    Exact for sketch/exact, and for others that still know all items. Otherwise k-skb counts in a sample of the union,
    and low and high contain the number with probability at least 1 − 2 · delta. An expression that is a small part of
    the union is known roughly, and the bounds say so. Sketches that keep no sample are refused.

    Bounds of shares: Clopper and Pearson 1934. A sample without replacement has smaller tails (Hoeffding 1956).
    """

    name: ClassVar[str] = "count_of"
    result: ClassVar[pa.DataType] = ESTIMATE
    whole_numbers: ClassVar[bool] = True
    returns: ClassVar[str] = "Estimate\n    count, low and high"

    expression: str = checked(
        "a", type="str", check=_fault, help='which items, such as "(a & b) - c" of three states, or "a ^ b" of two'
    )

    def answer(self, states: Sequence[State], since: Sequence[int]) -> Estimate:
        tree = _parsed(self.expression, len(states))
        readers = [state.reader for state in states]
        samples = [reader.samples(moment) for reader, moment in zip(readers, since, strict=True)]
        if not all(samples):
            message = f"are of {states[0].key}, which keeps no sample of its items: choose sketch/k-skb or sketch/exact"
            raise InputError("states", message)
        together, part = 0, 0
        for parts in zip(*samples, strict=True):
            hashes = np.unique(np.concatenate([part.hashes for part in parts]))
            # A state's sample has all of its hashes up to the last one; the union's smallest are no larger.
            hashes = hashes[: min((len(part.hashes) for part in parts if part.share < 1), default=len(hashes))]
            members = {name: np.isin(hashes, part.hashes) for name, part in zip(_LETTERS, parts, strict=False)}
            inside = int(np.count_nonzero(_members(tree, members)))
            if all(part.share == 1 for part in parts):
                return Estimate(*[float(inside)] * 3)
            together, part = together + len(hashes), part + inside
        union = Estimate(*type(readers[0]).union(readers, since))
        low, high = share_bounds(part, together, float(states[0].parameters.get("delta", 0.05)) / 2)
        count = part / together * union.count
        return Estimate(count, min(low * union.low, count), max(high * union.high, count))


def _parsed(text: str, count: int) -> ast.expr:
    """The tree of an expression over the first `count` letters. Raises InputError, naming what is wrong in it."""
    names = _LETTERS[:count]
    if count > len(_LETTERS):
        raise InputError("states", f"must be at most {len(_LETTERS)}, a letter for each (got {count})")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        message = 'is not an expression, such as "(a & b) - c": check its parentheses and operators'
        raise InputError("expression", f"{message} (got {literal(text)})") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if node.id not in names or len(node.id) != 1:
                of = f"a to {names[-1]}, the states in their order" if count > 1 else "a, the only state"
                raise InputError("expression", f"names {node.id}, but there is only {of} (got {literal(text)})")
        elif isinstance(node, ast.UnaryOp):
            message = "has an operator with one side: all other items cannot be counted, write what to take them from"
            raise InputError("expression", f"{message}, b - a (got {literal(text)})")
        elif isinstance(node, ast.expr) and not (isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS):
            raise InputError("expression", f"may have states and the operators & | - ^ only (got {literal(text)})")
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if unused := sorted(set(names) - used):
        message = f"does not name {', '.join(unused)}: name each state, or leave it out"
        raise InputError("expression", f"{message} (got {literal(text)})")
    return tree


def _members(tree: ast.expr, members: Mapping[str, Array]) -> Array:
    """bool[n]: whether each item is in the expression."""
    if isinstance(tree, ast.Name):
        return members[tree.id]
    assert isinstance(tree, ast.BinOp)
    sides = _members(tree.left, members), _members(tree.right, members)
    inside: Array = _OPERATORS[type(tree.op)](*sides)
    return inside
