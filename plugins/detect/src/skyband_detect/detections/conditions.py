"""The rows that meet each of many conditions: those on one text are evaluated on its distinct values.

`action = 'login' AND port > 1024` can only be met by rows with the word login, and `lower(path) LIKE '%.exe'` has to be
evaluated once for each different path. All conditions share the distinct texts of a column and of its `lower`: a batch
costs time for the different texts and for the rows that may meet a condition, not for all rows and each condition.
A condition that can fail on some rows, such as a division, is evaluated on all rows: it must fail wherever it would.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Int64
from skyband.columns.keyed_frames import plain_type
from skyband_expressions.binding import bind
from skyband_expressions.expression import Expression, parse_condition
from skyband_expressions.syntax import Call, Cast, Literal, Name, Tree, names_in

from skyband_detect.detections.condition_parts import AllOf, AnyOf, NotTrue, OfRow, OfText, OneOf, Part
from skyband_detect.detections.texts import CASES, BatchTexts, cased


class _Condition(NamedTuple):
    """A condition, and how to find the rows that meet it."""

    whole: Expression
    part: Part | None = None
    """None if it can fail, so that all rows must be evaluated."""


def rows_by_condition(wheres: Iterable[str], batch: pa.RecordBatch) -> Iterator[tuple[str, Int64]]:
    """Each condition with the rows that meet it, int64[m], ascending. O(different texts + rows that may meet it)."""
    texts = BatchTexts(batch)
    for where in wheres:
        condition = _condition(where, batch.schema)
        if condition.part is not None:
            yield where, condition.part.rows(texts, None)
        else:
            mask = condition.whole.evaluate(batch).fill_null(False)
            yield where, np.flatnonzero(mask.to_numpy(zero_copy_only=False))


@lru_cache(maxsize=1 << 14)
def _condition(where: str, schema: pa.Schema) -> _Condition:
    """A condition over rows of this schema, parsed and bound once."""
    whole = parse_condition(where)
    if bind(whole.tree, schema).can_fail:
        return _Condition(whole)
    names = [field.name for field in schema if _is_text(plain_type(field.type))]
    return _Condition(whole, _part(_with_cases(whole.tree, {*names}), schema))


def _with_cases(tree: Tree, names: set[str]) -> Tree:
    """The tree, with columns in place of `lower(name)` and `upper(name)` of these columns of text."""
    if isinstance(tree, Cast):
        return Cast(_with_cases(tree.argument, names), tree.type, tree.safe)
    if not isinstance(tree, Call):
        return tree
    if tree.function in CASES:  # lower(upper(name)) is bound as a whole
        (name, *others) = tree.arguments
        simple = isinstance(name, Name) and len(name.parts) == 1 and name.parts[0] in names and not others
        return Name((cased(tree.function, name.parts[0]),)) if simple else tree  # type: ignore[union-attr]
    return Call(tree.function, tuple(_with_cases(argument, names) for argument in tree.arguments))


def _part(tree: Tree, schema: pa.Schema) -> Part:
    """How to find the rows for which a tree is true."""
    if isinstance(tree, Call) and tree.function == "and":
        return AllOf(tuple(_part(argument, schema) for argument in _joined("and", tree)))
    if isinstance(tree, Call) and tree.function == "or":
        return AnyOf(tuple(_part(argument, schema) for argument in _joined("or", tree)))
    inner = _not_true(tree)
    if inner is not None:
        return NotTrue(_part(inner, schema))
    name, words = _required_words(tree)
    fields = {name: _field(name, schema) for name in dict.fromkeys(name.parts[0] for name in names_in(tree))}
    if words and _is_text(fields[name].type):
        return OneOf(name, words)
    bound = bind(tree, pa.schema(list(fields.values())))
    if len(fields) == 1 and all(_is_text(field.type) for field in fields.values()):
        return OfText(next(iter(fields)), bound)
    return OfRow(bound)


def _field(name: str, schema: pa.Schema) -> pa.Field:
    """The field of a column, or of a column's text in another case."""
    if name not in schema.names:
        return pa.field(name, pa.string())
    field = schema.field(name)
    return field.with_type(plain_type(field.type))


def _joined(word: str, tree: Tree) -> Iterator[Tree]:
    """The conditions between which there is nothing but this word."""
    if isinstance(tree, Call) and tree.function == word:
        for argument in tree.arguments:
            yield from _joined(word, argument)
    else:
        yield tree


def _not_true(tree: Tree) -> Tree | None:
    """The condition in NOT coalesce(condition, false), which is true wherever the condition is not."""
    if isinstance(tree, Call) and tree.function == "not" and isinstance(tree.arguments[0], Call):
        inner = tree.arguments[0]
        if inner.function == "coalesce" and inner.arguments[1:] == (Literal(False),):
            return inner.arguments[0]
    return None


def _required_words(tree: Tree) -> tuple[str, tuple[str, ...]]:
    """The column and words of a condition such as `action = 'login'` or `action IN ('a', 'b')`; else no words."""
    if isinstance(tree, Call) and tree.function in ("=", "in"):
        name, *values = tree.arguments
        if tree.function == "=" and isinstance(name, Literal):
            name, values = values[0], [name]
        words = [value.value for value in values if isinstance(value, Literal) and isinstance(value.value, str)]
        if isinstance(name, Name) and len(name.parts) == 1 and len(words) == len(values):
            return name.parts[0], tuple(dict.fromkeys(words))
    return "", ()


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
