"""Measures the errors of answers, as defined for each kind of query."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen
from skyband.arrays import Array, Float64, Int64
from skyband.queries.presentation import load_presentation
from skyband.queries.query import Query

Ids = tuple[Int64, Int64]
Measure = Callable[[int, pa.Table, pa.Table], "Accuracy"]


@frozen(eq=False)
class Accuracy:
    """The accuracy of answers compared with exact ones."""

    measure: str
    """The definition of `error` and `errors`, in words."""
    error: float
    """The error over all answers; 0 is exact."""
    largest: float
    """The largest error of an answer or moment."""
    equal: float
    """The share of rows that both tables have, equal to the last bit."""
    figures: dict[str, float]
    """Further measures of this kind of query, such as precision and recall."""
    at: Int64
    """int64[m]: moments, ascending, in microseconds since the epoch or rows."""
    errors: Float64
    """float64[m]: the error at each moment."""


def accuracy(query: Query, answers: pa.Table, exact: pa.Table) -> Accuracy:
    """Compare answers with exact ones. O(n log n) for n rows of answers."""
    presentation = load_presentation(type(query))
    value = presentation.compared_value
    if value is None:
        how = _sets(*query.compared_columns)
    elif presentation.compared_scale == "mean":
        how = _in_turn(value, presentation.compared_totals)
    else:
        how = _values(value, query.compared_columns, 1.0 if presentation.compared_scale == "each" else 0.0)
    return how(len(query.by), answers, exact)


def _values(value: str, keys: Sequence[str], least: float = 1.0) -> Measure:
    def measured(by: int, answers: pa.Table, exact: pa.Table) -> Accuracy:
        """Relative error of each value, and how often the exact value is within declared bounds, if there are any.

        A missing value, or one that the exact answers do not have, has an error of 1.
        """
        own_rows, exact_rows = _common(answers, exact, [*answers.column_names[: by + 1], *keys])
        left_values, right = _numbers(answers, value)[own_rows], _numbers(exact, value)[exact_rows]
        errors = _relative(left_values, right, least)
        unmatched = _unmatched(answers, own_rows, by), _unmatched(exact, exact_rows, by)
        total = len(errors) + sum(map(len, unmatched))
        at = np.concatenate([moments_of(answers, by)[own_rows], *unmatched])
        each = np.concatenate([errors, np.ones(total - len(errors))])
        figures = {}
        if {"low", "high"} <= {*answers.column_names}:
            low, high = (_numbers(answers, name)[own_rows] for name in ("low", "high"))
            within = (low <= right) & (right <= high)
            figures["in bounds"] = float(within.sum()) / total if total else 1.0
        return _accuracy(f"relative error of the {value}", at, each, each, _equal(answers, exact), figures)

    return measured


def _sets(*keys: str) -> Measure:
    def measured(by: int, answers: pa.Table, exact: pa.Table) -> Accuracy:
        """Precision and recall of the answers; the error of a moment is 1 − F1."""
        names = [*answers.column_names[: by + 1], *(keys or answers.column_names[by + 1 :])]
        own_rows, exact_rows = _common(answers, exact, names)
        at, right = moments_of(answers, by), moments_of(exact, by)
        every = np.unique(np.concatenate([at, right]))
        common, answered, expected = (
            np.bincount(np.searchsorted(every, part), minlength=len(every)) for part in (at[own_rows], at, right)
        )
        figures = {
            "precision": len(own_rows) / len(at) if len(at) else 1.0,
            "recall": len(exact_rows) / len(right) if len(right) else 1.0,
            "F1": 2 * len(own_rows) / (len(at) + len(right)) if len(every) else 1.0,
        }
        errors = 1.0 - 2 * common / np.maximum(answered + expected, 1)
        whole = np.array([1.0 - figures["F1"]])
        return _accuracy("1 − F1 of the answers", every, errors, whole, _equal(answers, exact), figures)

    return measured


def _in_turn(value: str, totals: Mapping[str, str]) -> Measure:
    def measured(by: int, answers: pa.Table, exact: pa.Table) -> Accuracy:
        """Error of each value, relative to the mean size of the exact ones, because one may be almost 0.

        Each row has an answer, and both are in the same order, so they are compared one by one.
        """
        rows = min(len(answers), len(exact))
        answers, exact = answers.slice(0, rows), exact.slice(0, rows)
        estimates, right = _numbers(answers, value), _numbers(exact, value)
        size = float(np.abs(right).mean()) if rows else 1.0
        errors = _bounded(np.abs(estimates - right) / (size or 1.0))
        figures = {
            name: float(_numbers(answers, column).sum() / max(_numbers(exact, column).sum(), 1.0))
            for name, column in totals.items()
        }
        equal = _equal(answers, exact)
        return _accuracy(f"relative error of the {value}", moments_of(answers, by), errors, errors, equal, figures)

    return measured


def moments_of(answers: pa.Table, by: int) -> Int64:
    """int64[n]: the moment of each answer, in microseconds since the epoch or in rows."""
    return answers.column(by).cast(pa.int64()).combine_chunks().to_numpy()


def upto(answers: pa.Table, by: int, reached: int) -> pa.Table:
    """The answers up to the moment `reached`."""
    return answers.filter(pa.array(moments_of(answers, by) <= reached))


def _accuracy(
    measure: str, at: Int64, errors: Float64, every: Float64, equal: float, figures: dict[str, float]
) -> Accuracy:
    """The error at each moment is the mean of its `errors`, the total one the mean of `every`."""
    distinct, place = np.unique(at, return_inverse=True)
    sums = np.bincount(place, errors, len(distinct)) / np.maximum(np.bincount(place, minlength=len(distinct)), 1)
    whole = float(every.mean()) if len(every) else 0.0
    return Accuracy(measure, whole, float(errors.max()) if len(errors) else 0.0, equal, figures, distinct, sums)


def _relative(estimates: Float64, right: Float64, least: float) -> Float64:
    """The errors, relative to the larger of the exact value and `least`, or to the answer if that is 0."""
    size = np.maximum(np.abs(right), least)
    size = np.where(size == 0, np.abs(estimates), size)
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = np.abs(estimates - right) / size
    return _bounded(np.where(estimates == right, 0.0, errors))


def _bounded(errors: Float64) -> Float64:
    """Replace errors that are not a number with infinity."""
    return np.where(np.isnan(errors), np.inf, errors)


def _numbers(table: pa.Table, name: str) -> Float64:
    return table.column(name).cast(pa.float64()).combine_chunks().to_numpy(zero_copy_only=False)


def _unmatched(table: pa.Table, rows: Int64, by: int) -> Int64:
    """int64[u]: the moments of all rows except `rows`."""
    return np.delete(moments_of(table, by), rows)


def _equal(answers: pa.Table, exact: pa.Table) -> float:
    rows, _ = _common(answers, exact, answers.column_names)
    return 2 * len(rows) / (len(answers) + len(exact)) if len(answers) + len(exact) else 1.0


def _common(answers: pa.Table, exact: pa.Table, keys: Sequence[str]) -> Ids:
    """Pairs of rows that both tables have, each as often as both have it. Nulls are equal."""
    ids = np.zeros(len(answers) + len(exact), np.int64)
    for name in keys:
        codes = _codes([table.column(name) for table in (answers, exact)])
        _, ids = np.unique(ids * (codes.max(initial=0) + 1) + codes, return_inverse=True)
    sides = ids[: len(answers)], ids[len(answers) :]
    # duplicates are distinct rows: the second is paired with the second
    own_keys, exact_keys = (side * (len(ids) + 1) + _occurrence(side) for side in sides)
    _, rows, exact_rows = np.intersect1d(own_keys, exact_keys, assume_unique=True, return_indices=True)
    return rows, exact_rows


def _codes(columns: Sequence[Any]) -> Int64:
    """int64[n]: equal numbers for equal values, including null, over two columns of one type."""
    together = pa.concat_arrays([column.combine_chunks() for column in columns])
    return pc.dictionary_encode(together, null_encoding="encode").indices.to_numpy().astype(np.int64)


def _occurrence(ids: Array) -> Int64:
    """int64[n]: how many equal ids precede each."""
    order = np.argsort(ids, kind="stable")
    ranked = ids[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if len(ids) else np.empty(0, np.int64)
    counted = np.arange(len(ids)) - np.repeat(starts, np.diff(np.append(starts, len(ids))))
    occurrence = np.empty(len(ids), np.int64)
    occurrence[order] = counted
    return occurrence
