"""Merges top-k answers of shards: the best of all are among the best of each."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from skyband.arrays import Array, Int64

Order = Sequence[tuple[str, str]]
ID = "object's id"
"""A column of ids while answers are merged, with a name that no source column has."""


def merge_top_k(answers: pa.Table, each: list[str], order: Order) -> pa.Table:
    """All rows by answer (the columns `each`), then by `order` (columns, ascending or descending), ranked again."""
    table = answers.sort_by([*((name, "ascending") for name in each), *order])
    ranks = np.arange(len(table)) - _starts(table, each) + 1
    return table.set_column(table.column_names.index("rank"), "rank", pa.array(ranks))


def truncate(ranked: pa.Table, k: int | Array, columns: list[str]) -> pa.Table:
    """These columns of the rows that rank among the first k (one for all, or int64[n])."""
    return ranked.filter(pa.array(ranked.column("rank").to_numpy() <= k)).select(columns)


def _starts(table: pa.Table, by: list[str]) -> Int64:
    """int64[n]: for each row of a sorted table, the first row with the same values of the columns `by`."""
    changed = np.ones(len(table), bool)
    if len(table):
        changed[1:] = False
        for name in by:
            column = table.column(name).combine_chunks()
            same = pc.equal(column[1:], column[:-1]).fill_null(False)
            both_null = pc.and_(column[1:].is_null(), column[:-1].is_null())
            changed[1:] |= ~pc.or_(same, both_null).to_numpy(zero_copy_only=False)
    return np.maximum.accumulate(np.where(changed, np.arange(len(table)), 0))
