"""Finds the rows for which an expression or a cast fails, each with its own error."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FAULTS = (ValueError, pa.ArrowInvalid)
"""Errors of evaluation that are caused by a value."""


def failing_rows(count: int, evaluate: Callable[[int, int], Any]) -> list[tuple[int, Exception]]:
    """The rows, ascending, for which `evaluate(start, stop)` raises, and the errors.

    Searches by bisection: O(log rows) evaluations of ever fewer rows for each.
    """
    failing = list[tuple[int, Exception]]()
    waiting = [(0, count)] if count else []
    while waiting:
        begin, end = waiting.pop()
        try:
            evaluate(begin, end)
        except FAULTS as error:
            if end - begin == 1:
                failing.append((begin, error))
            else:
                middle = (begin + end) // 2
                waiting += [(middle, end), (begin, middle)]
    return failing


def failing_values(column: pa.Array, evaluate: Callable[[pa.Array], Any]) -> list[tuple[int, Exception]]:
    """`failing_rows` for a column: evaluates each distinct value once, together with similar-looking ones."""
    if not (pa.types.is_string(column.type) or pa.types.is_integer(column.type)):
        return failing_rows(len(column), lambda begin, end: evaluate(column.slice(begin, end - begin)))
    distinct = pc.dictionary_encode(column, null_encoding="encode")
    codes, values = distinct.indices.to_numpy(zero_copy_only=False), distinct.dictionary
    order = _by_looks(values)
    sorted_values = values.take(pa.array(order))
    failing = failing_rows(len(values), lambda begin, end: evaluate(sorted_values.slice(begin, end - begin)))
    errors = {int(order[place]): error for place, error in failing}
    rows = np.flatnonzero(np.isin(codes, list(errors)))
    return [(row, errors[code]) for row, code in zip(rows.tolist(), codes[rows].tolist(), strict=True)]


def _by_looks(values: pa.Array) -> Any:
    """An order in which texts with digits and letters at the same places are adjacent."""
    if not pa.types.is_string(values.type):
        return np.arange(len(values))
    looks = pc.replace_substring_regex(pc.replace_substring_regex(values, r"\d", "0"), r"[a-zA-Z]", "a")
    return pc.sort_indices(looks).to_numpy()
