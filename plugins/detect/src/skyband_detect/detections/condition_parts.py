"""The parts of a condition that cannot fail: each finds the rows for which it is true."""

from typing import Protocol

import numpy as np
from attrs import frozen
from skyband.arrays import Array, Int64
from skyband_expressions.bound import Bound, Rows, rows_at

from skyband_detect.detections.texts import BatchTexts


class Part(Protocol):
    """A part of a condition."""

    def rows(self, texts: BatchTexts, rows: Int64 | None) -> Int64:
        """Those of these rows, or of all, for which it is true: int64[m], ascending, as `rows` are."""


@frozen(eq=False)
class OneOf:
    """A text that is one of some words."""

    column: str
    words: tuple[str, ...]

    def rows(self, texts: BatchTexts, rows: Int64 | None) -> Int64:
        """O(rows with these words), or O(rows)."""
        own = texts[self.column]
        codes = own.codes_of(self.words)
        if rows is None:
            return own.rows_of(codes)
        has = np.zeros(len(own), np.bool_)
        has[codes] = True
        return own.rows_where(has, rows)

    def count(self, texts: BatchTexts) -> int:
        """The number of rows that it is true for."""
        own = texts[self.column]
        return own.count(own.codes_of(self.words))


@frozen(eq=False)
class OfText:
    """A condition on one text: evaluated on its distinct values, or on the rows if these are fewer."""

    column: str
    condition: Bound

    def rows(self, texts: BatchTexts, rows: Int64 | None) -> Int64:
        """O(min(different texts, rows)) evaluations."""
        own = texts[self.column]
        if rows is not None and len(rows) < len(own):
            return rows[_true(self.condition, Rows(len(rows), lambda _, places: rows_at(own.at(rows), places)))]
        words = Rows(len(own), lambda _, places: rows_at(own.words, places))
        return own.rows_where(_true(self.condition, words), rows)


@frozen(eq=False)
class OfRow:
    """Any other condition."""

    condition: Bound

    def rows(self, texts: BatchTexts, rows: Int64 | None) -> Int64:
        """O(rows) evaluations."""
        true = _true(self.condition, texts.rows(rows))
        return np.flatnonzero(true) if rows is None else rows[true]


@frozen(eq=False)
class NotTrue:
    """A condition that another one is not true."""

    part: Part

    def rows(self, texts: BatchTexts, rows: Int64 | None) -> Int64:
        """As the other condition, and O(rows)."""
        stays = np.ones(len(texts), np.bool_)
        stays[self.part.rows(texts, rows)] = False
        return np.flatnonzero(stays) if rows is None else rows[stays[rows]]


@frozen(eq=False)
class AnyOf:
    """One of several conditions is true."""

    parts: tuple[Part, ...]

    def rows(self, texts: BatchTexts, rows: Int64 | None) -> Int64:
        """As all of them."""
        some = np.zeros(len(texts), np.bool_)
        for part in self.parts:
            some[part.rows(texts, rows)] = True
        return np.flatnonzero(some) if rows is None else rows[some[rows]]


@frozen(eq=False)
class AllOf:
    """Several conditions are true: first that with words of the fewest rows, and last those that have parts."""

    parts: tuple[Part, ...]

    def rows(self, texts: BatchTexts, rows: Int64 | None) -> Int64:
        """Each is evaluated on the rows that the ones before it left."""
        words = [part for part in self.parts if isinstance(part, OneOf)]
        first = sorted(words, key=lambda part: part.count(texts))
        others = (part for part in self.parts if not isinstance(part, OneOf))
        for part in (*first, *sorted(others, key=_cost)):
            rows = part.rows(texts, rows)
            if not len(rows):
                break
        assert rows is not None
        return rows


def _cost(part: Part) -> int:
    return 0 if isinstance(part, OfText) else 1 if isinstance(part, OfRow) else 2


def _true(condition: Bound, rows: Rows) -> Array:
    """bool[n]: the rows for which a condition is neither false nor null."""
    mask: Array = condition.evaluate(rows).fill_null(False).to_numpy(zero_copy_only=False)
    return mask
