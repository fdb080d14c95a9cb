"""Compares two tables of answers as sets of rows: missing rows, rows too much, and rows that differ in a column."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from skyband.columns.keyed_frames import plain_type
from skyband.instants import python_values

RELATIVE = 1e-9
"""The relative tolerance of floats."""
_MOST_PAIRS = 10_000
"""The most pairs of rows of one moment and group to compare, if nothing else identifies them."""

MISSING, EXTRA, DIFFERS = "missing", "too much", "differs"


@frozen
class Discrepancy:
    """An unexpected row."""

    answer: tuple[Any, ...] | None
    """The row of the answers; None if it is missing."""
    expected: tuple[Any, ...] | None
    """The expected row; None if the row is too much."""
    columns: tuple[str, ...] = ()
    """The columns in which a row differs."""

    @property
    def kind(self) -> str:
        if self.answer is None:
            return MISSING
        return EXTRA if self.expected is None else DIFFERS


@frozen
class Difference:
    """The difference between answers and expected ones, in the order of the answers."""

    columns: tuple[str, ...]
    """The columns compared."""
    flush: tuple[bool, ...]
    """Whether each of them is numeric."""
    answers: int
    expected: int
    rows: tuple[Discrepancy, ...]
    left_out: tuple[str, ...] = field(default=())
    """Columns of the answers that are not compared, as the expected ones do not have them."""

    def __bool__(self) -> bool:
        return bool(self.rows)

    def count(self, kind: str) -> int:
        """The number of rows that are missing, too much, or differ."""
        return sum(row.kind == kind for row in self.rows)


def difference(answers: pa.Table, expected: pa.Table, order: Sequence[str], identity: Sequence[str]) -> Difference:
    """The difference between answers and expected rows, which have all or some of their columns.

    order: the columns by which a job orders its answers. identity: the columns by which rows are paired.
    """
    names = expected.column_names
    compared = answers.select(names).cast(
        pa.schema([(name, plain_type(answers.schema.field(name).type)) for name in names])
    )
    ranks = _ranks(compared, expected, [name for name in order if name in names])
    keys = [names.index(name) for name in dict.fromkeys((*order, *identity)) if name in names]
    ours, expected_rows = _rows(compared), _rows(expected)
    unequal, lacking = _unequal(ours, expected_rows)
    placed: list[tuple[int, Discrepancy]] = []
    for own_rows, other in _paired(unequal, lacking, ours, expected_rows, keys):
        row = Discrepancy(None if own_rows is None else ours[own_rows], None if other is None else expected_rows[other])
        if row.answer is not None and row.expected is not None:
            wrong = [name for name, a, b in zip(names, row.answer, row.expected, strict=True) if not _alike(a, b)]
            if not wrong:
                continue
            row = Discrepancy(row.answer, row.expected, tuple(wrong))
        placed.append((ranks[own_rows] if own_rows is not None else ranks[len(ours) + (other or 0)], row))
    rows = tuple(row for _, row in sorted(placed, key=lambda entry: entry[0]))
    numbers = tuple(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in expected.schema.types)
    others = tuple(name for name in answers.column_names if name not in names)
    return Difference(tuple(names), numbers, len(ours), len(expected_rows), rows, others)


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [[_hashable(value) for value in python_values(column)] for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else []


_NAN = math.nan
"""One NaN for all, as NaNs are never equal in Python."""


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    if isinstance(value, dict):
        return tuple((name, _hashable(entry)) for name, entry in value.items())
    return _NAN if isinstance(value, float) and math.isnan(value) else value


def _ranks(answers: pa.Table, expected: pa.Table, order: Sequence[str]) -> list[int]:
    """The place of each row, first of the answers and then of the expected, in the job's order; the sort is stable."""
    both = pa.concat_tables([answers, expected]).select(order)
    places = pa.array(range(len(both)), pa.int64())
    numbered = both.append_column("\0place", places)
    by = [(name, "ascending") for name in numbered.column_names]
    ranks = [0] * len(numbered)
    for rank, place in enumerate(pc.sort_indices(numbered, by).to_pylist()):
        ranks[place] = rank
    return ranks


def _unequal(ours: Sequence[Any], expected: Sequence[Any]) -> tuple[list[int], list[int]]:
    """The rows of each table without an equal one in the other, counting duplicates."""
    return _without(ours, Counter(expected)), _without(expected, Counter(ours))


def _without(rows: Iterable[Any], others: Counter[Any]) -> list[int]:
    unequal = []
    for place, row in enumerate(rows):
        if others[row] > 0:
            others[row] -= 1
        else:
            unequal.append(place)
    return unequal


def _paired(
    unequal: list[int], lacking: list[int], ours: Sequence[Any], theirs: Sequence[Any], keys: Sequence[int]
) -> Iterable[tuple[int | None, int | None]]:
    """Pair each row with the most similar one with the same keys."""
    groups: dict[Any, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for place in unequal:
        groups[tuple(ours[place][key] for key in keys)][0].append(place)
    for place in lacking:
        groups[tuple(theirs[place][key] for key in keys)][1].append(place)
    for mine, others in groups.values():
        yield from _most_alike(mine, others, ours, theirs)


def _most_alike(
    rows: list[int], others: list[int], ours: Sequence[Any], expected: Sequence[Any]
) -> Iterable[tuple[int | None, int | None]]:
    pairs = list(zip(rows, others, strict=False))
    if 1 < len(rows) * len(others) <= _MOST_PAIRS:
        scored = [(_likeness(ours[a], expected[b]), a, b) for a in rows for b in others]
        pairs = []
        free, open_ = set(rows), set(others)
        for _, a, b in sorted(scored, key=lambda entry: -entry[0]):
            if a in free and b in open_:
                pairs.append((a, b))
                free.remove(a)
                open_.remove(b)
    yield from pairs
    paired = {a for a, _ in pairs}, {b for _, b in pairs}
    yield from ((a, None) for a in rows if a not in paired[0])
    yield from ((None, b) for b in others if b not in paired[1])


def _likeness(row: Sequence[Any], other: Sequence[Any]) -> int:
    return sum(_alike(a, b) for a, b in zip(row, other, strict=True))


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=RELATIVE)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_alike, a, b))
    return bool(a == b)
