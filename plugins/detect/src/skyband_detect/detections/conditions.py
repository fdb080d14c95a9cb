"""The rows that meet each of many conditions: most name a word of a column, and are evaluated on its rows only.

`action = 'login' AND port > 1024` can only be met by rows with the word login. All conditions on words of one column
share an index of its words, so a batch costs time for the rows that conditions may be met by, not for each condition.
A condition that can fail on some rows, such as a division, is evaluated on all rows: it must fail wherever it would.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64
from skyband.columns.keyed_frames import decoded, plain_type
from skyband_expressions.binding import bind, rows_of
from skyband_expressions.bound import Bound
from skyband_expressions.expression import Expression, parse_condition
from skyband_expressions.syntax import Call, Literal, Name, Tree, names_in

_WORDS_OF_16_BITS = 1 << 16


class _Condition(NamedTuple):
    """A condition, and how to find the rows that meet it."""

    whole: Expression
    column: str | None = None
    """The column of text with the words that it requires; None if it requires none, or can fail."""
    words: tuple[str, ...] = ()
    rest: Bound | None = None
    """What it requires besides the word; None for nothing."""
    columns: tuple[str, ...] = ()
    """The columns that the rest reads."""


def rows_by_condition(wheres: Iterable[str], batch: pa.RecordBatch) -> Iterator[tuple[str, Int64]]:
    """Each condition with the rows that meet it, int64[m], ascending. O(rows that have its word), or O(n) without."""
    indexes: dict[str, dict[str, Int64]] = {}
    for where in wheres:
        condition = _condition(where, batch.schema)
        if condition.column is None:
            yield where, np.flatnonzero(_true(condition.whole.evaluate(batch)))
            continue
        if condition.column not in indexes:
            indexes[condition.column] = _rows_by_word(batch.column(condition.column))
        index = indexes[condition.column]
        pieces = [index[word] for word in condition.words if word in index]
        rows = np.sort(np.concatenate(pieces)) if len(pieces) > 1 else pieces[0] if pieces else np.empty(0, np.int64)
        if len(rows) and condition.rest is not None:
            part = batch.select(condition.columns).take(pa.array(rows))
            rows = rows[_true(condition.rest.evaluate(rows_of(part)))]
        yield where, rows


def _true(column: pa.Array) -> Array:
    """bool[n]: the rows that are neither false nor null."""
    mask: Array = column.fill_null(False).to_numpy(zero_copy_only=False)
    return mask


@lru_cache(maxsize=1 << 14)
def _condition(where: str, schema: pa.Schema) -> _Condition:
    """A condition over rows of this schema, parsed and bound once."""
    whole = parse_condition(where)
    if bind(whole.tree, schema).can_fail:
        return _Condition(whole)
    parts = list(_conjuncts(whole.tree))
    for place, part in enumerate(parts):
        name, words = _required_words(part)
        if name in schema.names and words and _is_text(plain_type(schema.field(name).type)):
            others = parts[:place] + parts[place + 1 :]
            if not others:
                return _Condition(whole, name, words)
            tree = Call("and", tuple(others)) if len(others) > 1 else others[0]
            columns = tuple(dict.fromkeys(other.parts[0] for other in names_in(tree)))
            return _Condition(whole, name, words, bind(tree, schema), columns)
    return _Condition(whole)


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


def _conjuncts(tree: Tree) -> Iterator[Tree]:
    """The conditions that are all true if this one is."""
    if isinstance(tree, Call) and tree.function == "and":
        for argument in tree.arguments:
            yield from _conjuncts(argument)
    else:
        yield tree


def _rows_by_word(column: pa.Array) -> dict[str, Int64]:
    """The rows of each word, int64[m], ascending. O(n)."""
    encoded = decoded(column).dictionary_encode()
    words = encoded.dictionary.to_pylist()
    codes = encoded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
    few = len(words) < _WORDS_OF_16_BITS  # so few bits make it a radix sort
    order = np.argsort(codes.astype(np.uint16) if few else codes, kind="stable")
    cuts = np.cumsum(np.bincount(codes, minlength=len(words)))
    return {word: order[start:stop] for word, start, stop in zip(words, [0, *cuts], cuts, strict=False)}
